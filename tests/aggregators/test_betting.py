"""Bounds that hold at any time: seldom wrong, and close to the mean of many values."""

import random

from calipers.aggregators.betting import evidence_above, lower_bound, upper_bound


def drawn(mean: float, count: int, seed: int) -> list[float]:
    """Values of 0 and 1, the widest spread that a mean allows."""
    generator = random.Random(seed)
    return [float(generator.random() < mean) for _ in range(count)]


def test_a_mean_at_its_limit_is_seldom_accused_however_often_one_looks():
    accused = sum(evidence_above(drawn(0.2, 400, seed), 0.2) >= 10 for seed in range(100))
    assert accused <= 10  # a tenth, by Ville's inequality


def test_evidence_against_a_limit_grows_with_the_values_and_never_overflows():
    assert evidence_above([], 0.5) == 1
    assert evidence_above([0.1] * 50, 0.5) < evidence_above([0.6] * 50, 0.5) < evidence_above([0.9] * 50, 0.5)
    assert evidence_above([1.0] * 5000, 0.0) < float("inf")


def test_bounds_enclose_the_mean_and_close_in_on_it():
    few, many = drawn(0.3, 40, 1), drawn(0.3, 800, 1)
    for values in (few, many):
        assert lower_bound(values) < 0.3 < upper_bound(values)
    assert upper_bound(many) - lower_bound(many) < upper_bound(few) - lower_bound(few) < 1
    assert (lower_bound([]), upper_bound([])) == (0, 1)
