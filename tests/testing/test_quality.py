"""Hidden quality: by id, by function, or from gold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.testing import gold_quality
from calipers.types import Trajectory, TrajectoryGroup


def groups(*golds: list[float | None]) -> list[TrajectoryGroup]:
    return [
        TrajectoryGroup(f"g{number}", tuple(Trajectory(f"t{place}", (), gold=gold) for place, gold in enumerate(row)))
        for number, row in enumerate(golds)
    ]


def test_gold_is_stretched_over_all_groups() -> None:
    quality = gold_quality(groups([1, 3], [5, None]))
    assert [quality("g0", "t0"), quality("g0", "t1"), quality("g1", "t0")] == [0.0, 0.5, 1.0]
    with pytest.raises(KeyError):
        quality("g1", "t1")


def test_bounds_may_be_stated() -> None:
    assert gold_quality(groups([2, 4]), low=0, high=10)("g0", "t1") == 0.4


@pytest.mark.parametrize(("golds", "said"), [([None], "no trajectory has gold"), ([2.0, 2.0], "no spread")])
def test_gold_that_tells_nothing_is_refused(golds: list[float | None], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        gold_quality(groups(golds))


def test_gold_outside_stated_bounds_is_refused() -> None:
    with pytest.raises(ConfigError, match="widen"):
        gold_quality(groups([0, 11]), low=0, high=10)


@given(st.lists(st.integers(-1000, 1000), min_size=2, unique=True))
def test_the_order_of_gold_is_kept_and_lies_in_0_to_1(golds: list[int]) -> None:
    quality = gold_quality(groups([float(gold) for gold in golds]))
    values = [quality("g0", f"t{place}") for place in range(len(golds))]
    assert sorted(range(len(golds)), key=golds.__getitem__) == sorted(range(len(golds)), key=values.__getitem__)
    assert (min(values), max(values)) == (0.0, 1.0)
