"""Prices add up, and what is unknown is never nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration.costs import Cost, shared_measure, total_cost

amounts = st.none() | st.floats(0, 1e6)
costs = st.builds(Cost, st.floats(0, 1e3), st.floats(0, 1e3), amounts, amounts, amounts)


@given(st.lists(costs, min_size=1, max_size=5))
def test_a_sum_is_unknown_where_a_part_is(parts: list[Cost]):
    found = total_cost(parts)
    assert found.calls == pytest.approx(sum(one.calls for one in parts))
    assert (found.cost_usd is None) == any(one.cost_usd is None for one in parts)
    assert (found.of("tokens") is None) == any(one.of("tokens") is None for one in parts)


@given(costs)
def test_twice_as_much_is_the_sum_of_two(one: Cost):
    twice, both = one.times(2), total_cost([one, one])
    for kind in ("usd", "tokens", "shown", "calls"):
        assert twice.of(kind) == pytest.approx(both.of(kind))


def test_dollars_come_first_then_tokens_then_what_was_read():
    priced, counted, bare = Cost(1, 4, 100, 10, 0.01), Cost(1, 4, 100, 10), Cost(1, 4)
    assert shared_measure([priced, priced]) == "usd"
    assert shared_measure([priced, counted]) == "tokens"
    assert shared_measure([priced, bare]) == "shown"


def test_a_price_of_nothing_everywhere_compares_nothing():
    """A free judge's ways differ in tokens all the same."""
    assert shared_measure([Cost(1, 4, 100, 10, 0.0), Cost(2, 8, 200, 20, 0.0)]) == "tokens"
