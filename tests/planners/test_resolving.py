"""Further presentations while they pay, and the other order of pairs that position bias may have decided."""

from collections.abc import Callable

from calipers.planners.first_asks import Orders, Pairs
from calipers.planners.follow_ups import FollowUps
from calipers.planners.panel import Everyone, Fallback
from calipers.planners.resolving import Resolving, Swapping
from calipers.types import Ask, Comparison, Failure, Reading
from planning import reading_of, state_of

WHOLE = {0: 0.1, 1: 0.5, 2: 0.9}
DOWN = Failure("server", "down")


def until(most: int) -> Callable[..., bool]:
    return lambda _, *, calls: calls >= most


def test_one_more_order_at_a_time_until_the_rule_is_satisfied():
    plan = Resolving(FollowUps(Orders()), Orders(), until(3))
    answered: list[tuple[Ask, dict[int, float]]] = []
    while asks := plan.next_asks(state_of(3, answered=answered)):
        assert len(asks) == 1
        answered.append((asks[0], WHOLE))
    assert [ask.cause for ask, _ in answered] == ["first", "unresolved", "unresolved"]
    assert [ask.number for ask, _ in answered] == [0, 1, 2]
    assert len({ask.order for ask, _ in answered}) == 3


def test_a_gap_is_filled_before_another_order_is_asked():
    plan = Resolving(FollowUps(Orders()), Orders(), until(2))
    (first,) = plan.next_asks(state_of(3))
    partial = reading_of(first, {0: 0.1, 1: 0.9})
    (gap,) = plan.next_asks(state_of(3, answered=[(first, partial)]))
    assert gap.cause == "missing"
    (more,) = plan.next_asks(state_of(3, answered=[(first, partial), (gap, {2: 0.4})]))
    assert more.cause == "unresolved"


def test_a_judge_that_brought_nothing_is_not_asked_on():
    plan = Resolving(FollowUps(Orders()), Orders(), until(5))
    (first,) = plan.next_asks(state_of(3))
    assert plan.next_asks(state_of(3, answered=[(first, DOWN)])) == ()


def test_a_whole_panel_is_asked_on_together_and_a_fallback_goes_on_with_who_speaks():
    everyone = Everyone(Orders(), 2)
    plan = Resolving(FollowUps(everyone), everyone, until(2))
    first = plan.next_asks(state_of(3))
    more = plan.next_asks(state_of(3, answered=[(ask, WHOLE) for ask in first]))
    assert [(ask.slot, ask.cause) for ask in more] == [(0, "unresolved"), (1, "unresolved")]
    fallback = Fallback(Orders(), 2)
    plan = Resolving(FollowUps(fallback), fallback, until(2))
    (one,) = plan.next_asks(state_of(3))
    (two,) = plan.next_asks(state_of(3, answered=[(one, DOWN)]))
    (three,) = plan.next_asks(state_of(3, answered=[(one, DOWN), (two, WHOLE)]))
    assert (two.slot, three.slot, three.cause) == (1, 1, "unresolved")
    assert three.order != two.order


def verdict(ask: Ask, margin: float) -> Reading:
    return Reading((Comparison(ask.order[0], ask.order[1], margin, ask.number, ask.slot),), "strict")


def test_a_verdict_that_position_bias_may_have_decided_is_asked_the_other_way_round_once():
    plan = Swapping(Pairs(), {0: {"first": 1.0, "second": 0.0, "tie": 1.0}.__getitem__})
    pairs = plan.next_asks(state_of(3))
    answered = [(ask, verdict(ask, margin)) for ask, margin in zip(pairs, (0.5, -0.5, 0.0), strict=True)]
    swaps = plan.next_asks(state_of(3, answered=answered))
    assert [ask.order for ask in swaps] == [pairs[0].order[::-1], pairs[2].order[::-1]]
    assert [(ask.cause, ask.number) for ask in swaps] == [("swap", 3), ("swap", 4)]
    both = [*answered, *((ask, verdict(ask, 0.1)) for ask in swaps)]
    assert not plan.next_asks(state_of(3, answered=both))


def test_without_known_bias_both_orders_are_asked_and_a_swap_that_failed_is_not_asked_again():
    plan = Swapping(Pairs(), {})
    pairs = plan.next_asks(state_of(3))
    assert len(plan.next_asks(state_of(3, answered=[(ask, verdict(ask, -1.0)) for ask in pairs]))) == 3
    (pair,) = plan.next_asks(state_of(2))
    (swap,) = plan.next_asks(state_of(2, answered=[(pair, verdict(pair, 1.0))]))
    assert not plan.next_asks(state_of(2, answered=[(pair, verdict(pair, 1.0)), (swap, DOWN)]))
