"""A simulated judge says the truth, its vices apart, and always the same."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import IDS, request, scores, view
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.interfaces import Backend
from calipers.testing import (
    Bias,
    Coarse,
    Constant,
    Flaky,
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
)
from calipers.types import Candidate, JudgeRequest, RenderedGroup

QUALITY = dict(zip(IDS, (0.2, 0.4, 0.6, 0.8), strict=True))

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
    said = asyncio.run(scores(judge, request(order=order)))
    assert said == [round(100 * truth[item]) for item in order]


async def test_a_clean_reply_is_one_json_object_about_exactly_the_keys() -> None:
    asked = request(order=(2, 0, 3))
    completion = await SimulatedJudge(QUALITY).complete(asked)
    reply = json.loads(completion.text)
    assert list(reply["scores"]) == list(reply["explanations"]) == list(asked.keys)
    assert completion.finish_reason == "stop"
    assert completion.usage.input_tokens == len(str(asked.messages[0]["content"])) // 4 > 0
    assert completion.usage.output_tokens == len(completion.text) // 4 > 0


async def test_quality_may_be_a_function_of_group_and_trajectory() -> None:
    judge = SimulatedJudge(lambda group_id, trajectory_id: {("h", "a"): 0.1, ("h", "b"): 0.9}[group_id, trajectory_id])
    assert await scores(judge, request(view(ids="ab", group_id="h"))) == [10, 90]


async def test_identical_trajectories_have_the_quality_of_the_first() -> None:
    merged = RenderedGroup("g", IDS, "00", "|", (), (Candidate((2, 0), (), ()), Candidate((1, 3), (), ())))
    assert await scores(SimulatedJudge(QUALITY), request(merged)) == [60, 40]


async def test_anchors_are_scored_like_the_others() -> None:
    asked = request()
    anchored = replace(asked, ask=replace(asked.ask, members=(1,), anchors=((0, 0.9), (2, 0.1))))
    assert await scores(SimulatedJudge(QUALITY), anchored) == [20, 40, 60, 80]


async def test_the_same_settings_give_the_same_answers_in_any_order_of_arrival() -> None:
    asked = [request(view(group_id=f"g{number}"), sample=sample) for number in range(10) for sample in range(3)]
    first, second = SimulatedJudge(QUALITY, *ALL_VICES, seed=4), SimulatedJudge(QUALITY, *ALL_VICES, seed=4)
    forth = [await outcome(first, one) for one in asked]
    back = await asyncio.gather(*(outcome(second, one) for one in reversed(asked)))
    assert forth == back[::-1]
    assert len(set(forth)) > 10


async def test_another_seed_gives_other_answers() -> None:
    said = [await outcome(SimulatedJudge(QUALITY, Noise(0.1), seed=seed), request()) for seed in range(5)]
    assert len(set(said)) == 5


async def test_a_vice_draws_the_same_whatever_stands_beside_it() -> None:
    noisy = await scores(SimulatedJudge(QUALITY, Noise(0.05)), request())
    both = await scores(SimulatedJudge(QUALITY, Flaky(), Severity(offset=0.1), Noise(0.05)), request())
    assert [score - 10 for score in both] == noisy


async def test_two_noises_are_two() -> None:
    once, twice = SimulatedJudge(QUALITY, Noise(0.05)), SimulatedJudge(QUALITY, Noise(0.05), Noise(0.05))
    asked = [request(sample=sample) for sample in range(500)]

    async def spread(judge: SimulatedJudge) -> float:
        return statistics.stdev([(await scores(judge, one))[1] for one in asked])

    assert await spread(once) == pytest.approx(5, rel=0.13)  # four sigma of an sd from 500 draws
    assert await spread(twice) == pytest.approx(5 * 2**0.5, rel=0.13)


async def test_opinions_are_clipped_once_after_the_last_bias() -> None:
    judge = SimulatedJudge({"a": 0.9}, Severity(offset=0.5), Severity(offset=-0.5))
    assert await scores(judge, request(view(ids="a"))) == [90]
    assert await scores(SimulatedJudge({"a": 0.9}, Severity(offset=0.5)), request(view(ids="a"))) == [100]


async def test_biases_apply_in_the_order_given() -> None:
    fine = SimulatedJudge({"a": 0.6}, Coarse(2), Severity(offset=-0.3))
    coarse = SimulatedJudge({"a": 0.6}, Severity(offset=-0.3), Coarse(2))
    assert [await scores(fine, request(view(ids="a"))), await scores(coarse, request(view(ids="a")))] == [[70], [0]]


async def test_the_position_curve_can_be_found_again_from_replies() -> None:
    judge = SimulatedJudge(QUALITY, PositionBias(0.3), Noise(0.05), seed=2)
    generator = random.Random(0)
    residuals: list[list[float]] = [[], [], [], []]
    for sample in range(500):
        order = generator.sample(range(4), 4)
        said = await scores(judge, request(order=order, sample=sample))
        for place, (item, score) in enumerate(zip(order, said, strict=True)):
            residuals[place].append(score / 100 - list(QUALITY.values())[item])
    curve = [statistics.fmean(row) for row in residuals]
    assert curve == pytest.approx([0.15, 0.05, -0.05, -0.15], abs=4 * 0.05 / 500**0.5 + 0.001)


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


def test_judges_that_answer_differently_have_different_names() -> None:
    judges = [
        SimulatedJudge(QUALITY),
        SimulatedJudge(QUALITY, seed=1),
        SimulatedJudge(QUALITY | {"a": 0.3}),
        SimulatedJudge(QUALITY, Noise(0.1)),
        SimulatedJudge(QUALITY, Noise(0.2)),
        SimulatedJudge(QUALITY, PositionBias(0.1)),
        SimulatedJudge(QUALITY, PositionBias(0.1, curve=abs)),
        SimulatedJudge(QUALITY, Noise(0.1), PositionBias(0.1)),
        SimulatedJudge(QUALITY, PositionBias(0.1), Noise(0.1)),
    ]
    assert len({judge.model for judge in judges}) == len(judges)


def test_a_name_is_the_same_in_every_run_and_may_be_given() -> None:
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
    straight, swapped = request(order=(1, 2)), request(order=(2, 1))
    assert (await judge.complete(straight)).text == straight.keys[0]
    assert (await judge.complete(swapped)).text == swapped.keys[0]
