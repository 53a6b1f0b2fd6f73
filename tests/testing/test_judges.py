"""A simulated judge: true and repeatable apart from its vices; what it may know; the judge with probabilities."""

from __future__ import annotations

import asyncio
import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calipers
from asking import IDS, question, request, scores, view
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.interfaces import Backend
from calipers.protocols.expected import ExpectedListwise
from calipers.testing import (
    Bias,
    Coarse,
    Constant,
    Flaky,
    HesitantJudge,
    LengthBias,
    Noise,
    OffScale,
    PermutedIds,
    PositionBias,
    Question,
    ReorderedRows,
    Row,
    Severity,
    SimulatedJudge,
    Vice,
    gold_quality,
)
from calipers.testing.question import own_characters, request_content, request_identity, transcript_text
from calipers.types import Ask, Candidate, Image, JudgeRequest, RenderedGroup, Trajectory, TrajectoryGroup
from groups import group_of

QUALITY = dict(zip(IDS, (0.2, 0.4, 0.6, 0.8), strict=True))
ONE = request(view(ids="a"))

ALL_VICES: tuple[Vice, ...] = (
    Noise(0.1), Noise(0.1, per="candidate"), PositionBias(0.2), LengthBias(0.1), Constant(share=0.1),
    OffScale(share=0.2), PermutedIds(0.2), ReorderedRows("shuffled", 0.5), Flaky.evenly(0.3),
)  # fmt: skip


async def outcome(judge: Backend, asked: JudgeRequest) -> str:
    try:
        return (await judge.complete(asked)).text
    except BackendError as error:
        return error.kind


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.permutations(range(4)))
def test_an_honest_judge_says_the_truth_in_every_order(truth: list[float], order: Sequence[int]) -> None:
    judge = SimulatedJudge(dict(zip(IDS, truth, strict=True)))
    assert asyncio.run(scores(judge, request(order=order))) == [round(100 * truth[item]) for item in order]


async def test_a_clean_reply_is_one_json_object_about_exactly_the_keys() -> None:
    asked = request(order=(2, 0, 3))
    completion = await SimulatedJudge(QUALITY).complete(asked)
    reply = json.loads(completion.text)
    assert list(reply["scores"]) == list(reply["explanations"]) == list(asked.keys)
    assert completion.finish_reason == "stop"
    assert completion.usage.input_tokens == len(str(asked.messages[0]["content"])) // 4 > 0
    assert completion.usage.output_tokens == len(completion.text) // 4 > 0


async def test_quality_may_be_a_function_and_identical_trajectories_have_that_of_the_first() -> None:
    judge = SimulatedJudge(lambda group_id, trajectory_id: {("h", "a"): 0.1, ("h", "b"): 0.9}[group_id, trajectory_id])
    assert await scores(judge, request(view(ids="ab", group_id="h"))) == [10, 90]
    merged = RenderedGroup("g", IDS, "00", "|", (), (Candidate((2, 0), (), ()), Candidate((1, 3), (), ())))
    assert await scores(SimulatedJudge(QUALITY), request(merged)) == [60, 40]


async def test_anchors_are_scored_like_the_others() -> None:
    asked = request()
    anchored = replace(asked, ask=replace(asked.ask, members=(1,), anchors=((0, 0.9), (2, 0.1))))
    assert await scores(SimulatedJudge(QUALITY), anchored) == [20, 40, 60, 80]


async def test_the_same_settings_give_the_same_answers_in_any_order_of_arrival_and_another_seed_others() -> None:
    asked = [request(view(group_id=f"g{number}"), sample=sample) for number in range(10) for sample in range(3)]
    first, second = SimulatedJudge(QUALITY, *ALL_VICES, seed=4), SimulatedJudge(QUALITY, *ALL_VICES, seed=4)
    forth = [await outcome(first, one) for one in asked]
    back = await asyncio.gather(*(outcome(second, one) for one in reversed(asked)))
    assert forth == back[::-1]
    assert len(set(forth)) > 10
    assert len({await outcome(SimulatedJudge(QUALITY, Noise(0.1), seed=seed), ONE) for seed in range(5)}) == 5


async def test_a_vice_draws_the_same_whatever_stands_beside_it_and_two_noises_are_two() -> None:
    noisy = await scores(SimulatedJudge(QUALITY, Noise(0.05)), request())
    both = await scores(SimulatedJudge(QUALITY, Flaky(), Severity(offset=0.1), Noise(0.05)), request())
    assert [score - 10 for score in both] == noisy
    twice = SimulatedJudge(QUALITY, Noise(0.05), Noise(0.05))
    said = [(await scores(twice, request(sample=sample)))[1] for sample in range(500)]
    assert statistics.stdev(said) == pytest.approx(5 * 2**0.5, rel=0.13)  # four sigma of an sd from 500 draws


