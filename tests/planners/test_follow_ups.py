"""Follow-ups: what is asked again, how, and when it stops."""

from dataclasses import replace

from calipers.planners.first_asks import Orders
from calipers.planners.follow_ups import FollowUps
from calipers.types import Ask, Canary, Failure, Rating, Reading, Window
from planning import state_of

PLAN = FollowUps(Orders())


def test_what_was_left_out_is_asked_next_to_the_best_and_the_worst_it_scored():
    (ask,) = PLAN.next_asks(state_of(5))
    (again,) = PLAN.next_asks(state_of(5, answered=[(ask, {0: 0.3, 1: 0.9, 2: 0.1, 3: 0.5})]))
    assert again.cause == "missing"
    assert again.members == (4,)
    assert set(again.order) == {4, 1, 2}
    assert dict(again.anchors) == {1: 0.9, 2: 0.1}
    assert again.parent == ask.number


def test_of_candidates_tied_at_the_top_or_the_bottom_the_first_is_the_anchor():
    (ask,) = PLAN.next_asks(state_of(5))
    (again,) = PLAN.next_asks(state_of(5, answered=[(ask, {3: 0.1, 2: 0.9, 1: 0.9, 0: 0.1})]))
    assert again.anchors == ((1, 0.9), (0, 0.1))


def test_anchors_come_from_the_answer_that_left_the_gap_and_from_what_completed_it():
    """Another order's scores are on that answer's own scale."""
    plan = FollowUps(Orders(2))
    first, second = plan.next_asks(state_of(4))
    whole = {0: 0.0, 1: 1.0, 2: 0.5, 3: 0.5}
    gap = (second, {0: 0.4, 1: 0.6})
    (again,) = plan.next_asks(state_of(4, answered=[(first, whole), gap]))
    assert (again.parent, again.number) == (second.number, 2)
    assert (again.presentation, again.anchors) == (second.number, ((1, 0.6), (0, 0.4)))
    filled = Reading((Rating(2, 0.9, second.number),), "partial", missing={3: "left out"}, complaint="it was poor")
    (last,) = plan.next_asks(state_of(4, answered=[(first, whole), gap, (again, filled)]))
    assert (last.members, last.parent, last.presentation) == ((3,), again.number, second.number)
    assert last.anchors == ((2, 0.9), (0, 0.4))


# --- verdicts that a canary won, and tests that were passed

TWO = FollowUps(Orders(2))
WON = Reading((), "rejected", "fooled", missing={0: "fooled"}, canary=Canary("empty", won=True))


def test_a_verdict_that_a_canary_won_is_asked_again_in_a_new_order():
    first, second = TWO.next_asks(state_of(4))
    (again,) = TWO.next_asks(state_of(4, answered=[(first, WON), (second, dict.fromkeys(range(4), 0.5))]))
    assert (again.cause, again.parent, again.members) == ("canary", first.number, first.members)
    assert again.number == second.number + 1
    assert again.order != first.order
    assert sorted(again.order) == sorted(first.order)


def test_the_new_order_differs_even_for_two():
    for digest in ("00", "01", "02", "03", "04", "05"):
        first, _ = TWO.next_asks(state_of(2, digest=digest))
        (again,) = FollowUps(Orders()).next_asks(state_of(2, digest=digest, answered=[(first, WON)]))
        assert again.order == first.order[::-1]


def test_it_is_asked_again_once():
    answered: list[tuple[Ask, Reading]] = []
    while asks := PLAN.next_asks(state_of(3, answered=answered)):
        answered += [(ask, WON) for ask in asks]
    assert [ask.cause for ask, _ in answered] == ["first", "canary"]


def test_judges_that_share_the_work_take_over_from_the_one_that_was_fooled():
    first, second = TWO.next_asks(state_of(4))
    shared = FollowUps(Orders(2), 0, sharing=3)
    fooled = replace(second, slot=2)
    (again,) = shared.next_asks(state_of(4, answered=[(first, {0: 0.1}), (fooled, WON)]))
    assert again.slot == 0
    gap = replace(fooled, anchors=((1, 0.5),))
    (again,) = shared.next_asks(state_of(4, answered=[(first, {0: 0.1}), (gap, WON)]))
    assert again.slot == 2


