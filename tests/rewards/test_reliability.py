"""A group's reliability is the share of its variance that is not noise, and unknown where the noise is."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.noise import Noise
from calipers.aggregators.two_way import TwoWay, two_way
from calipers.rewards.reliability import errors_of_interval, f_quantile, incomplete_beta, reliability_of
from calipers.types import UNKNOWN_RELIABILITY, Rating, Scores

VALUES = (0.1, 0.5, 0.3, 0.8)


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e308, 5e-300])
@pytest.mark.parametrize("noise", [0.1, 0.0])
def test_scores_of_any_size_have_the_reliability_of_their_ratio(scale: float, noise: float) -> None:
    """The square of 1e200 is no float: this was an OverflowError."""
    ordinary = reliability_of(Scores(VALUES, (noise,) * 4, "repeats", 3))
    far = Scores(tuple(value * scale for value in VALUES), (noise * scale,) * 4, "repeats", 3)
    assert reliability_of(far) == ordinary
    assert reliability_of(Scores((scale, -scale), (noise * scale,) * 2)).value is not None


def test_a_95_percent_interval_covers_95_percent_also_after_two_calls() -> None:
    """1.96 standard errors cover nine tenths, because the error is estimated from three degrees of freedom."""
    generator = random.Random(0)
    inside = normal = 0
    for _ in range(1500):
        ratings = [Rating(item, generator.gauss(0.5, 0.1), call, item) for call in (0, 1) for item in range(4)]
        scores = two_way(ratings, 4)
        mean = statistics.fmean(value or 0.0 for value in scores.values)
        for value, error in zip(scores.values, scores.stderrs, strict=True):
            off, size = abs((value or 0.0) - mean), error or 0.0
            inside += off <= errors_of_interval(scores.freedom) * size
            normal += off <= 1.96 * size
    assert inside / 6000 == pytest.approx(0.95, abs=0.02)
    assert normal / 6000 < 0.9
    assert [round(errors_of_interval(freedom), 2) for freedom in (0.1, 1, 3, 30, 1e6, None)] == [
        12.71, 12.71, 3.18, 2.04, 1.96, 1.96,
    ]  # fmt: skip


def test_what_cannot_be_known_is_unknown_and_neither_0_nor_1() -> None:
    unknown = {
        "none": Scores((), ()),
        "one": Scores((0.5,), (0.1,), "repeats", 3),
        "one scored": Scores((0.5, None), (0.1, None), "repeats", 3),
        "unscored": Scores((None, None), (None, None)),
        "one call": Scores((0.2, 0.7), (None, None)),
        "one unknown": Scores((0.2, 0.7, 0.4), (0.1, None, 0.1), "repeats", 3),
        "infinite": Scores((0.2, 0.7), (0.1, math.inf), "assumed"),
        "nan error": Scores((0.2, 0.7), (0.1, math.nan), "assumed"),
        "nan score": Scores((0.2, math.nan), (0.1, 0.1), "assumed"),
    }
    assert {name: reliability_of(scores) for name, scores in unknown.items()} == dict.fromkeys(
        unknown, UNKNOWN_RELIABILITY
    )
    assert (UNKNOWN_RELIABILITY.value, UNKNOWN_RELIABILITY.basis) == (None, "unknown")


def test_one_answer_without_history_leaves_the_reliability_unknown_and_history_tells_it() -> None:
    answer = [Rating(item, value, 0) for item, value in enumerate(VALUES)]
    assert reliability_of(two_way(answer, 4)) == UNKNOWN_RELIABILITY
    learned = reliability_of(TwoWay({0: Noise(0.02, 12.0)})(answer, 4))
    assert (learned.basis, learned.freedom) == ("learned", 12.0)
    assert learned.value == pytest.approx(1 - 0.02 / statistics.variance(VALUES), abs=1e-5)


def test_log_probabilities_and_comparisons_are_assumptions_without_an_interval() -> None:
    answer = [Rating(item, value, 0, spread=0.1) for item, value in enumerate(VALUES)]
    found = reliability_of(two_way(answer, 4))
    assert (found.basis, found.interval) == ("assumed", None)
    assert found.value is not None


def test_equal_scores_have_the_reliability_0_and_errors_above_the_spread_too() -> None:
    for values, error in (((0.5, 0.5), 0.1), ((0.5, 0.5), 0.0), ((0.4, 0.5), 9.0)):
        assert reliability_of(Scores(values, (error, error), "repeats", 1)).value == 0.0
    exact = reliability_of(Scores((0.4, 0.5), (0.0, 0.0), "repeats", 1))
    assert (exact.value, exact.interval) == (1.0, None)


# Critical values of F (upper 2.5 %): Pearson & Hartley, Biometrika Tables for Statisticians, table 18.
@pytest.mark.parametrize(("first", "second", "value"), [(7, 7, 4.99), (3, 21, 3.82), (1, 1, 647.8), (15, 15, 2.86)])
def test_quantiles_of_f_are_those_of_the_tables(first: int, second: int, value: float) -> None:
    assert f_quantile(0.975, first, second) == pytest.approx(value, rel=2e-3)
    assert f_quantile(0.025, second, first) == pytest.approx(1 / f_quantile(0.975, first, second), rel=1e-9)


def test_the_incomplete_beta_function_has_its_known_values() -> None:
    assert incomplete_beta(0.3, 1.0, 1.0) == pytest.approx(0.3)
    assert incomplete_beta(0.3, 2.0, 1.0) == pytest.approx(0.09)
    assert incomplete_beta(0.5, 7.5, 7.5) == pytest.approx(0.5)
    assert (incomplete_beta(0.0, 2.0, 3.0), incomplete_beta(1.0, 2.0, 3.0)) == (0.0, 1.0)


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0, 1e3)), min_size=2, max_size=12),
    st.one_of(st.none(), st.floats(0.5, 1e6)),
)
def test_reliability_is_a_share_within_its_interval_and_never_nan(
    rows: list[tuple[float, float]], freedom: float | None
) -> None:
    values, errors = zip(*rows, strict=True)
    found = reliability_of(Scores(values, errors, "learned", freedom))
    assert found.value is not None
    assert 0 <= found.value <= 1
    if found.interval is not None:
        low, high = found.interval
        assert 0 <= low <= high <= 1


@pytest.mark.parametrize(("true", "calls"), [(0.3, 2), (0.6, 2), (0.8, 4), (0.95, 4)])
def test_the_interval_covers_the_reliability_of_simulated_groups(true: float, calls: int) -> None:
    """In 95 % of groups whose scores have the share ``true`` of signal, within simulation error."""
    rng = random.Random(1)
    noise = math.sqrt(calls * (1 / true - 1))
    covered = 0
    for _ in range(1000):
        quality = [rng.gauss(0, 1) for _ in range(6)]
        answers = [
            Rating(item, one + rng.gauss(0, noise), call) for call in range(calls) for item, one in enumerate(quality)
        ]
        found = reliability_of(two_way(answers, 6))
        assert found.interval is not None
        covered += found.interval[0] <= true <= found.interval[1]
    assert 0.93 <= covered / 1000 <= 0.97
