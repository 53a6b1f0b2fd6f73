"""What a report knows of a group: texts, questions with ids, and only checked values."""

from dataclasses import replace
from pathlib import Path

import pytest

from calipers.interfaces import Backend
from calipers.report import Judged
from calipers.report.details import details_of, index_row
from calipers.report.plain import describe_group, overview_line
from calipers.testing import Flaky, PositionBias, SimulatedJudge
from calipers.types import GroupResult, Reliability, Trajectory, TrajectoryGroup
from groups import FOUR, QUALITY, group_of
from reported import details_in, judged, member, report_of, result_of, write_lines


async def test_questions_name_candidates_by_id_in_the_order_shown(tmp_path: Path):
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)], orders=2)
    (detail,) = details_in(report_of(tmp_path, results, ledger))
    first, second = detail["questions"]
    assert sorted(first["order"]) == sorted(FOUR)
    assert second["order"] == first["order"][::-1]
    assert {one["item"]: one["value"] for one in first["judgments"]} == QUALITY
    assert [first["cause"], second["cause"]] == ["first", "order"]
    assert sorted(first["names"].values()) == sorted(FOUR)


async def test_the_request_is_put_together_again_exactly(tmp_path: Path):
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)], orders=2)
    (detail,) = details_in(report_of(tmp_path, results, ledger))
    first, second = (
        "\\n".join(detail["lines"][line] if isinstance(line, int) else line for line in one["request"])
        for one in detail["questions"]
    )
    assert "What is 17 + 25?" in first
    assert "I cannot add numbers." in second
    assert sum("Answer with one JSON object" in line for line in detail["lines"]) == 1, "shared lines are stored once"
    for key, name in detail["questions"][0]["names"].items():
        assert f"candidate {key}\\n" in first, name


async def test_identical_and_empty_trajectories_do_not_shift_the_names(tmp_path: Path):
    answers = {"a": "41", "b": "42", "twin": "42", "z": "7"}
    group = group_of(answers)
    empty = Trajectory("crashed", ())
    group = TrajectoryGroup(group.group_id, (empty, *group.trajectories), context=group.context)
    judge = SimulatedJudge({"a": 0.4, "b": 0.9, "twin": 0.9, "z": 0.1, "crashed": 0.0})
    results, ledger = await judged(tmp_path, [group], [judge])
    (detail,) = details_in(report_of(tmp_path, results, ledger))
    values = {one["item"]: one["value"] for one in detail["questions"][0]["judgments"]}
    assert values == {"a": 0.4, "b": 0.9, "z": 0.1}
    assert next(one for one in detail["trajectories"] if one["id"] == "crashed")["messages"] == []


async def test_a_failed_question_and_its_reason_are_shown(tmp_path: Path):
    judge = SimulatedJudge(QUALITY, Flaky(timeout=1.0))
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [judge])
    (detail,) = details_in(report_of(tmp_path, results, ledger))
    assert detail["status"] == "failed"
    assert all(one["failed"] and one["outcome"] == "timeout" for one in detail["questions"])
    assert detail["trajectories"][0]["reward"] is None


async def test_judges_of_one_name_are_told_apart_by_their_model(tmp_path: Path):
    judges: list[Backend] = [
        SimulatedJudge(QUALITY, model="mild"),
        SimulatedJudge(QUALITY, PositionBias(0.1), model="harsh"),
    ]
    results, ledger = await judged(tmp_path, [group_of(FOUR)], judges)
    (detail,) = details_in(report_of(tmp_path, results, ledger))
    assert [one["judge"] for one in detail["questions"]] == ["SimulatedJudge (mild)", "SimulatedJudge (harsh)"]


def test_messages_that_all_candidates_begin_with_are_stored_once():
    start = ({"role": "user", "content": "Which year?"}, {"role": "assistant", "content": "Let me look."})
    members = tuple(Trajectory(name, (*start, {"role": "assistant", "content": name})) for name in ("1815", "1816"))
    group = TrajectoryGroup("g", members)
    detail = details_of(Judged(0, result_of("g", member("1815"), member("1816")), group))
    assert detail["shared"] == list(start)
    assert [len(one["messages"]) for one in detail["trajectories"]] == [1, 1]


def test_candidates_that_are_all_equal_keep_a_message_of_their_own():
    group = group_of({"a": "same", "b": "same"})
    detail = details_of(Judged(0, result_of("g", member("a"), member("b")), group))
    assert [len(one["messages"]) for one in detail["trajectories"]] == [1, 1]


@pytest.mark.parametrize("wrong", ["0.5", True, [], {}, float("nan"), 10**400])
def test_a_value_that_is_no_number_is_missing_and_not_zero(wrong: object):
    broken = member("a") | {"reward": wrong, "score": wrong, "stderr": wrong}
    detail = details_of(Judged(0, result_of("g", broken)))
    assert [detail["trajectories"][0][name] for name in ("reward", "score", "stderr")] == [None] * 3
    assert index_row(detail)["scores"] == [[None, None, None]]


@pytest.mark.parametrize("wrong", [[], {}, "yes", 1, 1e308, [None], None])
def test_a_verdict_of_another_type_is_none_and_every_view_of_the_group_is_readable(wrong: object):
    verdict = {"met": wrong, "share": wrong, "by": wrong, "reason": wrong, "quote": wrong, "id": wrong}
    broken = member("a", 1e308, criteria={"one": verdict}, stderr=1e308)
    detail = details_of(Judged(0, result_of("g", broken, member("b", -1e308))))
    (found,) = detail["trajectories"][0]["criteria"]
    assert (found["id"], found["met"]) == ("one", None)
    assert isinstance(found["share"], float | None)
    assert {type(found.get(key)) for key in ("by", "reason", "quote")} <= {str, type(None)}
    text = describe_group(detail, width=80)
    assert "one: no verdict" in text
    assert overview_line(index_row(detail), detail).startswith("g ")


