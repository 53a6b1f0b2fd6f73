"""What lists tell of places."""

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
