"""Verdicts of several judges with rates of error of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.dawid_skene import dawid_skene
from calipers.calibration.arrays import Array


def verdicts(truth: Array, *rates: tuple[float, float], seed: int = 0) -> Array:
    """Verdicts of judges with the given sensitivities and specificities."""
    generator = np.random.default_rng(seed)
    return np.array(
        [
            np.where(truth > 0, generator.random(len(truth)) < hit, generator.random(len(truth)) > right)
            for hit, right in rates
        ],
        dtype=np.float64,
    ).T


TRUTH = (np.random.default_rng(1).random(2000) < 0.3).astype(np.float64)


def test_rates_of_judges_are_found_without_labels():
    found = dawid_skene(verdicts(TRUTH, (0.9, 0.8), (0.7, 0.95), (0.6, 0.6)))
    assert found.rate == pytest.approx(TRUTH.mean(), abs=0.05)
    assert found.sensitivity == pytest.approx((0.9, 0.7, 0.6), abs=0.08)
    assert found.specificity == pytest.approx((0.8, 0.95, 0.6), abs=0.08)


def test_one_good_judge_outvotes_several_poor_ones_where_a_majority_would_not():
    said = verdicts(TRUTH, (0.95, 0.95), (0.9, 0.9), (0.55, 0.55), (0.55, 0.55), (0.55, 0.55))
    right = ((dawid_skene(said).met > 0.5) == (TRUTH > 0)).mean()
    assert right > ((said.mean(axis=1) > 0.5) == (TRUTH > 0)).mean() + 0.05


def test_an_item_without_a_verdict_is_not_known():
    said = verdicts(TRUTH[:50], (0.9, 0.9), (0.8, 0.8))
    said[3] = np.nan
    said[4, 0] = np.nan
    found = dawid_skene(said)
    assert np.isnan(found.met[3])
    assert np.isnan(found.met).sum() == 1


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=3, max_size=3), min_size=1, max_size=30))
def test_probabilities_are_within_bounds_whatever_was_said(rows: list[list[float]]):
    found = dawid_skene(np.array(rows))
    known = found.met[~np.isnan(found.met)]
    assert ((known >= 0) & (known <= 1)).all()
    assert all(0 < one < 1 for one in (found.rate, *found.sensitivity, *found.specificity))
