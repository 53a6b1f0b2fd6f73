"""Agreement, group by group."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration import measures
from calipers.calibration.measures import Array

NAN = math.nan
GOLD = np.array([[3.0, 2.0, 1.0, 0.0]])
VALUES = st.lists(st.integers(-5, 5).map(float), min_size=4, max_size=4)


ALL = (measures.fidelity, measures.tau_b, measures.top1, measures.sign_error)


def row(*values: float) -> Array:
    return np.array([values])


def test_scores_in_proportion_to_gold_are_perfect_and_equal_ones_are_chance():
    for scores, expected in ((row(30, 20, 10, 0), (1, 1, 1, 0)), (row(5, 5, 5, 5), (0, 0, 0.25, 0.5))):
        found = [measure(scores, GOLD)[0] for measure in ALL]
        assert found == pytest.approx(expected)


def test_what_has_no_score_or_no_spread_in_gold_says_nothing():
    assert all(math.isnan(measure(row(1, 2, 3, 4), row(1, 1, 1, 1))[0]) for measure in ALL)
    assert measures.fidelity(row(NAN, 2, 1, 0), row(-9, 2, 1, 0))[0] == pytest.approx(1)
    assert measures.fidelity(row(9, 2, 1, 0), row(NAN, 2, 1, 0))[0] == pytest.approx(1)
    assert math.isnan(measures.fidelity(row(NAN, NAN, NAN, 0), GOLD)[0])


def test_top1_shares_among_equal_best():
    assert measures.top1(row(9, 9, 1, 0), GOLD)[0] == 0.5
    assert measures.top1(row(0, 9, 1, 0), row(1, 1, 0, 0))[0] == 1


def test_tau_b_with_ties_is_kendalls():
    """By hand: 5 pairs differ in both, 4 agree and 1 does not; 6 pairs differ in gold, 5 in scores."""
    assert measures.tau_b(row(2, 2, 1, 3), row(3, 2, 1, 4))[0] == pytest.approx(5 / math.sqrt(6 * 5))
    assert measures.tau_b(row(2, 2, 3, 1), row(3, 2, 1, 4))[0] == pytest.approx(-5 / math.sqrt(6 * 5))


def test_the_sign_of_an_advantage_counts_and_its_size_does_not():
    assert measures.sign_error(row(100, 0, 0, 0), row(9, 8, 1, 0))[0] == 0.25


@given(VALUES, VALUES, st.floats(0.1, 10), st.floats(-5, 5))
def test_measures_have_a_range_and_no_scale(scores: list[float], gold: list[float], scale: float, offset: float):
    moved = row(*(scale * value + offset for value in scores))
    for measure, low in zip(ALL, (-1, -1, 0, 0), strict=True):
        found = measure(row(*scores), row(*gold))[0]
        assert math.isnan(found) or low - 1e-9 <= found <= 1 + 1e-9
        if measure is not measures.sign_error:
            assert measure(moved, row(*gold))[0] == pytest.approx(found, abs=1e-9, nan_ok=True)


def test_an_interval_is_the_same_every_time_and_holds_the_mean():
    values = np.random.default_rng(0).normal(0.5, 1, size=200)
    low, high = measures.bootstrap_interval(values) or (NAN, NAN)
    assert measures.bootstrap_interval(values) == (low, high)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 1.96 / math.sqrt(200), rel=0.15)


def test_without_two_groups_there_is_no_interval_and_without_any_no_mean():
    assert measures.bootstrap_interval(np.array([1.0, NAN])) is None
    assert measures.mean_over_groups(np.array([NAN])) is None
