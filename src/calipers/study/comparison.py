"""Compares judges on the same groups: agreement with gold and with one another, and what rewrites of answers earn.

A judge of lists compares their members, so a list of rewritten answers alone shows no preference. Each group is
therefore shown twice for each rewrite: with every other answer rewritten, then with the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np

from calipers.calibration.measures import fidelity
from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.study.intervals import Estimate, estimate
from calipers.study.rewrites import REWRITES
from calipers.types import Trajectory, TrajectoryGroup, Usage

Rewrite: TypeAlias = Callable[[str], str]
"""From an answer to an answer that is worth no more; an answer that it returns unchanged is not rewritten."""
GOLD: Final = "fidelity"
"""The name of the agreement with gold among the figures of a comparison."""


@dataclass(slots=True)
class Compared:
    """What a judge answered: each figure by its name, with a value for each group (by its number) that shows it.

    The figures are ``GOLD``, the correlation of scores and gold within a group, and each rewrite, the score that it
    adds to an answer. ``scores`` are those of the groups as they are. ``unscored`` counts candidates without a score.
    """

    judge: str
    values: dict[str, dict[int, float]] = field(default_factory=dict)
    scores: dict[int, list[float]] = field(default_factory=dict)
    unscored: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))

    def figures(self) -> dict[str, Estimate]:
        """Return the mean of each of the judge's figures over groups, with its 95 % t-interval."""
        return {name: estimate([*found.values()]) for name, found in self.values.items() if found}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The judges of a comparison, in the order in which they were named, about ``groups`` groups."""

    judges: tuple[Compared, ...]
    groups: int

    def differences(self) -> list[tuple[str, str, str, Estimate]]:
        """Return (figure, judge, other judge, difference) for every two judges, paired by the groups of both."""
        found = []
        for one, other in itertools.combinations(self.judges, 2):
            for name in one.values.keys() & other.values.keys():
                both = sorted(one.values[name].keys() & other.values[name].keys())
                if both:
                    gaps = [one.values[name][group] - other.values[name][group] for group in both]
                    found.append((name, one.judge, other.judge, estimate(gaps)))
        return sorted(found, key=lambda one: one[0])

    def agreements(self) -> list[tuple[str, str, Estimate]]:
        """Return (judge, other judge, mean correlation of their scores within a group) for every two judges."""
        found = []
        for one, other in itertools.combinations(self.judges, 2):
            values = [
                value
                for group in sorted(one.scores.keys() & other.scores.keys())
                if (value := _correlation(one.scores[group], other.scores[group])) is not None
            ]
            if values:
                found.append((one.judge, other.judge, estimate(values)))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data for its JSON file."""
        judges = [
            {
                "judge": one.judge,
                "figures": {name: asdict(found) for name, found in one.figures().items()},
                "unscored": one.unscored,
                "calls": one.calls,
                "usage": asdict(one.usage),
            }
            for one in self.judges
        ]
        differences = [
            {"figure": name, "judge": one, "other": other, **asdict(found)}
            for name, one, other, found in self.differences()
        ]
        agreements = [{"judge": one, "other": other, **asdict(found)} for one, other, found in self.agreements()]
        return {
            "calipers_comparison": 1, "groups": self.groups, "judges": judges, "differences": differences,
            "agreements": agreements,
        }  # fmt: skip


