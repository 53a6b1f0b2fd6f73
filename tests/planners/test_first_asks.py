"""First questions: orders that are balanced and seeded from content, and large groups in chunks."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.two_way import two_way
from calipers.planners.first_asks import Chunks, Orders
from calipers.types import Judgment, Rating
from planning import state_of


@given(st.integers(2, 7), st.integers(1, 14), st.integers(1, 3))
def test_every_ask_shows_every_candidate_once(candidates: int, orders: int, samples: int):
    asks = Orders(orders, samples).next_asks(state_of(candidates))
    assert len(asks) == orders * samples
    assert [ask.number for ask in asks] == list(range(len(asks)))
    for ask in asks:
        assert sorted(ask.order) == list(range(candidates)) == list(ask.members)
    if orders > 1:
        assert asks[0].order == asks[samples].order[::-1]


@given(st.integers(2, 6))
def test_a_full_set_puts_each_candidate_in_each_place_equally_often(candidates: int):
    asks = Orders(2 * candidates).next_asks(state_of(candidates))
    places = Counter((item, place) for ask in asks for place, item in enumerate(ask.order))
    assert set(places.values()) == {2}


def test_the_order_follows_the_content_and_the_seed():
    orders = {Orders().next_asks(state_of(5, digest=f"{n:032x}"))[0].order for n in range(40)}
    assert len(orders) > 20
    same = [Orders().next_asks(state_of(5, seed=s))[0].order for s in (1, 1, 2, 3, 4)]
    assert same[0] == same[1]
    assert len(set(same)) > 1


def test_when_no_new_order_is_left_they_come_again_as_further_samples():
    """Else the ledger would answer the same question with the same words, and call it a repeat."""
    for n in (2, 3, 4):
        asks = Orders(4 * n, 2).next_asks(state_of(n))
        assert len({(ask.order, ask.sample) for ask in asks}) == len(asks)


@given(st.integers(2, 40), st.integers(4, 12), st.integers(1, 4))
def test_chunks_ask_about_everybody_and_no_question_is_too_long(n: int, at_once: int, orders: int):
    plan = Chunks(orders, 1, at_once)
    asks = plan.next_asks(state_of(n))
    for index in range(orders):
        own = plan.presentation(state_of(n), index)
        assert set().union(*(ask.members for ask in own)) == set(range(n))
    for ask in asks:
        assert len(ask.order) == len(set(ask.order)) <= at_once
        assert sorted(ask.order) == sorted(ask.members)
    assert [ask.number for ask in asks] == list(range(len(asks)))
    assert n > at_once or len(asks) == orders


def test_chunks_of_a_presentation_share_two_and_the_second_order_is_the_reverse():
    plan = Chunks(2, 1, 6)
    first, second = (plan.presentation(state_of(14), index) for index in range(2))
    assert len(first) == 3
    assert len(set(first[0].members) & set(first[1].members) & set(first[2].members)) == 2
    assert [ask.order for ask in second] == [ask.order[::-1] for ask in first]


def test_chunks_judged_with_different_generosity_come_out_on_one_scale():
    plan = Chunks(1, 1, 6)
    ratings: list[Judgment] = []
    for generous, ask in enumerate(plan.next_asks(state_of(14))):
        ratings += [Rating(item, item / 20 + 0.1 * generous, ask.number) for item in ask.members]
    values = two_way(ratings, 14).values
    known = [one for one in values if one is not None]
    assert len(known) == len(values)
    assert all(known[item + 1] - known[item] == pytest.approx(0.05, abs=1e-5) for item in range(13))
