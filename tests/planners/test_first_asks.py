"""Orders: balanced, seeded from content, asked once."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from calipers.planners.first_asks import Orders
from planning import state_of


@given(st.integers(2, 7), st.integers(1, 14), st.integers(1, 3))
def test_every_ask_shows_every_candidate_once(candidates: int, orders: int, samples: int):
    asks = Orders(orders, samples).next_asks(state_of(candidates))
    assert len(asks) == orders * samples
    assert [ask.number for ask in asks] == list(range(len(asks)))
    for ask in asks:
        assert sorted(ask.order) == list(range(candidates)) == list(ask.members)


@given(st.integers(2, 7))
def test_two_orders_are_each_others_reverse(candidates: int):
    first, second = Orders(2).next_asks(state_of(candidates))
    assert first.order == second.order[::-1]


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


def test_nothing_more_is_asked_once_something_was_answered():
    state = state_of(3)
    asks = Orders(2).next_asks(state)
    assert Orders(2).next_asks(state_of(3, answered=[(asks[0], {0: 0.1, 1: 0.2, 2: 0.3})])) == ()


def test_when_no_new_order_is_left_they_come_again_as_further_samples():
    """Else the ledger would answer the same question with the same words, and call it a repeat."""
    for n in (2, 3, 4):
        asks = Orders(4 * n, 2).next_asks(state_of(n))
        assert len({(ask.order, ask.sample) for ask in asks}) == len(asks)
