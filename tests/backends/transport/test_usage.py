"""What a server says a call took: every usual way to write it, and nothing made up where half of it is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.backends.transport.usage import reported_usage, usage_in, usage_of
from calipers.types import Usage
from groups import FOUR, group_of
from servers.faulty_server import Answer, Asked, FaultyServer, said

_NONE_OR_ODD: list[Any] = [None, -1, True, 10**15, "many", 1.5, [], {}, float("inf")]
_COUNTS = st.one_of(st.integers(0, 10**6), st.sampled_from(_NONE_OR_ODD))


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 12, "completion_tokens": 3},
        {"input_tokens": 12, "output_tokens": 3},
        {"prompt_tokens": None, "input_tokens": 12, "completion_tokens": 3},
        {"prompt_tokens": 12.0, "completion_tokens": 3.0},
        {"prompt_tokens": "12", "completion_tokens": "3"},
        {"prompt_tokens": 12, "total_tokens": 15},
        {"completion_tokens": 3, "total_tokens": 15},
        {"input_tokens": 2, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 6, "output_tokens": 3},
    ],
    ids=json.dumps,
)
def test_a_count_is_read_however_it_is_written(usage: Mapping[str, Any]) -> None:
    found = usage_of(usage)
    assert (found.input_tokens, found.output_tokens) == (12, 3)


@pytest.mark.parametrize("odd", _NONE_OR_ODD, ids=repr)
@pytest.mark.parametrize("half", ["prompt_tokens", "completion_tokens"])
def test_half_a_count_is_none_for_it_would_come_out_too_cheap(half: str, odd: object) -> None:
    usage: dict[str, object] = {"prompt_tokens": 12, "completion_tokens": 3, half: odd}
    assert reported_usage(usage) is None
    assert reported_usage({**usage, "cost": 0.5}) == Usage(cost_usd=0.5)
    del usage[half]
    assert reported_usage(usage) is None


@given(_COUNTS, _COUNTS, st.one_of(st.none(), _COUNTS))
def test_no_count_is_below_what_a_server_names(given_: Any, produced: Any, total: Any) -> None:
    found = reported_usage({"prompt_tokens": given_, "completion_tokens": produced, "total_tokens": total})
    if found is not None:
        named = [one for one in (given_, produced) if type(one) is int]
        assert sum((found.input_tokens, found.output_tokens)) >= sum(one for one in named if 0 <= one < 10**12)


def test_the_last_whole_count_of_a_body_that_broke_off_is_found() -> None:
    body = (
        b'data: {"usage": {"prompt_tokens": 12, "completion_tokens": 3}}\n\ndata: {"usage": {"prompt_tokens": '
        b'null}}\n\ndata: {"us'
    )
    assert usage_in(body) == Usage(12, 3)
    assert usage_in(b'{"usage": {"prompt_tokens": null, "completion_tokens": null}, "cho') is None


@pytest.mark.parametrize("usage", [{"prompt_tokens": None, "completion_tokens": None}, {"prompt_tokens": 12}], ids=str)
@pytest.mark.parametrize("text", ["", "scores"])
async def test_what_a_server_counted_by_half_has_no_known_cost(
    faulty: FaultyServer, usage: Mapping[str, Any], text: str
) -> None:
    def answer(asked: Asked) -> Answer:
        properties = asked.body["response_format"]["json_schema"]["schema"]["properties"]["scores"]["properties"]
        body = dict(said(text and json.dumps({"scores": dict.fromkeys(properties, 50)})).body)
        return Answer(body={**body, "usage": usage})

    faulty.script(answer)
    async with calipers.Judge(f"vllm/m@{faulty.url}", calls={"price": (1.0, 2.0)}) as judge:
        result = await judge.score_group(group_of(FOUR))
    assert result.status == ("scored" if text else "failed")
    assert result.usage.cost_usd is None
