"""What can be wrong with a judge: one that refuses every question is recognised after its first batch, and the remedy
is named.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError, PermanentError, TransientError
from calipers.types import TrajectoryGroup
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


# --- what is wrong is one sentence with the remedy, and where it can be known it costs no token ---

LISTED = Answer(body={"object": "list", "data": [{"id": "m", "object": "model"}]})
PAGE = Answer(200, b"<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>", {"Content-Type": "text/html"})
TLS = Answer(
    400, b"<html><body>The plain HTTP request was sent to HTTPS port</body></html>", {"Content-Type": "text/html"}
)


def vllm_at(url: str, **settings: Any) -> calipers.Judge:
    return calipers.Judge.of({"judge": "vllm/m", "base_url": url, "attempts": 1, **settings})


async def test_what_the_list_of_models_shows_is_said_before_a_question_is_asked(faulty: FaultyServer) -> None:
    cases: list[tuple[Answer, str]] = [
        (error(401, "no"), r"The key is not accepted: check VLLM_API_KEY \(it is not set\)"),
        (replace(PAGE, status=403), "A proxy or a firewall stands in between: check HTTP_PROXY"),
        (error(407, "no"), "A proxy or a firewall stands in between: check HTTP_PROXY"),
        (TLS, "should begin with https://"),
    ]
    for models, words in cases:
        faulty.get["/v1/models"] = models
        with pytest.raises(ConfigError, match=words):
            await vllm_at(faulty.url).check()
    faulty.get["/v1/models"] = error(401, "no")
    with pytest.raises(ConfigError, match="check the api_key that was given"):
        await vllm_at(faulty.url, api_key="k").check()
    with pytest.raises(ConfigError, match="start the server, or correct its address"):
        await vllm_at("http://127.0.0.1:9/v1").check()
    with pytest.raises(ConfigError, match="try an address that begins with http://"):
        await vllm_at(faulty.url.replace("http:", "https:")).check()
    assert faulty.posts == []


async def test_what_may_be_wrong_with_the_list_of_models_is_a_warning(faulty: FaultyServer) -> None:
    cases: list[tuple[Answer, list[str]]] = [
        (Answer(body={"object": "list", "data": [{"id": "another"}]}), ["does not list 'm'"]),
        (LISTED, []),
        (PAGE, ["a web page: Sign in"]),
    ]
    for models, words in cases:
        faulty.get["/v1/models"] = models
        warnings = list(await vllm_at(faulty.url).check())
        assert len(warnings) == len(words)
        assert all(word in warning for word, warning in zip(words, warnings, strict=True))
    assert faulty.posts == []


async def test_what_only_a_question_shows_is_every_trajectorys_reason_and_no_number(faulty: FaultyServer) -> None:
    faulty.get["/v1/models"] = LISTED
    cases: list[tuple[Answer, str]] = [
        (error(401, "no"), "check VLLM_API_KEY"),
        (replace(PAGE, status=403), "A proxy or a firewall stands in between"),
        (PAGE, "The answer is a web page: Sign in; check the base URL"),
        (TLS, "should begin with https://"),
        (error(404, "The model `m` does not exist"), "m is not available there .* The server offers m"),
        (Answer(302, b"", {"Location": "https://elsewhere/v1"}), "redirects to https://elsewhere/v1: use that"),
    ]
    own_key = calipers.Judge("vllm/m", base_url=faulty.url, calls={"headers": {"Authorization": "Bearer x"}})
    cases.append((error(401, "no"), "check the header Authorization"))
    for answer, words in cases:
        faulty.script(answer)
        judge = own_key if "header" in words else vllm_at(faulty.url)
        result = await judge.score_group(GROUPS[0])
        assert (result.status, set(result.rewards)) == ("failed", {None})
        (reason,) = {one.reason for one in result.trajectories}
        assert re.search(words, reason or ""), reason


async def test_a_model_that_takes_no_images_says_so_in_one_call(faulty: FaultyServer) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shown: TrajectoryGroup = replace(GROUPS[0], context=({"role": "user", "content": [image]},))
    refusals = [
        (400, "m is not a multimodal model"),
        (400, "At most 0 image(s) may be provided in one prompt."),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (400, "Failed to deserialize the JSON body: messages[1]: unknown variant `image_url`, expected `text`"),
    ]
    for number, (status, words) in enumerate(refusals, 1):
        faulty.script(error(status, words))
        result = await calipers.Judge("vllm/m", base_url=faulty.url).score_group(shown)  # with all its retries
        (reason,) = {one.reason for one in result.trajectories}
        assert (reason or "").startswith("m accepts no images, but this group has some: use a judge with vision")
        assert len(faulty.posts) == number


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
