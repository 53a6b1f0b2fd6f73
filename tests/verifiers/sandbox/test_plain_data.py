"""Plain data on its way into the sandbox and out of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.sandbox.messages import (
    MOST_MEMBERS,
    UnplainError,
    decode_plain,
    encode_plain,
    pack_message,
    unpack_message,
)

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
numbers = st.complex_numbers(allow_nan=False) | st.binary()
keys = st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
plain = st.recursive(
    scalars | numbers,
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner) | st.lists(inner).map(tuple) | st.sets(keys)
    | st.frozensets(keys),
    max_leaves=20,
)  # fmt: skip
jsons = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(plain)
def test_what_goes_in_comes_out_types_and_all(value: Any) -> None:
    back = decode_plain(json.loads(json.dumps(encode_plain(value))))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize("value", [1, 0.5, 1j, "x", b"x", [1, "a"], (1, [2]), {1: "a"}, {1, 2}, frozenset({1})])
def test_an_object_of_a_subclass_is_its_plain_part_whatever_its_methods_say(value: Any) -> None:
    def lies(*_: object) -> Any:
        raise AssertionError("asked")

    methods = "__repr__ __str__ __int__ __float__ __len__ __getitem__ __pos__ copy items __eq__".split()  # noqa: SIM905
    liar = type("Liar", (type(value),), dict.fromkeys(methods, lies))(value)
    back = decode_plain(json.loads(json.dumps(encode_plain([liar]))))
    assert back == [value]
    assert type(back[0]) is type(value)


@given(jsons)
def test_whatever_foreign_code_wrote_is_data_or_refused(value: Any) -> None:
    try:
        decode_plain(value)
    except UnplainError as error:
        assert str(error)  # noqa: PT017 - either is right


def test_other_types_and_impossible_tags_are_refused() -> None:
    for value in (object(), {"a": {1: print}}, range(3), bytearray(b"x")):
        with pytest.raises(UnplainError, match="a value of type"):
            encode_plain(value)
    wrong: tuple[Any, ...] = (
        {}, {"a": 1, "b": 2}, {"tuple": 1}, {"os": []}, {"set": [[1]]}, {"dict": [1]}, {"bytes": ["x"]},
        {"complex": [10**400, 0]},
    )  # fmt: skip
    for tagged in wrong:
        with pytest.raises(UnplainError):
            decode_plain(tagged)


class _Counted(int):
    compared = 0

    def __eq__(self, other: object) -> bool:
        _Counted.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


@pytest.mark.parametrize("tag", ["set", "frozenset", "dict"])
@pytest.mark.parametrize("count", [5_000, MOST_MEMBERS + 1])
def test_members_made_to_collide_are_refused_without_being_compared(tag: str, count: int) -> None:
    members: list[Any] = [_Counted(number * (2**61 - 1)) for number in range(count)]
    _Counted.compared = 0
    with pytest.raises(UnplainError, match="members"):
        decode_plain([{tag: [[one, 0] for one in members] if tag == "dict" else members}])
    assert _Counted.compared < count


@given(st.lists(jsons, max_size=4), st.integers(1, 50))
def test_messages_arrive_whole_however_they_are_cut(messages: Any, size: int) -> None:
    stream = b"".join(map(pack_message, messages))
    buffer, got = bytearray(), []
    for start in range(0, len(stream), size):
        buffer += stream[start : start + size]
        while len(buffer) >= 4 and len(buffer) - 4 >= int.from_bytes(buffer[:4], "big"):
            got.append(unpack_message(buffer))
    assert got == messages
    assert not buffer
