"""What is wrong or noteworthy about a local judge and its training groups, in sentences for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from calipers.distilling.groups import GOLD, Training, TrainingGroup

_FEW: Final = 100
_MIXED: Final = 0.1


def findings_of(training: Training, figures: Mapping[str, Any]) -> list[str]:
    """Return the findings about a local judge, the most important first."""
    agreement = figures["agreement"]
    found = [*_of_agreement(agreement), *_of_groups(training)]
    if figures["slope"] == 0:
        found.insert(0, "It learned nothing: it gives all candidates of a group the same score. Do not use it.")
    worst = max(figures["tricks"], key=lambda one: float(one["first_after"] - one["first_before"]), default=None)
    if worst is not None and worst["first_after"] - worst["first_before"] > 0.1:
        remedy = "Let" if figures["train_attacks"] else "Train against tricks with --train-attacks, and let"
        found.append(
            f"It is easily gamed: a candidate that {worst['trick']} becomes the best of its group in "
            f"{worst['first_after']:.0%} of the groups where it was the teacher's worst ({worst['first_before']:.0%} "
            f"before). {remedy} a strong judge see a share of the groups."
        )
    return found


def _of_agreement(agreement: Mapping[str, Any]) -> list[str]:
    own, found = agreement["teacher"], []
    if own["interval"] is None or own["interval"][0] <= 0:
        found.append("Its agreement with the teacher may be chance: the interval includes 0. Do not use it.")
    for name, words in (("longest", "the longest answer"), ("overlap", "the answer with most of the task's words")):
        above = agreement[f"above_{name}"]
        if above["interval"] is None or above["interval"][0] <= 0:
            found.append(f"It is not certainly better than choosing {words}.")
    gold, both = agreement.get("gold"), agreement.get("teacher_and_gold")
    if gold and gold["interval"] and gold["interval"][0] <= 0:
        found.append("Its agreement with gold may be chance, whatever it learned of the teacher.")
    if both and both["interval"] and both["interval"][0] <= 0:
        found.append("The teacher itself does not certainly agree with gold: a better teacher comes first.")
    return found


def _of_groups(training: Training) -> list[str]:
    groups, found = training.groups, []
    if len(groups) < _FEW:
        found.append(f"It learned from {len(groups)} groups only; some hundreds are better.")
    if len(training.teachers) == 1 and training.teachers != [GOLD]:
        found.append(f"One judge taught it ({training.teachers[0]}): its mistakes are learned as truths.")
    if training.teachers != [GOLD] and all(np.isnan(one.stderr).all() for one in groups):
        found.append("No score has a standard error, so all scores count alike: ask the teacher in two orders.")
    return [*found, *_of_mixture(groups)]


def _of_mixture(groups: Sequence[TrainingGroup]) -> list[str]:
    tools = float(np.mean([one.measured.has_tools for one in groups]))
    scripts = {one.measured.script for one in groups if one.measured.script}
    found = []
    if _MIXED <= tools <= 1 - _MIXED:
        found.append(f"The tasks are mixed: {tools:.0%} of the groups call tools. A judge for each kind may be better.")
    if len(scripts) > 1:
        found.append(f"The tasks are written in several scripts ({', '.join(sorted(scripts))}).")
    return found
