"""The backends against ``transformers serve`` with random weights, in a process of its own (.ci/engines).

It refuses every field it does not know, takes a form and logprobs and ignores them, and answers decisions with any chat
model: a server that permits everything and promises nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import calipers
from backends.asking import question
from calipers.backends.providers.openai_compatible import OpenAICompatible
from groups import FOUR, group_of
from servers import tiny_transformer
from servers.own_process import free_port, own_process

_PROGRAM = Path(sys.executable).parent / "transformers"
HERE = _PROGRAM.exists() and all(find_spec(name) for name in ("torch", "fastapi", "uvicorn", "tokenizers"))
pytestmark = pytest.mark.skipif(not HERE, reason="transformers serve is not here (.ci/engines)")
GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is {n} + {n}?") for n in range(3)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The base URL, and the model's name there: its folder."""
    folder = tmp_path_factory.mktemp("served")
    model, port = str(tiny_transformer.build(folder / "tiny")), free_port()
    command = (str(_PROGRAM), "serve", model, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu")
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "HOME": str(folder)}
    with own_process(command, ready=f"http://127.0.0.1:{port}/health", log=folder / "log", env=env):
        yield f"http://127.0.0.1:{port}/v1", model


def _chat(served: tuple[str, str], **options: Any) -> OpenAICompatible:
    return OpenAICompatible(served[1], base_url=served[0], timeout=60.0, **options)


async def test_all_fields_it_does_not_know_are_left_out_and_that_is_remembered(served: tuple[str, str]) -> None:
    judge = _chat(served)
    odd = question(params={"top_k": 5, "no_such_parameter": 1, "seed": 3}, max_tokens=5)
    assert (await judge.complete(odd)).text
    assert judge.refused == {"top_k", "no_such_parameter"}


async def test_logprobs_are_asked_for_and_never_told(served: tuple[str, str]) -> None:
    asked = question(params={"logprobs": True, "top_logprobs": 20}, max_tokens=5)
    judge = _chat(served)
    assert (await judge.complete(asked)).logprobs is None
    assert judge.refused == frozenset()


async def test_any_chat_model_decides_there_and_tells_how_sure_it_is(served: tuple[str, str]) -> None:
    judge = calipers.Judge(f"systemone/{served[1]}", base_url=served[0], concurrency=1)
    results = [await judge.score_group(group) for group in GROUPS]
    assert {result.status for result in results} == {"scored"}
    for result in results:
        assert len(set(result.rewards)) > 1
        assert all(0 < (one.stderr or 0) <= 0.5 for one in result.trajectories)
