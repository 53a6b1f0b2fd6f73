"""Noise and honest errors over simulated calls."""

import math

import numpy as np
import pytest

from calipers.calibration import repeats
from calipers.calibration.measures import Array

GENERATOR = np.random.default_rng(5)
TRUTH = GENERATOR.normal(size=(600, 1, 4))
CALLS = TRUTH + GENERATOR.normal(scale=0.6, size=(600, 8, 4))
LISTS = CALLS + GENERATOR.normal(scale=3.0, size=(600, 8, 1))
"""The same, with a level of its own for every list."""


@pytest.mark.parametrize("half", [2, 3, 4])
@pytest.mark.parametrize(("calls", "shared"), [(CALLS, False), (LISTS, True)], ids=["pointwise", "listwise"])
def test_standard_errors_are_honest_from_two_calls_on(calls: Array, half: int, *, shared: bool):
    assert repeats.stderr_ratio(calls[:, : 2 * half], shared=shared) == pytest.approx(1, abs=0.12)


def test_the_level_of_a_list_is_no_noise_and_what_is_not_shared_is():
    shared, alone = repeats.learn_noise(LISTS, shared=True), repeats.learn_noise(LISTS, shared=False)
    assert shared is not None
    assert alone is not None
    assert shared.variance == pytest.approx(0.36, rel=0.05)
    assert alone.variance > 5


def test_missing_scores_take_their_degrees_of_freedom_with_them():
    gaps = CALLS[:3].copy()
    gaps[0, 0, 0] = gaps[1, :, 2] = math.nan
    gaps[2] = math.nan
    assert repeats.squared_residuals(gaps, shared=False)[1].tolist() == [27, 21, 0]
    assert repeats.squared_residuals(gaps, shared=True)[1].tolist() == [20, 14, 0]


def test_below_two_calls_a_half_nothing_is_said():
    assert repeats.stderr_ratio(CALLS[:, :3], shared=False) is None
    assert repeats.learn_noise(CALLS[:, :1], shared=False) is None
