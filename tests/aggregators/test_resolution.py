"""When to stop asking, when a group's spread is no more than noise, and what becomes of it then."""

from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.resolution import StoppingRule, usual_spread
from calipers.types import Scores


def scores(values: tuple[float | None, ...], error: float | None) -> Scores:
    return Scores(values, tuple(None if value is None else error for value in values))


def test_a_group_far_apart_is_settled_by_one_call():
    assert StoppingRule(spread=1.0).should_stop(scores((0.0, 5.0, 9.0), 0.3), calls=1)


def test_a_near_tie_is_asked_about_again():
    assert not StoppingRule(spread=1.0).should_stop(scores((5.0, 5.3, 4.8), 0.6), calls=1)


def test_a_hopeless_group_is_left_alone_at_once():
    """Where the judge usually sees next to no difference and the noise is large, no call can resolve anything."""
    assert StoppingRule(spread=1e-6).should_stop(scores((5.0, 5.1), 3.0), calls=1)


def test_the_budget_ends_it():
    near = scores((5.0, 5.3), 0.6)
    assert not StoppingRule(spread=1.0, budget=3).should_stop(near, calls=2)
    assert StoppingRule(spread=1.0, budget=3).should_stop(near, calls=3)


def test_without_two_scores_or_without_errors_there_is_nothing_to_wait_for():
    rule = StoppingRule(spread=1.0)
    assert rule.should_stop(scores((5.0, None), 0.6), calls=1)
    assert rule.should_stop(scores((5.0, 5.1), None), calls=1)


@given(st.floats(0, 50), st.floats(1e-3, 20), st.integers(1, 20), st.integers(1, 30))
def test_a_further_call_adds_less_and_less_and_never_more_than_all(seen: float, noise: float, freedom: int, calls: int):
    rule = StoppingRule(spread=1.0)
    gain = rule.gain(seen, noise, freedom=freedom, calls=calls)
    assert 0 <= gain <= 1


@given(st.floats(0.1, 50), st.floats(1e-3, 20))
def test_more_noise_never_makes_a_clear_group_less_worth_asking_about(seen: float, noise: float):
    """As long as the noise is small against the spread, gain grows with it."""
    rule = StoppingRule(spread=seen)
    small = min(noise, seen / 10)
    assert rule.gain(seen, small, freedom=3, calls=1) >= rule.gain(seen, small / 2, freedom=3, calls=1)


def test_a_judge_that_never_differs_is_not_asked_again():
    assert StoppingRule(spread=0.0).gain(0.0, 1.0, freedom=3, calls=1) == 0


def test_the_usual_spread_is_what_noise_does_not_explain():
    assert usual_spread(3.0, 1.0) == 2.0
    assert usual_spread(1.0, 3.0) == 0.0
