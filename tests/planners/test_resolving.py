"""Asking on: while it pays, never while an answer is incomplete, never of a judge that does not answer."""

from dataclasses import dataclass, replace

from calipers.planners.first_asks import Orders
from calipers.planners.follow_ups import FollowUps
from calipers.planners.panel import Everyone, Fallback
from calipers.planners.resolving import Resolving
from calipers.types import Ask, Failure, Scores
from planning import reading_of, state_of

WHOLE = {0: 0.1, 1: 0.5, 2: 0.9}
DOWN = Failure("server", "down")


@dataclass(frozen=True)
class Until:
    calls: int

    def should_stop(self, scores: Scores, *, calls: int) -> bool:
        return calls >= self.calls


def test_one_more_order_at_a_time_until_the_rule_is_satisfied():
    plan = Resolving(FollowUps(Orders()), Orders(), Until(3))
    answered: list[tuple[Ask, dict[int, float]]] = []
    while asks := plan.next_asks(state_of(3, answered=answered)):
        assert len(asks) == 1
        answered.append((asks[0], WHOLE))
    assert [ask.cause for ask, _ in answered] == ["first", "unresolved", "unresolved"]
    assert [ask.number for ask, _ in answered] == [0, 1, 2]
    assert len({ask.order for ask, _ in answered}) == 3


def test_a_gap_is_filled_before_another_order_is_asked():
    plan = Resolving(FollowUps(Orders()), Orders(), Until(2))
    (first,) = plan.next_asks(state_of(3))
    partial = reading_of(first, {0: 0.1, 1: 0.9})
    (gap,) = plan.next_asks(state_of(3, answered=[(first, partial)]))
    assert gap.cause == "missing"
    (more,) = plan.next_asks(state_of(3, answered=[(first, partial), (gap, {2: 0.4})]))
    assert more.cause == "unresolved"


def test_a_judge_that_brought_nothing_is_not_asked_on():
    plan = Resolving(FollowUps(Orders()), Orders(), Until(5))
    (first,) = plan.next_asks(state_of(3))
    assert plan.next_asks(state_of(3, answered=[(first, DOWN)])) == ()


def test_a_whole_panel_is_asked_on_together_and_a_fallback_goes_on_with_who_speaks():
    everyone = Everyone(Orders(), 2)
    plan = Resolving(FollowUps(everyone), everyone, Until(2))
    first = plan.next_asks(state_of(3))
    more = plan.next_asks(state_of(3, answered=[(ask, WHOLE) for ask in first]))
    assert [(ask.slot, ask.cause) for ask in more] == [(0, "unresolved"), (1, "unresolved")]
    fallback = Fallback(Orders(), 2)
    plan = Resolving(FollowUps(fallback), fallback, Until(2))
    (one,) = plan.next_asks(state_of(3))
    (two,) = plan.next_asks(state_of(3, answered=[(one, DOWN)]))
    (three,) = plan.next_asks(state_of(3, answered=[(one, DOWN), (two, WHOLE)]))
    assert (two.slot, three.slot, three.cause) == (1, 1, "unresolved")
    assert three.order != replace(two).order