def test_a_result_of_an_older_version_lacks_keys_and_is_shown():
    old = {"group_id": "g", "status": "scored", "trajectories": [{"id": "a", "status": "scored", "reward": 0.5}]}
    detail = details_of(Judged(0, old))
    assert detail["attempts"] is None
    assert detail["usage"] is None
    assert detail["shared"] is None, "None says that the texts are not known; [] would say that there are none"


def test_the_row_of_the_list_shows_what_the_user_asked():
    detail = details_of(
        Judged(0, result_of("g", member("right"), member("far")), group_of(FOUR, question="What\nis it?"))
    )
    assert index_row(detail)["prompt"] == "What is it?"


@pytest.mark.parametrize("redact", [False, True])
def test_a_groups_reliability_is_shown_and_redaction_keeps_it(tmp_path: Path, *, redact: bool):
    known = {"value": 0.8, "interval": [0.4, 0.9], "basis": "repeats", "freedom": 3.0}
    lines = [result_of("g", member("a"), reliability=known), result_of("h", member("a"), reliability={"value": "x"})]
    found = details_in(report_of(tmp_path, write_lines(tmp_path / "r.jsonl", lines), redact=redact))
    assert found[0]["reliability"] == known
    assert found[1]["reliability"] == {"value": None, "interval": None, "basis": "unknown", "freedom": None}
    assert all("reliability" not in one["more"] for one in found)


def test_reliability_is_printed_where_the_result_has_it() -> None:
    known = GroupResult("g", "scored", (), reliability=Reliability(0.9, (0.62, 0.97), "repeats", 6))
    plain = [
        describe_group(details_of(Judged(0, one.to_dict(), None)), width=80)
        for one in (known, replace(known, reliability=Reliability()))
    ]
    assert "reliability of these scores: 0.90, 95 % interval 0.62 to 0.97" in plain[0]
    assert "reliability" not in plain[1]


def with_gold(**gold: float | None) -> TrajectoryGroup:
    group = group_of(dict.fromkeys(gold, "an answer"))
    return replace(group, trajectories=tuple(replace(one, gold=gold[one.id]) for one in group.trajectories))


@pytest.mark.parametrize(("rewards", "gold", "wrong"), [
    ({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 0.0, "b": 0.5, "c": 1.0}, {"a", "c"}),
    ({"a": 0.9, "b": 0.5, "c": 0.1}, {"a": 7.0, "b": 5.0, "c": 1.0}, set()),
    ({"a": 0.9, "b": 0.1, "c": None}, {"a": 0.0, "b": 1.0, "c": 1.0}, {"a", "b"}),
    ({"a": 0.9, "b": 0.1, "c": 0.2}, {"a": None, "b": 0.0, "c": 1.0}, set()),
    ({"a": 0.9, "b": 0.1}, {"a": 0.0, "b": None}, set()),
    ({"a": 0.9, "b": 0.1}, {"a": 1.0, "b": 1.0}, set()),
    ({"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 1.0}, set()),
])  # fmt: skip
def test_gold_is_beside_the_reward_and_an_advantage_of_the_other_sign_is_marked(
    rewards: dict[str, float | None], gold: dict[str, float | None], wrong: set[str]
):
    result = result_of("g", *(member(name, value) for name, value in rewards.items()))
    detail = details_of(Judged(0, result, with_gold(**gold)))
    assert {one["id"]: one["gold"] for one in detail["trajectories"]} == gold
    assert {one["id"] for one in detail["trajectories"] if one["wrong_sign"]} == wrong
    assert ("against-gold" in detail["flags"]) == bool(wrong)
    text = describe_group(detail, width=100)
    assert text.count("\u2260") == len(wrong) + bool(wrong)
    kept = details_of(Judged(0, result, with_gold(**gold)), redact=True)
    assert [one["gold"] for one in kept["trajectories"]] == [one["gold"] for one in detail["trajectories"]]


def test_gold_that_nobody_gave_is_absent():
    result = result_of("g", member("a", 0.9), member("b", 0.1))
    for group in (None, with_gold(a=None, b=None)):
        detail = details_of(Judged(0, result, group))
        assert [one["gold"] for one in detail["trajectories"]] == [None, None]
        assert "gold" not in describe_group(detail, width=100)


def test_gold_is_the_ledgers_where_the_groups_file_has_none():
    result = result_of("g", member("a", 0.9), member("b", 0.1))
    detail = details_of(Judged(0, result, with_gold(a=None, b=None), with_gold(a=1.0, b=0.0)))
    assert [one["gold"] for one in detail["trajectories"]] == [1.0, 0.0]


async def test_a_question_of_a_panel_that_was_not_read_names_its_judge_as_the_others_do(tmp_path: Path):
    judges: list[Backend] = [
        SimulatedJudge(QUALITY, model="mild"),
        SimulatedJudge(QUALITY, Flaky(empty=1.0), model="silent"),
    ]
    results, ledger = await judged(tmp_path, [group_of(FOUR)], judges, orders=2)
    (detail,) = details_in(report_of(tmp_path, results, ledger))
    assert {one["judge"] for one in detail["questions"] if one["outcome"] == "rejected"} == {"SimulatedJudge (silent)"}
