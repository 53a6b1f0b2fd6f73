"""Criteria that rules decide, from end to end: no judge for them, and no number for what cannot be told."""

import json
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.config.settings import Settings
from calipers.errors import ConfigError, PermanentError
from calipers.inputs import read_groups
from calipers.ledger import Ledger, Replayer
from calipers.rubric import as_rubric
from calipers.types import Criterion, Rubric, Verdict
from calipers.verifiers.group_checks import TrajectoryVerdicts
from grading import Grader, answers

SHORT = {"id": "short", "text": "Has three words at most.", "points": 2, "rule": {"word_count": {"at_most": 3}}}
COMMA = {"id": "comma", "text": "Has a comma.", "points": -1, "rule": {"regex": {"pattern": ",", "confined": False}}}
KIND = {"id": "kind", "text": "Is kind.", "points": 3}
RUBRIC = as_rubric([SHORT, KIND, COMMA])
GROUP = answers({"a": "Rest, friend.", "b": "Do rest a bit now.", "c": "Rest."})
TRUTH = {"a": ["kind"], "b": ["kind"], "c": []}
SCORES = [(2 + 3 - 1) / 5, 3 / 5, 2 / 5]
BROKEN = {"rule": {"source": "def check_following(response): return 1 / 0"}}


def judge(grader: Grader, *, rubric: Any = RUBRIC, **settings: Any) -> calipers.Judge:
    grading = {key: settings.pop(key) for key in list(settings) if key in calipers.Grading.__dataclass_fields__}
    return calipers.Judge.of(
        {"judge": grader, "protocol": "checklist", "rubric": rubric, "grading": grading, **settings}
    )


def scores(result: calipers.GroupResult) -> list[float | None]:
    return [one.score for one in result.trajectories]


@pytest.mark.parametrize(("mode", "calls"), [("all", 3), ("per_criterion", 3), ("chunks", 3), ("relative", 1)])
async def test_a_judge_is_asked_about_the_rest_only(mode: str, calls: int) -> None:
    grader = Grader(TRUTH)
    result = await judge(grader, mode=mode).score_group(GROUP)
    assert scores(result) == pytest.approx(SCORES)
    assert {request.ask.criteria for request in grader.asked} == {("kind",)}
    assert len(grader.asked) == calls
    assert not any("three words" in str(request.messages) for request in grader.asked)
    told = result.trajectories[1].to_dict()["criteria"]
    assert list(told) == ["short", "kind", "comma"]
    assert told["short"] == {"met": False, "reason": "the answer has 5 words", "by": "rule"}
    assert told["kind"] == {"met": True, "reason": "b kind"}


async def test_a_rubric_of_rules_alone_costs_nothing() -> None:
    grader = Grader(TRUTH)
    result = await judge(grader, rubric=[SHORT, COMMA], samples=3).score_group(GROUP)
    assert scores(result) == [0.5, 0.0, 1.0]
    assert [one.stderr for one in result.trajectories] == [0.0, 0.0, 0.0]
    assert (result.status, result.judge_calls, grader.asked) == ("scored", 0, [])


@pytest.mark.parametrize("panel", ["all", "cycle", "fallback"])
async def test_rules_need_no_quorum(panel: Any) -> None:
    judges = [Grader(TRUTH), Grader(TRUTH)]
    judges[1].model = "other"
    alone = calipers.Judge(
        judges, protocol="checklist", rubric=[SHORT, COMMA], panel=panel, quorum=2 if panel == "all" else 1
    )
    assert scores(await alone.score_group(GROUP)) == [0.5, 0.0, 1.0]
    mixed = calipers.Judge(judges, protocol="checklist", rubric=RUBRIC, panel=panel)
    assert scores(await mixed.score_group(GROUP)) == pytest.approx(SCORES)


async def test_a_rule_that_cannot_tell_is_ungraded_and_nobody_is_asked_about_it() -> None:
    grader = Grader(TRUTH)
    rubric = [{**SHORT, "rule": BROKEN}, KIND]
    result = await judge(grader, rubric=rubric).score_group(GROUP)
    assert [one.status for one in result.trajectories] == ["abstained"] * 3
    assert scores(result) == [None] * 3
    assert "criterion 'short': " in str(result.trajectories[0].reason)
    assert "ZeroDivisionError" in str(result.trajectories[0].reason)
    assert grader.asked == []
    assert result.trajectories[0].to_dict()["criteria"]["kind"]["asked"] is False