async def compare_judges(
    groups: Sequence[TrajectoryGroup],
    judges: Mapping[str, Judge],
    rewrites: Mapping[str, Rewrite] = REWRITES,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Ask ``judges`` (by the names to show) about ``groups`` and their ``rewrites``, one judge after the other.

    Each judge is closed after its questions. ``tell`` is called with its name before. Groups with fewer than two
    answers are left out.
    Raises ConfigError if none is left, and what ``Judge`` raises.
    """
    usable = [group for group in groups if sum(answer_of(one) is not None for one in group.trajectories) > 1]
    if not usable:
        raise ConfigError("no group has two trajectories with an answer: there is nothing to compare judges on")
    found = []
    for name, judge in judges.items():
        tell(name)
        compared = Compared(name)
        async with judge:
            await _ask(judge, usable, rewrites, compared)
        found.append(compared)
    return Comparison(tuple(found), len(usable))


async def _ask(
    judge: Judge, groups: Sequence[TrajectoryGroup], rewrites: Mapping[str, Rewrite], compared: Compared
) -> None:
    plain = await _scores(judge, groups, compared)
    for number, group in enumerate(groups):
        own, gold = plain[number], [one.gold for one in group.trajectories]
        compared.scores[number] = [own.get(one.id, math.nan) for one in group.trajectories]
        value = _correlation(compared.scores[number], [math.nan if one is None else one for one in gold])
        if value is not None:
            compared.values.setdefault(GOLD, {})[number] = value
    for name, rewrite in rewrites.items():
        chosen = [rewritten_ids(group, rewrite) for group in groups]
        numbers = [number for number, ids in enumerate(chosen) if ids[1]]
        first, second = [
            await _scores(judge, [with_rewritten(groups[n], rewrite, chosen[n][half]) for n in numbers], compared)
            for half in (0, 1)
        ]
        effects = [_effect(*both) for both in zip(first, second, (chosen[n] for n in numbers), strict=True)]
        compared.values[name] = {n: one for n, one in zip(numbers, effects, strict=True) if one is not None}


async def _scores(judge: Judge, groups: Sequence[TrajectoryGroup], compared: Compared) -> list[dict[str, float]]:
    """Return the scores of each group's trajectories by id; those without one are absent."""
    found = []
    async for result in judge.score_groups(groups, ordered=True):
        await judge.require_answering()
        compared.calls += result.judge_calls
        compared.usage = Usage.total([compared.usage, result.usage])
        compared.unscored += sum(one.score is None for one in result.trajectories)
        found.append({one.id: one.score for one in result.trajectories if one.score is not None})
    return found


def _correlation(scores: Sequence[float], others: Sequence[float]) -> float | None:
    value = float(fidelity(np.array([scores]), np.array([others]))[0])
    return None if math.isnan(value) else value


def _effect(first: Mapping[str, float], second: Mapping[str, float], chosen: Sequence[Sequence[str]]) -> float | None:
    """Return what a rewrite adds to a score: answers rewritten in the ``first`` list less those in the ``second``.

    A change of an answer's score is its own effect, with opposite signs in the two halves, and a change of the whole
    list's level, which falls out.
    """
    means = []
    for ids in chosen:
        changes = [first[one] - second[one] for one in ids if one in first and one in second]
        if not changes:
            return None
        means.append(math.fsum(changes) / len(changes))
    return (means[0] - means[1]) / 2


def rewritten_ids(group: TrajectoryGroup, rewrite: Rewrite) -> tuple[list[str], list[str]]:
    """Return the ids of a comparison's answers that ``rewrite`` changes: every other one, and the rest."""
    texts = {one.id: answer_of(one) for one in group.trajectories}
    own = [name for name, text in texts.items() if text is not None and rewrite(text) != text]
    return own[::2], own[1::2]


def with_rewritten(group: TrajectoryGroup, rewrite: Rewrite, ids: Sequence[str]) -> TrajectoryGroup:
    """Return a comparison's group in which the answers of the trajectories ``ids`` are rewritten."""
    members = [_rewritten(one, rewrite) if one.id in ids else one for one in group.trajectories]
    return replace(group, trajectories=tuple(members))


def answer_of(member: Trajectory) -> str | None:
    """Return the text of a trajectory's last message, which a comparison rewrites; None if it is no answer in text."""
    last = member.messages[-1] if member.messages else {}
    text = last.get("content")
    return text if last.get("role") == "assistant" and isinstance(text, str) and text.strip() else None


def _rewritten(member: Trajectory, rewrite: Rewrite) -> Trajectory:
    *before, last = member.messages
    return replace(member, messages=(*before, {**last, "content": rewrite(str(last["content"]))}))
