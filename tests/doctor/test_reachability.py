"""What a list of models tells, whatever it holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.transport.reply import HttpReply
from calipers.doctor.reachability import model_rows, window_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["data", "id", "meta", "n_ctx"]), inner)
    ),
    max_leaves=12,
)


@given(JSON, st.text(max_size=5))
def test_any_list_is_read_to_rows_with_names_and_a_window_that_can_be_one(body: Any, model: str):
    rows = model_rows(HttpReply(200, {}, json.dumps(body).encode()))
    assert rows is None or all(isinstance(row["id"], str) for row in rows)
    window = window_of(rows or [], model)
    assert window is None or window > 0


@given(st.binary(max_size=30))
def test_bytes_that_are_no_list_are_none_or_rows(body: bytes):
    assert model_rows(HttpReply(200, {}, body)) in (None, [])


@pytest.mark.parametrize(
    "row",
    [
        {"id": "m", "max_model_len": 4096},  # vLLM
        {"id": "m", "context_window": 4096},  # Groq
        {"id": "m", "context_length": 4096},  # OpenRouter
        {"id": "m", "max_context_length": 4096},  # Mistral
        {"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 8192}},  # llama.cpp
    ],
)
def test_each_server_tells_its_window_in_its_own_words(row: dict[str, Any]):
    assert window_of([{"id": "other", "max_model_len": 1}, row], "m") == 4096
    assert window_of([row], "any name") == 4096
    assert window_of([row, {"id": "n"}], "any name") is None


def test_an_error_lists_nothing():
    assert model_rows(HttpReply(404, {}, b'{"data": [{"id": "m"}]}')) is None
