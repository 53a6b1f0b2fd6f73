"""Criteria that rules decide, from end to end: no judge for them, and no number for what cannot be told."""

import time
from importlib import util
from pathlib import Path
from typing import Any

import pytest

import calipers
from answers import answered
from calipers.errors import ConfigError
from calipers.inputs import as_group
from calipers.rubric import as_rubric
from calipers.types import Criterion
from calipers.verifiers.rubric_rules import criterion_verifier
from calipers.verifiers.rules import check_group
from grading import Grader, answers
from replaying import replayed_lines, scored

SHORT = {"id": "short", "text": "Has three words at most.", "points": 2, "rule": {"word_count": {"at_most": 3}}}
COMMA = {"id": "comma", "text": "Has a comma.", "points": -1, "rule": {"regex": {"pattern": ",", "confined": False}}}
KIND = {"id": "kind", "text": "Is kind.", "points": 3}
RUBRIC = as_rubric([SHORT, KIND, COMMA])
GROUP = answers({"a": "Rest, friend.", "b": "Do rest a bit now.", "c": "Rest."})
TRUTH = {"a": ["kind"], "b": ["kind"], "c": []}
SCORES = [(2 + 3 - 1) / 5, 3 / 5, 2 / 5]
BROKEN = {"rule": {"source": "def check_following(response): return 1 / 0"}}


def judge(grader: Grader, *, rubric: Any = RUBRIC, grading: Any = None, **settings: Any) -> calipers.Judge:
    options = {"judge": grader, "protocol": "checklist", "rubric": rubric, "grading": grading or {}}
    return calipers.Judge.of({**options, **settings})


def scores(result: calipers.GroupResult) -> list[float | None]:
    return [one.score for one in result.trajectories]


@pytest.mark.parametrize(("mode", "calls"), [("all", 3), ("per_criterion", 3), ("chunks", 3), ("relative", 1)])
async def test_a_judge_is_asked_about_the_rest_only(mode: str, calls: int) -> None:
    grader = Grader(TRUTH)
    result = await judge(grader, grading={"mode": mode}).score_group(GROUP)
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
    result = await judge(grader, rubric=[{**SHORT, "rule": BROKEN}, KIND]).score_group(GROUP)
    assert [(one.status, one.score) for one in result.trajectories] == [("abstained", None)] * 3
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
    result = await judge(grader, grading={"normaliser": "all_or_nothing"}).score_group(GROUP)
    assert scores(result) == [0.0, 0.0, 0.0]
    assert len(grader.asked) == 1  # about c, which broke no rule
    assert not any("criteria open" in warning for warning in result.warnings)


def said(name: str, text: str, rule: Any) -> dict[str, Any]:
    own = {"criteria": [{"text": "x", "rule": rule}]}
    return {"id": name, "messages": [{"role": "assistant", "content": text}], "rubric": own}


async def test_rules_see_the_context_and_a_trajectorys_own_rubric() -> None:
    lines = {
        "group_id": "g",
        "context": [
            {"role": "user", "content": "Look at the sky."},
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "1", "content": "blue"},
        ],
        "trajectories": [
            said("q", "It was blue then.", {"tool_called": {"name": "look"}}),
            said("r", "It was.", {"word_count": {"at_most": 1}}),
        ],
    }
    assert scores(await judge(Grader(TRUTH), rubric=None).score_group(lines)) == [1.0, 0.0]


async def test_a_rule_that_cannot_be_run_is_a_mistake_before_any_token_and_in_a_group_leaves_it_ungraded() -> None:
    wrong = [{**SHORT, "rule": {"regx": {}}}]
    with pytest.raises(ConfigError, match=r"criterion 'short': rule: unknown verifier 'regx'; did you mean regex\?"):
        judge(Grader(TRUTH), rubric=wrong)
    asked = judge(Grader(TRUTH), rubric=None)
    plain = {"trajectories": [{"id": "a", "messages": [{"role": "assistant", "content": "Hi"}]}]}
    good, bad = (as_group(plain | {"rubric": {"criteria": criteria}}) for criteria in ([SHORT], wrong))
    results = [await asked.score_group(group) for group in (good, bad)]
    assert [scores(result) for result in results] == [[1.0], [None]]
    assert any("unknown verifier 'regx'" in warning for warning in results[1].warnings)


async def test_a_run_with_rules_replays_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "run.db"
    recorded = await scored(file, Grader(TRUTH), [GROUP], protocol="checklist", rubric=RUBRIC)
    assert await replayed_lines(file) == recorded


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


# --- what a rule may be


def verdict(rule: Any, answer: str) -> bool | None:
    (criterion,) = as_rubric([{"text": "x", "rule": rule}]).criteria
    check = criterion_verifier(criterion)
    assert check is not None
    return check(answered(answer)).met


@pytest.mark.parametrize(("rule", "good", "bad"), [
    ({"ifeval": {"instruction_id": "length_constraints:number_words",
                 "kwargs": {"num_words": 3, "relation": "at least"}}}, "a b c", "a b"),
    ({"all_of": [{"numeric": {"expected": 42}}, {"not": {"exact": {"expected": "42"}}}]}, "It is 42", "42"),
    ({"function": "word_count_range", "parameters": {"min": 2, "max": 3}}, "a b", "a"),
    ({"function": "word_count_range", "parameters": {"max_words": 1}}, "a", "a b"),
    ({"function": "word_count_range", "parameters": {"min_count": "2", "max_count": 3.0, "min": float("nan")}}, "a b",
     "a"),
    ({"function": "math_verify", "parameters": {"answer": 72.0}}, "#### 72", "#### 27"),
])  # fmt: skip
def test_a_rule_is_a_verifier_by_name_or_one_of_ruscarls_two_functions(rule: Any, good: str, bad: str) -> None:
    if rule.get("function") == "math_verify" and util.find_spec("math_verify") is None:
        pytest.skip("math-verify is not installed: pip install 'calipers[maths]'")
    assert (verdict(rule, good), verdict(rule, bad)) == (True, False)


def test_a_wrong_rule_names_its_criterion_and_what_is_wrong() -> None:
    words_of: list[tuple[Any, str]] = [
        ({"ifeval": {"instruction_id": "punctuation:no_coma"}}, "'c1': rule: .*did you mean punctuation:no_comma"),
        ({"function": "word_count_range", "parameters": {"least": 3}}, "'c1': rule: .*'least' is unknown or repeats"),
        ({"function": "word_count_range", "parameters": {"min": 3, "min_words": 3}}, "'min_words' is unknown or rep"),
        ({"function": "math_verify", "parameters": {}}, "'c1': rule: .*parameters must be the answer alone"),
        ({"exact": {"expected": {1, 2}}}, "'c1': rule: .*not JSON serializable"),
        ({"exact": {}, "regex": {}}, "rule must be one check"),
        (7, "rule must be an object"),
        ({"function": "exec", "parameters": {}}, "function 'exec' is unknown"),
        ({"function": "math_verify", "parameters": [1]}, "parameters must be an object"),
    ]
    for rule, words in words_of:
        with pytest.raises(ConfigError, match=words):
            verdict(rule, "")


def test_the_same_rule_is_built_once_and_none_is_none() -> None:
    first, second = (Criterion(name, name, rule={"exact": {"expected": "yes"}}) for name in "ab")
    assert criterion_verifier(first) is criterion_verifier(second)
    assert criterion_verifier(Criterion("a", "x")) is None
