"""Correlate rewards, and what was lost, with length, formatting, position and reward: a judge's biases, as metrics.

Rewards may be of any finite size: all of a batch are scaled before they are squared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from calipers.monitoring.answers import Answer, Shape
from calipers.rewards.magnitude import exponent_of
from calipers.types import GroupResult, TrajectoryResult
from calipers.types.steps import Steps

MIN_PAIRS: Final = 8
"""The least number of pairs of values from which a correlation is reported; with fewer pairs, it is mostly chance."""

Pairs: TypeAlias = list[tuple[float, float]]


def correlations_in_steps(results: Sequence[GroupResult], answers: Sequence[Answer]) -> Steps[dict[str, float | None]]:
    """Return health metrics that are correlations, by name: None for one that is not known."""
    scale = -exponent_of(
        [trajectory.reward for result in results for trajectory in result.trajectories if trajectory.reward is not None]
    )
    yield
    figures: dict[str, float | None] = {}
    for pairs_of in (_of_length_and_marks, _of_positions, _of_lost_rewards):
        for name, pairs in pairs_of(results, answers, scale).items():
            yield
            figures[name] = correlation(pairs)
    return figures


def _of_length_and_marks(results: Sequence[GroupResult], answers: Sequence[Answer], scale: int) -> dict[str, Pairs]:
    """Return rewards with length, and with markdown, each less its mean in the group."""
    lengths: Pairs = []
    marks: Pairs = []
    for trajectories, shapes in _trajectories_with_shapes(results, answers):
        scored = [
            (math.ldexp(trajectory.reward, scale), shapes[trajectory.id])
            for trajectory in trajectories
            if trajectory.reward is not None and trajectory.id in shapes
        ]
        lengths += centred([(reward, math.log1p(shape.characters)) for reward, shape in scored])
        marks += centred([(reward, shape.marks / (1 + shape.characters)) for reward, shape in scored])
    return {"length_correlation": lengths, "markdown_correlation": marks}


def _of_positions(_: Sequence[GroupResult], answers: Sequence[Answer], __: int) -> dict[str, Pairs]:
    """Return scores with the positions in which their candidates were shown, each less its mean in the answer."""
    pairs = [pair for answer in answers for pair in centred([(value, place) for _, place, value in answer.ratings])]
    return {"position_correlation": pairs}


def _of_lost_rewards(results: Sequence[GroupResult], answers: Sequence[Answer], _: int) -> dict[str, Pairs]:
    """Return whether each trajectory abstained, with its length."""
    lost = [
        (float(trajectory.status == "abstained"), math.log1p(shapes[trajectory.id].characters))
        for trajectories, shapes in _trajectories_with_shapes(results, answers)
        for trajectory in trajectories
        if trajectory.id in shapes
    ]
    return {"abstention_length_correlation": lost}


def _trajectories_with_shapes(
    results: Sequence[GroupResult], answers: Sequence[Answer]
) -> Iterator[tuple[tuple[TrajectoryResult, ...], Mapping[str, Shape]]]:
    known = {
        answer.group_id: {name: shape for shape in answer.shapes for name in shape.ids}
        for answer in answers
        if answer.shapes
    }
    for result in results:
        if result.group_id in known:
            yield result.trajectories, known[result.group_id]


def centred(pairs: Sequence[tuple[float, float]]) -> Pairs:
    """For correlations within groups, return the pairs of a group with the group's mean subtracted from both values."""
    if len(pairs) < 2:
        return []
    first, second = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    return [(a - first, b - second) for a, b in pairs]


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Pearson's correlation; None for fewer than ``MIN_PAIRS`` pairs, or if either side is constant."""
    if len(pairs) < MIN_PAIRS:
        return None
    less = centred(pairs)
    across = math.fsum(a * b for a, b in less)
    spread = math.sqrt(math.fsum(a * a for a, _ in less)) * math.sqrt(math.fsum(b * b for _, b in less))
    return max(-1.0, min(1.0, across / spread)) if spread > 1e-12 else None
