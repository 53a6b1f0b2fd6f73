"""Plain data on its way into the sandbox and out of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.sandbox.plain import UnplainError, decoded, encoded
from calipers.verifiers.sandbox.wire import packed, unpacked

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
keys = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.lists(inner).map(tuple) | st.sets(keys) | st.frozensets(keys),
    max_leaves=20,
)  # fmt: skip
jsons = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(plain)
def test_what_goes_in_comes_out_types_and_all(value: Any) -> None:
    back = decoded(json.loads(json.dumps(encoded(value))))
    assert back == value
    assert repr(back) == repr(value) or isinstance(value, set | frozenset | list | tuple | dict)
    assert type(back) is type(value)


@given(jsons)
def test_whatever_foreign_code_wrote_is_data_or_refused(value: Any) -> None:
    try:
        decoded(value)
    except UnplainError as error:
        assert str(error)  # noqa: PT017 - either is right


@pytest.mark.parametrize("value", [object(), [b"x"], {"a": {1: print}}, 1j, type("S", (str,), {})("x"), range(3)])
def test_other_types_are_refused_by_name(value: Any) -> None:
    with pytest.raises(UnplainError, match="a value of type"):
        encoded(value)


@pytest.mark.parametrize(
    "value", [{}, {"a": 1, "b": 2}, {"tuple": 1}, {"os": []}, {"set": [[1]]}, {"dict": [1]}, {"dict": [[[], 1]]}]
)
def test_tags_that_cannot_be_are_refused(value: Any) -> None:
    with pytest.raises(UnplainError):
        decoded(value)


@given(st.lists(jsons, max_size=4), st.integers(1, 50))
def test_messages_arrive_whole_however_they_are_cut(messages: Any, size: int) -> None:
    stream = b"".join(map(packed, messages))
    buffer, got = bytearray(), []
    for start in range(0, len(stream), size):
        buffer += stream[start : start + size]
        while len(buffer) >= 4 and len(buffer) - 4 >= int.from_bytes(buffer[:4], "big"):
            got.append(unpacked(buffer))
    assert got == messages
    assert not buffer
