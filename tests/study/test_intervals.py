"""Means of runs, their t-intervals, and paired differences."""

from __future__ import annotations

import math
import statistics

import pytest

from calipers.study.intervals import estimate, paired_difference, t_distribution, t_quantile


def test_quantiles_are_those_of_printed_tables_and_of_the_normal_distribution() -> None:
    for freedom, quantile in {1: 12.7062, 2: 4.3027, 4: 2.7764, 9: 2.2622, 30: 2.0423}.items():
        assert t_quantile(0.975, freedom) == pytest.approx(quantile, abs=6e-5)
        assert t_distribution(t_quantile(0.9, freedom), freedom) == pytest.approx(0.9, abs=1e-12)
    assert t_quantile(0.975, 2000) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), abs=2e-3)


def test_an_interval_is_the_mean_and_its_error_times_the_quantile() -> None:
    found = estimate([1.0, 2.0, 4.0])
    error = statistics.stdev([1.0, 2.0, 4.0]) / math.sqrt(3)
    assert found.mean == pytest.approx(7 / 3)
    assert found.half_width == pytest.approx(4.3027 * error, rel=1e-4)
    assert found.detectable == pytest.approx((4.3027 + 1.0607) * error, rel=1e-4)
    assert not found.is_clear


def test_one_run_has_no_interval_and_no_runs_have_no_mean() -> None:
    assert estimate([3.0]).half_width is None
    assert not estimate([3.0]).is_clear
    with pytest.raises(ValueError, match="no runs"):
        estimate([])


def test_what_pairs_share_cancels() -> None:
    seeds = [10.0, -40.0, 25.0, 0.5]
    found = paired_difference([one + shift for one, shift in zip(seeds, (1.0, 1.1, 0.9, 1.0), strict=True)], seeds)
    assert found.mean == pytest.approx(1.0)
    assert found.half_width is not None
    assert found.half_width < 0.2
    assert found.is_clear
