"""A server's own gauges, as vLLM, SGLang and llama.cpp document them: read where they are, and never a failure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.limits.pool import Pool
from calipers.backends.providers.openai_compatible import OpenAICompatible
from calipers.backends.transport.gauges import load_in
from servers.faulty_server import Answer, FaultyServer

VLLM = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="qwen"} 6.0
vllm:num_requests_running{engine="1",model_name="qwen"} 5.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="qwen"} 3.0
vllm:num_requests_waiting{engine="1",model_name="qwen"} 1.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="qwen",reason="capacity"} 99.0
vllm:kv_cache_usage_perc{engine="0",model_name="qwen"} 0.25
"""
SGLANG = """\
sglang:num_running_reqs{engine_type="unified",model_name="q",pp_rank="0",tp_rank="0"} 7.0
sglang:num_running_reqs{engine_type="unified",model_name="q",pp_rank="0",tp_rank="1"} 7.0
sglang:num_queue_reqs{engine_type="unified",model_name="q",pp_rank="0",tp_rank="0"} 2.0
sglang:num_queue_reqs{engine_type="unified",model_name="q",pp_rank="0",tp_rank="1"} 2.0
"""
LLAMA_CPP = "llamacpp:requests_processing 4\nllamacpp:requests_deferred 9\n"


@pytest.mark.parametrize(
    ("text", "load"),
    [
        (VLLM, (4, 11)),
        (SGLANG, (2, 7)),
        (LLAMA_CPP, (9, 4)),
        ("", None),
        ("vllm:num_requests_waiting 3\n", None),
        ("vllm:num_requests_waiting NaN\nvllm:num_requests_running 1\n", None),
        ("vllm:num_requests_waiting -1\nvllm:num_requests_running 1\n", None),
        ("vllm:num_requests_waiting 1e999\nvllm:num_requests_running 1\n", None),
        ("<html>vllm:num_requests_waiting 3</html>", None),
        ("other_requests 3\n", None),
    ],
)
def test_waiting_and_running_are_read_or_unknown(text: str, load: tuple[float, float] | None):
    assert load_in(text) == load


@given(st.text(alphabet='vlm:_{}="\\ 0123456789.\neE+-', max_size=300))
def test_nothing_that_a_page_says_raises(text: str):
    load_in(VLLM + "vllm:num_requests_waiting" + text)


def serves(faulty: FaultyServer, owner: str, text: str, *, status: int = 200) -> OpenAICompatible:
    """A backend whose server states this owner of its models, and has this metrics page."""
    faulty.get["/v1/models"] = Answer(body={"object": "list", "data": [{"id": "judge", "owned_by": owner}]})
    faulty.get["/metrics"] = Answer(status, text.encode())
    return OpenAICompatible("judge", base_url=faulty.url)


def paths(faulty: FaultyServer) -> list[str]:
    return [asked.path for asked in faulty.asked]


async def test_the_page_beside_the_api_is_read(faulty: FaultyServer):
    backend = serves(faulty, "vllm", VLLM)
    assert [await backend.server_load() for _ in range(2)] == [(4, 11)] * 2
    assert paths(faulty) == ["/v1/models", "/metrics", "/metrics"]
    assert await Pool([backend]).server_load() == (4, 11)
    await backend.aclose()


@pytest.mark.parametrize("status", [404, 401, 501])
async def test_a_server_without_the_page_is_asked_once(faulty: FaultyServer, status: int):
    backend = serves(faulty, "llamacpp", "", status=status)
    assert [await backend.server_load() for _ in range(3)] == [None] * 3
    assert paths(faulty) == ["/v1/models", "/metrics"]
    assert await Pool([backend]).server_load() is None
    await backend.aclose()


async def test_a_server_of_another_kind_is_not_asked_for_metrics(faulty: FaultyServer):
    backend = serves(faulty, "openai", VLLM)
    assert [await backend.server_load() for _ in range(3)] == [None] * 3
    assert paths(faulty) == ["/v1/models"]
    await backend.aclose()


async def test_a_page_that_fails_for_a_moment_is_asked_again_and_at_last_no_more(faulty: FaultyServer):
    backend = serves(faulty, "sglang", "", status=503)
    assert await backend.server_load() is None
    faulty.get["/metrics"] = Answer(body=SGLANG.encode())
    assert await backend.server_load() == (2, 7)
    faulty.get["/metrics"] = Answer(503)
    for _ in range(5):
        assert await backend.server_load() is None
    assert paths(faulty).count("/metrics") == 5
    await backend.aclose()
