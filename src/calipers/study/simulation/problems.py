"""What is wrong with an arm's settings taken together, where each alone is in its range; and with all arms together.

Not responsible for settings that change nothing (``without_effect``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from calipers.config.option import did_you_mean
from calipers.study.simulation.policy import OPTIONAL, Policy
from calipers.study.simulation.runs import TOGETHER
from calipers.study.simulation.settings import LARGEST, Arm, JudgeSettings, PolicySettings, Simulation
from calipers.study.simulation.summary import FIGURES
from calipers.study.toml_lines import Place
from calipers.types.encoding import finite_number

_MOST_POINTS: Final = 300_000
"""Points of curves in one file: each is some twenty numbers, and 300,000 of them take about 60 MB."""
_MOST_NUMBERS: Final = 40_000_000
"""Numbers that a step of the runs that are computed together may hold at a time: 320 MB."""
_MOST_ANSWERS: Final = 10**12
"""Scores that all judges may give in all runs: at a few million a second, days."""
_MOST_KINDS: Final = 100
_MOST_LEVELS: Final = 1001
_MOST_JUDGES: Final = 64
_LEAST_SD: Final = 0.05
"""Standard deviations of length, in tokens, below which length is no feature: it is divided by it."""
_SMALLEST: Final = 1e-6
"""Below it, a score's noise is lost in rounding."""


def problems_of_arm(arm: Arm) -> Iterator[tuple[Place, str]]:
    """Yield every reason why an arm cannot be simulated, with the table and the key that it is about.

    Reasons are sentences for the user, which begin with the table.
    """
    yield from ((("policy", key), f"policy: {problem}") for key, problem in _problems_of_policy(arm.policy))
    for number, judge in enumerate(arm.judges):
        place: Place = ("panel", number) if arm.panel else ("judge",)
        where = f"panel: judge {number + 1}" if arm.panel else "judge"
        yield from (((*place, key), f"{where}: {problem}") for key, problem in _problems_of_judge(judge))
    if len(arm.panel) > _MOST_JUDGES:
        yield ("panel",), f"panel: it has {len(arm.panel):,} judges; at most {_MOST_JUDGES} are simulated"
    if arm.asking.orders > 2 * arm.grpo.size:
        problem = f"asking: a group of {arm.grpo.size} has {2 * arm.grpo.size} orders, not {arm.asking.orders}"
        yield ("asking", "orders"), problem
    needs = [
        (key, name)
        for key, name, used in (
            ("ties", "ties", arm.treatment.ties),
            ("length_control", "length_control", arm.treatment.length_control),
            ("weights", 'weights = "reliability"', arm.treatment.weights == "reliability"),
        )
        if used
    ]
    if needs and (arm.panel or arm.judge.noise < _SMALLEST or arm.judge.tpr is not None):
        yield (
            ("treatment", needs[0][0]),
            (
                f"treatment: standard errors, for {' and '.join(name for _, name in needs)}, are simulated for one "
                f"judge only, with noise above {_SMALLEST:g}, that gives scores"
            ),
        )
    if (numbers := _numbers_at_once(arm)) > _MOST_NUMBERS:
        yield (
            ("grpo", "groups"),
            (
                f"grpo: a step would hold {numbers:,} numbers, and {_MOST_NUMBERS:,} fit into memory: lower groups, "
                "size, or what a policy's quality depends on"
            ),
        )


def _numbers_at_once(arm: Arm) -> int:
    """Return about how many numbers a step holds at a time: responses with their draws or their pairs, or cases."""
    policy, size = arm.policy, arm.grpo.size
    responses = arm.grpo.groups * size * max(len(OPTIONAL) + policy.criteria + 2, size)
    effects = (policy.format_effect, policy.flattery_effect, policy.injection_effect)
    lengths = max(1, policy.length_cap - policy.length_floor) if policy.length_effect else 1
    cases = len(_numbers(policy.quality) or ()) * lengths * (1 << sum(map(bool, effects)))
    return TOGETHER * max(responses, cases)