async def test_an_answer_that_never_came_costs_its_own_score_only() -> None:
    group = answers({"a": "Rest, friend.", "b": "<think>Should he rest", "c": "Rest."})
    result = await judge(Grader(TRUTH)).score_group(group)
    assert scores(result) == [pytest.approx(SCORES[0]), None, pytest.approx(SCORES[2])]
    assert result.trajectories[1].status == "abstained"
    assert "no answer to check" in str(result.trajectories[1].reason)


async def test_partial_scores_what_is_covered() -> None:
    rubric = [{**SHORT, "rule": BROKEN, "points": 1}, KIND, COMMA]
    result = await judge(Grader(TRUTH), rubric=rubric, on_missing="partial", coverage=0.7).score_group(GROUP)
    assert scores(result) == pytest.approx([2 / 3, 1.0, 0.0])
    assert any("scored with criteria open: short" in warning for warning in result.warnings)


async def test_a_judge_that_fails_leaves_no_number_beside_rules() -> None:
    dead = Grader(TRUTH, lambda *_: PermanentError("server", "it is down"))
    result = await judge(dead).score_group(GROUP)
    assert scores(result) == [None] * 3
    assert {(one.status, one.reason) for one in result.trajectories} == {("failed", "it is down")}


async def test_a_violated_constraint_decides_under_all_or_nothing() -> None:
    grader = Grader(TRUTH)
    result = await judge(grader, normaliser="all_or_nothing").score_group(GROUP)
    assert scores(result) == [0.0, 0.0, 0.0]
    assert len(grader.asked) == 1  # about c, which broke no rule
    assert not any("criteria open" in warning for warning in result.warnings)


async def test_holistic_ratings_take_rules_as_text() -> None:
    grader = Grader(lambda *_: 10)
    result = await judge(grader, mode="holistic").score_group(GROUP)
    assert scores(result) == [1.0] * 3
    assert all("three words" in str(request.messages) for request in grader.asked)


async def test_rules_see_the_context_and_a_trajectorys_own_rubric() -> None:
    lines = {
        "group_id": "g",
        "context": [
            {"role": "user", "content": "Look at the sky."},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "blue"},
        ],
        "trajectories": [
            {"id": "q", "messages": [{"role": "assistant", "content": "It was blue then."}],
             "rubric": {"criteria": [{"text": "Looks.", "rule": {"tool_called": {"name": "look"}}}]}},
            {"id": "r", "messages": [{"role": "assistant", "content": "It was."}],
             "rubric": {"criteria": [{"text": "Is short.", "rule": {"word_count": {"at_most": 1}}}]}},
        ],
    }  # fmt: skip
    result = await judge(Grader(TRUTH), rubric=None).score_group(lines)
    assert scores(result) == [1.0, 0.0]


def test_a_rule_that_cannot_be_run_is_a_mistake_before_any_token() -> None:
    with pytest.raises(ConfigError, match=r"criterion 'c1': rule: unknown verifier 'regx'; did you mean regex\?"):
        judge(Grader(TRUTH), rubric=[{"text": "x", "rule": {"regx": {}}}])


async def test_in_a_group_it_leaves_that_group_ungraded_and_says_so(tmp_path: Path) -> None:
    good = {
        "group_id": "g1",
        "rubric": {"criteria": [SHORT]},
        "trajectories": [{"id": "a", "messages": [{"role": "assistant", "content": "Hi"}]}],
    }
    bad = good | {"group_id": "g2", "rubric": {"criteria": [{**SHORT, "rule": {"regx": {}}}]}}
    file = tmp_path / "groups.jsonl"
    file.write_text(json.dumps(good) + "\n" + json.dumps(bad))
    asked = judge(Grader(TRUTH), rubric=None)
    results = [await asked.score_group(group) for group in read_groups(file)]
    assert [scores(result) for result in results] == [[1.0], [None]]
    assert any("unknown verifier 'regx'" in warning for warning in results[1].warnings)


async def test_a_run_with_rules_replays_byte_for_byte(tmp_path: Path) -> None:
    file = str(tmp_path / "run.db")
    async with judge(Grader(TRUTH), ledger=file) as recording:
        recorded = [result.to_dict() async for result in recording.score_groups([GROUP], ordered=True)]
    ledger = Ledger(file, create=False)
    store = Replayer(ledger)
    again = calipers.Judge.replaying(Settings.of(store.recorded.settings), store)
    replayed = [result.to_dict() async for result in again.score_groups(store.groups(), ordered=True)]
    ledger.close()
    assert json.dumps(replayed) == json.dumps(recorded)


# --- rules begun before the group is whole --------------------------------------------------------------------------


