"""Criteria that rules decide, from end to end: no judge for them, and no number for what cannot be told."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.inputs import read_groups
from calipers.ledger import Ledger, Replayer
from calipers.rubric import as_rubric
from calipers.verifiers.rules import check_group
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


async def test_a_violated_constraint_decides_under_all_or_nothing() -> None:
    grader = Grader(TRUTH)
    result = await judge(grader, normaliser="all_or_nothing").score_group(GROUP)
    assert scores(result) == [0.0, 0.0, 0.0]
    assert len(grader.asked) == 1  # about c, which broke no rule
    assert not any("criteria open" in warning for warning in result.warnings)


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


async def test_a_deadline_starts_with_the_group_and_not_after_its_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*args: Any, **options: Any) -> Any:
        time.sleep(0.06)  # longer than the deadline, on however fast a machine
        return check_group(*args, **options)

    monkeypatch.setattr("calipers.verifiers.rules.check_group", slow)
    grader = Grader(TRUTH)
    result = await judge(grader, deadline=0.05).score_group(GROUP)
    assert result.status == "failed"
    assert "deadline of 0.05 s" in str(result.trajectories[0].reason)
    assert grader.asked == []  # a call that would be broken off at once may be billed
