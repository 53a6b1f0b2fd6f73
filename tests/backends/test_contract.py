"""What every backend owes its caller. Every API of a registered provider is in ``BACKENDS``; others are added there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

import pytest

from backends.asking import at_once, question
from calipers.backends.embedded import Embedded
from calipers.backends.limits.limited import Limited
from calipers.backends.providers.known import PROVIDERS, Provider
from calipers.backends.providers.litellm import LiteLLM
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.backends.providers.scripted import Scripted
from calipers.errors import BackendError
from calipers.interfaces import Backend
from calipers.registry import load_object
from calipers.types import Completion
from servers.faulty_server import Answer, FaultyServer, error, said

_LONG = 100.0
"""Seconds; on however busy a machine, a loopback server answers sooner."""
_SHORT = 1.0
"""For a server that never answers."""


def _chat(server: FaultyServer, seconds: float) -> OpenAICompatible:
    return OpenAICompatible("m", base_url=server.url, timeout=seconds)


def _streaming(server: FaultyServer, seconds: float) -> OpenAICompatible:
    return OpenAICompatible("m", base_url=server.url, timeout=seconds, refused=["unstreamed"])


def _litellm(server: FaultyServer, seconds: float) -> Backend:
    pytest.importorskip("litellm", reason="LiteLLM is not installed: pip install 'calipers[litellm]'")
    # Its first call imports what it needs for that, which takes longer than the others' timeout.
    return LiteLLM("custom_openai/m", base_url=server.url, api_key="k", timeout=max(5.0, seconds))


def _provider(provider: Provider, server: FaultyServer, seconds: float) -> Backend:
    made: Backend = load_object(provider.backend)(
        "m", base_url=server.url, api_key="k", timeout=seconds, api_key_env=provider.key, **provider.options
    )
    return made


_APIS = {provider.backend: name for name, provider in sorted(PROVIDERS.items(), reverse=True)}
"""One provider for each API."""

BACKENDS: dict[str, Callable[[FaultyServer, float], Backend]] = {
    **{name: partial(_provider, PROVIDERS[name]) for name in sorted(_APIS.values())},
    "embedded": lambda *_: Embedded(),
    "openai_compatible": _chat,
    "openai_compatible, streaming": _streaming,
    "litellm": _litellm,
    "scripted": lambda *_: Scripted([{"text": "said", "group_id": "g1"}]),
    "limits": lambda server, seconds: Limited(_chat(server, seconds), concurrency=3, attempts=2, sleep=at_once),
}

_LENIENT = {"litellm": pytest.mark.filterwarnings("default")}


@pytest.fixture(params=[pytest.param(name, marks=_LENIENT.get(name, ())) for name in BACKENDS])
def make(request: pytest.FixtureRequest, faulty: FaultyServer) -> Callable[[float], Backend]:
    return partial(BACKENDS[request.param], faulty)


@pytest.fixture
def backend(make: Callable[[float], Backend]) -> Backend:
    return make(_LONG)


async def _many(backend: Backend) -> list[Completion]:
    return await asyncio.gather(*(backend.complete(question()) for _ in range(10)))


async def test_it_says_what_it_is_and_answers(backend: Backend) -> None:
    assert backend.endpoint
    assert backend.model
    for completion in await _many(backend):
        assert completion.text
        assert completion.finish_reason == "stop"
        assert completion.attempts == 1
        assert completion.latency >= 0


def test_it_serves_several_loops_in_turn_andat_once(backend: Backend) -> None:
    for _ in range(2):
        assert len(asyncio.run(_many(backend))) == 10
    answered: list[int] = []
    threads = [threading.Thread(target=lambda: answered.append(len(asyncio.run(_many(backend))))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answered == [10, 10, 10]


def test_it_leaves_no_task_and_no_connection_behind(backend: Backend, faulty: FaultyServer) -> None:
    if isinstance(backend, LiteLLM):
        pytest.skip("LiteLLM leaves logging tasks of its own to the loop's end")

    async def ask_and_count_tasks() -> int:
        await _many(backend)
        return len(asyncio.all_tasks())

    assert asyncio.run(ask_and_count_tasks()) == 1
    assert not faulty.asked or faulty.idle.wait(10)


_BROKEN = (
    error(400), error(401), error(404), error(429), error(500), Answer(301), Answer(body=b"{"),
    Answer(body=b"x" * 9, cut=1), Answer(reset=True), Answer(hang=True), Answer(raw=b"\x00\xff\r\n\r\n"), said(""),
    said("no", refusal="no"), Answer(body={"choices": [{"message": {"content": {"odd": 1}}}]}),
    Answer(body=b"\xff", headers={"Content-Encoding": "br"}),
)  # fmt: skip


async def test_only_backend_errors_come_out(make: Callable[[float], Backend], faulty: FaultyServer) -> None:
    for answer in _BROKEN:
        faulty.script(answer)
        backend = make(_SHORT if answer.hang else _LONG)
        (result,) = await asyncio.gather(backend.complete(question(group_id="another")), return_exceptions=True)
        if isinstance(result, BackendError):
            assert str(result)
            assert result.kind != "internal"
        else:
            assert isinstance(result, Completion)  # a judge without a server has nothing to fail at
            assert not faulty.asked


async def test_it_can_be_cancelled_and_used_again(backend: Backend, faulty: FaultyServer) -> None:
    faulty.script(Answer(hang=True), said())
    task = asyncio.create_task(backend.complete(question()))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    faulty.script(said())
    assert (await backend.complete(question())).text
