"""When a group's spread is no more than noise, and what may become of it."""

from calipers.aggregators.unresolved import is_all_noise, tied, unsaid
from calipers.types import Scores


def test_a_spread_within_its_errors_is_noise():
    assert is_all_noise(Scores((0.5, 0.52, 0.49), (0.1, 0.1, 0.1)))
    assert not is_all_noise(Scores((0.1, 0.5, 0.9), (0.1, 0.1, 0.1)))


def test_without_errors_or_with_one_score_nothing_is_said():
    assert not is_all_noise(Scores((0.5, 0.5), (None, None)))
    assert not is_all_noise(Scores((0.5, None), (0.1, None)))
    assert not is_all_noise(Scores((0.5, 0.5), (0.0, 0.0))), "a judge that repeats itself has no noise"


def test_ties_are_bit_equal_and_what_was_missing_stays_missing():
    assert tied(Scores((0.1, None, 0.4), (0.2, None, 0.2))).values == (0.25, None, 0.25)
    assert tied(Scores((None,), (None,))).values == (None,)
    assert unsaid(Scores((0.1, 0.2), (0.1, 0.1))) == Scores((None, None), (None, None))
