"""Who of a panel is asked what, and who stands in for whom."""

from collections import Counter
from dataclasses import replace

import pytest

from calipers.planners.first_asks import Orders, Rounds
from calipers.planners.follow_ups import FollowUps
from calipers.planners.panel import Cycle, Everyone, Fallback
from calipers.types import Answered, Failure, PlanState, Reading
from planning import state_of

DOWN = Failure("server", "down")
WHOLE = {0: 0.1, 1: 0.5, 2: 0.9}


def test_everyone_is_asked_every_order():
    asks = Everyone(Orders(2), 3).next_asks(state_of(3))
    assert [ask.number for ask in asks] == list(range(6))
    assert Counter(ask.slot for ask in asks) == {0: 2, 1: 2, 2: 2}
    assert len({ask.order for ask in asks}) == 2
    assert not Everyone(Orders(2), 3).next_asks(state_of(3, answered=[(asks[0], WHOLE)]))


def test_rounds_of_different_judges_stay_apart():
    asks = Everyone(Rounds(1, 2), 2).next_asks(state_of(3))
    rounds = {(ask.slot, ask.sample): ask.presentation for ask in asks}
    assert len(set(rounds.values())) == 4


def test_each_order_goes_to_another_judge_and_who_begins_depends_on_the_group():
    asks = Cycle(Orders(3), 3).next_asks(state_of(3))
    assert len(asks) == 3
    assert {ask.slot for ask in asks} == {0, 1, 2}
    begins = {Cycle(Orders(), 3).next_asks(state_of(3, digest=f"{n:032}"))[0].slot for n in range(30)}
    assert begins == {0, 1, 2}


def test_what_one_judge_cannot_answer_goes_to_the_next_until_all_were_asked():
    plan = Cycle(Orders(), 3)
    (first,) = plan.next_asks(state_of(3))
    (second,) = plan.next_asks(state_of(3, answered=[(first, DOWN)]))
    assert (second.cause, second.parent, second.order) == ("substitute", first.number, first.order)
    (third,) = plan.next_asks(state_of(3, answered=[(first, DOWN), (second, DOWN)]))
    assert {first.slot, second.slot, third.slot} == {0, 1, 2}
    assert not plan.next_asks(state_of(3, answered=[(first, DOWN), (second, DOWN), (third, DOWN)]))


@pytest.mark.parametrize("kind", ["deadline", "budget"])
def test_nobody_stands_in_where_nobody_could(kind: str):
    plan = Cycle(Orders(), 2)
    (first,) = plan.next_asks(state_of(3))
    failure = Failure(kind, "over")  # type: ignore[arg-type]  # literal
    assert not plan.next_asks(state_of(3, answered=[(first, failure)]))
    (alone,) = Fallback(Orders(), 2).next_asks(state_of(3))
    ended = state_of(3, answered=[(alone, Failure(kind, "over"))])  # type: ignore[arg-type]  # literal
    assert not Fallback(Orders(), 2).next_asks(ended)


def test_a_gap_that_one_judge_left_is_not_filled_by_another():
    plan = FollowUps(Cycle(Orders(), 2))
    (first,) = plan.next_asks(state_of(5))
    some = {0: 0.3, 1: 0.9, 2: 0.1, 3: 0.5}
    (again,) = plan.next_asks(state_of(5, answered=[(first, some)]))
    assert again.slot == first.slot
    assert not plan.next_asks(state_of(5, answered=[(first, some), (again, DOWN)]))


def test_a_substitute_may_be_asked_again_as_often_as_any_judge():
    plan = FollowUps(Cycle(Orders(), 2), reasks=1)
    (first,) = plan.next_asks(state_of(3))
    (second,) = plan.next_asks(state_of(3, answered=[(first, DOWN)]))
    doubt = Reading((), "rejected", "odd", missing=dict.fromkeys(range(3), "x"), complaint="it was odd")
    (third,) = plan.next_asks(state_of(3, answered=[(first, DOWN), (second, doubt)]))
    assert (third.slot, third.cause) == (second.slot, "doubt")
    assert not plan.next_asks(state_of(3, answered=[(first, DOWN), (second, doubt), (third, doubt)]))


def test_the_next_judge_is_asked_everything_where_the_first_fails_in_anything():
    plan = Fallback(Orders(2), 2)
    first = plan.next_asks(state_of(3))
    assert {ask.slot for ask in first} == {0}
    assert not plan.next_asks(state_of(3, answered=[(ask, WHOLE) for ask in first]))
    second = plan.next_asks(state_of(3, answered=[(first[0], WHOLE), (first[1], DOWN)]))
    assert [(ask.slot, ask.cause, ask.order) for ask in second] == [(1, "substitute", ask.order) for ask in first]
    assert [ask.parent for ask in second] == [ask.number for ask in first]
    last = state_of(3, answered=[(first[0], WHOLE), (first[1], DOWN), (second[0], DOWN), (second[1], WHOLE)])
    assert not plan.next_asks(last)


def test_further_presentations_are_the_speaking_judges():
    plan = Fallback(Orders(), 2)
    (first,) = plan.next_asks(state_of(3))
    state = state_of(3, answered=[(first, DOWN)])
    (second,) = plan.next_asks(state)
    after = PlanState(state.view, (*state.answered, Answered(second, DOWN)), state.scores)
    assert {ask.slot for ask in plan.presentation(after, 1)} == {1}
    assert replace(second, slot=0).order == first.order
