"""The backends against ``transformers serve`` with random weights, in a process of its own (.ci/engines).

It refuses every field it does not know, takes a form and logprobs and ignores them, and answers decisions with any chat
model: a server that permits everything and promises nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import calipers
from backends.asking import KEYS, question
from calipers.backends.providers.decisions import Decisions
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import PermanentError
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


async def test_a_stream_is_read_as_a_whole(served: tuple[str, str]) -> None:
    streaming = _chat(served, refused={"unstreamed"})
    completion = await streaming.complete(question(max_tokens=8))
    assert completion.text
    assert completion.finish_reason == "length"
    assert streaming.refused == {"unstreamed"}


async def test_a_form_that_is_ignored_makes_no_number(served: tuple[str, str]) -> None:
    judge = calipers.Judge(
        f"vllm/{served[1]}", base_url=served[0], calls={"max_tokens": 40}, concurrency=1, question={"reasks": 1}
    )
    results = [await judge.score_group(group) for group in GROUPS]
    assert {result.status for result in results} == {"abstained"}
    assert {reward for result in results for reward in result.rewards} == {None}
    assert all(result.usage.output_tokens > 0 for result in results)


async def test_logprobs_are_asked_for_and_never_told(served: tuple[str, str]) -> None:
    asked = question(params={"logprobs": True, "top_logprobs": 20}, max_tokens=5)
    judge = _chat(served)
    assert (await judge.complete(asked)).logprobs is None
    assert judge.refused == frozenset()


async def test_another_model_is_not_to_be_had_and_is_not_asked_for_again(served: tuple[str, str]) -> None:
    with pytest.raises(PermanentError, match="pinned") as caught:
        await OpenAICompatible("other", base_url=served[0]).complete(question())
    assert (caught.value.kind, caught.value.fatal) == ("not_found", True)


async def test_any_chat_model_decides_there_and_tells_how_sure_it_is(served: tuple[str, str]) -> None:
    judge = calipers.Judge(f"systemone/{served[1]}", base_url=served[0], concurrency=1)
    results = [await judge.score_group(group) for group in GROUPS]
    assert {result.status for result in results} == {"scored"}
    for result in results:
        assert len(set(result.rewards)) > 1
        assert all(0 < (one.stderr or 0) <= 0.5 for one in result.trajectories)


async def test_a_decision_is_asked_without_the_parameters_that_are_refused(served: tuple[str, str]) -> None:
    judge = Decisions(served[1], base_url=served[0])
    completion = await judge.complete(question(params={"no_such_parameter": 1}))
    assert json.loads(completion.text)["scores"].keys() == set(KEYS)
    assert judge.refused == {"no_such_parameter"}
