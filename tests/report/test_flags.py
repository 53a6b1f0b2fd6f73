"""Each flag is set for what docs/report.md says, and for nothing else."""

from typing import Any

import pytest

from calipers.report.flags import flags_of
from reported import member


def detail(*members: dict[str, Any], questions: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    shown = [{"attacks": [], **one} for one in members]
    nothing: dict[str, Any] = {"warnings": [], "route": None}
    return {"status": "scored", **nothing, "trajectories": shown, "questions": questions, **more}


def asked(cause: str = "first", slot: int = 0, **values: float) -> dict[str, Any]:
    return {"cause": cause, "judgments": [{"item": name, "value": one, "slot": slot} for name, one in values.items()]}


def compared(first: str, second: str, margin: float, slot: int = 0) -> dict[str, Any]:
    return {"cause": "first", "judgments": [{"first": first, "second": second, "margin": margin, "slot": slot}]}


A, B = member("a", 0.8), member("b", 0.4)


def test_a_plain_group_has_no_flags():
    assert flags_of(detail(A, B, questions=[asked(a=0.8, b=0.4)])) == []


@pytest.mark.parametrize(("flag", "found"), [
    ("abstained", detail(A, member("b", None))),
    ("failed", detail(A, member("b", None, status="failed"))),
    ("injected", detail(A, {**B, "attacks": [{"kind": "instruction"}]})),
    ("disputed", detail(A, B, questions=[asked(a=0.8, b=0.4), asked(slot=1, a=0.3, b=0.4)])),
    ("disputed", detail(A, B, questions=[compared("a", "b", 0.5), compared("a", "b", -0.5, slot=1)])),
    ("flipped", detail(A, B, questions=[asked(a=0.8, b=0.4), asked("order", a=0.3, b=0.4)])),
    ("flipped", detail(A, B, questions=[compared("a", "b", 0.5), compared("b", "a", 0.5)])),
    ("close", detail(member("a", 0.5, stderr=0.1), member("b", 0.4, stderr=0.1))),
    ("tied", detail(member("a", 0.5), member("b", 0.5))),
    ("reasked", detail(A, B, questions=[asked(a=0.8), asked("missing", b=0.4)])),
    ("shortened", detail(A, B, warnings=["3 messages of trajectory 'a' left out"])),
    ("escalated", detail(A, B, route={"why": "unsure"})),
    ("escalated", detail(A, B, route={"why": "breach"})),
    ("checked", detail(A, B, route={"why": "check"})),
    ("warned", detail(A, B, warnings=["anything"])),
])  # fmt: skip
def test_a_flag_says_what_happened(flag: str, found: dict[str, Any]):
    assert flag in flags_of(found)


@pytest.mark.parametrize(("flag", "other"), [
    ("flipped", detail(A, B, questions=[asked(a=0.8, b=0.4), asked(slot=1, a=0.3, b=0.4)])),
    ("flipped", detail(A, B, questions=[asked(a=0.8, b=0.4), asked("order", a=0.4, b=0.4)])),
    ("flipped", detail(A, B, questions=[compared("a", "b", 0.5), compared("b", "a", -0.5)])),
    ("disputed", detail(A, B, questions=[asked(a=0.8, b=0.4), asked("order", a=0.3, b=0.4)])),
    ("close", detail(member("a", 0.9, stderr=0.1), member("b", 0.4, stderr=0.1))),
    ("close", detail(member("a", 0.5, stderr=None), member("b", 0.5, stderr=0.1))),
    ("tied", detail(member("a", 0.5), member("b", None))),
    ("escalated", detail(A, B, route={"why": "check"})),
    ("escalated", detail(A, B, route={"why": "sure"})),
    ("checked", detail(A, B, route={"why": "late"})),
    ("reasked", detail(A, B, questions=[asked("order", a=0.8, b=0.4), asked("unresolved", a=0.8, b=0.4)])),
])  # fmt: skip
def test_a_flag_says_nothing_else(flag: str, other: dict[str, Any]):
    assert flag not in flags_of(other)
