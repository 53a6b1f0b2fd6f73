"""Faults come at their stated rates, look like what they are called, and pass when asked again."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import IDS, near_share, request
from calipers.errors import TransientError
from calipers.testing import Flaky, SimulatedJudge, write_scores
from calipers.testing.faults import BREAKAGES
from calipers.testing.slips import honest_rows
from calipers.types import Completion, JudgeRequest

QUALITY = dict(zip(IDS, (0.2, 0.4, 0.6, 0.8), strict=True))
COUNT = 1500


async def reply(judge: SimulatedJudge, asked: JudgeRequest) -> Completion | TransientError:
    try:
        return await judge.complete(asked)
    except TransientError as error:
        return error


async def samples(flaky: Flaky, count: int) -> list[Any]:
    """The completions, or errors, for questions that differ in their sample number."""
    judge = SimulatedJudge(QUALITY, flaky)
    return [await reply(judge, request(sample=sample)) for sample in range(count)]


def scores_in(text: str) -> Any:
    """The pairs of the reply's scores, keys that come twice too."""
    return dict(json.loads(text, object_pairs_hook=list))["scores"]


def kind_of(answer: Completion | TransientError) -> str:
    """The fault an answer shows, told from the outside only."""
    if isinstance(answer, TransientError):
        return {"server": "server_error"}.get(answer.kind, answer.kind)
    if answer.finish_reason != "stop" or not answer.text:
        return {"stop": "empty", "length": "truncated", "refused": "refused"}[answer.finish_reason]
    try:
        keys = [key for key, _ in scores_in(answer.text)]
    except ValueError:
        return "malformed"
    if len(set(keys)) < len(keys):
        return "duplicate_ids"
    if set(keys) - set(request().keys):
        return "unknown_ids"
    return "clean" if len(keys) == len(request().keys) else "missing_ids"


async def test_every_fault_comes_at_its_rate() -> None:
    rates = {
        "malformed": 0.1, "missing_ids": 0.08, "duplicate_ids": 0.06, "unknown_ids": 0.05, "truncated": 0.1,
        "empty": 0.04, "refused": 0.03, "rate_limited": 0.1, "server_error": 0.05, "timeout": 0.02,
    }  # fmt: skip
    seen = Counter(kind_of(answer) for answer in await samples(Flaky(**rates), COUNT))
    expected = rates | {"clean": 1 - 0.63}
    assert set(seen) == set(expected)
    assert {kind: seen[kind] for kind, rate in expected.items() if not near_share(seen[kind], COUNT, rate)} == {}


async def test_one_rate_may_be_shared_evenly_among_all_faults() -> None:
    assert Flaky.evenly(0.5).rates() == dict.fromkeys(Flaky().rates(), pytest.approx(0.05))
    assert {kind_of(answer) for answer in await samples(Flaky(), 50)} == {"clean"}
    assert {kind_of(answer) for answer in await samples(Flaky.evenly(1.0), 50)}.isdisjoint({"clean"})


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_no_malformed_reply_parses(opinions: list[float]) -> None:
    rows = honest_rows([f"K{place}" for place in range(len(opinions))], opinions)
    for breakage in BREAKAGES:
        with pytest.raises(json.JSONDecodeError):
            json.loads(breakage(write_scores(rows, request())))


async def test_malformed_replies_are_broken_in_all_ways() -> None:
    assert len({answer.text for answer in await samples(Flaky(malformed=1), 100)}) == len(BREAKAGES)


async def test_what_is_left_of_a_reply_with_missing_ids_is_right() -> None:
    truth = dict(zip(request().keys, (20, 40, 60, 80), strict=True))
    replies = [json.loads(answer.text) for answer in await samples(Flaky(missing_ids=1), 100)]
    assert {len(one["scores"]) for one in replies} == {2, 3}
    assert all(one["scores"].items() < truth.items() for one in replies)
    assert all(list(one["explanations"]) == list(one["scores"]) for one in replies)


async def test_duplicates_contradict_each_other_on_the_scale() -> None:
    for answer in await samples(Flaky(duplicate_ids=1), 100):
        pairs = scores_in(answer.text)
        twice = [score for key, score in pairs if key == pairs[-1][0]]
        assert len(pairs) == 5
        assert abs(twice[0] - twice[1]) == 40
        assert all(0 <= score <= 100 for score in twice)


async def test_truncated_replies_are_true_beginnings_of_the_whole() -> None:
    whole = (await SimulatedJudge(QUALITY).complete(request())).text
    cut = [answer.text for answer in await samples(Flaky(truncated=1), 200)]
    assert all(whole.startswith(text) for text in cut)
    assert min(map(len, cut)) < 0.05 * len(whole)
    assert 0.95 * len(whole) < max(map(len, cut)) < len(whole)


async def test_a_refused_call_carries_the_wait_it_asks_for() -> None:
    (error,) = await samples(Flaky(rate_limited=1, retry_after=2.5), 1)
    assert error.retry_after == 2.5


async def test_the_same_question_asked_again_succeeds_as_often_as_any() -> None:
    judge = SimulatedJudge(QUALITY, Flaky.evenly(0.5))
    kinds = [kind_of(await reply(judge, request())) for _ in range(400)]
    assert near_share(kinds.count("clean"), 400, 0.5)


async def test_faults_do_not_depend_on_what_else_is_asked_or_when() -> None:
    alone, busy = SimulatedJudge(QUALITY, Flaky.evenly(0.5)), SimulatedJudge(QUALITY, Flaky.evenly(0.5))
    asked = [request(sample=sample) for sample in range(20)]
    forth = [kind_of(await reply(alone, one)) for _ in range(3) for one in asked]
    answers = [await asyncio.gather(*(reply(busy, one) for one in reversed(asked))) for _ in range(3)]
    assert forth == [kind_of(answer) for row in answers for answer in reversed(row)]


async def test_a_larger_token_limit_is_a_new_question_with_the_same_opinion() -> None:
    """So a reply that was cut and asked again with more room says what it would have said."""
    judge = SimulatedJudge(QUALITY, Flaky(truncated=0.5))
    answers = [await judge.complete(request(max_tokens=limit)) for limit in range(100, 140)]
    assert {kind_of(answer) for answer in answers} == {"clean", "truncated"}
    assert len({answer.text for answer in answers if kind_of(answer) == "clean"}) == 1
