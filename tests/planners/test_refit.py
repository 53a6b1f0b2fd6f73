"""Refit: one more ask, within the window that a refusal told, and never another."""

from __future__ import annotations

from calipers.planners.orders import Orders
from calipers.planners.refit import Refit
from calipers.types import Ask, Failure, Window
from planning import state_of

WINDOW = Window(4096, 2.5)
Ended = tuple[Ask, dict[int, float] | Failure]
REFUSED = Failure("context_window", "too long", limit=4096, prompt=9000, window=WINDOW)
PLANNER = Refit(Orders(2))


def test_a_refusal_that_told_the_window_is_asked_again_within_it() -> None:
    first, second = PLANNER.next_asks(state_of(2))
    (again,) = PLANNER.next_asks(state_of(2, answered=[(first, REFUSED), (second, {0: 0.5, 1: 0.2})]))
    assert (again.number, again.parent, again.cause, again.window) == (2, first.number, "window", WINDOW)
    assert (again.order, again.members) == (first.order, first.members)


def test_each_refusal_is_followed_and_none_twice() -> None:
    first, second = PLANNER.next_asks(state_of(2))
    refused = [(first, REFUSED), (second, REFUSED)]
    follow = PLANNER.next_asks(state_of(2, answered=refused))
    assert [ask.number for ask in follow] == [2, 3]
    assert PLANNER.next_asks(state_of(2, answered=[*refused, *((ask, {0: 0.5, 1: 0.1}) for ask in follow)])) == []


def test_a_second_refusal_is_the_last_word() -> None:
    first, second = PLANNER.next_asks(state_of(2))
    answered: list[Ended] = [(first, REFUSED), (second, {0: 0.5, 1: 0.2})]
    (again,) = PLANNER.next_asks(state_of(2, answered=answered))
    assert PLANNER.next_asks(state_of(2, answered=[*answered, (again, REFUSED)])) == []


def test_a_refusal_without_a_size_and_other_failures_are_left_alone() -> None:
    first, second = PLANNER.next_asks(state_of(2))
    unknown = [(first, Failure("context_window", "too long")), (second, Failure("timeout", "slow"))]
    assert PLANNER.next_asks(state_of(2, answered=unknown)) == []


def test_another_server_with_a_smaller_window_is_followed_three_times_at_most() -> None:
    first, second = PLANNER.next_asks(state_of(2))
    answered: list[Ended] = [(second, {0: 0.5, 1: 0.2})]
    ask, windows = first, []
    for tokens in (8192, 4096, 2048, 1024, 512):
        window = Window(tokens, 2.5)
        answered.append((ask, Failure("context_window", "too long", limit=tokens, window=window)))
        follow = PLANNER.next_asks(state_of(2, answered=sorted(answered, key=lambda one: one[0].number)))
        if not follow:
            break
        (ask,) = follow
        windows.append(ask.window)
    assert windows == [Window(8192, 2.5), Window(4096, 2.5), Window(2048, 2.5)]
