"""Means with gaps, and lists put on one level."""

import math
import random

import numpy as np
import pytest

from calipers.aggregators.two_way import two_way
from calipers.calibration.arrays import mean_of_known, remove_list_effects
from calipers.types import Rating


def test_lists_with_gaps_are_read_as_two_way_least_squares_reads_them():
    """Eliminating the lists' levels for many groups at once is the same estimate, unknown members included."""
    generator = random.Random(8)
    picked, expected = np.full((12, 4, 6), math.nan), []
    for row in range(12):
        ratings = []
        for call in range(4):
            for item in generator.sample(range(6), generator.randint(2, 6)):
                picked[row, call, item] = round(generator.uniform(0, 10), 3)
                ratings.append(Rating(item, picked[row, call, item], call))
        expected.append([math.nan if value is None else value for value in two_way(ratings, 6).values])
    means = mean_of_known(picked, axis=1)
    remove_list_effects(means, picked)
    for found, values in zip(means, np.array(expected), strict=True):
        assert np.array_equal(np.isnan(found), np.isnan(values))
        assert found - np.nanmean(found) == pytest.approx(values - np.nanmean(values), abs=1e-4, nan_ok=True)


def test_lists_that_do_not_link_keep_the_largest_linked_set():
    nan = math.nan
    picked = np.array([[[1.0, 2.0, 3.0, nan, nan], [nan, nan, nan, 9.0, 1.0]]])
    means = mean_of_known(picked, axis=1)
    remove_list_effects(means, picked)
    assert np.isnan(means[0]).tolist() == [False, False, False, True, True]


def test_complete_lists_and_empty_ones_are_left_as_they_are():
    picked = np.array([[[1.0, 2.0], [3.0, 5.0], [math.nan, math.nan]], [[math.nan] * 2] * 3])
    means = mean_of_known(picked, axis=1)
    remove_list_effects(means, picked)
    assert means[0].tolist() == [2.0, 3.5]
    assert np.isnan(means[1]).all()


def test_the_mean_of_nothing_is_nan():
    assert math.isnan(mean_of_known(np.array([[math.nan, math.nan]]), axis=1)[0])
