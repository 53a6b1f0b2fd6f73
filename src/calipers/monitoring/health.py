"""Compute health metrics of a batch of results and answers, as one flat dict of numbers that any trainer can log.

Unknown values have no key: no rate without a denominator, no correlation without spread, never NaN. Not responsible for
collecting results (``monitor``) or for thresholds (``alarms``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from calipers.monitoring.answers import Answer, Shape
from calipers.types import GroupResult, TrajectoryResult, Usage

MIN_PAIRS: Final = 8
"""The least number of pairs of values from which a correlation is reported; with fewer pairs, it is mostly chance."""


def health(
    results: Sequence[GroupResult],
    answers: Sequence[Answer] = (),
    *,
    disagreements: Sequence[float] = (),
) -> dict[str, float]:
    """Return the health metrics ``{"judge/...": value}`` over one batch; keys and units are in docs/health.md.

    ``answers`` are what an observer received about the same groups; ``disagreements`` are the audit's, each from 0 to
    1.
    """
    found = _outcomes(results) | _spread(results) | _costs(results)
    if answers:
        found |= _replies(answers) | _latencies(answers) | _panel_members(answers) | _repeatability(answers)
        found |= _biases(results, answers) | _missingness(results, answers)
    found["audit_disagreement"] = _mean(disagreements)
    return {
        f"judge/{name}": float(value) for name, value in found.items() if value is not None and math.isfinite(value)
    }


def _outcomes(results: Sequence[GroupResult]) -> dict[str, float | None]:
    """Return the rates of each status of trajectories and groups, and how many trajectories attack their judge."""
    trajectories = [trajectory for result in results for trajectory in result.trajectories]
    statuses = [trajectory.status for trajectory in trajectories]
    kinds = [{attack.kind for attack in trajectory.attacks} for trajectory in trajectories]
    found: dict[str, float | None] = {
        "groups": len(results),
        "trajectories": len(trajectories),
        "scored_rate": _share(status == "scored" for status in statuses),
        "abstention_rate": _share(status == "abstained" for status in statuses),
        "failure_rate": _share(status == "failed" for status in statuses),
        "lost_group_rate": _share(result.status in {"abstained", "failed"} for result in results),
        "attack_rate": _share(map(bool, kinds)),
        "certain_attack_rate": _share(
            any(attack.certainty == "certain" for attack in trajectory.attacks) for trajectory in trajectories
        ),
    }
    for kind in sorted({kind for attacked in kinds for kind in attacked}):
        found[f"attacks/{kind}"] = sum(kind in attacked for attacked in kinds)
    return found


def _spread(results: Sequence[GroupResult]) -> dict[str, float | None]:
    """Return the metrics of the rewards: their mean, their spread within groups, and the rate of ties."""
    groups = [
        [trajectory.reward for trajectory in result.trajectories if trajectory.reward is not None] for result in results
    ]
    compared = [rewards for rewards in groups if len(rewards) > 1]
    stderrs = [
        trajectory.stderr for result in results for trajectory in result.trajectories if trajectory.stderr is not None
    ]
    return {
        "reward_mean": _mean([reward for rewards in groups for reward in rewards]),
        "reward_std": _mean([_deviation(rewards) for rewards in compared]),
        "tie_rate": _share(a == b for rewards in compared for a, b in combinations(rewards, 2)),
        "flat_group_rate": _share(len(set(rewards)) == 1 for rewards in compared),
        "stderr_mean": _mean(stderrs),
    }


def _costs(results: Sequence[GroupResult]) -> dict[str, float | None]:
    asked = [result.usage for result in results if result.attempts or result.judge_calls]
    attempts = sum(result.attempts for result in results)
    return {
        "calls_per_group": _mean([result.judge_calls for result in results]),
        "attempts_per_group": attempts / len(results) if attempts else None,
        "unusable_rate": sum(result.unusable for result in results) / attempts if attempts else None,
        "input_tokens": sum(result.usage.input_tokens for result in results),
        "output_tokens": sum(result.usage.output_tokens for result in results),
        "cached_tokens": sum(result.usage.cached_tokens for result in results),
        "cost_usd": Usage.total(asked).cost_usd if results else None,
    }


def _panel_members(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return the answers and usage of each panel member; an empty dict for a single judge."""
    slots = sorted({answer.slot for answer in answers})
    found: dict[str, float | None] = {}
    for slot in slots if len(slots) > 1 else ():
        usage = Usage.total([answer.usage for answer in answers if answer.slot == slot])
        found[f"panel_{slot}/answers"] = sum(answer.slot == slot for answer in answers)
        found |= {
            f"panel_{slot}/{name}": getattr(usage, name) for name in ("input_tokens", "output_tokens", "cost_usd")
        }
    return found


