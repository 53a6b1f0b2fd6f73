"""A judge's noise: learned over groups, and one group's share in it."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.noise import Noise


def residuals(sigmas: list[float], freedom: int, *, seed: int = 0) -> list[float]:
    generator = random.Random(seed)
    return [math.fsum(generator.gauss(0, sigma) ** 2 for _ in range(freedom)) for sigma in sigmas]


def test_repeats_that_agree_to_the_digit_never_claim_an_error_of_zero():
    noise = Noise.learn([*residuals([0.5] * 20, 2), 0.0], [2] * 21)
    assert noise is not None
    assert noise.variance_of(0.0, 2) > 0


def test_one_score_off_the_scale_does_not_make_a_judge_noisy():
    generator = random.Random(5)
    squares = [generator.gauss(0, 1) ** 2 for _ in range(200)]
    plain, spoilt = (Noise.learn(every, [1] * len(every)) for every in (squares, [*squares, 1e6]))
    assert plain is not None
    assert spoilt is not None
    assert spoilt.variance == pytest.approx(plain.variance, rel=0.3)


@given(st.floats(0, 100), st.integers(1, 50))
def test_a_group_lies_between_its_own_variance_and_the_judges(squares: float, freedom: int):
    noise = Noise(2.0, 5.0)
    low, high = sorted((2.0, squares / freedom))
    assert low - 1e-9 <= noise.variance_of(squares, freedom) <= high + 1e-9


def test_groups_that_differ_exactly_as_chance_says_are_taken_for_equal():
    """With two degrees of freedom each, variances of 0 and 2 have mean 1 and variance 1, as chance alone would give."""
    assert Noise.learn([0.0, 4.0] * 4, [2] * 8) == Noise(1.0, 1e6)
    assert Noise.learn([0.0] * 8, [2] * 8) == Noise(0.0, 1e6)
