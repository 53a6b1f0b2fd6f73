"""Versions of the policy: read where they are stated, and never guessed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.types.versions import version_fields, versions_in


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        (7, (7,)), ("7", (7,)), ([3, "4", 4], (3, 4, 4)), (0, (0,)), ([], ()), (None, ()), (True, ()), (-1, ()),
        ([3, None], ()), ("default", ()), ("", ()), (7.0, ()), ({"a": 1}, ()), ("²", ()), (1 << 60, ()),
    ],
)  # fmt: skip
def test_only_whole_numbers_from_0_up_are_versions(stated: Any, read: tuple[int, ...]):
    assert versions_in(stated) == read


def test_parts_of_one_version_are_one_number_and_an_unknown_part_makes_the_rollout_unknown():
    assert version_fields(5, 5, 5) == {"policy_version": 5}
    assert version_fields([5, 5], 6, 5) == {"policy_version": [5, 6, 5]}
    assert version_fields() == version_fields(None) == version_fields(5, None) == version_fields("default", 5) == {}


@given(st.lists(st.integers(0, 9), min_size=1))
def test_what_is_written_is_read_again(versions: list[int]):
    found = versions_in(version_fields(*versions)["policy_version"])
    assert (set(found), found[0], found[-1]) == (set(versions), versions[0], versions[-1])
