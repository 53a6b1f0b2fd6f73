"""Large sets and dicts of foreign code's are what the plain ones are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.sandbox.large_collections import LargeDict, LargeSet

numbers = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.complex_numbers(allow_nan=False)
scalars = st.none() | numbers | st.text() | st.binary()
members = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5)


@given(st.sets(members), st.sets(members))
def test_a_set_is_what_the_plain_one_is(one: set[Any], other: set[Any]) -> None:
    found = LargeSet(one, frozen=False)
    assert found == one
    assert one == found
    assert found == frozenset(one)
    assert (found == other) == (one == other)
    assert len(found) == len(one)
    assert all((member in found) == (member in one) for member in one | other)


@given(st.dictionaries(members, st.integers()), st.dictionaries(members, st.integers()))
def test_a_dict_is_what_the_plain_one_is(one: dict[Any, int], other: dict[Any, int]) -> None:
    found = LargeDict(one.items())
    assert found == one
    assert one == found
    assert (found == other) == (one == other)
    assert [found[key] for key in one] == list(one.values())


@given(members, members)
def test_members_that_are_equal_are_one_and_others_are_not(one: Any, other: Any) -> None:
    assert len(LargeSet([one, other], frozen=True)) == len({one, other})


@pytest.mark.parametrize("member", [[1], {}, {1}, LargeSet([1], frozen=False), LargeDict([])])
def test_what_no_set_holds_is_none_of_its_members(member: object) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        LargeSet([member], frozen=False)


def test_a_frozen_one_is_a_member_of_another() -> None:
    inner = LargeSet(range(3), frozen=True)
    assert LargeSet([inner, (1, inner)], frozen=False) == {frozenset(range(3)), (1, frozenset(range(3)))}
