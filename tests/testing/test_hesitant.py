"""The simulated judge that tells how unsure it is."""

from __future__ import annotations

import json
import math

import pytest

from asking import request, view
from calipers.errors import ConfigError
from calipers.protocols.expected import ExpectedListwise
from calipers.testing import HesitantJudge
from calipers.types import Ask, JudgeRequest

QUALITY = {"a": 0.0, "b": 0.35, "c": 0.6, "d": 1.0}


def digits(**params: object) -> JudgeRequest:
    return ExpectedListwise(params=params).frame(Ask(0, (0, 1, 2, 3), (0, 1, 2, 3)), view())


async def test_the_likeliest_digit_is_written_and_the_odds_sum_to_one() -> None:
    asked = digits()
    answer = await HesitantJudge(QUALITY, doubt=0.1).complete(asked)
    assert list(json.loads(answer.text)["scores"].values()) == [0, 3, 5, 9]
    assert answer.logprobs is not None
    for place, alternatives in answer.logprobs:
        assert max(alternatives, key=lambda one: one[1])[0] == answer.text[place]
        assert math.fsum(math.exp(chance) for _, chance in alternatives) == pytest.approx(1, abs=1e-6)


async def test_it_tells_where_it_is_asked_and_where_it_can() -> None:
    assert (await HesitantJudge(QUALITY, tells=False).complete(digits())).logprobs is None
    assert (await HesitantJudge(QUALITY).complete(digits(logprobs=False))).logprobs is None


async def test_other_questions_are_answered_as_by_any_simulated_judge() -> None:
    scores = json.loads((await HesitantJudge(QUALITY).complete(request())).text)["scores"]
    assert list(scores.values()) == [0, 35, 60, 100]


def test_no_doubt_at_all_is_no_hesitant_judge() -> None:
    with pytest.raises(ConfigError, match="above 0"):
        HesitantJudge(QUALITY, doubt=0)


def test_judges_of_different_doubt_do_not_share_answers() -> None:
    assert len({HesitantJudge(QUALITY, doubt=doubt).model for doubt in (0.1, 0.2)}) == 2