async def test_biases_apply_in_the_order_given_and_opinions_are_clipped_once_after_the_last() -> None:
    for biases, score in (
        ([Severity(offset=0.5), Severity(offset=-0.5)], 90),
        ([Severity(offset=0.5)], 100),
        ([Coarse(2), Severity(offset=-0.4)], 60),
        ([Severity(offset=-0.5), Coarse(2)], 0),
    ):
        assert await scores(SimulatedJudge({"a": 0.9}, *biases), ONE) == [score]


async def test_a_trajectory_without_quality_is_a_failure_that_names_it() -> None:
    with pytest.raises(PermanentError, match="'d' of group 'g'") as caught:
        await SimulatedJudge({"a": 0.1, "b": 0.2, "c": 0.3}).complete(request())
    assert caught.value.kind == "internal"


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
async def test_quality_off_its_scale_is_refused(value: float) -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        SimulatedJudge({"a": value})
    with pytest.raises(PermanentError, match="from 0 to 1"):
        await SimulatedJudge(lambda _group, _trajectory: value).complete(request())


def test_what_is_no_vice_is_refused() -> None:
    with pytest.raises(ConfigError, match="a vice is"):
        SimulatedJudge(QUALITY, 0.3)  # type: ignore[arg-type]  # the mistake under test


def test_judges_that_answer_differently_have_different_names_which_stay_the_same_in_every_run() -> None:
    vices: list[tuple[Vice, ...]] = [
        (), (Noise(0.1),), (Noise(0.2),), (PositionBias(0.1),), (PositionBias(0.1, curve=abs),),
        (Noise(0.1), PositionBias(0.1)), (PositionBias(0.1), Noise(0.1)),
    ]  # fmt: skip
    judges = [SimulatedJudge(QUALITY, *some) for some in vices]
    judges += [SimulatedJudge(QUALITY, seed=1), SimulatedJudge(QUALITY | {"a": 0.3})]
    judges += [HesitantJudge(QUALITY, doubt=doubt) for doubt in (0.1, 0.2)]
    assert len({judge.model for judge in judges}) == len(judges)
    assert SimulatedJudge(QUALITY, PositionBias(0.3), Noise(0.1)).model == "PositionBias+Noise-0-19423f4d"
    assert SimulatedJudge(QUALITY, model="strict").model == "strict"


async def test_calls_are_counted_failed_ones_too() -> None:
    judge = SimulatedJudge(QUALITY, Flaky(timeout=1))
    assert [await outcome(judge, request()) for _ in range(3)] == ["timeout"] * 3
    assert judge.calls == 3


class FavoursOne(Bias):
    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        named = [question.trajectory_id(candidate) for candidate in question.shown]
        return [1.0 if name == "c" else opinion for name, opinion in zip(named, opinions, strict=True)]


async def test_a_vice_of_ones_own_is_a_subclass() -> None:
    assert await scores(SimulatedJudge(QUALITY, FavoursOne()), request()) == [20, 40, 100, 80]


def winner(rows: Sequence[Row], asked: JudgeRequest) -> str:
    assert tuple(row.key for row in rows) == asked.keys
    return max(rows, key=lambda row: row.value).key


async def test_other_questions_are_answered_by_another_writer() -> None:
    judge = SimulatedJudge(QUALITY, PositionBias(0.5), write=winner)
    for order in ((1, 2), (2, 1)):
        asked = request(order=order)
        assert (await judge.complete(asked)).text == asked.keys[0]


# --- what a vice may know of a question --------------------------------------------------------------------------


def test_a_request_is_another_when_anything_of_the_ledger_key_changes_and_an_opinion_when_it_is_shown_otherwise() -> (
    None
):
    asked = request()
    other: list[dict[str, Any]] = [{"schema": {}}, {"max_tokens": 1}, {"params": {"temperature": 1}}]
    others = [replace(asked, **change) for change in other]
    assert len({request_identity(one) for one in [asked, *others]}) == 4
    assert request_identity(replace(asked, params=MappingProxyType({}))) == request_identity(asked)
    shown = [request(sample=1), request(order=(1, 0, 2, 3))]
    assert {request_content(one) for one in others} == {request_content(asked)}
    assert len({request_content(one) for one in [asked, *shown]}) == 3
    assert question(request(view(["\ud800", "b", "c", "d"]))).by_content().random() >= 0


def test_characters_count_text_reasoning_and_arguments_after_the_shared_prefix() -> None:
    call = {"function": {"name": "find", "arguments": '{"q":1}'}}
    messages = (
        {"role": "user", "content": "shared"},
        {"role": "assistant", "content": [{"type": "text", "text": "four"}, {"type": "image_url"}], "reasoning": "why"},
        {"role": "assistant", "content": None, "tool_calls": [call, {"function": {"arguments": {"q": 1}}}]},
    )
    assert own_characters(Candidate((0,), messages, ()), 1) == 4 + 3 + len('{"q":1}') + len('{"q": 1}')


