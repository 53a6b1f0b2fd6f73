"""What is wrong with an arm's settings taken together, where each alone is in its range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from calipers.config.option import did_you_mean
from calipers.study.simulation.settings import Arm, JudgeSettings, PolicySettings, Simulation
from calipers.study.simulation.summary import FIGURES
from calipers.types.encoding import finite_number

_MOST_POINTS: Final = 300_000
"""Points of curves in one file: each is some twenty numbers, and 300,000 of them take about 60 MB."""


def problems_of_arm(arm: Arm) -> Iterator[str]:
    """Yield every reason why an arm cannot be simulated, as a sentence for its user."""
    yield from _problems_of_policy(arm.policy)
    for number, judge in enumerate(arm.judges, 1):
        where = f"panel: judge {number}: " if arm.panel else "judge: "
        yield from (f"{where}{problem}" for problem in _problems_of_judge(judge))
    if arm.asking.orders > 2 * arm.grpo.size:
        yield f"asking: a group of {arm.grpo.size} has {2 * arm.grpo.size} orders, not {arm.asking.orders}"
    needs = [
        name
        for name, used in (
            ("ties", arm.treatment.ties),
            ("length_control", arm.treatment.length_control),
            ('weights = "reliability"', arm.treatment.weights == "reliability"),
        )
        if used
    ]
    if needs and (arm.panel or not arm.judge.noise or arm.judge.tpr is not None):
        yield (
            f"treatment: {' and '.join(needs)} rest on standard errors, which are simulated for one judge with "
            "noise above 0 that gives scores"
        )


def problems_of_size(simulation: Simulation) -> Iterator[str]:
    """Yield why a simulation's curves would be too many for one file."""
    points = len(simulation.arms) * simulation.seeds * (simulation.steps // simulation.every + 1)
    if points > _MOST_POINTS:
        yield (
            f"its curves would have {points:,} points, and one file holds {_MOST_POINTS:,}: raise every, or have fewer "
            "arms or seeds"
        )


def problems_of_figures(figures: Any) -> Iterator[str]:
    """Yield what is wrong with the list of figures for a simulation's table."""
    if not isinstance(figures, list | tuple) or not all(isinstance(one, str) for one in figures):
        yield "figures must be a list of names"
        return
    for name in figures:
        if name not in FIGURES:
            yield f"figures: there is no figure {name!r}.{did_you_mean(name, FIGURES)}"


def _problems_of_policy(policy: PolicySettings) -> Iterator[str]:
    kinds = _numbers(policy.quality)
    if not kinds or not all(0 < one < 1 for one in kinds):
        yield "policy: quality must be a list of numbers above 0 and below 1, one for each kind of prompt"
    shares = _numbers(policy.shares)
    if shares is None or any(one <= 0 for one in shares) or len(shares) not in (0, len(kinds or ())):
        yield "policy: shares must be a list of positive numbers, as many as quality has"
    if not policy.length_floor < policy.length_mean < policy.length_cap:
        yield "policy: length_mean must be above length_floor and below length_cap"


def _problems_of_judge(judge: JudgeSettings) -> Iterator[str]:
    thresholds, scores = _numbers(judge.thresholds), _numbers(judge.scores)
    if thresholds is None or scores is None:
        yield "thresholds and scores must be lists of numbers"
    elif len(scores) != (len(thresholds) + 1 if thresholds else 0):
        yield "scores must be one more than thresholds"
    elif sorted({*thresholds}) != thresholds or sorted({*scores}) != scores:
        yield "thresholds and scores must be ascending"
    elif thresholds and judge.levels:
        yield "levels and thresholds both say which scores are given; leave one out"
    if judge.levels == 1:
        yield "a scale has at least 2 levels, or 0 for any number"
    if (judge.tpr is None) != (judge.fpr is None):
        yield "tpr and fpr belong together: a verdict needs both"
    elif judge.tpr is not None and (judge.noise or judge.levels or thresholds):
        yield "with tpr and fpr, answers are verdicts: leave noise, levels and thresholds out"


def _numbers(value: Any) -> list[float] | None:
    if not isinstance(value, list | tuple):
        return None
    found = [finite_number(one) for one in value]
    return [one for one in found if one is not None] if None not in found else None
