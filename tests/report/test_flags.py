"""Each flag is set for what docs/report.md says, and for nothing else."""

from typing import Any

import pytest

from calipers.report.flags import flags_of
from reported import member


def detail(*members: dict[str, Any], questions: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    shown = [{"attacks": [], **one} for one in members]
    nothing: dict[str, Any] = {"warnings": [], "route": None}
    return {"status": "scored", **nothing, "trajectories": shown, "questions": questions, **more}


def in_order(order: str, *, noise: float = 0.0, **values: float) -> dict[str, Any]:
    """An answer to the candidates shown in this order; ``noise`` is added to the first by name."""
    said = {name: one + noise * (name == min(values)) for name, one in values.items()}
    return {"order": [*order], **rated("order", 0, said)}


def asked(cause: str = "first", slot: int = 0, **values: float) -> dict[str, Any]:
    return rated(cause, slot, values)


def rated(cause: str, slot: int, values: dict[str, float]) -> dict[str, Any]:
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
    ("against-gold", detail({**A, "wrong_sign": True}, B)),
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


NOISES = (0.0, 0.01, -0.01, 0.02)


def flips(*questions: dict[str, Any]) -> bool:
    return "flipped" in flags_of(detail(A, B, questions=list(questions)))


def test_an_order_that_decides_is_a_flip_beyond_the_error_of_the_answers():
    said = [in_order("ab", noise=noise, a=0.8, b=0.6) for noise in NOISES]
    said += [in_order("ba", noise=noise, a=0.6, b=0.8) for noise in NOISES]
    assert flips(*said)


def test_noise_that_changes_the_best_is_no_flip():
    """Every answer prefers another candidate, whichever order it is shown."""
    said = [in_order(order, noise=sign * 0.1, a=0.7, b=0.7, c=0.1) for order in ("abc", "cba") for sign in (1, -1, 1)]
    assert not flips(*said)
    assert flips(said[0], said[4]), "two answers do not tell the noise, so any change counts"


def test_a_judge_of_pairs_flips_where_the_order_decides():
    first_is_better = [compared("a", "b", 1.0), compared("b", "a", 1.0)]
    by_chance = [compared(one, other, margin) for one, other in ("ab", "ba") for margin in (1.0, -1.0)]
    assert flips(*first_is_better, *first_is_better)
    assert not flips(*by_chance)


@pytest.mark.parametrize("names", [2, 40])
def test_flips_of_any_number_of_candidates_are_found(names: int):
    ids = [f"{n:02}" for n in range(names)]
    values = dict.fromkeys(ids, 0.1)
    said = [
        {"order": order, **rated("order", 0, values | {order[0]: 0.9 + noise})}
        for order in (ids, ids[::-1])
        for noise in NOISES
    ]
    assert flips(*said)
