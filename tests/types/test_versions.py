"""Versions of the policy: read where they are stated, and never guessed."""

from __future__ import annotations

from typing import Any

import numpy as np

from calipers.types.versions import version_fields, versions_in


def test_only_whole_numbers_from_0_up_are_versions():
    cases: list[tuple[Any, tuple[int, ...]]] = [
        (7, (7,)), ("7", (7,)), (np.int64(7), (7,)), ([3, "4", 4], (3, 4, 4)), (0, (0,)), ([], ()), (None, ()),
        (True, ()), (-1, ()), ([3, None], ()), ("default", ()), ("", ()), (7.0, ()), ({"a": 1}, ()), ("²", ()),
        (1 << 60, ()), ("9" * 30, ()),
    ]  # fmt: skip
    assert [(value, versions_in(value)) for value, _ in cases] == cases


def test_parts_of_one_version_are_one_number_and_an_unknown_part_makes_the_rollout_unknown():
    assert version_fields(5, 5, 5) == {"policy_version": 5}
    assert version_fields([5, 5], 6, 5) == {"policy_version": [5, 6, 5]}
    assert version_fields() == version_fields(None) == version_fields(5, None) == version_fields("default", 5) == {}
