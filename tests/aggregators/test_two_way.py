"""Two-way least squares: what it recovers, what it leaves unknown."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.noise import Noise
from calipers.aggregators.two_way import TwoWay, two_way
from calipers.types import Comparison, Rating


def ratings(rows: list[dict[int, float]]) -> list[Rating]:
    return [Rating(item, value, number) for number, row in enumerate(rows) for item, value in row.items()]


def test_nothing_said_and_what_is_no_rating_is_none_and_not_zero():
    assert two_way([Comparison(0, 1, 0.5, 0)], 2).values == (None, None)
    assert two_way([], 2).values == (None, None)
    assert two_way(ratings([{0: 0.4}]), 2).values == (0.4, None)


@given(st.lists(st.lists(st.integers(0, 100), min_size=3, max_size=3), min_size=1, max_size=5))
def test_complete_answers_average_by_candidate(rows: list[list[int]]):
    scores = two_way(ratings([{item: value / 100 for item, value in enumerate(row)} for row in rows]), 3)
    for item in range(3):
        assert scores.values[item] == pytest.approx(sum(row[item] for row in rows) / 100 / len(rows), abs=1e-6)


def test_a_left_out_candidate_is_put_on_the_old_scale_through_its_anchors():
    """The follow-up was 0.1 more generous to both anchors, so the newcomer's 0.6 is worth 0.5."""
    scores = two_way(ratings([{0: 0.8, 1: 0.2, 3: 0.4}, {0: 0.9, 1: 0.3, 2: 0.6}]), 4)
    assert scores.values[2] == pytest.approx(0.5, abs=1e-6)


def test_of_sets_that_nothing_connects_the_largest_has_scores_and_of_equal_ones_the_one_rated_first():
    cases: list[tuple[list[dict[int, float]], tuple[float | None, ...]]] = [
        ([{0: 0.9, 1: 0.1, 2: 0.3}, {3: 0.5, 4: 0.6}], (0.9, 0.1, 0.3, None, None)),
        ([{0: 0.4, 1: 0.6}, {2: 0.9, 3: 0.1}, {3: 0.1, 4: 0.5}], (None, None, 0.9, 0.1, 0.5)),
        ([{2: 0.9, 3: 0.1}, {0: 0.4, 1: 0.6}], (None, None, 0.9, 0.1)),
    ]
    for rows, values in cases:
        assert two_way(ratings(rows), len(values)).values == values


@given(st.permutations(range(4)), st.integers(0, 100))
def test_equal_evidence_gives_bit_equal_scores(order: list[int], value: int):
    """A tie that is off by rounding would become an advantage after division by the standard deviation."""
    rows = [dict.fromkeys(order, value / 100), dict.fromkeys(order[:3], value / 100)]
    values = two_way(ratings(rows), 4).values
    assert len(set(values)) == 1


def test_the_standard_error_is_the_one_the_noise_has():
    """Over many simulated groups the squared error matches the squared standard error."""
    generator = random.Random(11)
    truth = [0.2, 0.4, 0.6, 0.8]
    ratio = []
    for _ in range(400):
        rows = []
        for _ in range(4):
            generosity = generator.gauss(0, 0.1)
            rows.append({item: value + generosity + generator.gauss(0, 0.05) for item, value in enumerate(truth)})
        scores = two_way(ratings(rows), 4)
        values = [value for value in scores.values if value is not None]
        mean = math.fsum(values) / 4
        error = scores.stderrs[0]
        assert error is not None
        expected = 0.75 * error**2  # the error of a difference from the group's mean of four
        ratio.append(((values[0] - mean) - (truth[0] - 0.5)) ** 2 / expected)
    assert 0.75 < sum(ratio) / len(ratio) < 1.4


# --- errors from a judge's probabilities, where there are no others ---


def test_one_answer_has_the_errors_of_its_probabilities_and_repeats_that_of_a_mean() -> None:
    scores = two_way([Rating(0, 0.4, 0, spread=0.1), Rating(1, 0.6, 0, spread=0.2)], 3)
    assert scores.values == (0.4, 0.6, None)
    assert scores.stderrs == (0.1, 0.2, None)
    # Repeats of one candidate alone have the error of a mean.
    assert two_way([Rating(0, 0.5, turn) for turn in range(4)], 1).stderrs == (None,)
    assert two_way([Rating(0, 0.5, turn, spread=0.2) for turn in range(4)], 1).stderrs == (0.1,)


# --- errors from what is known of the judge ---

NOISE = Noise(0.01, 6.0)
ONE = [Rating(item, value, 0) for item, value in enumerate((0.2, 0.5, 0.9))]
TWO = [*ONE, *(Rating(item, value, 1) for item, value in enumerate((0.3, 0.4, 0.8)))]


def test_one_call_has_the_judges_error_and_two_less():
    assert TwoWay({0: NOISE})(ONE, 3).stderrs == (0.1,) * 3
    both = TwoWay({0: NOISE})(TWO, 3)
    assert both.values == two_way(TWO, 3).values
    residual = 3 * (two_way(TWO, 3).stderrs[0] or 0.0) ** 2 * 2 * 2 / 3
    assert both.stderrs[0] == pytest.approx(math.sqrt((6 * 0.01 + residual) / 8 / 2), abs=1e-5)
