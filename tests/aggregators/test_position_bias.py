"""The position curve: found where it is, not invented where it is not, and taken out whole."""

import random
import subprocess
import sys

import pytest

from calipers.aggregators.position_bias import PositionBias
from calipers.types import Rating


def groups(
    count: int, *, slope: float = 0.0, first: float = 0.0, noise: float = 0.05, size: int = 5, seed: int = 0
) -> list[list[Rating]]:
    """Groups of ``size`` rated in two reversed orders by a judge with that leaning."""
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        truth = [generator.gauss(0.5, 0.2) for _ in range(size)]
        order = generator.sample(range(size), size)
        rated = []
        for presentation, shown in enumerate((order, order[::-1])):
            for place, item in enumerate(shown):
                value = truth[item] + slope * place / (size - 1) + first * (place == 0) + generator.gauss(0, noise)
                rated.append(Rating(item, value, presentation, place))
        found.append(rated)
    return found


@pytest.mark.parametrize(("slope", "first"), [(-0.3, 0.0), (0.0, 0.2), (0.15, 0.1)])
def test_a_leaning_is_found(slope: float, first: float):
    known = PositionBias.learn(groups(200, slope=slope, first=first))
    assert known is not None
    assert known.slope == pytest.approx(slope, abs=0.03)
    assert known.first == pytest.approx(first, abs=0.03)
    assert known.groups == 200


def test_chance_is_no_leaning():
    """Of forty judges without one, most are left alone, and no other is moved by more than a hair."""
    found = [PositionBias.learn(groups(40, seed=seed)) for seed in range(40)]
    assert sum(one is not None and one.slope == one.first == 0 for one in found) > 20
    assert all(one is not None and abs(one.slope) < 0.05 and abs(one.first) < 0.05 for one in found)


def in_drawn_orders(count: int, *, slope: float, seed: int = 0) -> list[list[Rating]]:
    """Groups of eight, each rated in eight orders that are drawn, with noise as large as the spread of their truth."""
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        truth = [generator.gauss(0, 1) for _ in range(8)]
        shown = [generator.sample(range(8), 8) for _ in range(8)]
        found.append(
            [
                Rating(item, truth[item] + slope * place / 7 + generator.gauss(0, 1), presentation, place)
                for presentation, order in enumerate(shown)
                for place, item in enumerate(order)
            ]
        )
    return found


def test_a_leaning_is_found_in_many_orders_as_in_two():
    """Orders of one group tell more together; that they are not independent must not hide what they tell."""
    known = PositionBias.learn(in_drawn_orders(80, slope=0.75))
    assert known is not None
    assert known.slope == pytest.approx(0.75, abs=0.15)


def test_chance_is_no_leaning_in_many_orders():
    found = [PositionBias.learn(in_drawn_orders(25, slope=0.0, seed=seed)) for seed in range(20)]
    assert sum(one is not None and one.slope == one.first == 0 for one in found) > 10
    assert all(one is not None and abs(one.slope) < 0.3 and abs(one.first) < 0.3 for one in found)


def test_pairs_of_candidates_tell_a_slope_only():
    known = PositionBias.learn(groups(100, slope=-0.2, size=2))
    assert known is not None
    worth = [one.value for one in known.without_bias([Rating(0, 0.5, 0, 0), Rating(1, 0.5, 0, 1)])]
    assert worth[0] - worth[1] == pytest.approx(-0.2, abs=0.03)


def test_few_groups_or_one_order_teach_nothing():
    assert PositionBias.learn(groups(19, slope=1.0)) is None
    assert PositionBias.learn([group[:5] for group in groups(50, slope=1.0)]) is None


def test_a_whole_answer_keeps_its_level():
    flat = [Rating(item, 0.5, 0, item) for item in range(5)]
    level = PositionBias(-0.4, 0.3, 50).without_bias(flat)
    assert sum(one.value for one in level) == pytest.approx(2.5)
    assert level[0].value < level[4].value


def test_a_run_that_has_nothing_to_learn_from_begins_without_numpy():
    code = (
        "import sys; from calipers.aggregators.position_bias import PositionBias; PositionBias.learn([[]]); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_twenty_groups_are_enough():
    known = PositionBias.learn(groups(20, slope=1.0))
    assert known is not None
    assert known.groups == 20
