"""What a report knows of a group: texts, questions with ids, only checked values, and flags."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from calipers.interfaces import Backend
from calipers.report import Judged
from calipers.report.details import details_of, index_row
from calipers.report.flags import flags_of
from calipers.report.plain import describe_group, overview_line
from calipers.testing import Flaky, PositionBias, SimulatedJudge
from calipers.types import Trajectory, TrajectoryGroup
from groups import FOUR, QUALITY, group_of
from reported import damaged, details_in, judged, member, page_of, report_of, result_of, with_gold


async def test_questions_name_candidates_by_id_and_requests_are_put_together_again(tmp_path: Path):
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)], orders=2)
    (detail,) = details_in(report_of(tmp_path, results, ledger))
    first, second = detail["questions"]
    assert sorted(first["order"]) == sorted(FOUR)
    assert second["order"] == first["order"][::-1]
    assert {one["item"]: one["value"] for one in first["judgments"]} == QUALITY
    assert [first["cause"], second["cause"]] == ["first", "order"]
    sent = "\\n".join(detail["lines"][line] if isinstance(line, int) else line for line in first["request"])
    assert sorted(first["names"].values()) == sorted(FOUR)
    assert [key for key in first["names"] if f"candidate {key}\\n" not in sent] == []
    assert sum("never an instruction to you" in line for line in detail["lines"]) == 1, "shared lines are stored once"


async def test_identical_and_empty_trajectories_do_not_shift_the_names(tmp_path: Path):
    group = group_of({"a": "41", "b": "42", "twin": "42", "z": "7"})
    group = replace(group, trajectories=(Trajectory("crashed", ()), *group.trajectories))
    judge = SimulatedJudge({"a": 0.4, "b": 0.9, "twin": 0.9, "z": 0.1, "crashed": 0.0})
    (detail,) = details_in(report_of(tmp_path, *await judged(tmp_path, [group], [judge])))
    values = {one["item"]: one["value"] for one in detail["questions"][0]["judgments"]}
    assert values == {"a": 0.4, "b": 0.9, "z": 0.1}
    assert next(one for one in detail["trajectories"] if one["id"] == "crashed")["messages"] == []


async def test_judges_of_one_name_are_told_apart_by_their_model_also_in_replies_that_were_not_read(tmp_path: Path):
    judges: list[Backend] = [
        SimulatedJudge(QUALITY, PositionBias(0.1), model="mild"),
        SimulatedJudge(QUALITY, Flaky(empty=1.0), model="silent"),
    ]
    (detail,) = details_in(report_of(tmp_path, *await judged(tmp_path, [group_of(FOUR)], judges, orders=2)))
    by_outcome = {(one["outcome"] == "rejected", one["judge"]) for one in detail["questions"]}
    assert by_outcome == {(True, "SimulatedJudge (silent)"), (False, "SimulatedJudge (mild)")}


def test_messages_that_all_candidates_begin_with_are_stored_once_and_each_keeps_one_of_its_own():
    start = ({"role": "user", "content": "Which\nyear?"}, {"role": "assistant", "content": "Let me look."})
    for texts in (("1815", "1816"), ("same", "same")):
        members = tuple(
            Trajectory(f"{n}", (*start, {"role": "assistant", "content": one})) for n, one in enumerate(texts)
        )
        detail = details_of(Judged(0, result_of("g", member("0"), member("1")), TrajectoryGroup("g", members)))
        assert detail["shared"] == list(start)
        assert [len(one["messages"]) for one in detail["trajectories"]] == [1, 1]
        assert index_row(detail)["prompt"] == "Which year?"


ATTACK = {"kind": "instruction", "message": 1, "role": "assistant", "excerpt": "x", "certainty": "certain"}
CRITERIA = {"c": {"met": True, "by": "x", "reason": "r"}}
KNOWN = {"value": 0.8, "interval": [0.4, 0.9], "basis": "repeats", "freedom": 3.0}


def test_every_damaged_result_is_shown_and_no_number_is_invented():
    written = {"written": [{"id": "c", "text": "t", "points": 1}], "problem": None}
    members = member("a", attacks=[ATTACK], criteria=CRITERIA), member("b", None, reason="refused")
    result = result_of("g", *members, prompt_criteria=written, reliability=KNOWN)
    fixed = {"group_id": result["group_id"], "trajectories": result["trajectories"]}
    for copy in damaged(result):
        members = copy.get("trajectories")
        if isinstance(members, list) and all(isinstance(one, dict) and "id" in one for one in members):
            detail = details_of(Judged(0, {**fixed, **copy}))
            json.dumps([detail, index_row(detail)], allow_nan=False)
            describe_group(detail, width=80)
            overview_line(index_row(detail), detail)
    values: tuple[Any, ...] = ("0.5", True, [], float("nan"), 10**400, 1e308)
    for wrong in values:
        (one,) = details_of(Judged(0, result_of("g", member("a") | {"reward": wrong, "score": wrong})))["trajectories"]
        assert (one["reward"], one["score"]) == (None, None), wrong


def test_reliability_is_kept_and_printed_where_it_is_known(tmp_path: Path):
    lines = [result_of("g", member("a"), reliability=KNOWN), result_of("h", member("a"), reliability={"value": "x"})]
    first, second = details_in(page_of(tmp_path, lines))
    assert first["reliability"] == KNOWN
    assert second["reliability"] == {"value": None, "interval": None, "basis": "unknown", "freedom": None}
    assert "0.80, 95 % interval 0.40 to 0.90" in describe_group(first, width=80)
    assert "reliability" not in describe_group(second, width=80)


GOLD: tuple[tuple[dict[str, float | None], dict[str, float | None], set[str]], ...] = (
    ({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 0.0, "b": 0.5, "c": 1.0}, {"a", "c"}),
    ({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 7.0, "b": 5.0, "c": 1.0}, set()),
    ({"a": 0.9, "b": 0.1, "c": None}, {"a": 0.0, "b": 1.0, "c": 1.0}, {"a", "b"}),
    ({"a": 0.9, "b": 0.1, "c": 0.2}, {"a": None, "b": 0.0, "c": 1.0}, set()),
    ({"a": 0.9, "b": 0.1}, {"a": 0.0, "b": None}, set()),
    ({"a": 0.9, "b": 0.1}, {"a": 1.0, "b": 1.0}, set()),
    ({"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 1.0}, set()),
)


def test_gold_is_beside_the_reward_and_an_advantage_of_the_other_sign_is_marked():
    for rewards, gold, wrong in GOLD:
        result = result_of("g", *(member(name, value) for name, value in rewards.items()))
        detail = details_of(Judged(0, result, with_gold(**gold)))
        assert {one["id"]: one["gold"] for one in detail["trajectories"]} == gold
        assert {one["id"] for one in detail["trajectories"] if one["wrong_sign"]} == wrong
        assert ("against-gold" in detail["flags"]) == bool(wrong)
        assert describe_group(detail, width=100).count("\u2260") == len(wrong) + bool(wrong)
    result = result_of("g", member("a", 0.9), member("b", 0.1))
    assert "gold" not in describe_group(details_of(Judged(0, result)), width=100)
    from_ledger = details_of(Judged(0, result, with_gold(a=None, b=None), with_gold(a=1.0, b=0.0)))
    assert [one["gold"] for one in from_ledger["trajectories"]] == [1.0, 0.0]


# --- flags ------------------------------------------------------------------------------------------------------------


def detail(*members: dict[str, Any], questions: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    shown = [{"attacks": [], "margin": None, **one} for one in members]
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
    ("close", detail(member("a", 0.5, margin=0.2), member("b", 0.4, margin=0.2))),
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
    ("close", detail(member("a", 0.9, margin=0.2), member("b", 0.4, margin=0.2))),
    ("close", detail(member("a", 0.5, margin=None), member("b", 0.5, margin=0.2))),
    ("tied", detail(member("a", 0.5), member("b", None))),
)


def test_a_flag_says_what_happened_and_nothing_else():
    assert flags_of(detail(A, B, questions=[asked(a=0.8, b=0.4)])) == []
    assert [at for at, (flag, found) in enumerate(SET) if flag not in flags_of(found)] == []
    assert [at for at, (flag, found) in enumerate(NOT_SET) if flag in flags_of(found)] == []
