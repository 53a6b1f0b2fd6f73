"""Settings of a simulated arm that change nothing, because another setting turns off what they are about.

Who sets one expects an effect, and would read a comparison of equal arms as a finding. Not responsible for settings
that cannot work (``problems``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from calipers.study.simulation.orders import has_position_effects
from calipers.study.simulation.settings import Arm, JudgeSettings

_FAILURES: Final = ("failures_by_length", "failures_by_format", "failures_by_flattery", "fails")


def without_effect(arm: Arm) -> Iterator[tuple[str, str, str]]:
    """Yield the table, the key and the reason of each setting that changes nothing in an arm.

    The table "panel" is not among them: ``judge_without_effect`` is for a panel's judges.
    """
    if arm.policy.length_tail != "normal":
        yield "policy", "length_sd", 'it is for length_tail = "normal"'
    unused = [dict(judge_without_effect(one)) for one in arm.judges]
    yield from (("judge", key, why) for key, why in unused[0].items() if all(key in one for one in unused))
    if not arm.panel:
        yield "judge", "weight", "it is for the judges of a panel"
        yield "treatment", "panel", "the arm has no panel"
    yield from _in_asking(arm)
    yield from _in_treatment(arm)
    if arm.grpo.iterations == 1:
        yield "grpo", "clip", "it acts from the second update of a batch on: set iterations"
    if not arm.grpo.kl:
        yield "grpo", "divergence", "kl is 0"
    if arm.grpo.scale == "none":
        yield "grpo", "epsilon", 'nothing is divided with scale = "none"'


def judge_without_effect(judge: JudgeSettings) -> Iterator[tuple[str, str]]:
    """Yield the key and the reason of each setting that changes nothing in a simulated judge."""
    if not judge.injection:
        yield "obeys", "injection is 0, so there is nothing to obey"
    if judge.tpr is not None:
        yield "gain", "tpr and fpr say what quality adds to a verdict"
    if not judge.failures:
        yield from ((key, "failures is 0") for key in _FAILURES)


def _in_asking(arm: Arm) -> Iterator[tuple[str, str, str]]:
    placed = any(map(has_position_effects, arm.judges)) or arm.treatment.known_slope or arm.treatment.known_first
    if arm.asking.order == "content":
        yield "asking", "arrival", 'it is for order = "arrival"'
    if not placed:
        yield "asking", "order", "no judge has a position bias: set slope, first or last"
        yield "asking", "turning", "no judge has a position bias: set slope, first or last"
    elif arm.asking.orders == 1:
        yield "asking", "turning", "each group is shown in one order: set orders"
    if not any(judge.failures for judge in arm.judges):
        yield "asking", "reasks", "no judge fails: set failures"
    if not any(map(_varies, arm.judges)):
        yield "asking", "samples", "every answer of a judge without noise is the same"
        if not placed:
            yield "asking", "orders", "every answer of a judge without noise and position bias is the same"


def _varies(judge: JudgeSettings) -> bool:
    """Whether two answers to the same question may differ."""
    obeys_sometimes = judge.injection and 0 < judge.obeys < 1
    return bool(judge.noise or judge.failures or judge.tpr is not None or obeys_sometimes)


def _in_treatment(arm: Arm) -> Iterator[tuple[str, str, str]]:
    if not any(judge.failures for judge in arm.judges):
        yield "treatment", "failures", "no judge fails: set failures under [judge]"
    if not arm.treatment.length_control:
        yield "treatment", "length_within", "length_control is 0"


def differs_from_default(kind: Any, key: str, value: object) -> bool:
    """Whether a value is another than the default of a setting, which changes nothing anyway."""
    default = getattr(kind(), key)
    return (list(value) if isinstance(value, list | tuple) else value) != (
        list(default) if isinstance(default, tuple) else default
    )
