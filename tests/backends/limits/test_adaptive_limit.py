"""How many calls in flight pay off, told from latencies alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.limits.adaptive_limit import AdaptiveLimit, Ticket


def _feed(climb: AdaptiveLimit, calls: int, latency: Callable[[int], float]) -> None:
    for _ in range(calls):
        climb.call_ended(climb.call_began(limit_reached=True), latency(climb.limit))


def _queue(slots: int) -> Callable[[int], float]:
    """The latency of a server that works at ``slots`` at a time, and lets the rest wait."""
    return lambda limit: max(1.0, limit / slots)


@pytest.mark.parametrize("slots", [4, 6, 8, 23, 32, 50, 100, 256])
def test_the_limit_comes_to_rest_above_what_a_queueing_server_works_at_and_not_far_above(slots: int) -> None:
    climb = AdaptiveLimit(start=8, most=512)
    _feed(climb, 1500, _queue(slots))
    assert slots <= climb.limit <= max(3 * slots, 12)


def test_slower_answers_are_worth_it_where_more_of_them_come() -> None:
    """A server that batches: latency doubles from 1 to 64 in flight, and answers a second grow 32-fold."""
    climb = AdaptiveLimit(start=8, most=128)
    _feed(climb, 500, lambda limit: 1 + limit / 64)
    assert climb.limit >= 96


def test_calls_that_found_room_to_spare_change_nothing() -> None:
    climb = AdaptiveLimit(start=8, most=512)
    for _ in range(1000):
        climb.call_ended(climb.call_began(limit_reached=False), 1.0)
    assert climb.limit == 8


def test_latency_that_rises_at_the_limit_brings_it_down() -> None:
    climb = AdaptiveLimit(start=8, most=512)
    _feed(climb, 1500, _queue(64))
    before = climb.limit
    _feed(climb, 1500, _queue(8))
    assert climb.limit <= before / 2


def test_capacity_that_comes_later_is_found_in_time() -> None:
    climb = AdaptiveLimit(start=8, most=512)
    _feed(climb, 500, _queue(8))
    assert climb.limit <= 24
    _feed(climb, 5000, _queue(128))
    assert climb.limit >= 128


def test_refusals_step_down_once_for_all_calls_that_were_under_way() -> None:
    climb = AdaptiveLimit(start=100, most=512)
    under_way = [climb.call_began(limit_reached=True) for _ in range(20)]
    climb.call_refused(under_way[0])
    assert climb.limit == 70
    for ticket in under_way[1:]:
        climb.call_refused(ticket)
    assert climb.limit == 70
    climb.call_refused(climb.call_began(limit_reached=False))
    assert climb.limit == 49


def test_after_refusals_the_capacity_is_felt_for_from_below() -> None:
    climb = AdaptiveLimit(start=8, most=512)
    refused = 0
    for _ in range(3000):
        ticket = climb.call_began(limit_reached=True)
        if climb.limit > 40:
            refused += 1
            climb.call_refused(ticket)
        else:
            climb.call_ended(ticket, 1.0)
    assert 30 <= climb.limit <= 41
    assert refused < 100


def test_calls_that_were_lost_do_not_hold_up_the_judgment() -> None:
    climb = AdaptiveLimit(start=8, most=512)
    for _ in range(10):
        climb.call_lost(climb.call_began(limit_reached=True))
    _feed(climb, 16, lambda _: 1.0)
    assert climb.limit == 16


def test_the_longest_calls_are_not_waited_for_and_do_not_count_for_more_than_others() -> None:
    climb = AdaptiveLimit(start=8, most=512)
    tickets = [climb.call_began(limit_reached=True) for _ in range(16)]
    for ticket in tickets[:12]:
        climb.call_ended(ticket, 1.0)
    assert climb.limit == 16


@given(st.integers(1, 600), st.lists(st.tuples(st.sampled_from(["ended", "lost", "refused"]), st.floats(0, 1e6))))
def test_whatever_happens_the_limit_stays_within_its_bounds(start: int, events: list[tuple[str, float]]) -> None:
    climb = AdaptiveLimit(start=start, most=600)
    tickets: list[Ticket] = []
    for name, seconds in events:
        tickets.append(climb.call_began(limit_reached=True))
        ticket = tickets[len(tickets) // 2]
        if name == "ended":
            climb.call_ended(ticket, seconds)
        elif name == "lost":
            climb.call_lost(ticket)
        else:
            climb.call_refused(ticket)
        assert 1 <= climb.limit <= 600
