from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InputError
from calipers.inputs.plain import MAX_DEPTH, compact_json, is_encodable, plain_data, without_nan, without_surrogates

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
any_text = st.text(st.characters(), max_size=20)  # surrogates included


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass
class Block:
    type: str
    text: str


class Model:
    """Has what pydantic models have."""

    def model_dump(self, *, warnings: bool = True) -> dict[str, Any]:
        assert warnings is False
        return {"role": "user", "content": (Block("text", "hi"),)}


@given(json_like)
def test_plain_data_stays_as_it_is_but_for_numbers_that_json_has_not(value: Any) -> None:
    assert plain_data(value) == without_nan(value)


def test_models_dataclasses_bags_arrays_and_enums_become_their_data() -> None:
    value = {
        "model": Model(),
        "bag": SimpleNamespace(role="user", _hidden=1),
        "array": np.array([1.5, 2.5]),
        "number": np.int64(3),
        "colour": Colour.RED,
        "when": dt.date(2026, 1, 2),
        "bytes": b"\x00",
    }
    assert plain_data(value) == {
        "model": {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        "bag": {"role": "user"},
        "array": [1.5, 2.5],
        "number": 3,
        "colour": "red",
        "when": "2026-01-02",
        "bytes": "AA==",
    }


def test_a_class_in_place_of_an_instance_is_named() -> None:
    with pytest.raises(InputError, match="is the class Block, not an instance"):
        plain_data([Block])


def test_compact_json_keeps_key_order_and_characters() -> None:
    assert compact_json({"b": 1, "a": "ü"}) == '{"b":1,"a":"ü"}'


@given(st.dictionaries(any_text, st.lists(any_text, max_size=3), max_size=3))
def test_mended_data_can_be_written_as_utf8(value: dict[str, list[str]]) -> None:
    json.dumps(without_surrogates(value), ensure_ascii=False).encode()


@given(any_text)
def test_mending_changes_only_what_is_unsound(text: str) -> None:
    assert (without_surrogates(text) == text) is is_encodable(text)


def test_finite_leaves_no_number_that_json_lacks() -> None:
    assert without_nan({"a": [float("nan"), 1.0], "b": float("-inf")}) == {"a": [None, 1.0], "b": None}


@pytest.mark.parametrize("read", [plain_data, without_nan])
@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}], ids=["lists", "objects"])
def test_as_many_levels_as_the_error_says_are_read_and_no_more(read: Any, wrap: Any) -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = wrap(value)
    assert read(value) == value
    with pytest.raises(InputError, match=f"is nested more than {MAX_DEPTH} levels deep"):
        read(wrap(value))
