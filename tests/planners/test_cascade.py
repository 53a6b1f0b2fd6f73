"""Who is asked after whom in a cascade, and which answers each judge's planner sees."""

from dataclasses import replace
from typing import Any

import pytest

from calipers.aggregators.cascade import Rule
from calipers.planners.cascade import Cascade
from calipers.planners.first_asks import Orders, Rounds
from calipers.planners.follow_ups import FollowUps
from calipers.types import Failure, PlanState, Scores
from planning import state_of

CLEAR, CLOSE = {0: 0.1, 1: 0.5, 2: 0.9}, {0: 0.5, 1: 0.5, 2: 0.55}


def cascade(orders: tuple[int, ...] = (1, 1), *, share: float = 0.0) -> Cascade:
    return Cascade(tuple(FollowUps(Orders(count)) for count in orders), Rule((0.2,) * (len(orders) - 1), share=share))


def state(
    answered: list[Any], values: dict[int, float] | None = None, thresholds: tuple[Any, ...] = (0.2,)
) -> PlanState:
    row = tuple((values or {}).get(item) for item in range(3))
    return replace(state_of(3, answered=answered), scores=Scores(row, (None,) * 3), thresholds=thresholds)


def test_only_the_first_judge_is_asked_about_a_group_that_it_is_sure_of():
    (ask,) = cascade().next_asks(state([]))
    assert (ask.slot, ask.number) == (0, 0)
    assert not cascade().next_asks(state([(ask, CLEAR)], CLEAR))


def test_an_unsure_judge_is_followed_by_the_next_which_sees_none_of_its_answers():
    (first,) = cascade().next_asks(state([]))
    (second,) = cascade().next_asks(state([(first, CLOSE)], CLOSE))
    assert (second.slot, second.number, second.cause, second.parent) == (1, 1, "unsure", None)
    assert (second.order, second.anchors, second.note) == (first.order, (), "")
    assert not cascade().next_asks(state([(first, CLOSE), (second, CLOSE)], CLOSE))  # there is no third


def test_each_judge_is_asked_its_own_number_of_orders():
    plan = cascade((3, 2))
    firsts = plan.next_asks(state([]))
    assert [ask.number for ask in firsts] == [0, 1, 2]
    seconds = plan.next_asks(state([(ask, CLOSE) for ask in firsts], CLOSE))
    assert [(ask.number, ask.slot) for ask in seconds] == [(3, 1), (4, 1)]


def test_gaps_are_filled_before_a_judge_is_called_unsure():
    (first,) = cascade().next_asks(state([]))
    (again,) = cascade().next_asks(state([(first, {0: 0.1, 1: 0.9})], {0: 0.1, 1: 0.9}))
    assert (again.slot, again.cause, again.members) == (0, "missing", (2,))
    (second,) = cascade().next_asks(state([(first, CLOSE)], CLOSE))
    (gap,) = cascade().next_asks(state([(first, CLOSE), (second, {0: 0.1, 1: 0.9})], {0: 0.1, 1: 0.9}))
    assert (gap.slot, gap.number, gap.parent, gap.presentation) == (1, 2, 1, 1)


@pytest.mark.parametrize("kind", ["server", "refused", "timeout"])
def test_a_judge_that_fails_is_followed_by_the_next(kind: Any):
    (first,) = cascade().next_asks(state([]))
    (second,) = cascade().next_asks(state([(first, Failure(kind, "down"))]))
    assert (second.slot, second.cause) == (1, "unusable")
    assert not cascade().next_asks(state([(first, Failure(kind, "down")), (second, Failure(kind, "down"))]))


def test_a_check_goes_to_the_last_judge_of_three_and_doubt_to_the_next():
    plan = cascade((1, 1, 1), share=1.0)
    (first,) = plan.next_asks(state([], thresholds=(0.2, 0.2)))
    (check,) = plan.next_asks(state([(first, CLEAR)], CLEAR, thresholds=(0.2, 0.2)))
    assert (check.slot, check.cause) == (2, "check")
    (doubt,) = plan.next_asks(state([(first, CLOSE)], CLOSE, thresholds=(0.2, 0.2)))
    assert (doubt.slot, doubt.cause) == (1, "unsure")


def test_judges_without_a_threshold_are_passed_over():
    plan = cascade((1, 1, 1))
    (first,) = plan.next_asks(state([], thresholds=(None, 0.2)))
    assert first.slot == 1
    (last,) = plan.next_asks(state([], thresholds=(None, None)))
    assert last.slot == 2
    (first,) = plan.next_asks(state([], thresholds=(0.2, None)))
    (after,) = plan.next_asks(state([(first, CLOSE)], CLOSE, thresholds=(0.2, None)))
    assert after.slot == 2


def test_rounds_of_single_questions_move_as_a_whole():
    plan = Cascade((Rounds(), Rounds()), Rule((0.2,), share=0.0))
    firsts = plan.next_asks(state([]))
    assert [ask.number for ask in firsts] == [0, 1, 2]
    seconds = plan.next_asks(state([(ask, {ask.members[0]: 0.5}) for ask in firsts], dict.fromkeys(range(3), 0.5)))
    assert [(ask.number, ask.slot, ask.members) for ask in seconds] == [(3, 1, (0,)), (4, 1, (1,)), (5, 1, (2,))]
