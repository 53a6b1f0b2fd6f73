"""Standard errors that lean on what is known of the judge."""

import math

import pytest

from calipers.aggregators.credible import Credible
from calipers.aggregators.noise import Noise
from calipers.aggregators.two_way import two_way
from calipers.types import Rating

NOISE = Noise(0.01, 6.0)
ONE = [Rating(item, value, 0) for item, value in enumerate((0.2, 0.5, 0.9))]
TWO = [*ONE, *(Rating(item, value, 1) for item, value in enumerate((0.3, 0.4, 0.8)))]


def test_one_call_has_the_judges_error_and_two_less():
    assert Credible({0: NOISE})(ONE, 3).stderrs == (0.1,) * 3
    both = Credible({0: NOISE})(TWO, 3)
    assert both.values == two_way(TWO, 3).values
    residual = 3 * (two_way(TWO, 3).stderrs[0] or 0.0) ** 2 * 2 * 2 / 3
    assert both.stderrs[0] == pytest.approx(math.sqrt((6 * 0.01 + residual) / 8 / 2), abs=1e-5)


def test_a_judge_nothing_is_known_of_is_read_as_before():
    assert Credible({1: NOISE})(TWO, 3) == two_way(TWO, 3)
    assert Credible({0: NOISE})([], 2).values == (None, None)