def problems_of_size(simulation: Simulation) -> Iterator[tuple[str, str]]:
    """Yield why a simulation is too large: for one result file, or for anybody's patience; each with its key."""
    points = len(simulation.arms) * simulation.seeds * (simulation.steps // simulation.every + 1)
    if points > _MOST_POINTS:
        yield (
            "every",
            (
                f"its curves would have {points:,} points, and one file holds {_MOST_POINTS:,}: raise every, or have "
                "fewer arms or seeds"
            ),
        )
    answers = sum(_answers_a_step(arm) for arm in simulation.arms) * simulation.seeds * simulation.steps
    if answers > _MOST_ANSWERS:
        yield (
            "steps",
            (
                f"its judges would give {answers:,} scores, and at most {_MOST_ANSWERS:,} are simulated: lower steps, "
                "seeds, or what each arm asks for"
            ),
        )


def _answers_a_step(arm: Arm) -> int:
    asked = arm.asking.orders * arm.asking.samples * len(arm.judges)
    return arm.grpo.groups * arm.grpo.size * max(asked, arm.grpo.iterations)


def problems_of_figures(figures: Any) -> Iterator[str]:
    """Yield what is wrong with the list of figures for a simulation's table."""
    if not isinstance(figures, list | tuple) or not all(isinstance(one, str) for one in figures):
        yield "figures must be a list of names"
        return
    for name in dict.fromkeys(figures):
        if name not in FIGURES:
            yield f"figures: there is no figure {name!r:.60}.{did_you_mean(name, FIGURES)}"
        elif figures.count(name) > 1:
            yield f"figures: {name} is named {figures.count(name)} times"


def _problems_of_policy(policy: PolicySettings) -> Iterator[tuple[str, str]]:
    kinds = _numbers(policy.quality)
    if not kinds or not all(0 < one < 1 for one in kinds):
        yield "quality", "quality must be a list of numbers above 0 and below 1, one for each kind of prompt"
    elif len(kinds) > _MOST_KINDS:
        yield "quality", f"quality has {len(kinds):,} kinds of prompts; at most {_MOST_KINDS} are simulated"
    shares = _numbers(policy.shares)
    if shares is None or not all(_SMALLEST <= one <= LARGEST for one in shares):
        yield "shares", f"shares must be a list of numbers from {_SMALLEST:g} to {LARGEST:g}, as many as quality has"
    elif len(shares) not in (0, len(kinds or ())):
        yield "shares", "shares must be a list of positive numbers, as many as quality has"
    if not policy.length_floor < policy.length_mean < policy.length_cap:
        yield "length_mean", "length_mean must be above length_floor and below length_cap"
    elif kinds:
        yield from _problems_of_lengths(policy)


def _problems_of_lengths(policy: PolicySettings) -> Iterator[tuple[str, str]]:
    made = Policy(PolicySettings(**{key: getattr(policy, key) for key in _LENGTHS}))
    if made.sd_length < _LEAST_SD:
        yield (
            "length_mean",
            (
                f"all lengths are {policy.length_mean:g} to within {made.sd_length:.2g}, and length is no feature: "
                "move length_mean away from the ends"
                + (", or raise length_sd" if policy.length_tail == "normal" else "")
            ),
        )


_LENGTHS: Final = ("length_floor", "length_cap", "length_mean", "length_tail", "length_sd")


def _problems_of_judge(judge: JudgeSettings) -> Iterator[tuple[str, str]]:
    yield from _problems_of_levels(judge)
    if judge.levels == 1:
        yield "levels", "a scale has at least 2 levels, or 0 for any number"
    if 0 < judge.noise < _SMALLEST:
        yield "noise", f"noise={judge.noise:g} is lost in rounding: 0, or at least {_SMALLEST:g}"
    if (judge.tpr is None) != (judge.fpr is None):
        yield "tpr" if judge.fpr is None else "fpr", "tpr and fpr belong together: a verdict needs both"
    elif judge.tpr is not None:
        besides = {"noise": judge.noise, "levels": judge.levels, "scores": judge.scores}
        if wrong := [key for key, value in besides.items() if value]:
            yield wrong[0], "with tpr and fpr, answers are verdicts: leave noise, levels and thresholds out"


def _problems_of_levels(judge: JudgeSettings) -> Iterator[tuple[str, str]]:
    thresholds, scores = _numbers(judge.thresholds), _numbers(judge.scores)
    for key, values in (("thresholds", thresholds), ("scores", scores)):
        if values is None or any(abs(one) > LARGEST for one in values):
            limits = f"thresholds and scores must be lists of numbers from {-LARGEST:g} to {LARGEST:g}"
            yield key, "thresholds and scores must be lists of numbers" if values is None else limits
            return
    if thresholds is None or scores is None:
        return
    if (scores or thresholds) and len(scores) != len(thresholds) + 1:
        yield "scores" if scores else "thresholds", "scores must be one more than thresholds"
    elif len(scores) > _MOST_LEVELS:
        yield "scores", f"there are {len(scores):,} scores; at most {_MOST_LEVELS:,} are simulated"
    elif sorted({*thresholds}) != thresholds:
        yield "thresholds", "thresholds and scores must be ascending"
    elif sorted({*scores}) != scores:
        yield "scores", "thresholds and scores must be ascending"
    elif scores and judge.levels:
        yield "levels", "levels and thresholds both say which scores are given; leave one out"


def _numbers(value: Any) -> list[float] | None:
    if not isinstance(value, list | tuple):
        return None
    found = [finite_number(one) for one in value]
    return [one for one in found if one is not None] if None not in found else None
