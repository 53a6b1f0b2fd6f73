"""When to stop asking: clear groups and hopeless ones at once, near ties later."""

from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.resolution import StoppingRule
from calipers.types import Scores


def stops(values: tuple[float | None, ...], error: float | None, *, spread: float = 1.0, calls: int = 1) -> bool:
    errors = tuple(None if value is None else error for value in values)
    return StoppingRule(spread, budget=3).should_stop(Scores(values, errors), calls=calls)


def test_a_group_is_asked_about_while_another_call_may_change_its_ranking():
    assert stops((0.0, 5.0, 9.0), 0.3)
    assert not stops((5.0, 5.3, 4.8), 0.6)
    assert stops((5.0, 5.3, 4.8), 0.6, calls=3)  # the budget
    assert stops((5.0, 5.1), 3.0, spread=1e-6)  # the judge usually sees next to no difference
    assert stops((5.0, None), 0.6)
    assert stops((5.0, 5.1), None)


@given(st.floats(0.1, 50), st.floats(1e-3, 20), st.integers(1, 20), st.integers(1, 30))
def test_a_further_call_never_adds_more_than_all_and_more_where_noise_is_larger(
    seen: float, noise: float, freedom: int, calls: int
):
    assert 0 <= StoppingRule(1.0).gain(seen, noise, freedom=freedom, calls=calls) <= 1
    rule, small = StoppingRule(seen), min(noise, seen / 10)
    assert rule.gain(seen, small, freedom=3, calls=1) >= rule.gain(seen, small / 2, freedom=3, calls=1)
    assert StoppingRule(0.0).gain(0.0, 1.0, freedom=3, calls=1) == 0
