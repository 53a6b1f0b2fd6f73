"""What can be wrong with a judge is one sentence with the remedy, and where it can be known it costs no token."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.types import TrajectoryGroup
from groups import FOUR, group_of
from servers.faulty_server import Answer, FaultyServer, error

GROUP = group_of(FOUR)
LISTED = Answer(body={"object": "list", "data": [{"id": "m", "object": "model"}]})
PAGE = Answer(200, b"<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>", {"Content-Type": "text/html"})
TLS = Answer(
    400, b"<html><body>The plain HTTP request was sent to HTTPS port</body></html>", {"Content-Type": "text/html"}
)


def judge_at(url: str, **settings: Any) -> calipers.Judge:
    return calipers.Judge.of({"judge": "vllm/m", "base_url": url, "attempts": 1, **settings})


async def test_what_the_list_of_models_shows_is_said_before_a_question_is_asked(faulty: FaultyServer) -> None:
    cases: list[tuple[Answer, str]] = [
        (error(401, "no"), "does not accept the key: check VLLM_API_KEY"),
        (replace(PAGE, status=403), "A proxy or a firewall stands in between: check HTTP_PROXY"),
        (replace(PAGE, status=407), "A proxy or a firewall stands in between: check HTTP_PROXY"),
        (TLS, "should begin with https://"),
    ]
    for models, words in cases:
        faulty.get["/v1/models"] = models
        with pytest.raises(ConfigError, match=words):
            await judge_at(faulty.url).check()
    with pytest.raises(ConfigError, match="is the server running, and is this its address"):
        await judge_at("http://127.0.0.1:9/v1").check()
    with pytest.raises(ConfigError, match="should the address begin with http://"):
        await judge_at(faulty.url.replace("http:", "https:")).check()
    assert faulty.posts == []


async def test_a_web_page_for_a_list_of_models_is_a_warning_that_names_it(faulty: FaultyServer) -> None:
    faulty.get["/v1/models"] = PAGE
    (warning,) = await judge_at(faulty.url).check()
    assert "a web page: Sign in" in warning


async def test_what_only_a_question_shows_is_every_trajectorys_reason_and_no_number(faulty: FaultyServer) -> None:
    faulty.get["/v1/models"] = LISTED
    cases: list[tuple[Answer, str]] = [
        (error(401, "no"), "check VLLM_API_KEY"),
        (replace(PAGE, status=403), "A proxy or a firewall stands in between"),
        (PAGE, "The answer is a web page: Sign in; is the base URL right, and no proxy in between"),
        (TLS, "should begin with https://"),
        (error(404, "The model `m` does not exist"), "m is not available there .* The server offers m"),
        (Answer(302, b"", {"Location": "https://elsewhere/v1"}), "redirects to https://elsewhere/v1: use that"),
    ]
    for answer, words in cases:
        faulty.script(answer)
        result = await judge_at(faulty.url).score_group(GROUP)
        assert (result.status, set(result.rewards)) == ("failed", {None})
        (reason,) = {one.reason for one in result.trajectories}
        assert re.search(words, reason or ""), reason


async def test_a_model_that_takes_no_images_says_so_in_one_call(faulty: FaultyServer) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shown: TrajectoryGroup = replace(GROUP, context=({"role": "user", "content": [image]},))
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
