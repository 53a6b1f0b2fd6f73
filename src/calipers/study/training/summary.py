"""What the runs of a training study say: figures of each arm, paired differences, curves, and whether it is valid.

Pure. Not responsible for reading runs (``results``) or for the figures of one step (``measures``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.study.intervals import Estimate, estimate, paired_difference, t_quantile
from calipers.study.simulation.results import rounded
from calipers.study.training.measures import FIGURES
from calipers.study.training.settings import Arm

Row = Mapping[str, Any]

_LAST: Final = (*FIGURES, "length_spread", "truth_spread", "reward_spread", "missing", "entropy")
"""Figures of steps whose mean over the last steps is a figure of the run."""

_FIRST: Final = ("length_pull", "truth_pull", "unscored", "weight")
"""Figures of steps whose mean over the first steps is a figure of the run."""

_HELD_OUT: Final = (*FIGURES, "kl")
CURVES: Final = (
    *FIGURES,
    "entropy",
    "truth_spread",
    "reward_spread",
    "length_pull",
    "truth_pull",
    "unscored",
    "weight",
)
"""Figures of steps that have a curve."""

HELD_OUT_CURVES: Final = (*_HELD_OUT, "groups", "calls")
"""Figures of evaluations that have a curve: ``kl``, ``groups`` and ``calls`` are there to be drawn against."""

_SAME: Final = 1e-9
"""Gains of held-out truth that differ by less are equal: they are whole numbers of prompts."""
_SPREAD: Final = (0.2, 0.8)
"""The share of groups with truth spread that a valid study starts with."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished run of an arm: its rows of steps and of evaluations, in order."""

    seed: int
    steps: Sequence[Row]
    evaluations: Sequence[Row]


def run_figures(run: Trained, window: int) -> dict[str, float]:
    """Return the figures of a run: what can be compared between arms.

    Figures of rollouts are means over the last ``window`` steps; those that begin with "first_" over the first.
    Those that begin with "held_out_" are of the last evaluation; ``held_out_truth_area`` is the mean over all
    evaluations, and ``held_out_truth_gain`` the last less the first. ``calls`` is the number of the judge's answers.
    """
    last, first = run.steps[-window:], run.steps[:window]
    found = {name: _mean(last, name) for name in _LAST}
    found |= {f"first_{name}": _mean(first, name) for name in _FIRST}
    end = run.evaluations[-1]
    found |= {f"held_out_{name}": float(end[name]) for name in _HELD_OUT}
    found["held_out_truth_area"] = _mean(run.evaluations, "truth")
    found["held_out_truth_gain"] = float(end["truth"] - run.evaluations[0]["truth"])
    found["calls"] = float(run.steps[-1]["calls"])
    return found


def _mean(rows: Sequence[Row], name: str) -> float:
    return math.fsum(row[name] for row in rows) / len(rows)


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """An arm's figures over its runs, and their paired differences from the arm ``against``, by name.

    ``seeds`` are those of the finished runs, ``pairs`` those of the differences.
    """

    name: str
    against: str
    seeds: tuple[int, ...]
    figures: Mapping[str, Estimate]
    pairs: tuple[int, ...]
    differences: Mapping[str, Estimate]


def summarise(arms: Sequence[Arm], runs: Mapping[str, Sequence[Trained]], window: int) -> list[ArmSummary]:
    """Return the figures of a study's arms, in their order, from the finished ``runs`` of each by its name."""
    by_arm = {arm.name: {run.seed: run_figures(run, window) for run in runs[arm.name]} for arm in arms}
    found = []
    for arm in arms:
        own, other = by_arm[arm.name], by_arm.get(arm.against, {})
        pairs = tuple(sorted(own.keys() & other.keys()))
        found.append(
            ArmSummary(
                arm.name,
                arm.against,
                tuple(sorted(own)),
                {name: estimate([one[name] for one in own.values()]) for name in _names(own)},
                pairs,
                {
                    name: paired_difference([own[seed][name] for seed in pairs], [other[seed][name] for seed in pairs])
                    for name in (_names(own) if pairs else ())
                },
            )
        )
    return found