def _replies(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return how many of the judge's replies could be read, and how often a canary won."""
    shown = [answer.canary.won for answer in answers if answer.canary is not None]
    first = sum(not answer.is_follow_up for answer in answers)
    return {
        "answers": len(answers),
        "cache_hit_rate": _share(answer.recorded for answer in answers),
        "parse_failure_rate": _share(answer.is_unreadable for answer in answers),
        "incomplete_rate": _share(answer.outcome == "partial" for answer in answers),
        "truncated_rate": _share(answer.truncated for answer in answers),
        "reask_rate": (len(answers) - first) / first if first else None,
        "retry_rate": _mean([answer.attempts - 1 for answer in answers]),
        "canaries": len(shown),
        "canary_win_rate": _share(shown),
    }


def _latencies(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return quantiles of the judge's seconds per answer, without answers from a ledger."""
    waited = sorted(answer.latency for answer in answers if answer.latency > 0 and not answer.recorded)
    return {f"latency_p{percent}": _quantile(waited, percent / 100) for percent in (50, 90, 99)}


def _repeatability(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return how much answers about the same candidates disagree: the rate of flipped pairs, and a score's noise."""
    flips: list[bool] = []
    squares, freedom = 0.0, 0
    for presentations in _by_group(answers).values():
        for a, b in combinations(presentations, 2):
            flips += _flips(a, b)
        square, degrees = _two_way_residual(presentations)
        squares, freedom = squares + square, freedom + degrees
    return {"order_flip_rate": _share(flips), "noise_sd": math.sqrt(squares / freedom) if freedom else None}


def _by_group(answers: Sequence[Answer]) -> Mapping[tuple[str, int], list[dict[int, float]]]:
    """Return scores by candidate, one mapping for each presentation of a group to one judge."""
    groups: dict[tuple[str, int], dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for answer in answers:
        if answer.ratings:
            values = {item: value for item, _, value in answer.ratings}
            groups[answer.group_id, answer.slot][answer.presentation].update(values)
    return {key: list(presentations.values()) for key, presentations in groups.items()}


def _flips(a: Mapping[int, float], b: Mapping[int, float]) -> Iterator[bool]:
    """Yield, for each pair of candidates that neither presentation ties, whether the two disagree on its order."""
    for first, second in combinations(sorted(a.keys() & b.keys()), 2):
        if a[first] != a[second] and b[first] != b[second]:
            yield (a[first] > a[second]) != (b[first] > b[second])


def _two_way_residual(presentations: Sequence[Mapping[int, float]]) -> tuple[float, int]:
    """Return the residual sum of squares of a two-way layout and its degrees of freedom.

    Only candidates that occur in all presentations count.
    """
    items = sorted(set.intersection(*(set(presentation) for presentation in presentations))) if presentations else []
    rows, columns = len(items), len(presentations)
    if rows < 2 or columns < 2:
        return 0.0, 0
    table = [[presentation[item] for presentation in presentations] for item in items]
    overall = sum(map(sum, table)) / (rows * columns)
    of_item = [sum(row) / columns for row in table]
    of_presentation = [sum(row[column] for row in table) / rows for column in range(columns)]
    squares = sum(
        (table[row][column] - of_item[row] - of_presentation[column] + overall) ** 2
        for row in range(rows)
        for column in range(columns)
    )
    return squares, (rows - 1) * (columns - 1)


def _biases(results: Sequence[GroupResult], answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return correlations within groups: of rewards with length and markdown, and of scores with position."""
    lengths: list[tuple[float, float]] = []
    marks: list[tuple[float, float]] = []
    for trajectories, shapes in _trajectories_with_shapes(results, answers):
        scored = [
            (trajectory.reward, shapes[trajectory.id])
            for trajectory in trajectories
            if trajectory.reward is not None and trajectory.id in shapes
        ]
        lengths += _centred([(reward, math.log1p(shape.characters)) for reward, shape in scored])
        marks += _centred([(reward, shape.marks / (1 + shape.characters)) for reward, shape in scored])
    places = [pair for answer in answers for pair in _centred([(value, place) for _, place, value in answer.ratings])]
    return {
        "length_correlation": _correlation(lengths),
        "markdown_correlation": _correlation(marks),
        "position_correlation": _correlation(places),
    }


def _missingness(results: Sequence[GroupResult], answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return how unreadable answers, and abstentions, correlate with length and with reward."""
    levels = {
        result.group_id: sum(rewards) / len(rewards)
        for result in results
        if (rewards := [trajectory.reward for trajectory in result.trajectories if trajectory.reward is not None])
    }
    unread = [(float(answer.is_unreadable), math.log1p(answer.asked)) for answer in answers]
    unread_level = [
        (float(answer.is_unreadable), levels[answer.group_id]) for answer in answers if answer.group_id in levels
    ]
    lost: list[tuple[float, float]] = []
    lost_level: list[tuple[float, float]] = []
    for trajectories, shapes in _trajectories_with_shapes(results, answers):
        known = ((trajectory, shapes[trajectory.id]) for trajectory in trajectories if trajectory.id in shapes)
        lost += [(float(trajectory.status == "abstained"), math.log1p(shape.characters)) for trajectory, shape in known]
    for result in results:
        if result.group_id in levels:
            abstained = sum(trajectory.status == "abstained" for trajectory in result.trajectories)
            lost_level.append((abstained / len(result.trajectories), levels[result.group_id]))
    return {
        "parse_failure_length_correlation": _correlation(unread),
        "parse_failure_reward_correlation": _correlation(unread_level),
        "abstention_length_correlation": _correlation(lost),
        "abstention_reward_correlation": _correlation(lost_level),
    }


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


def _centred(pairs: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the pairs of a group with the group's mean subtracted from both values."""
    if len(pairs) < 2:
        return []
    first, second = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    return [(a - first, b - second) for a, b in pairs]


def _correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Pearson's correlation; None for fewer than ``MIN_PAIRS`` pairs, or if either side is constant."""
    if len(pairs) < MIN_PAIRS:
        return None
    centred = _centred(pairs)
    across = math.fsum(a * b for a, b in centred)
    spread = math.sqrt(math.fsum(a * a for a, _ in centred)) * math.sqrt(math.fsum(b * b for _, b in centred))
    return max(-1.0, min(1.0, across / spread)) if spread > 1e-12 else None


def _share(flags: Iterable[bool]) -> float | None:
    listed = [bool(flag) for flag in flags]
    return sum(listed) / len(listed) if listed else None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _quantile(ascending: Sequence[float], share: float) -> float | None:
    """Return a quantile: the smallest of the ``ascending`` values that is not below a ``share`` (0-1) of them."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)] if ascending else None
