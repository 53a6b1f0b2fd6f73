"""Large groups in parts: everybody rated, parts linked, scores on one scale."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.two_way import two_way
from calipers.errors import ConfigError
from calipers.planners.first_asks import Chunks
from calipers.types import Judgment, Rating
from planning import state_of


@given(st.integers(2, 40), st.integers(4, 12), st.integers(1, 4))
def test_everybody_is_asked_about_and_no_question_is_too_long(n: int, at_once: int, orders: int):
    plan = Chunks(orders, 1, at_once)
    asks = plan.next_asks(state_of(n))
    for index in range(orders):
        own = plan.presentation(state_of(n), index)
        assert set().union(*(ask.members for ask in own)) == set(range(n))
    for ask in asks:
        assert len(ask.order) == len(set(ask.order)) <= at_once
        assert sorted(ask.order) == sorted(ask.members)
    assert [ask.number for ask in asks] == list(range(len(asks)))


def test_a_small_group_is_asked_whole():
    (ask,) = Chunks(1, 1, 8).next_asks(state_of(8))
    assert len(ask.order) == 8


def test_parts_of_a_presentation_share_two_and_the_second_order_is_the_reverse():
    plan = Chunks(2, 1, 6)
    first, second = (plan.presentation(state_of(14), index) for index in range(2))
    assert len(first) == 3
    assert len(set(first[0].members) & set(first[1].members) & set(first[2].members)) == 2
    assert [ask.order for ask in second] == [ask.order[::-1] for ask in first]


def test_parts_judged_with_different_generosity_come_out_on_one_scale():
    plan = Chunks(1, 1, 6)
    ratings: list[Judgment] = []
    for generous, ask in enumerate(plan.next_asks(state_of(14))):
        ratings += [Rating(item, item / 20 + 0.1 * generous, ask.number) for item in ask.members]
    values = two_way(ratings, 14).values
    known = [one for one in values if one is not None]
    assert len(known) == len(values)
    assert all(known[item + 1] - known[item] == pytest.approx(0.05, abs=1e-5) for item in range(13))


def test_too_few_at_once_leave_no_room_for_anybody_new():
    with pytest.raises(ConfigError, match="takes 4"):
        Chunks(1, 1, 3)
