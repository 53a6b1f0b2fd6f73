"""The figure of a whole data set."""

import random

import pytest

from calipers.rubric.tag_scores import DatasetScore, dataset_score


def test_the_mean_is_clipped_and_the_examples_are_not():
    assert dataset_score([1.0, -0.5]).mean == pytest.approx(0.25)
    assert dataset_score([-1.0, 0.5]).mean == 0.0


def test_ungraded_examples_are_told_and_never_counted_as_zero():
    assert dataset_score([0.5, None, 0.5]) == DatasetScore(0.5, 0.0, 2, 1)
    assert dataset_score([None, None]) == DatasetScore(None, None, 0, 2)


def test_the_bootstrap_deviation_is_that_of_the_mean_and_repeats():
    generator = random.Random(1)
    scores = [generator.gauss(0.5, 0.2) for _ in range(400)]
    found = dataset_score(scores)
    assert found.stderr == pytest.approx(0.2 / 20, rel=0.15)
    assert dataset_score(scores) == found
    assert dataset_score(scores, seed=1).stderr != found.stderr


def test_clipping_takes_spread_away():
    assert dataset_score([-1.0] * 20).stderr == 0.0