def test_a_test_that_was_passed_is_followed_by_the_question_it_was_for_and_nothing_else():
    first, second = TWO.next_asks(state_of(4))
    passed = Reading((), "strict", canary=Canary("empty", won=False, alone=True))
    fooled = Reading((), "rejected", "fooled", missing={0: "fooled"}, canary=Canary("empty", won=True, alone=True))
    itself, again = TWO.next_asks(state_of(4, answered=[(first, passed), (second, fooled)]))
    assert (itself.cause, itself.parent, itself.order) == ("tested", first.number, first.order)
    assert itself.presentation == first.number
    assert (again.cause, again.parent) == ("canary", second.number)
    rated = dict.fromkeys(range(4), 0.5)
    answered: list[tuple[Ask, dict[int, float] | Reading]] = [
        (first, passed), (second, fooled), (itself, rated), (again, passed)
    ]  # fmt: skip
    (last,) = TWO.next_asks(state_of(4, answered=answered))
    assert (last.cause, last.parent, last.order) == ("tested", again.number, again.order)
    assert TWO.next_asks(state_of(4, answered=[*answered, (last, rated)])) == []


def test_a_test_takes_nothing_from_how_often_an_answer_may_be_asked_again():
    (first,) = FollowUps(Orders(), 1).next_asks(state_of(3))
    passed = Reading((), "strict", canary=Canary("empty", won=False, alone=True))
    (itself,) = FollowUps(Orders(), 1).next_asks(state_of(3, answered=[(first, passed)]))
    poor = Reading((), "rejected", "no", missing=dict.fromkeys(range(3), "no"), complaint="it could not be read")
    (again,) = FollowUps(Orders(), 1).next_asks(state_of(3, answered=[(first, passed), (itself, poor)]))
    assert again.cause == "doubt"


# --- questions that were too long

WINDOW = Window(4096, 2.5)
Ended = tuple[Ask, dict[int, float] | Failure]
REFUSED = Failure("context_window", "too long", limit=4096, prompt=9000, window=WINDOW)


def test_each_refusal_that_told_the_window_is_asked_again_within_it_once() -> None:
    asks = TWO.next_asks(state_of(2))
    refused = [(ask, REFUSED) for ask in asks]
    follow = TWO.next_asks(state_of(2, answered=refused))
    assert [(ask.number, ask.parent, ask.cause, ask.window) for ask in follow] == [
        (2, 0, "window", WINDOW), (3, 1, "window", WINDOW),
    ]  # fmt: skip
    assert [(ask.order, ask.members) for ask in follow] == [(ask.order, ask.members) for ask in asks]
    assert TWO.next_asks(state_of(2, answered=[*refused, *((ask, {0: 0.5, 1: 0.1}) for ask in follow)])) == []


def test_a_refusal_without_a_size_and_other_failures_are_left_alone() -> None:
    first, second = TWO.next_asks(state_of(2))
    unknown = [(first, Failure("context_window", "too long")), (second, Failure("timeout", "slow"))]
    assert TWO.next_asks(state_of(2, answered=unknown)) == []


def test_another_server_with_a_smaller_window_is_followed_three_times_at_most() -> None:
    first, second = TWO.next_asks(state_of(2))
    answered: list[Ended] = [(second, {0: 0.5, 1: 0.2})]
    ask, windows = first, []
    for tokens in (8192, 4096, 2048, 1024, 512):
        window = Window(tokens, 2.5)
        answered.append((ask, Failure("context_window", "too long", limit=tokens, window=window)))
        follow = TWO.next_asks(state_of(2, answered=sorted(answered, key=lambda one: one[0].number)))
        if not follow:
            break
        (ask,) = follow
        windows.append(ask.window)
    assert windows == [Window(8192, 2.5), Window(4096, 2.5), Window(2048, 2.5)]
