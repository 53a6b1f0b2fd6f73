"""Scores as means over the digits a judge might have written."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.judging.judge import Judge
from calipers.protocols.expected import (
    MIN_MASS,
    TOP_DIGIT,
    ExpectedListwise,
    ExpectedPointwise,
    expectations_in_reply,
)
from calipers.render import render
from calipers.testing import HesitantJudge, Noise, SimulatedJudge
from calipers.types import Ask, Completion, Logprobs
from groups import FOUR, QUALITY, group_of
from replaying import replayed_lines, scored
from servers.faulty_server import Answer, FaultyServer, error, said

VIEW = render(group_of(FOUR))
ONE = Ask(0, (1,), (1,))


def odds(text: str, place: int, **chances: float) -> Logprobs:
    """Alternatives of the token at ``place``, named ``t7`` for 7; the one the text has stands first."""
    told = [(name.removeprefix("t"), math.log(chance)) for name, chance in chances.items()]
    return ((place, tuple(sorted(told, key=lambda one: not text.startswith(one[0], place)))),)


def answer(digit: str, /, **chances: float) -> tuple[Completion, Any]:
    """What a judge of one candidate replies, with the odds of its digit; and the question."""
    request = ExpectedPointwise().frame(ONE, VIEW)
    text = json.dumps({"scores": {request.keys[0]: 0}}).replace(": 0", f": {digit}")
    told = odds(text, text.index(f" {digit}") + 1, **chances) if chances else None
    return Completion(text, logprobs=told), request


def read(**chances: float) -> Any:
    completion, request = answer("7", **chances)
    return ExpectedPointwise().read(request, completion)


def test_the_question_asks_for_digits_and_for_their_probabilities_and_nothing_else() -> None:
    request = ExpectedListwise(params={"temperature": 1}).frame(Ask(0, (0, 1), (1, 0)), VIEW)
    assert request.params == {"temperature": 1, "logprobs": True, "top_logprobs": 20}
    assert request.schema is not None
    assert set(request.schema["properties"]) == {"scores"}
    levels = request.schema["properties"]["scores"]["properties"][request.keys[0]]
    assert levels["maximum"] == TOP_DIGIT == request.max_score
    system, user = (str(message["content"]) for message in request.messages)
    assert "from 0 (worthless) to 9" in system
    assert "0 to 100" not in system + user
    assert "explanations" not in user.rpartition("\n")[2].partition("{")[2]
    assert f'"scores": {{"{request.keys[0]}": ...' in user


def test_the_score_is_the_mean_and_its_spread_goes_along() -> None:
    (rating,) = read(t7=0.5, t6=0.3, t8=0.2).judgments
    assert rating.value == pytest.approx((7 * 0.5 + 6 * 0.3 + 8 * 0.2) / TOP_DIGIT)
    spread = math.sqrt(0.5 * 0.1**2 + 0.3 * 0.9**2 + 0.2 * 1.1**2)
    assert rating.spread == pytest.approx(spread / TOP_DIGIT)


def test_what_lies_off_the_scale_is_left_out_of_the_mean_and_told() -> None:
    reading = read(t7=0.4, t5=0.4, t75=0.1, they=0.1)
    assert reading.judgments[0].value == pytest.approx(6 / TOP_DIGIT)
    assert reading.explanations[1] == "level 6.00 of 9, standard deviation 1.00; 80% of the probability on digits"
    assert reading.warnings == ()


def test_with_too_little_or_nothing_on_the_scale_the_number_is_read_as_it_was_written_which_is_said() -> None:
    cases: list[tuple[dict[str, float], str]] = [
        ({"t7": MIN_MASS / 3, "t1": MIN_MASS / 3}, "less than 50% of the probability was on digits"),
        ({}, "returned no log-probabilities"),
    ]
    for chances, words in cases:
        reading = read(**chances)
        assert (reading.judgments[0].value, reading.judgments[0].spread) == (pytest.approx(7 / TOP_DIGIT), None)
        assert words in reading.warnings[0]


def test_a_token_may_span_the_marks_around_its_digit() -> None:
    cases: list[tuple[str, str, str]] = [
        ('"BC": ', "7", "}"), ('"BC":', " 7", "}"), ('"BC": ', '"7', '"}'), ('"BC"', ": 7", "}"),
        ('"BC', '":7', "}"), ('"BC": ', "7}", "}"), ('"BC": ', "7,", ' "D": 1}'), ("BC = ", "7\n", "done"),
    ]  # fmt: skip
    for before, token, after in cases:
        told = ((len(before), ((token, math.log(0.75)), (token.replace("7", "3"), math.log(0.25)))),)
        assert expectations_in_reply(before + token + after, told, {"BC": 7})["BC"].mean == pytest.approx(6)


def test_a_digit_that_cannot_be_told_for_sure_has_no_belief() -> None:
    cases: list[tuple[str, float]] = [
        ('{"scores": {"BC": 70}}', 70),  # two digits are no level
        ('{"scores": {"BC": 7.5}}', 7.5),
        ('{"BC": 3} no: {"BC": 7}', 7),  # which of them the odds are of is not known
        ('{"scores": {"BC": 7}}', 6),  # read otherwise than written
        ('{"scores": [7]}', 7),
    ]
    for text, level in cases:
        place = text.rindex("7")
        assert expectations_in_reply(text, ((place, (("7", 0.0),)),), {"BC": level}) == {}


def test_a_draft_in_the_judges_thoughts_is_none_of_the_answer() -> None:
    text = '<think>BC: 3, or BC: 7?</think>{"scores": {"BC": 7}}'
    told = tuple((text.index(mark) + len(mark) - 1, ((mark[-1], 0.0),)) for mark in ("BC: 3", "BC: 7", '"BC": 7'))
    assert expectations_in_reply(text, told, {"BC": 7})["BC"].mean == 7
    assert expectations_in_reply(text, told[:2], {"BC": 7}) == {}


@given(st.dictionaries(st.sampled_from([str(n) for n in range(10)]), st.floats(1e-6, 1), min_size=1), st.integers(0, 9))
def test_a_mean_lies_between_the_digits_it_is_of(chances: dict[str, float], digit: int) -> None:
    total = sum(chances.values())
    told = tuple((one, math.log(chance / total)) for one, chance in {str(digit): 1e-9, **chances}.items())
    belief = expectations_in_reply(f"BC: {digit}", ((4, told),), {"BC": digit})["BC"]
    levels = [int(one) for one, _ in told]
    assert min(levels) - 1e-9 <= belief.mean <= max(levels) + 1e-9
    assert 0 <= belief.spread <= 4.5 + 1e-9
    assert belief.mass == pytest.approx(1)


def test_an_anchor_is_stated_as_a_digit_and_held_against_that_digit() -> None:
    request = ExpectedListwise().frame(Ask(3, (1,), (0, 1), anchors=((0, 0.63),), note="it left out"), VIEW)
    assert f"{request.keys[0]} has 6 already" in str(request.messages[1]["content"])
    assert "whole number from 0 to 9" in str(request.messages[1]["content"])
    assert request.ask.anchors == ((0, 6 / 9),)


async def test_a_listwise_answer_gives_every_candidate_its_own_mean() -> None:
    judge = calipers.Judge(HesitantJudge(QUALITY, doubt=0.05), question={"expected": True})
    result = await judge.score_group(group_of(FOUR))
    assert result.judge_calls == 1
    for one in result.trajectories:
        assert one.score == pytest.approx(QUALITY[one.id], abs=0.03)
        assert one.stderr == pytest.approx(0.05, abs=0.025)
        assert "standard deviation" in (one.explanation or "")


async def test_repeats_tell_the_error_where_there_are_any() -> None:
    judge = HesitantJudge(QUALITY, Noise(0.02), doubt=0.1)
    judges = [calipers.Judge(judge, question={"expected": True}, orders=orders) for orders in (1, 4)]
    one, several = [await asked.score_group(group_of(FOUR)) for asked in judges]
    assert all((member.stderr or 0) > 0.05 for member in one.trajectories)
    assert all((member.stderr or 1) < 0.03 for member in several.trajectories)


async def test_judges_that_tell_nothing_are_read_as_ever_with_a_warning() -> None:
    for protocol in ("listwise", "pointwise", "pairwise"):
        judge = Judge(SimulatedJudge(QUALITY), protocol=protocol, question={"expected": True})
        result = await judge.score_group(group_of(FOUR))
        assert result.status == "scored"
        assert sum("returned no log-probabilities" in warning for warning in result.warnings) == 1
        ranked = sorted(result.trajectories, key=lambda one: one.reward or 0)
        assert [one.id for one in ranked][1:] == ["far", "close", "right"]


async def test_a_run_replays_from_its_ledger_byte_for_byte_and_pays_once(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    lines = []
    for calls in (4, 0):
        backend = HesitantJudge(QUALITY, doubt=0.1)
        lines += await scored(path, backend, [group_of(FOUR)], expected=True, protocol="pointwise")
        assert backend.calls == calls
    lines += await replayed_lines(path)
    assert len(set(lines)) == 1
    assert "standard deviation" in lines[0]


def test_what_has_no_digits_to_read_is_refused_before_anything_is_asked() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"protocol": "checklist", "rubric": ["Is right."]}, "asks for scores, not protocol=checklist"),
        ({"parse": lambda text, keys: {}}, "leave parse= out"),  # noqa: ARG005 - never called
    ]
    for options, said_so in cases:
        with pytest.raises(calipers.ConfigError, match=said_so):
            Judge.of({"judge": SimulatedJudge(QUALITY), "expected": True, **options})


def test_anthropics_api_tells_none_which_is_said_at_once() -> None:
    with pytest.raises(calipers.ConfigError, match="the API of anthropic/claude-x has none"):
        Judge("anthropic/claude-x", api_key="k", question={"expected": True})
    assert Judge("anthropic/claude-x", api_key="k").settings.question.expected is False


async def test_a_server_that_refuses_to_tell_them_is_still_a_judge(faulty: FaultyServer) -> None:
    def reply(asked: Any) -> Answer:
        if "logprobs" in asked.body:
            return error(400, "logprobs is not supported with this model.")
        keys = asked.body["response_format"]["json_schema"]["schema"]["properties"]["scores"]["required"]
        return said(json.dumps({"scores": dict(zip(keys, (9, 5, 2, 0), strict=True))}))

    faulty.script(reply)
    judge = Judge("openai/m", base_url=faulty.url, api_key="k", question={"expected": True})
    result = await judge.score_group(group_of(FOUR))
    assert result.status == "scored"
    assert len(faulty.posts) == 2
    assert "returned no log-probabilities" in result.warnings[0]
    assert {one.stderr for one in result.trajectories} == {None}
