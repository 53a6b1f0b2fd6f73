"""Evidence that holds at any time: seldom wrong when a mean is within its limit, soon right when it is not."""

import random

import pytest

from calipers.aggregators.betting import Evidence, evidence_above, lower_bound, upper_bound


def drawn(mean: float, count: int, seed: int) -> list[float]:
    """Values of 0 and 1, the widest spread that a mean allows."""
    generator = random.Random(seed)
    return [float(generator.random() < mean) for _ in range(count)]


def ever_above(values: list[float], limit: float, capital: float) -> bool:
    evidence = Evidence(limit)
    for value in values:
        evidence = evidence.after(value)
        if evidence.value >= capital:
            return True
    return False


def test_a_mean_at_its_limit_is_seldom_accused_however_often_one_looks():
    accused = sum(ever_above(drawn(0.2, 400, seed), 0.2, 10) for seed in range(300))
    assert accused <= 30  # a tenth, by Ville's inequality


@pytest.mark.parametrize("before", [0, 200])
def test_a_mean_above_its_limit_is_found_even_after_a_long_good_start(before: int):
    for seed in range(20):
        assert ever_above([*drawn(0.05, before, seed), *drawn(0.5, 200, seed + 100)], 0.2, 100)


def test_evidence_begins_at_one_and_is_a_martingale():
    assert Evidence(0.3).value == 1
    one = Evidence(0.3).after(1.0)
    for evidence in (Evidence(0.3), one):
        expected = 0.3 * evidence.after(1.0).value + 0.7 * evidence.after(0.0).value
        assert expected == pytest.approx(evidence.value)


def test_evidence_against_a_limit_grows_with_the_values_and_never_overflows():
    assert evidence_above([], 0.5) == 1
    assert evidence_above([0.1] * 50, 0.5) < evidence_above([0.6] * 50, 0.5) < evidence_above([0.9] * 50, 0.5)
    assert evidence_above([1.0] * 5000, 0.0) < float("inf")
    assert Evidence(0.0).after(1.0).value > 1


def test_bounds_enclose_the_mean_and_close_in_on_it():
    few, many = drawn(0.3, 40, 1), drawn(0.3, 800, 1)
    for values in (few, many):
        assert lower_bound(values) < 0.3 < upper_bound(values)
    assert upper_bound(many) - lower_bound(many) < upper_bound(few) - lower_bound(few) < 1
    assert (lower_bound([]), upper_bound([])) == (0, 1)


def test_bounds_are_wrong_as_seldom_as_their_level_says():
    wrong = sum(lower_bound(drawn(0.3, 100, seed), 0.1) > 0.3 for seed in range(100))
    assert wrong <= 10
