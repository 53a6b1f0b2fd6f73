"""Plain data on its way into the sandbox and out of it."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.sandbox.framing import pack_message, unpack_message
from calipers.verifiers.sandbox.plain_data import UnplainError, decode_plain, decode_untrusted, encode_plain

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
    assert repr(back) == repr(value) or isinstance(value, set | frozenset | list | tuple | dict)
    assert type(back) is type(value)


@pytest.mark.parametrize("value", [1, 0.5, 1j, "x", b"x", [1, "a"], (1, [2]), {1: "a"}, {1, 2}, frozenset({1})])
def test_of_an_object_of_a_subclass_the_plain_part_goes_whatever_it_says_about_itself(value: Any) -> None:
    def lies(*_: object) -> Any:
        raise AssertionError("asked")

    said = (
        "__repr__",
        "__str__",
        "__int__",
        "__float__",
        "__len__",
        "__getitem__",
        "__pos__",
        "copy",
        "items",
        "__eq__",
    )
    liar = type("Liar", (type(value),), dict.fromkeys(said, lies))(value)
    back = decode_plain(json.loads(json.dumps(encode_plain([liar]))))
    assert back == [value]
    assert type(back[0]) is type(value)


@given(jsons)
def test_whatever_foreign_code_wrote_is_data_or_refused(value: Any) -> None:
    try:
        decode_untrusted(value)
    except UnplainError as error:
        assert str(error)  # noqa: PT017 - either is right


@pytest.mark.parametrize("value", [object(), [Fraction(1)], {"a": {1: print}}, range(3), type, bytearray(b"x")])
def test_other_types_are_refused_by_name(value: Any) -> None:
    with pytest.raises(UnplainError, match="a value of type"):
        encode_plain(value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": 1, "b": 2},
        {"tuple": 1},
        {"os": []},
        {"set": [[1]]},
        {"dict": [1]},
        {"dict": [[[], 1]]},
        {"bytes": []},
        {"bytes": ["x"]},
        {"bytes": [1]},
        {"complex": [1, 2, 3]},
        {"complex": ["x"]},
        {"complex": [10**400, 0]},
    ],
)
def test_tags_that_cannot_be_are_refused(value: Any) -> None:
    with pytest.raises(UnplainError):
        decode_plain(value)


COLLIDING = [number * (2**61 - 1) for number in range(20_000)]


@pytest.mark.parametrize(
    "value",
    [
        {"set": COLLIDING},
        {"frozenset": COLLIDING},
        {"dict": [[number, 1] for number in COLLIDING]},
        {"dict": [[{"tuple": [number, "x"]}, 1] for number in COLLIDING]},
        {"set": [{"frozenset": [{"tuple": [float(2**61 - 1) * 2**61, number]}]} for number in COLLIDING]},
        [{"set": [1] * 20_000}],
    ],
    ids=["set", "frozenset", "dict", "tuples", "frozensets of tuples", "repeats"],
)
def test_members_made_to_collide_are_not_compared_with_one_another(value: Any) -> None:
    compared = [0]

    class Counted(int):
        """Equal members are found by comparing them: in a set that is built with collisions, n squared times."""

        def __eq__(self, other: object) -> bool:
            compared[0] += 1
            return int(self) == other

        __hash__ = int.__hash__

    def counting(item: Any) -> Any:
        if isinstance(item, dict):
            return {tag: [counting(part) for part in parts] for tag, parts in item.items()}
        if isinstance(item, list):
            return [counting(part) for part in item]
        return Counted(item) if type(item) is int else item

    decode_untrusted(counting(value))
    assert compared[0] < 20_000


def _crafted(bits: int, run: int) -> list[int]:
    """Numbers of which each is placed, by CPython's way through a table, behind a run of others; no two share a
    hash.
    """
    mask, place, order = 2**bits - 1, 1, {}
    for number in range(run):
        order[place] = number
        place = (5 * place + 1) & mask
    found = []
    for candidate in range(2**bits, 2**20):
        place, rest = candidate & mask, candidate
        while rest and place in order:
            rest >>= 5
            place = (5 * place + rest + 1) & mask
        if not rest and order.get(place, run) < run // 4:
            found.append(candidate)
    return [*order, *found[:run]]


@pytest.mark.parametrize("tag", ["set", "frozenset", "dict"])
def test_no_number_of_many_says_where_it_is_placed(tag: str) -> None:
    """Such numbers cost 15 s of the process that trains, though no two shared a hash."""

    class Unhashed(int):
        def __hash__(self) -> int:
            raise AssertionError("hashed")

    numbers = _crafted(bits=12, run=900)
    assert len(set(numbers)) == len(numbers) > 1_000
    members = [Unhashed(number) for number in numbers]
    found = decode_untrusted([{tag: [[number, 0] for number in members] if tag == "dict" else members}])[0]
    assert len(found) == len(numbers)
    assert found == (dict.fromkeys(numbers, 0) if tag == "dict" else set(numbers))


@given(plain)
def test_what_foreign_code_wrote_comes_out_types_and_all(value: Any) -> None:
    back = decode_untrusted(encode_plain(value))
    assert back == value
    assert type(back) is type(value)


@given(st.sets(st.integers() | st.floats(allow_nan=False) | st.text(), min_size=65, max_size=300))
def test_large_honest_sets_pass(value: Any) -> None:
    assert decode_untrusted(encode_plain(value)) == value
    assert decode_untrusted(encode_plain(dict.fromkeys(value, 0))) == dict.fromkeys(value, 0)


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
