import json
import math
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.types.encoding import (
    EncodedDict,
    as_sentence,
    counted,
    require_small_when_decoded,
    to_json,
    to_json_text,
    with_remark,
)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(values)
def test_what_is_kept_reads_back_as_it_was(value: object):
    assert json.loads(to_json_text(value)) == value


@given(st.text(st.characters(codec="utf-8")) | st.lists(st.integers()))
def test_what_utf8_can_spell_is_sent_as_it_is_json_text(value: object):
    assert to_json(value).decode() == to_json_text(value)


def test_half_a_surrogate_pair_is_kept_escaped_and_sent_replaced_where_that_was_asked():
    assert to_json_text(["\ud800"]) == '["\\ud800"]'
    assert to_json(["\ud800"], lone="replace") == b'["?"]'
    with pytest.raises(UnicodeEncodeError):
        to_json(["\ud800"])


def test_what_is_written_already_is_taken_as_it_is():
    assert (
        to_json({"schema": EncodedDict({"a": 1}, '{"a": 1}'), "rest": [EncodedDict({})]})
        == b'{"schema":{"a": 1},"rest":[{}]}'
    )


class Three(IntEnum):
    THREE = 3


class Red(str, Enum):  # noqa: UP042 - what libraries for older Pythons have
    RED = "red"


class Pair(NamedTuple):
    one: int
    other: Three


class Row(list[object]):
    pass


class Word(str):
    """Text of a subclass, as some libraries return it."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"


def test_kinds_of_lists_numbers_text_and_mappings_are_what_they_stand_for():
    lists: Any = {"p": Pair(1, Three.THREE), "r": Row([Pair(1, Three.THREE), "x"]), "t": (1, "y")}
    others: Any = {"n": Three.THREE, "s": Red.RED, "x": np.float64(0.5), "m": MappingProxyType({"a": (1, 2)})}
    read = {"p": [1, 3], "r": [[1, 3], "x"], "t": [1, "y"], "n": 3, "s": "red", "x": 0.5, "m": {"a": [1, 2]}}
    assert json.loads(to_json(lists | others)) == read
    assert json.loads(to_json([lists | others, {7: 2**70}])) == [read, {"7": 2**70}]
    assert json.loads(to_json_text([lists, {7: 2**70}])) == [{key: read[key] for key in lists}, {"7": 2**70}]
    assert to_json([Word("red")]) == b'["red"]'


def test_what_is_no_number_is_null_and_what_has_no_json_form_is_refused():
    for number in (math.nan, math.inf, -math.inf):
        assert to_json([number]) == b"[null]"
        assert to_json_text([number]) == "[null]"
    for value in (object(), {1, 2}, b"bytes"):
        with pytest.raises(TypeError, match="JSON"):
            to_json({"a": value})


def test_json_of_millions_of_values_is_refused_and_long_strings_and_small_texts_never():
    """A text below a hundredth of 2**27 bytes is not examined; tiny values are counted by what they take in memory."""
    blank = b" " * (2**27 // 100)
    sizes = ((b"{", 200), (b"[", 64), (b",", 40))
    taken = {
        "numbers": b"[" + b"0," * 3_000_000 + b"0]",
        "marks in a string": b'["' + b"{[," * 3_000_000 + b'"]',
        "a long string": b'["' + b"x" * 9_000_000 + b'"]',
        "strings": b"[" + b'""' * 2**20 + b"]",
        "quotes in a string": b'["' + b'\\"' * 2_200_000 + b'"]',
        "small": b"{" * (2**27 // 100),
        **{mark.decode(): mark * (2**27 // size) + blank for mark, size in sizes},
    }
    refused = {
        "numbers": b"[" + b"0," * 3_400_000 + b"0]",
        "strings": b"[" + b'""' * (2**20 + 1) + b"]",
        **{mark.decode(): mark * (2**27 // size + 1) + blank for mark, size in sizes},
    }
    for text in taken.values():
        require_small_when_decoded(text)
    for text in refused.values():
        with pytest.raises(ValueError, match="too many values"):
            require_small_when_decoded(text)


def test_words_for_people():
    shown = [counted(number, "run") for number in (0, 1, 1.0, 12345)]
    assert shown == ["0 runs", "1 run", "1 run", "12,345 runs"]
    assert [counted(number, "run has", "runs have") for number in (1, 3)] == ["1 run has", "3 runs have"]
    sentences = [as_sentence(text) for text in ("m is not there (HTTP 404)", "", "It is.", "Is it?", "See:")]
    assert sentences == ["m is not there (HTTP 404).", "", "It is.", "Is it?", "See:"]
    remarks = [with_remark(text, "twice") for text in ("It may help.", "It died", "Is it up?")]
    assert remarks == ["It may help (twice).", "It died (twice)", "Is it up? (twice)"]