def prepared(by: calipers.Judge, group: calipers.TrajectoryGroup) -> calipers.TrajectoryGroup:
    prepare = by.preparing(replace(group, trajectories=()))
    return replace(group, trajectories=tuple(map(prepare, group.trajectories)))


@pytest.mark.parametrize("rubric", [RUBRIC, as_rubric([SHORT, KIND, {"id": "b", "text": "Works.", "rule": BROKEN}])])
@pytest.mark.parametrize("where", ["judge", "group", "trajectory"])
async def test_rules_that_are_begun_early_come_to_the_same(rubric: Rubric, where: str) -> None:
    group = GROUP
    if where == "group":
        group = replace(group, rubric=rubric)
    if where == "trajectory":
        group = replace(group, trajectories=tuple(replace(one, rubric=rubric) for one in group.trajectories))
    by = judge(Grader(TRUTH), rubric=rubric if where == "judge" else [KIND])
    early = prepared(by, group)
    assert all(one.prepared is not None and one.prepared.criterion_checks is not None for one in early.trajectories)
    assert await by.score_group(early) == await by.score_group(group)


async def test_a_rule_is_not_run_again_but_for_another_context_or_rubric_it_is() -> None:
    by = judge(Grader(TRUTH), rubric=[SHORT, COMMA])
    early = prepared(by, GROUP)
    first = early.trajectories[0]
    assert first.prepared is not None
    said: Any = first.prepared.criterion_checks
    turned: Future[TrajectoryVerdicts] = Future()
    turned.set_result(TrajectoryVerdicts(tuple(Verdict(not one.met, "turned") for one in said.result.result().rules)))
    other = replace(first, prepared=replace(first.prepared, criterion_checks=replace(said, result=turned)))
    tampered = replace(early, trajectories=(other, *early.trajectories[1:]))
    assert scores(await by.score_group(GROUP)) == [0.5, 0.0, 1.0]
    assert scores(await by.score_group(tampered)) == [0.0, 0.0, 1.0]
    elsewhere = replace(tampered, context=({"role": "user", "content": "Say it in three words."},))
    assert scores(await by.score_group(elsewhere)) == [0.5, 0.0, 1.0]
    strict = [{**SHORT, "rule": {"word_count": {"at_most": 1}}}]
    assert scores(await by.score_group(replace(tampered, rubric=as_rubric(strict)))) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("grading", [{}, {"mode": "holistic"}])
def test_without_rules_to_run_nothing_is_begun(grading: Any) -> None:
    by = judge(Grader(TRUTH), rubric=RUBRIC if grading else [KIND], **grading)
    early = prepared(by, GROUP)
    assert [one.prepared.criterion_checks for one in early.trajectories if one.prepared is not None] == [None] * 3


async def test_a_rule_that_cannot_be_run_is_told_when_the_group_is_scored() -> None:
    wrong = Rubric((Criterion("x", "Has words.", rule={"no_such_rule": {}}),))
    by = judge(Grader(TRUTH), rubric=[KIND])
    group = replace(GROUP, rubric=wrong)
    assert await by.score_group(prepared(by, group)) == await by.score_group(group)


@pytest.mark.parametrize("recorded", [False, True])
async def test_a_deadline_starts_with_the_group_and_not_after_its_rules(tmp_path: Path, *, recorded: bool) -> None:
    class Late(Future[TrajectoryVerdicts]):
        def result(self, timeout: float | None = None) -> TrajectoryVerdicts:
            time.sleep(0.06)  # longer than the deadline, on however fast a machine
            return super().result(timeout)

    grader = Grader(TRUTH)
    ledger = {"ledger": tmp_path / "l.db"} if recorded else {}
    by = judge(grader, deadline=0.05, **ledger)
    early = prepared(by, GROUP)
    slow = []
    for one in early.trajectories:
        assert one.prepared is not None
        said: Any = one.prepared.criterion_checks
        late = Late()
        late.set_result(said.result.result())
        slow.append(replace(one, prepared=replace(one.prepared, criterion_checks=replace(said, result=late))))
    result = await by.score_group(replace(early, trajectories=tuple(slow)))
    assert result.status == "failed"
    assert "deadline of 0.05 s" in str(result.trajectories[0].reason)
    assert grader.asked == []  # a call that would be broken off at once may be billed
    if recorded:
        by.close()
        store = Replayer(Ledger(tmp_path / "l.db", create=False))
        again = calipers.Judge.replaying(Settings.of(store.recorded.settings), store)
        replayed = [one.to_dict() async for one in again.score_groups(store.groups(), ordered=True)]
        assert replayed == [result.to_dict()]
