"""A judge that refuses every question is recognised after its first batch, and reported once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError, PermanentError, TransientError
from groups import FOUR, group_of
from http_judge import judge_at
from scripted import WHOLE, Replies
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, error, said

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is 17 + 25, for the {n}th time?") for n in range(4)]

REFUSALS = {
    "a model that is not there": error(404, "The model `judge` does not exist"),
    "a wrong key": error(401, "Incorrect API key provided"),
    "no access": error(403, "no access to this model"),
    "an address that is none": Answer(404, b"404 page not found", {"Content-Type": "text/plain"}),
    "a gateway's words for a model": error(400, "/chat/completions: Invalid model name passed in model=judge"),
    "a redirect": Answer(302, b"", {"Location": "/login"}),
}
PASSING = {
    "too many requests": error(429, "slow down", headers={"Retry-After": "0"}),
    "a used-up quota": error(429, "You exceeded your current quota", code="insufficient_quota"),
    "no credit": error(402, "Insufficient Balance"),
    "a server that is down": error(503, "overloaded"),
    "a question that is refused": error(400, "this question cannot be answered"),
    "a filter": error(403, "flagged by the moderation", code="content_filter"),
    "no answer": said("I would rather not say."),
}


async def batch(judge: calipers.Judge, groups: Sequence[Any] = GROUPS) -> list[calipers.GroupResult]:
    return [result async for result in judge.score_groups(groups, ordered=True)]


async def test_a_batch_of_nothing_but_refusals_is_a_config_error_and_its_groups_failed(
    faulty: FaultyServer,
) -> None:
    for refusal in REFUSALS.values():
        faulty.script(refusal)
        judge = judge_at(faulty, reasks=0)
        results = await batch(judge)
        assert {result.status for result in results} == {"failed"}  # score_group itself raises nothing
        asked = len(faulty.posts)
        for _ in range(2):
            with pytest.raises(ConfigError, match=r"every question was refused.*openai/judge.*Check the judge's name"):
                await judge.require_answering()
        assert len(faulty.posts) == asked


async def test_what_may_pass_or_is_about_the_question_ends_nothing(faulty: FaultyServer) -> None:
    for failure in PASSING.values():
        faulty.script(failure)
        judge = judge_at(faulty, reasks=0)
        for _ in range(2):
            assert {result.status for result in await batch(judge)} <= {"failed", "abstained"}
            await judge.require_answering()


async def test_one_answer_ever_is_enough(faulty: FaultyServer) -> None:
    """A key that is revoked in the middle of a run is patience's to find, and an alarm's."""
    faulty.script(lambda asked: said(verdict(asked)))
    judge = judge_at(faulty, reasks=0)
    await batch(judge, GROUPS[:1])
    faulty.script(REFUSALS["a wrong key"])
    assert {result.status for result in await batch(judge, GROUPS[1:])} == {"failed"}
    await judge.require_answering()


async def test_a_batch_with_one_failure_that_may_pass_is_none_of_refusals_and_the_next_one_may_be(
    faulty: FaultyServer,
) -> None:
    faulty.script(error(503), REFUSALS["a model that is not there"])
    judge = judge_at(faulty, reasks=0)
    await batch(judge)
    await judge.require_answering()
    await batch(judge)
    with pytest.raises(ConfigError):
        await judge.require_answering()


# --- backends of one's own, and panels ------------------------------------------------------------------------------


GONE = PermanentError("not_found", "no such model", fatal=True)
DOWN = TransientError("server", "out of order")


async def test_backends_of_ones_own_may_refuse_everything_too_and_each_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, other = Replies(GONE), Replies(PermanentError("unauthorized", "wrong key", fatal=True), model="b")
    for backends, words in ((one, "Replies: no such model"), ([one, other], r"no such model.*; Replies: wrong key")):
        one.requests.clear()
        judge = calipers.Judge(backends)
        await batch(judge, GROUPS[:1])
        with pytest.raises(ConfigError, match=words):
            await judge.require_answering()
        assert len(one.requests) == 1
    assert "judges without it" not in caplog.text


@pytest.mark.parametrize("other", [WHOLE, DOWN], ids=["answers", "is down"])
@pytest.mark.parametrize("panel", ["fallback", "cycle"])
async def test_a_panel_goes_on_without_a_member_that_refuses_and_says_so_once(
    panel: Any, other: str | TransientError, caplog: pytest.LogCaptureFixture
) -> None:
    judge = calipers.Judge([Replies(GONE), Replies(other, model="b")], panel=panel, orders=2)
    with caplog.at_level(logging.WARNING, "calipers"):
        for _ in range(3):
            await batch(judge)
            await judge.require_answering()
    assert [message for message in caplog.messages if "refuses every question" in message] == [
        "Replies refuses every question, and the panel judges without it: no such model"
    ]


# --- what a server lists --------------------------------------------------------------------------------------------

LISTED = Answer(body={"object": "list", "data": [{"id": "another"}]})


async def test_a_model_that_is_not_listed_is_a_warning_and_no_token_is_spent(faulty: FaultyServer) -> None:
    listed = Answer(body={"data": [{"id": "judge"}]})
    for answer, warned in ((LISTED, True), (listed, False)):
        faulty.get["/v1/models"] = answer
        warnings = await judge_at(faulty).check()
        assert any("does not list 'judge'" in warning for warning in warnings) is warned
    assert faulty.posts == []


@pytest.mark.parametrize(("path", "asked"), [("", False), ("/somewhere", True)])
async def test_an_address_that_ends_in_v1_is_not_told_to_end_in_v1(
    faulty: FaultyServer, path: str, *, asked: bool
) -> None:
    faulty.script(error(404, "no such model"))
    async with calipers.Judge(f"vllm/m@{faulty.url}{path}") as judge:
        await judge.score_group(group_of(FOUR))
        with pytest.raises(calipers.ConfigError) as caught:
            await judge.require_answering()
    assert ("ends in /v1" in str(caught.value)) is asked
    assert ".." not in str(caught.value)
