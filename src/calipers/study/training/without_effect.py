"""Settings of a training study that change nothing, because another setting turns off what they are about.

Who sets one expects an effect, and would read a comparison of equal arms as a finding. Not responsible for settings
that cannot work (``problems``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from calipers.study.tables import Problem
from calipers.study.training.settings import Arm, Training, TrainingStudy

_ALONE: Final = frozenset({"pointwise", "checklist"})
"""Protocols that show candidates one by one, in no order."""
_CLIP: Final = Training().clip


def without_effect(study: TrainingStudy) -> Iterator[Problem]:
    """Yield the settings of a training study that change nothing."""
    for arm in study.arms:
        for key, why in _in_arm(arm, study):
            problem = f"arm {arm.name!r}: {key} changes nothing: {why}"
            yield Problem(problem, ("arms", arm.name, *key.split(".")))
    shared = [arm for arm in study.arms if "clip" not in (arm.table.training or {})]
    if shared and all(arm.training.clip != _CLIP and arm.training.updates == 1 for arm in shared):
        problem = "[training]: clip changes nothing: no arm has several updates with a batch; set updates"
        yield Problem(problem, ("training", "clip"))
    if study.shared_noise and not any(arm.engine == "trl" for arm in study.arms):
        yield Problem("shared_noise changes nothing: no arm has engine trl", ("shared_noise",))


def _in_arm(arm: Arm, study: TrainingStudy) -> Iterator[tuple[str, str]]:
    """Yield the keys of an arm's table that change nothing, and why."""
    table, protocol = arm.table, str(arm.options.get("protocol", "listwise"))
    arrival = [key for key in ("jitter", "correlation") if getattr(table, key) is not None]
    if len(arrival) == 1 and table.order == "content" and not _is_control_of_arrival(arm, study):
        yield arrival[0], 'candidates are shown in an order drawn from their content; set order = "arrival"'
    if table.order == "arrival" and (protocol in _ALONE or protocol == "pairwise"):
        yield "order", f"protocol {protocol} shows no list of candidates"
    if table.learn and protocol in _ALONE:
        yield "learn", f"protocol {protocol} shows candidates one by one, so that there is no position to be biased by"
    if table.learn and arm.options.get("experience") is False:
        yield "learn", "experience = false forgets what was learned"
    own = table.training or {}
    if own.get("clip", _CLIP) != _CLIP and arm.training.updates == 1:
        yield "training.clip", "it acts from the second update with a batch on; set updates"


def _is_control_of_arrival(arm: Arm, study: TrainingStudy) -> bool:
    """Whether the arm is compared with one whose candidates are shown as they arrived, in the same order."""
    partners = [one for one in study.arms if one.against == arm.name or arm.against == one.name]
    return any(one.table.order == "arrival" for one in partners)
