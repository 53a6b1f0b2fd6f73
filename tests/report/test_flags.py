"""Each flag is set for what docs/report.md says, and for nothing else."""

from typing import Any

from calipers.report.flags import flags_of
from reported import member


def detail(*members: dict[str, Any], questions: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    shown = [{"attacks": [], **one} for one in members]
    return {"status": "scored", "warnings": [], "trajectories": shown, "questions": questions, **more}


def asked(cause: str = "first", slot: int = 0, order: str = "ab", **values: float) -> dict[str, Any]:
    judgments = [{"item": name, "value": one, "slot": slot} for name, one in values.items()]
    return {"cause": cause, "order": [*order], "judgments": judgments}


def compared(first: str, second: str, margin: float, slot: int = 0) -> dict[str, Any]:
    return {"cause": "first", "judgments": [{"first": first, "second": second, "margin": margin, "slot": slot}]}


A, B = member("a", 0.8), member("b", 0.4)
CHANCE = [asked(order=o, a=0.7 + noise, b=0.7, c=0.1) for o in ("abc", "cba") for noise in (0.1, -0.1, 0.1)]
"""Noise decides single answers, and the means agree."""
SET = (
    ("abstained", detail(A, member("b", None))),
    ("failed", detail(A, member("b", None, status="failed"))),
    ("injected", detail(A, {**B, "attacks": [{"kind": "instruction"}]})),
    ("disputed", detail(A, B, questions=[asked(a=0.8, b=0.4), asked(slot=1, a=0.3, b=0.4)])),
    ("disputed", detail(A, B, questions=[compared("a", "b", 0.5), compared("a", "b", -0.5, slot=1)])),
    ("flipped", detail(A, B, questions=[asked(a=0.8, b=0.4), asked("order", order="ba", a=0.3, b=0.4)])),
    ("flipped", detail(A, B, questions=[compared("a", "b", 0.5), compared("b", "a", 0.5)])),
    ("flipped", detail(A, B, questions=[CHANCE[0], CHANCE[4]])),
    ("against-gold", detail({**A, "wrong_sign": True}, B)),
    ("close", detail(member("a", 0.5, stderr=0.1), member("b", 0.4, stderr=0.1))),
    ("tied", detail(member("a", 0.5), member("b", 0.5))),
    ("warned", detail(A, B, warnings=["anything"])),
)
NOT_SET = (
    ("flipped", detail(A, B, questions=[asked(a=0.8, b=0.4), asked(slot=1, order="ba", a=0.3, b=0.4)])),
    ("flipped", detail(A, B, questions=[asked(a=0.8, b=0.4), asked("order", order="ba", a=0.4, b=0.4)])),
    ("flipped", detail(A, B, questions=[compared("a", "b", 0.5), compared("b", "a", -0.5)])),
    (
        "flipped",
        detail(A, B, questions=[compared(a, b, margin) for a, b in (("a", "b"), ("b", "a")) for margin in (1.0, -1.0)]),
    ),
    ("flipped", detail(A, B, questions=CHANCE)),
    ("disputed", detail(A, B, questions=[asked(a=0.8, b=0.4), asked("order", a=0.3, b=0.4)])),
    ("close", detail(member("a", 0.9, stderr=0.1), member("b", 0.4, stderr=0.1))),
    ("close", detail(member("a", 0.5, stderr=None), member("b", 0.5, stderr=0.1))),
    ("tied", detail(member("a", 0.5), member("b", None))),
)


def test_a_flag_says_what_happened_and_nothing_else():
    assert flags_of(detail(A, B, questions=[asked(a=0.8, b=0.4)])) == []
    assert [at for at, (flag, found) in enumerate(SET) if flag not in flags_of(found)] == []
    assert [at for at, (flag, found) in enumerate(NOT_SET) if flag in flags_of(found)] == []
