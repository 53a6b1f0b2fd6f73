"""The position curve: found where it is, not invented where it is not, and taken out whole."""

import random
import subprocess
import sys
from typing import Any

import pytest

from calipers.aggregators.position_bias import PositionBias
from calipers.types import Rating


def groups(
    count: int, *, slope: float = 0.0, first: float = 0.0, size: int = 5, orders: int = 2, spread: float = 0.2,
    noise: float = 0.05, seed: int = 0,
) -> list[list[Rating]]:  # fmt: skip
    """Groups of ``size`` rated by a judge with that leaning: in an order and its reverse, or in ``orders`` drawn."""
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        truth = [generator.gauss(0.5, spread) for _ in range(size)]
        shown = [generator.sample(range(size), size) for _ in range(orders)]
        if orders == 2:
            shown[1] = shown[0][::-1]
        found.append([
            Rating(item, truth[item] + slope * place / (size - 1) + first * (place == 0) + generator.gauss(0, noise),
                   presentation, place)
            for presentation, order in enumerate(shown)
            for place, item in enumerate(order)
        ])  # fmt: skip
    return found


MANY_ORDERS: dict[str, Any] = {"size": 8, "orders": 8, "spread": 1, "noise": 1}
"""Each group in many orders, with noise as large as the spread of the truth."""


@pytest.mark.parametrize(("slope", "first"), [(-0.3, 0.0), (0.0, 0.2), (0.15, 0.1)])
def test_a_leaning_is_found(slope: float, first: float):
    known = PositionBias.learn(groups(200, slope=slope, first=first))
    assert known is not None
    assert known.slope == pytest.approx(slope, abs=0.03)
    assert known.first == pytest.approx(first, abs=0.03)
    assert known.groups == 200


def test_chance_is_no_leaning():
    """Of forty judges without one, most are left alone, and no other is moved by more than a hair of the noise."""
    cases: list[tuple[int, int, dict[str, Any], float]] = [(40, 40, {}, 0.05), (20, 25, MANY_ORDERS, 0.3)]
    for judges, count, options, most in cases:
        found = [PositionBias.learn(groups(count, **options, seed=seed)) for seed in range(judges)]
        assert sum(one is not None and one.slope == one.first == 0 for one in found) > judges // 2
        assert all(one is not None and abs(one.slope) < most and abs(one.first) < most for one in found)


def test_twenty_groups_in_two_orders_are_enough_and_less_teaches_nothing():
    known = PositionBias.learn(groups(20, slope=1.0))
    assert known is not None
    assert known.groups == 20
    assert PositionBias.learn(groups(19, slope=1.0)) is None
    assert PositionBias.learn([group[:5] for group in groups(50, slope=1.0)]) is None


def test_a_run_that_has_nothing_to_learn_from_begins_without_numpy():
    code = (
        "import sys; from calipers.aggregators.position_bias import PositionBias; PositionBias.learn([[]]); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