def test_shown_text_is_the_transcript_on_one_line_without_images() -> None:
    body = ("one ", Image("https://example.org/i.png"), "two\nthree")
    assert transcript_text(Candidate((0,), (), body)) == "one two three"


# --- hidden quality from gold ------------------------------------------------------------------------------------


def of_gold(*golds: list[float | None]) -> Callable[[str, str], float]:
    return gold_quality(
        [
            TrajectoryGroup(f"g{number}", tuple(Trajectory(f"t{n}", (), gold=gold) for n, gold in enumerate(row)))
            for number, row in enumerate(golds)
        ]
    )


def test_gold_is_stretched_over_all_groups() -> None:
    quality = of_gold([1, 3], [5, None])
    assert [quality("g0", "t0"), quality("g0", "t1"), quality("g1", "t0")] == [0.0, 0.5, 1.0]
    with pytest.raises(KeyError):
        quality("g1", "t1")


def test_gold_that_tells_nothing_is_refused() -> None:
    refused: list[tuple[list[float | None], str]] = [([None], "no trajectory has gold"), ([2.0, 2.0], "all gold is 2")]
    for golds, problem in refused:
        with pytest.raises(ConfigError, match=problem):
            of_gold(golds)


# --- the judge that tells how unsure it is -----------------------------------------------------------------------

DIGITS = dict(zip(IDS, (0.0, 0.35, 0.6, 1.0), strict=True))


def digits(**params: object) -> JudgeRequest:
    return ExpectedListwise(params=params).frame(Ask(0, (0, 1, 2, 3), (0, 1, 2, 3)), view())


async def test_the_likeliest_digit_is_written_and_the_odds_sum_to_one() -> None:
    answer = await HesitantJudge(DIGITS, doubt=0.1).complete(digits())
    assert list(json.loads(answer.text)["scores"].values()) == [0, 3, 5, 9]
    assert answer.logprobs is not None
    for place, alternatives in answer.logprobs:
        assert max(alternatives, key=lambda one: one[1])[0] == answer.text[place]
        assert math.fsum(math.exp(chance) for _, chance in alternatives) == pytest.approx(1, abs=1e-6)


async def test_odds_are_told_where_they_are_asked_for_and_can_be_and_other_questions_are_answered_as_usual() -> None:
    assert (await HesitantJudge(DIGITS, tells=False).complete(digits())).logprobs is None
    assert (await HesitantJudge(DIGITS).complete(digits(logprobs=False))).logprobs is None
    assert await scores(HesitantJudge(DIGITS), request()) == [0, 35, 60, 100]


# --- in the form that each protocol asks for, and the protocol reads it ------------------------------------------

THREE = {"good": 0.95, "fair": 0.55, "bad": 0.1}
GROUP = group_of({name: f"The answer {name} has words in it." for name in THREE})
CRITERIA = [
    {"id": "right", "text": "It is right.", "points": 2},
    {"id": "rude", "text": "It is rude.", "points": -1},
    {"id": "depth", "text": "It goes deep.", "points": 1},
]


async def rewards(judge: SimulatedJudge, **options: Any) -> list[float]:
    result = await calipers.Judge.of({"judge": judge, **options}).score_group(GROUP)
    assert result.status == "scored", [one.reason for one in result.trajectories]
    return [reward for reward in result.rewards if reward is not None]


@pytest.mark.parametrize("protocol", ["listwise", "pairwise", "pointwise"])
@pytest.mark.parametrize("expected", [False, True])
async def test_scores_and_digits_rank_as_the_quality_does(protocol: str, expected: bool) -> None:  # noqa: FBT001
    good, fair, bad = await rewards(SimulatedJudge(THREE), protocol=protocol, expected=expected)
    assert good >= fair >= bad


@pytest.mark.parametrize("mode", ["all", "per_criterion", "relative"])
@pytest.mark.parametrize("more", [{}, {"reasons": False}])
async def test_criteria_are_met_by_good_answers_and_faults_by_bad_ones(mode: str, more: dict[str, bool]) -> None:
    options = {"protocol": "checklist", "rubric": CRITERIA, "grading": {"mode": mode, **more}}
    good, fair, bad = await rewards(SimulatedJudge(THREE), **options)
    assert good >= fair > bad


async def test_each_criterion_has_errors_of_its_own() -> None:
    """A judge with one opinion for all criteria would find all of them met, or none."""
    judge = SimulatedJudge(dict.fromkeys(THREE, 0.5), Noise(0.2, per="candidate"))
    found = await rewards(judge, protocol="checklist", rubric=[f"It has {number}." for number in range(20)])
    assert all(0.1 < reward < 0.9 for reward in found)
