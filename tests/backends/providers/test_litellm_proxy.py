"""The chat backend against LiteLLM's proxy, with llama.cpp and random weights behind it (.ci/engines).

A gateway hides an upstream's status and words in its own: what was understood of the server must be understood through
it.
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
from backends.asking import question
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.errors import PermanentError
from groups import FOUR, group_of
from servers.own_process import free_port, own_process

_PROGRAM = Path(sys.executable).parent / "litellm"
HERE = _PROGRAM.exists() and all(find_spec(name) for name in ("fastapi", "uvicorn", "yaml", "xllamacpp"))
pytestmark = pytest.mark.skipif(not HERE, reason="LiteLLM's proxy is not here (.ci/engines)")
KEY = "sk-a-test-of-ours"
GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"What is {n} + {n}?") for n in range(10)]


@pytest.fixture(scope="module")
def proxy(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The proxy's base URL; ``tiny`` is the model there."""
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    behind = {"model": "openai/tiny", "api_base": llama, "api_key": "none"}
    settings = {"model_list": [{"model_name": "tiny", "litellm_params": behind}]}
    (folder / "config.yaml").write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    command = (str(_PROGRAM), "--config", str(folder / "config.yaml"), "--host", "127.0.0.1", "--port", str(port))
    own = {"LITELLM_MASTER_KEY": KEY, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": str(folder)}
    env = {**os.environ, **own, "NO_PROXY": "127.0.0.1,localhost"}
    with own_process(command, ready=f"http://127.0.0.1:{port}/health/liveliness", log=folder / "log", env=env):
        yield f"http://127.0.0.1:{port}/v1"


def _judge(url: str, **options: Any) -> OpenAICompatible:
    return OpenAICompatible("tiny", **{"base_url": url, "api_key": KEY, "timeout": 60.0, **options})


async def test_the_schema_reaches_the_server_behind_it_and_every_group_is_scored(proxy: str) -> None:
    judge = calipers.Judge("openai/tiny", base_url=proxy, api_key=KEY, concurrency=4, question={"reasks": 0})
    results = [result async for result in judge.score_groups(GROUPS)]
    assert [result.status for result in results] == ["scored"] * len(GROUPS)
    assert all(result.usage.input_tokens > 100 for result in results)


async def test_a_question_too_long_for_the_server_behind_it_is_told_as_that(proxy: str) -> None:
    with pytest.raises(PermanentError) as caught:
        await _judge(proxy).complete(question("Which of them is better? " * 2000))
    assert caught.value.kind == "context_window"


async def test_a_schema_the_server_behind_it_cannot_read_steps_down(proxy: str) -> None:
    judge = _judge(proxy)
    assert await judge.complete(question(schema={"type": "no such type"}, params={"seed": 3}, max_tokens=50))
    assert judge.refused == {"json_schema"}


async def test_probabilities_come_through(proxy: str) -> None:
    asked = question(params={"logprobs": True, "top_logprobs": 5, "seed": 2})
    completion = await _judge(proxy).complete(asked)
    assert completion.logprobs
    for place, alternatives in completion.logprobs:
        assert any(completion.text.startswith(token, place) for token, _ in alternatives)


async def test_the_check_finds_its_model_misses_another_and_refuses_a_wrong_key(proxy: str) -> None:
    assert list(await _judge(proxy).check()) == []
    (warning,) = await OpenAICompatible("other", base_url=proxy, api_key=KEY).check()
    assert "does not list 'other' among its models (tiny)" in warning
    with pytest.raises(calipers.ConfigError, match="The key is not accepted"):
        await _judge(proxy, api_key="sk-wrong-wrong").check()
