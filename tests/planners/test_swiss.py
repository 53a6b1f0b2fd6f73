"""Fewer pairs than all: each against a pivot, or neighbours in the standing round by round."""

from dataclasses import replace

import pytest

from calipers.errors import ConfigError
from calipers.planners.pairs import Pivot
from calipers.planners.swiss import FirstRound, Swiss
from calipers.types import Ask, Comparison, Failure, PlanState, Reading, Scores
from planning import state_of


def said(ask: Ask) -> Reading:
    """The one with the higher number wins."""
    return Reading(
        (Comparison(ask.order[0], ask.order[1], float(ask.order[0] - ask.order[1]) / 20, ask.number),), "strict"
    )


def test_everybody_meets_the_pivot_once_and_stands_first_as_often_as_second():
    asks = Pivot().next_asks(state_of(7))
    (pivot,) = set.intersection(*(set(ask.order) for ask in asks))
    assert len(asks) == 6
    assert sum(ask.order[0] == pivot for ask in asks) == 3
    both = Pivot(2).next_asks(state_of(7))
    assert {ask.order for ask in both} == {ask.order for ask in asks} | {ask.order[::-1] for ask in asks}


def test_each_sample_has_a_pivot_of_its_own():
    asks = Pivot(1, 3).next_asks(state_of(5))
    pivots = [set.intersection(*(set(ask.order) for ask in asks[start : start + 4])) for start in (0, 4, 8)]
    assert len(set().union(*pivots)) == 3


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_rounds_go_on_until_enough_were_played_and_nobody_meets_twice(n: int):
    plan = Swiss(FirstRound())
    answered: list[tuple[Ask, Reading]] = []
    rounds = 0
    strengths = tuple(item / n for item in range(n))
    while asks := plan.next_asks(replace(state_of(n, answered=answered), scores=Scores(strengths, (None,) * n))):
        rounds += 1
        answered += [(ask, said(ask)) for ask in asks]
    met = [frozenset(ask.order) for ask, _ in answered]
    assert len(met) == len(set(met)) <= n * (n - 1) // 2
    assert set().union(*met) == set(range(n))
    assert rounds <= 6
    assert [ask.number for ask, _ in answered] == list(range(len(met)))
    if n == 8:
        assert len(met) >= 4 * 4


def test_the_second_round_pairs_those_who_stand_next_to_one_another():
    first = FirstRound().next_asks(state_of(4))
    state = state_of(4, answered=[(ask, said(ask)) for ask in first])
    met = {frozenset(ask.order) for ask in first}
    ranked = Scores((0.0, 1.0, 2.0, 3.0), (None,) * 4)
    second = Swiss(FirstRound()).next_asks(replace(state, scores=ranked))
    top = next(ask for ask in second if 3 in ask.order)
    expected = next(one for one in (2, 1, 0) if frozenset((3, one)) not in met)
    assert set(top.order) == {3, expected}


def test_both_orders_and_every_judge_of_a_panel_play_each_round():
    first = [
        replace(ask, slot=slot, number=4 * slot + ask.number)
        for slot in range(2)
        for ask in FirstRound(2).next_asks(state_of(4))
    ]
    state = state_of(4, answered=[(ask, said(ask)) for ask in first])
    second = Swiss(FirstRound(2), 2).next_asks(replace(state, scores=Scores((0.0, 1.0, 2.0, 3.0), (None,) * 4)))
    assert {ask.slot for ask in second} == {0, 1}
    assert {ask.order for ask in second if ask.slot == 0} == {ask.order[::-1] for ask in second if ask.slot == 1}


def test_where_nobody_answered_nothing_more_is_asked():
    first = FirstRound().next_asks(state_of(4))
    state: PlanState = state_of(4, answered=[(ask, Failure("server", "down")) for ask in first])
    assert not Swiss(FirstRound()).next_asks(state)


@pytest.mark.parametrize("planner", [Pivot, FirstRound])
def test_a_pair_has_two_orders(planner: type[Pivot] | type[FirstRound]):
    with pytest.raises(ConfigError, match="two orders"):
        planner(3)
