"""Engines' own requests: each route in its form, and through the engine's own client where its source is installed."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson
import pytest

from engine_source import folder_of, taken
from http_judge import worth
from served import Served, questions, served, until
from servers.cutting_proxy import CuttingProxy
from servers.faulty_server import FaultyServer, error

THREE = ("worth 20", "worth 90", "worth 55")
REWARDS = [0.2, 0.9, 0.55]


def openrlhf_body(text: str, prompt: str = "Joke? ", label: Any = "") -> dict[str, Any]:
    return {"query": [prompt + text], "prompts": [prompt], "labels": [label]}


def sample(text: str, prompt: str = "Joke?") -> dict[str, Any]:
    return {"prompt": prompt, "response": text, "label": "x"}


def gym_body(text: str, *, task: int = 0, **more: Any) -> dict[str, Any]:
    said = [{"type": "output_text", "text": text}]
    item = {"type": "message", "role": "assistant", "content": said, "generation_token_ids": [3]}
    asked = {"input": [{"role": "user", "content": "Joke?"}]}
    return {"responses_create_params": asked, "response": {"output": [item]}, "_ng_task_index": task, **more}


WAYS: dict[str, tuple[str, Callable[[str], Any], Callable[[Any], Any]]] = {
    "openrlhf": ("/openrlhf", openrlhf_body, lambda reply: reply["rewards"]),
    "slime": ("/slime/remote_rm", sample, lambda reply: reply),
    "nemo_gym": ("/verify", gym_body, lambda reply: reply["reward"]),
}


async def rewards(server: Served, engine: str, texts: Sequence[str], size: int | None = 3) -> list[float]:
    path, body, reward = WAYS[engine]
    query = "" if size is None else f"?group_size={size}"
    replies = await asyncio.gather(*(server.post(path + query, body(text)) for text in texts))
    assert {one.status for one in replies} == {200}, [one.text for one in replies]
    return [reward(one.body) for one in replies]


@pytest.mark.parametrize("engine", WAYS)
async def test_a_whole_group_is_judged_or_constant(faulty: FaultyServer, engine: str, caplog: pytest.LogCaptureFixture):
    faulty.script(worth(never=[7]))
    async with served(faulty, group_size=3) as server:
        assert await rewards(server, engine, THREE) == REWARDS
        assert await rewards(server, engine, THREE[::-1]) == REWARDS[::-1]
        assert await rewards(server, engine, ("worth 20", "worth 90", "worth 7"), None) == [0.5] * 3
        assert "1 of 3 rollouts could not be scored, so all get the same reward" in caplog.text
        if engine != "nemo_gym":  # which numbers its rollouts
            assert await rewards(server, engine, ("worth 20", "worth 20", "worth 90")) == [0.2, 0.2, 0.9]
        assert server.waiting == 0


@pytest.mark.parametrize("engine", WAYS)
async def test_a_lost_sibling_costs_all_rewards(faulty: FaultyServer, engine: str, caplog: pytest.LogCaptureFixture):
    async with served(faulty, wait=0.3) as server:
        assert await rewards(server, engine, THREE[:2]) == [0.5, 0.5]
        named = {"nemo_gym": "task 0, "}.get(engine, "") + "Joke?"
        assert f"group {named} is lost, so all get the same reward: too few members" in caplog.text
        assert await rewards(server, engine, THREE[2:]) == [0.5]  # late: it joins no other group
        assert faulty.posts == []
        await until(lambda: server.waiting == 0)


@pytest.mark.parametrize("text", [THREE[0], "worth 11"])
@pytest.mark.parametrize("engine", ["slime", "nemo_gym"])
async def test_a_rollout_takes_over_from_one_whose_caller_left(faulty: FaultyServer, engine: str, text: str):
    path, body, _ = WAYS[engine]
    async with served(faulty) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await server.post(f"{path}?group_size=3", body(text))
        await until(lambda: server.service.requests[path, 499] == 1)
        assert await rewards(server, engine, THREE) == REWARDS
        assert (questions(faulty), server.waiting) == (1, 0)


@pytest.mark.parametrize("engine", ["openrlhf", "nemo_gym"])
async def test_no_group_is_half_rewards_and_half_constants(faulty: FaultyServer, tmp_path: Path, engine: str):
    ledger = str(tmp_path / "l.db")
    async with served(faulty, ledger=ledger, wait=0.5) as server:
        assert await rewards(server, engine, THREE) == REWARDS
        assert await rewards(server, engine, THREE[1:]) == REWARDS[1:]  # sent, and never received
        assert await rewards(server, engine, ("worth 90", "worth 7")) == [0.5, 0.5]  # another group, which is lost
    async with served(faulty, ledger=ledger, wait=0.5) as server:
        assert await rewards(server, engine, THREE[:1]) == REWARDS[:1]  # after a kill
        assert questions(faulty) == 1


async def test_a_numbered_rollout_that_comes_again_is_the_same_one(faulty: FaultyServer):
    async with served(faulty) as server:
        bodies = [gym_body(text, _ng_rollout_index=number) for number, text in enumerate(THREE)]
        sent = [*bodies, bodies[0]]
        replies = await asyncio.gather(*(server.post("/verify?group_size=3", one) for one in sent))
        assert [one.body["reward"] for one in replies] == [*REWARDS, 0.2]
        again = await server.post("/verify?group_size=3", bodies[1])
        assert again.text == replies[1].text
        assert (again.body["judge_scored"], again.body["_ng_task_index"]) == (1.0, 0)
        assert questions(faulty) == 1
        assert "generation_token_ids" not in str(faulty.posts[0])


async def test_several_groups_in_one_request_of_openrlhf_and_a_session_of_nemo_gym(faulty: FaultyServer):
    async with served(faulty) as server:
        both = {name: [text + name for text in ("a worth 90", "a worth 20")] for name in ("", "!")}
        body = {"query": both[""] + both["!"], "prompts": ["a"] * 4, "labels": ["x", "x", "y", "y"]}
        assert (await server.post("/openrlhf?group_size=2", body)).body["rewards"] == [0.9, 0.2, 0.9, 0.2]
        assert (await server.post("/seed_session", {})).body == {}


async def test_without_a_size_and_in_another_form_it_is_refused_with_the_reason(faulty: FaultyServer):
    async with served(faulty) as server:
        for path, body, _ in WAYS.values():
            unknown = await server.post(path, body(THREE[0]))
            assert (unknown.status, "?group_size=N" in unknown.body["error"]) == (422, True)
            others: list[Any] = [{"query": [1]}, [], {"prompt": 3, "response": "x"}, {"query": ["a"], "prompts": []}]
            for wrong in others:
                assert (await server.post(f"{path}?group_size=2", wrong)).status == 422
            for query in ("group_size=0", "group_size=x", "group_size=", "group_size=2&run=a%20b"):
                assert (await server.post(f"{path}?{query}", body(THREE[0]))).status == 422


async def test_a_judge_that_refuses_every_question_ends_every_request(faulty: FaultyServer):
    faulty.script(error(404, "The model `judge` does not exist"))
    async with served(faulty) as server:
        for path, body, _ in WAYS.values():
            replies = await asyncio.gather(*(server.post(f"{path}?group_size=2", body(text)) for text in THREE[:2]))
            assert {(one.status, one.body["kind"]) for one in replies} == {(503, "judge")}
            assert "every question was refused" in replies[0].body["error"]
        assert server.waiting == 0
        faulty.script()  # the judge works again, but its run is over
        ready = await server.get("/readyz")
        assert (ready.status, "after a restart" in ready.body["reason"]) == (503, True)
        assert "after a restart" in (await server.post(f"{path}?group_size=2", body(THREE[0]))).body["error"]


# --- through the engines' own clients ---------------------------------------------------------------------------------

Ask = Callable[[str, str], Awaitable[Any]]
"""Asks the server at a URL for the reward of a text."""


def openrlhf_client(_: aiohttp.ClientSession) -> Ask:
    path, name = folder_of("openrlhf") / "utils" / "agent.py", "SingleTurnAgentExecutor._fetch_rewards_via_http"
    fetch = taken(path, name, aiohttp=aiohttp, asyncio=asyncio, logger=logging)._fetch_rewards_via_http

    async def ask(url: str, text: str) -> Any:
        urls = [f"{url}/openrlhf?group_size=3"]
        executor = SimpleNamespace(reward_endpoints=urls, _reward_endpoint_cycle=itertools.cycle(urls))
        (found,) = await fetch(executor, ["Joke? " + text], ["Joke? "], [""])
        return found["rewards"]

    return ask


def remote_rm_client(engine: str, session: aiohttp.ClientSession) -> Ask:
    """The client of slime, or of miles, which posts to the same route."""
    path = folder_of(engine) / "rollout" / "rm_hub" / "__init__.py"
    names = ("remote_rm", *(("_get_shared_session",) if engine == "slime" else ()))
    more = {"asyncio": asyncio, "aiohttp": aiohttp, "logger": logging, "random": random, "_shared_session": session}
    remote_rm = taken(path, *names, **more).remote_rm

    async def ask(url: str, text: str) -> Any:
        args = SimpleNamespace(rm_url=f"{url}/slime/remote_rm?group_size=3")
        return await remote_rm(args, SimpleNamespace(prompt="Joke?", response=text, label=None))

    return ask


def gym_client(session: aiohttp.ClientSession) -> Ask:
    found = taken(
        folder_of("nemo_gym") / "server_utils.py", "request", "raise_for_status", "get_response_json", orjson=orjson,
        asyncio=asyncio, time=time, get_global_aiohttp_client=lambda: session, MAX_NUM_TRIES=3,
        ClientOSError=aiohttp.ClientOSError,
        ServerDisconnectedError=aiohttp.ServerDisconnectedError, ClientResponseError=aiohttp.ClientResponseError,
        _GLOBAL_AIOHTTP_CLIENT_REQUEST_DEBUG=False, _NUM_SERVER_DISCONNECTED_ERROR=0, _NUM_CLIENT_OS_ERROR=0,
        DISCONNECTED_CLIENT_OS_PRINT_INTERVAL=100, DISCONNECTED_CLIENT_OS_HELP_TEXT="",
    )  # fmt: skip

    async def ask(url: str, text: str) -> Any:
        body = gym_body(text, _ng_rollout_index=THREE.index(text))
        reply = await found.request("POST", f"{url}/verify?group_size=3", json=body)
        await found.raise_for_status(reply)
        return (await found.get_response_json(reply))["reward"]

    return ask


CLIENTS: dict[str, Callable[[aiohttp.ClientSession], Ask]] = {
    "openrlhf": openrlhf_client,
    "slime": partial(remote_rm_client, "slime"),
    "miles": partial(remote_rm_client, "miles"),
    "nemo_gym": gym_client,
}


@pytest.fixture(params=CLIENTS)
async def own(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, Ask]]:
    """The engine's own client, and its name."""
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed (.ci/engines)")
    async with aiohttp.ClientSession() as session:
        yield request.param, CLIENTS[request.param](session)


async def test_the_engines_own_client_takes_the_replies(faulty: FaultyServer, own: tuple[str, Ask]):
    async with served(faulty) as server:
        assert await asyncio.gather(*(own[1](server.url, text) for text in THREE)) == REWARDS


async def test_the_engines_own_client_survives_cut_connections_and_nothing_is_judged_twice(
    faulty: FaultyServer, own: tuple[str, Ask]
):
    name, ask = own
    if name == "miles":
        pytest.skip("miles' client sends a request once; what is cut fails its rollout")
    async with served(faulty) as server, CuttingProxy(server.port) as proxy:
        first = [asyncio.ensure_future(ask(proxy.url, text)) for text in THREE[:2]]
        await until(lambda: server.service.in_flight == 2)
        proxy.cut()
        last = asyncio.ensure_future(ask(proxy.url, THREE[2]))
        assert await asyncio.gather(*first, last) == REWARDS
        assert questions(faulty) == 1
        assert server.waiting == 0
