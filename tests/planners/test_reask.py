"""Follow-ups: what is asked again, how, and when it stops."""

from calipers.planners.orders import Orders
from calipers.planners.reask import ROOM, Reask
from calipers.types import Ask, Failure, Rating, Reading
from planning import reading_of, state_of

PLAN = Reask(Orders())


def test_a_complete_answer_needs_no_follow_up():
    (ask,) = PLAN.next_asks(state_of(3))
    assert not PLAN.next_asks(state_of(3, answered=[(ask, {0: 0.1, 1: 0.5, 2: 0.9})]))


def test_what_was_left_out_is_asked_next_to_the_best_and_the_worst_it_scored():
    (ask,) = PLAN.next_asks(state_of(5))
    (again,) = PLAN.next_asks(state_of(5, answered=[(ask, {0: 0.3, 1: 0.9, 2: 0.1, 3: 0.5})]))
    assert again.cause == "missing"
    assert again.members == (4,)
    assert set(again.order) == {4, 1, 2}
    assert dict(again.anchors) == {1: 0.9, 2: 0.1}
    assert again.parent == ask.number


def test_an_answer_in_doubt_is_asked_again_whole_and_told_why():
    (ask,) = PLAN.next_asks(state_of(3))
    doubt = Reading((), "rejected", "ids unknown", missing=dict.fromkeys(range(3), "x"), complaint="it named strangers")
    (again,) = PLAN.next_asks(state_of(3, answered=[(ask, doubt)]))
    assert (again.cause, again.members, again.note) == ("doubt", (0, 1, 2), "it named strangers")


def test_a_cut_off_answer_gets_more_room():
    (ask,) = PLAN.next_asks(state_of(3))
    cut = reading_of(ask, {}, truncated=True)
    (again,) = PLAN.next_asks(state_of(3, answered=[(ask, cut)]))
    assert (again.cause, again.max_tokens_factor) == ("truncated", ROOM)


def test_a_failed_call_is_not_asked_again():
    (ask,) = PLAN.next_asks(state_of(3))
    assert not PLAN.next_asks(state_of(3, answered=[(ask, Failure("server", "down"))]))


def test_it_stops_after_the_limit():
    asks: list[Ask] = []
    answered: list[tuple[Ask, Reading]] = []
    state = state_of(3)
    while new := PLAN.next_asks(state):
        asks += new
        answered += [(ask, reading_of(ask, {})) for ask in new]
        state = state_of(3, answered=answered)
    assert [ask.cause for ask in asks] == ["first", "doubt", "doubt"]


def test_each_order_is_followed_up_on_its_own():
    plan = Reask(Orders(2))
    first, second = plan.next_asks(state_of(3))
    full = {0: 0.1, 1: 0.5, 2: 0.9}
    (again,) = plan.next_asks(state_of(3, answered=[(first, full), (second, {0: 0.2, 1: 0.4})]))
    assert again.parent == second.number
    assert again.number == 2


def test_of_candidates_tied_at_the_top_or_the_bottom_the_first_is_the_anchor():
    (ask,) = PLAN.next_asks(state_of(5))
    (again,) = PLAN.next_asks(state_of(5, answered=[(ask, {3: 0.1, 2: 0.9, 1: 0.9, 0: 0.1})]))
    assert again.anchors == ((1, 0.9), (0, 0.1))


def test_candidates_that_all_have_one_score_give_one_anchor():
    (ask,) = PLAN.next_asks(state_of(3))
    (again,) = PLAN.next_asks(state_of(3, answered=[(ask, {1: 0.5})]))
    assert again.anchors == ((1, 0.5),)
    assert set(again.order) == {0, 1, 2}


def test_anchors_come_from_the_answer_that_left_the_gap_and_from_what_completed_it():
    """Another order's scores are on that answer's own scale."""
    plan = Reask(Orders(2))
    first, second = plan.next_asks(state_of(4))
    whole = {0: 0.0, 1: 1.0, 2: 0.5, 3: 0.5}
    gap = (second, {0: 0.4, 1: 0.6})
    (again,) = plan.next_asks(state_of(4, answered=[(first, whole), gap]))
    assert (again.presentation, again.anchors) == (second.number, ((1, 0.6), (0, 0.4)))
    filled = Reading((Rating(2, 0.9, second.number),), "partial", missing={3: "left out"}, complaint="it was poor")
    (last,) = plan.next_asks(state_of(4, answered=[(first, whole), gap, (again, filled)]))
    assert (last.members, last.parent, last.presentation) == ((3,), again.number, second.number)
    assert last.anchors == ((2, 0.9), (0, 0.4))
