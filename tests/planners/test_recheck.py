"""What a canary made worthless is asked again in another order, and not for ever."""

from dataclasses import replace

from calipers.planners.orders import Orders
from calipers.planners.reask import Reask
from calipers.planners.recheck import Recheck
from calipers.types import Ask, Canary, Reading
from planning import reading_of, state_of

PLAN = Recheck(Reask(Orders(2)))
WON = Reading((), "rejected", "fooled", missing={0: "fooled"}, canary=Canary("empty", won=True))


def test_a_verdict_that_a_canary_won_is_asked_again_in_a_new_order():
    first, second = PLAN.next_asks(state_of(4))
    (again,) = PLAN.next_asks(state_of(4, answered=[(first, WON), (second, dict.fromkeys(range(4), 0.5))]))
    assert (again.cause, again.parent, again.members) == ("canary", first.number, first.members)
    assert again.number == second.number + 1
    assert again.order != first.order
    assert sorted(again.order) == sorted(first.order)


def test_the_new_order_differs_even_for_two():
    for digest in ("00", "01", "02", "03", "04", "05"):
        first, _ = PLAN.next_asks(state_of(2, digest=digest))
        (again,) = Recheck(Orders()).next_asks(state_of(2, digest=digest, answered=[(first, WON)]))
        assert again.order == first.order[::-1]


def test_it_is_asked_again_once_by_default_and_as_often_as_told():
    for limit in (1, 3):
        plan = Recheck(Orders(), limit)
        answered: list[tuple[Ask, Reading]] = []
        while asks := plan.next_asks(state_of(3, answered=answered)):
            answered += [(ask, WON) for ask in asks]
        assert [ask.cause for ask, _ in answered] == ["first"] + ["canary"] * limit


def test_judges_that_share_the_work_take_over_from_the_one_that_was_fooled():
    first, second = PLAN.next_asks(state_of(4))
    shared = Recheck(Orders(2), judges=3)
    fooled = replace(second, slot=2)
    (again,) = shared.next_asks(state_of(4, answered=[(first, {0: 0.1}), (fooled, WON)]))
    assert again.slot == 0
    gap = replace(fooled, anchors=((1, 0.5),))
    (again,) = shared.next_asks(state_of(4, answered=[(first, {0: 0.1}), (gap, WON)]))
    assert again.slot == 2


def test_canaries_that_lost_and_poor_answers_are_not_its_business():
    first, second = PLAN.next_asks(state_of(3))
    lost = reading_of(first, {0: 0.1, 1: 0.5, 2: 0.9}, canary=Canary("empty", won=False))
    assert Recheck(Orders(2)).next_asks(state_of(3, answered=[(first, lost), (second, {0: 0.1})])) == []


def test_a_test_that_was_passed_is_followed_by_the_question_it_was_for_and_nothing_else():
    first, second = PLAN.next_asks(state_of(4))
    passed = Reading((), "strict", canary=Canary("empty", won=False, alone=True))
    fooled = Reading((), "rejected", "fooled", missing={0: "fooled"}, canary=Canary("empty", won=True, alone=True))
    itself, again = PLAN.next_asks(state_of(4, answered=[(first, passed), (second, fooled)]))
    assert (itself.cause, itself.parent, itself.order) == ("tested", first.number, first.order)
    assert itself.presentation == first.number
    assert (again.cause, again.parent) == ("canary", second.number)
    rated = dict.fromkeys(range(4), 0.5)
    answered: list[tuple[Ask, dict[int, float] | Reading]] = [
        (first, passed), (second, fooled), (itself, rated), (again, passed)
    ]  # fmt: skip
    (last,) = PLAN.next_asks(state_of(4, answered=answered))
    assert (last.cause, last.parent, last.order) == ("tested", again.number, again.order)
    assert PLAN.next_asks(state_of(4, answered=[*answered, (last, rated)])) == []


def test_a_test_takes_nothing_from_how_often_an_answer_may_be_asked_again():
    (first,) = Recheck(Reask(Orders(), 1)).next_asks(state_of(3))
    passed = Reading((), "strict", canary=Canary("empty", won=False, alone=True))
    (itself,) = Recheck(Reask(Orders(), 1)).next_asks(state_of(3, answered=[(first, passed)]))
    poor = Reading((), "rejected", "no", missing=dict.fromkeys(range(3), "no"), complaint="it could not be read")
    (again,) = Recheck(Reask(Orders(), 1)).next_asks(state_of(3, answered=[(first, passed), (itself, poor)]))
    assert again.cause == "doubt"