def _names(runs: Mapping[int, Mapping[str, float]]) -> list[str]:
    return list(next(iter(runs.values()), {}))


def run_curves(
    runs: Mapping[int, Sequence[Row]], seeds: int, names: Sequence[str], steps: Sequence[int]
) -> dict[str, Any]:
    """Return the curves of an arm as in a result file of ``calipers study``: a row of numbers for each seed, by name.

    ``runs`` are the rows of the finished runs by their seed. A step that a run has no row for, or where the figure is
    unknown, is None. Numbers have six significant digits.
    """
    by_step = [{row["step"]: row for row in runs.get(seed, ())} for seed in range(seeds)]
    found: dict[str, Any] = {"step": list(steps)}
    for name in names:
        found[name] = [[_number(rows[step][name]) if step in rows else None for step in steps] for rows in by_step]
    return found


def _number(value: float | None) -> float | None:
    return None if value is None else rounded(float(value))


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether a study's arms count.

    ``passed`` is None if a check could not be made. ``checks`` say in a sentence each what was found.
    """

    passed: bool | None
    checks: tuple[tuple[bool | None, str], ...]


def validity(arms: Sequence[Arm], summaries: Sequence[ArmSummary], spreads: Sequence[float]) -> Validity:
    """Return whether a study is valid: there was something to learn, true rewards teach it, and a placebo does not.

    ``spreads`` are the shares of the first policies' groups whose responses are not all right or all wrong; their mean
    is to be from 20 to 80 %. Held-out truth has to rise in arms with ``control = "true"``, and not in those with
    "placebo"; an interval decides, so it takes two seeds, and gains that are not all the same: runs that gain alike
    show nothing of chance, and the check is then unknown. If they gain nothing, or lose, truth does not rise.
    """
    checks: list[tuple[bool | None, str]] = []
    if spreads:
        share = math.fsum(spreads) / len(spreads)
        checks.append((_SPREAD[0] <= share <= _SPREAD[1], f"{share:.0%} of the first groups have truth spread"))
    for arm, summary in zip(arms, summaries, strict=True):
        if arm.table.control is not None:
            checks.append(_control(arm, summary.figures.get("held_out_truth_gain")))
    for control, meaning in (("true", "a control with true rewards"), ("placebo", "a placebo")):
        if not any(arm.table.control == control for arm in arms):
            checks.append((None, f"no arm is {meaning}"))
    outcomes = [outcome for outcome, _ in checks]
    return Validity(False if False in outcomes else None if None in outcomes else True, tuple(checks))


def _control(arm: Arm, gain: Estimate | None) -> tuple[bool | None, str]:
    if gain is None or gain.half_width is None:
        return None, f"{arm.name}: fewer than two finished runs"
    if gain.half_width < _SAME < gain.mean:
        # Two prompts more in each of a few runs happens by chance, and an interval of ± 0 would call it certain.
        same = f"{arm.name}: held-out truth {gain.mean:+.3f} in each of {gain.n} runs"
        return None, f"{same}, whose chance is unknown: run more seeds"
    improved = gain.is_clear and gain.mean > 0
    wanted = arm.table.control == "true"
    said = f"{arm.name}: held-out truth {gain.mean:+.3f} ± {gain.half_width:.3f}"
    return improved == wanted, f"{said}, which {'rises' if improved else 'does not rise'}"


def smallest_effect(pairs: int) -> float | None:
    """Return the smallest paired difference that a study with so many seeds can see, in standard deviations.

    A 95 % t-interval excludes 0 for it with a probability of 80 %. The deviation is that of the difference between the
    two runs of a seed. None below two seeds.
    """
    if pairs < 2:
        return None
    return (t_quantile(0.975, pairs - 1) + t_quantile(0.8, pairs - 1)) / math.sqrt(pairs)
