"""The public names."""

from __future__ import annotations

import calipers.testing


def test_names_are_sorted_and_each_says_what_it_is() -> None:
    names = calipers.testing.__all__
    assert names == sorted(names)
    classes = [getattr(calipers.testing, name) for name in names]
    assert all(one.__doc__ for one in classes if isinstance(one, type))
