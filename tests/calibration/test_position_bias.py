"""What lists tell of places."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration.position_bias import PositionFigures
from calipers.types import Rating


def listed(presentation: int, *items: tuple[int, float]) -> list[Rating]:
    """One list, in the order shown."""
    return [Rating(item, value, presentation, place) for place, (item, value) in enumerate(items)]


def test_scores_that_follow_the_place_are_explained_by_it():
    group = [*listed(0, (0, 9.0), (1, 6.0), (2, 3.0)), *listed(1, (2, 9.0), (1, 6.0), (0, 3.0))]
    found = PositionFigures.learn([group] * 3)
    assert found.share == pytest.approx(1.0)
    assert (found.turned, found.size) == (3, 3)


def test_scores_that_follow_the_member_are_not():
    group = [*listed(0, (0, 9.0), (1, 6.0), (2, 3.0)), *listed(1, (2, 3.0), (1, 6.0), (0, 9.0))]
    found = PositionFigures.learn([group])
    assert found.share == pytest.approx(0.0)


def test_one_order_is_not_turned_and_level_lists_explain_nothing():
    found = PositionFigures.learn([[*listed(0, (0, 5.0), (1, 5.0)), *listed(1, (0, 5.0), (1, 5.0))]])
    assert (found.share, found.turned, found.places) == (None, 0, None)
    assert PositionFigures.learn([]).size == 0


@given(st.lists(st.lists(st.floats(0, 100), min_size=2, max_size=5), min_size=1, max_size=6))
def test_a_share_is_between_none_and_all(groups: list[list[float]]):
    share = PositionFigures.learn([listed(0, *enumerate(values)) for values in groups]).share
    assert share is None or -1e-9 <= share <= 1 + 1e-9


def rated_in_orders(groups: int, bias: list[float], *, orders: int = 3, noise: float = 0.2) -> list[list[Rating]]:
    """Groups in random orders, with a bias for each position."""
    generator = random.Random(3)
    found = []
    for _ in range(groups):
        worth = [generator.gauss(0, 1) for _ in bias]
        ratings = []
        for presentation in range(orders):
            order = generator.sample(range(len(bias)), len(bias))
            ratings += [
                Rating(item, worth[item] + bias[place] + generator.gauss(0, noise), presentation, place)
                for place, item in enumerate(order)
            ]
        found.append(ratings)
    return found


def test_the_bias_is_measured_as_it_is():
    bias = [0.6, 0.1, -0.2, -0.5]
    found = PositionFigures.learn(rated_in_orders(200, bias)).effects
    assert [one.worth for one in found] == pytest.approx(bias, abs=0.05)
    for one, true in zip(found, bias, strict=True):
        assert one.interval[0] < true < one.interval[1]
    assert sum(one.worth for one in found) == pytest.approx(0, abs=1e-9)


def test_no_bias_is_about_zero_and_the_intervals_say_so():
    found = PositionFigures.learn(rated_in_orders(100, [0.0] * 5)).effects
    assert sum(one.interval[0] <= 0 <= one.interval[1] for one in found) >= 4


def test_few_groups_or_one_order_have_no_measured_bias():
    assert PositionFigures.learn(rated_in_orders(19, [0.3, -0.3])).effects == ()
    assert PositionFigures.learn(rated_in_orders(100, [0.3, -0.3], orders=1)).effects == ()
