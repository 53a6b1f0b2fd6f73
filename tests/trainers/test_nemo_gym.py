"""NeMo-Gym's ``/verify``, through its own server class and its own request and response models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.trainers import nemo_gym
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer


def body(text: str, *, task: int = 0, question: str = "Joke?", **more: Any) -> dict[str, Any]:
    """What an agent of NeMo-Gym posts when a rollout has ended."""
    item = {
        "id": "m", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        "prompt_token_ids": [1, 2], "generation_token_ids": [3], "generation_log_probs": [-0.1],
    }  # fmt: skip
    reply = {
        "id": "r", "object": "response", "created_at": 1, "model": "policy", "output": [item],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    asked = {"input": [{"role": "user", "content": question}]}
    return {"responses_create_params": asked, "response": reply, "_ng_task_index": task, "city": "Oslo", **more}


def test_a_row_is_read_by_task_and_prompt_without_what_is_for_training() -> None:
    rows = [body("x", task=task, question=q) for task, q in ((0, "a"), (0, "a"), (1, "a"), (0, "b"))]
    keys = [nemo_gym.group_key(row) for row in rows]
    assert (len(set(keys)), keys[0]) == (3, keys[1])
    row = body("x")
    row["responses_create_params"]["instructions"] = "Be brief."
    assert [message["role"] for message in nemo_gym.prompt_of(row)] == ["system", "user"]
    assert nemo_gym.prompt_of({"responses_create_params": {"input": "Hi"}}) == [{"role": "user", "content": "Hi"}]
    assert not nemo_gym._TRAINING & nemo_gym.items_for_judge(row["response"]["output"])[0].keys()


# --- inside NeMo-Gym --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Any:
    pytest.importorskip("nemo_gym", reason="NeMo-Gym is not here (.ci/engines)")
    httpx = pytest.importorskip("httpx")
    from nemo_gym.base_resources_server import BaseResourcesServerConfig  # noqa: PLC0415 - only where NeMo-Gym is
    from nemo_gym.server_utils import ServerClient  # noqa: PLC0415 - likewise

    return SimpleNamespace(httpx=httpx, Config=BaseResourcesServerConfig, Client=ServerClient)


async def verified(engine: Any, faulty: FaultyServer, bodies: Sequence[Any], **settings: Any) -> list[Any]:
    """The server's replies to requests that come at the same time."""
    server = nemo_gym.resources_server(judge_at(faulty, rubric="Only puns."), **{"group_size": 3, **settings})
    config = engine.Config(host="127.0.0.1", port=1, name="judge", entrypoint="app.py", domain="other")
    app = server(config=config, server_client=engine.Client.model_construct()).setup_webserver()
    transport = engine.httpx.ASGITransport(app=app)
    async with engine.httpx.AsyncClient(transport=transport, base_url="http://gym") as client:

        async def post(one: Any) -> Any:
            reply = await client.post("/verify", json=one, timeout=60)
            assert reply.status_code == 200, reply.text
            return reply.json()

        return await asyncio.gather(*map(post, bodies))


THREE = ("worth 20", "worth 90", "worth 55")


async def test_rollouts_of_a_prompt_wait_for_each_other_and_keep_what_they_came_with(
    engine: Any, faulty: FaultyServer
) -> None:
    faulty.script(worth())
    replies = await verified(engine, faulty, [body(text, task=task) for text in THREE for task in (0, 1)])
    assert [one["reward"] for one in replies] == [0.2, 0.2, 0.9, 0.9, 0.55, 0.55]
    assert {one["city"] for one in replies} == {"Oslo"}
    assert replies[0]["response"]["output"][0]["content"][0]["text"] == "worth 20"
    assert all("Only puns." in str(post["messages"]) for post in faulty.posts)


async def test_a_failed_judgment_or_a_lost_rollout_is_one_constant_for_the_whole_group(
    engine: Any, faulty: FaultyServer
) -> None:
    failures: list[dict[str, Any]] = [{"never": [55]}, {"down": "Joke?"}]
    for failing in failures:
        faulty.script(worth(**failing))
        replies = await verified(engine, faulty, [body(text) for text in THREE])
        assert [one["reward"] for one in replies] == [0.5] * 3
    asked = len(faulty.posts)
    replies = await verified(engine, faulty, [body(text) for text in THREE[:2]], deadline=0.2)
    assert ([one["reward"] for one in replies], len(faulty.posts)) == ([0.5] * 2, asked)


async def test_a_row_may_have_a_group_size_and_a_rubric_of_its_own(engine: Any, faulty: FaultyServer) -> None:
    faulty.script(worth())
    rows = [body(text, group_size=2, rubric="Only rhymes.") for text in THREE[:2]]
    assert [one["reward"] for one in await verified(engine, faulty, rows)] == [0.2, 0.9]
    assert "Only rhymes." in str(faulty.posts[0]["messages"])
    (alone,) = await verified(engine, faulty, [body("worth 20", group_size=1)])
    assert alone["reward"] == 0.5
