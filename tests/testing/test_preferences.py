"""Preferences for features, position curves, and groups that differ in spread."""

import math
import statistics

import pytest

from asking import question, request, view
from calipers.errors import ConfigError
from calipers.testing import PositionCurve, Preference, UnevenSpread


def test_a_preference_adds_per_unit_of_the_feature_above_the_groups_mean() -> None:
    shown = request(view(["short", "a" * 100 + "**", "x", "y"]), order=(1, 0))
    swayed = Preference("markdown", 0.5).sway([0.0, 0.0], question(shown))
    assert swayed == pytest.approx([0.5 * 0.75, -0.5 * 0.25])  # marks: 1 of one candidate, mean over four


def test_a_preference_may_have_a_feature_of_ones_own() -> None:
    shown = request(order=(3, 0, 1, 2))
    swayed = Preference(
        lambda view: [float(len(one.members)) * place for place, one in enumerate(view.candidates)], 1.0
    )
    assert swayed.sway([0.0] * 4, question(shown)) == [1.5, -1.5, -0.5, 0.5]


def test_a_preference_for_an_unknown_feature_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be one of length, markdown, confidence, flattery, not 'smell'"):
        Preference("smell", 1.0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="per_unit must be a finite number"):
        Preference("length", math.inf)


@pytest.mark.parametrize("curve", [PositionCurve(0.4), PositionCurve(first=0.3), PositionCurve(0.1, 0.2, -0.3)])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_a_position_curve_is_0_on_average(curve: PositionCurve, size: int) -> None:
    added = curve.sway([0.0] * size, question())
    assert sum(added) == pytest.approx(0)


def test_a_position_curve_has_a_slope_and_extras_at_its_ends() -> None:
    slope, first, last = (
        one.sway([0.0] * 4, question())
        for one in (PositionCurve(0.6), PositionCurve(first=0.4), PositionCurve(last=0.4))
    )
    assert slope == pytest.approx([-0.3, -0.1, 0.1, 0.3])
    assert first == pytest.approx([0.3, -0.1, -0.1, -0.1])
    assert last == first[::-1]
    assert PositionCurve(1.0, 1.0, 1.0).sway([0.7], question()) == [0.7]


def test_groups_differ_in_spread_by_a_factor_with_the_mean_1_and_orders_stay() -> None:
    factors = []
    for number in range(2000):
        asked = question(request(view(group_id=f"g{number}")))
        low, high = UnevenSpread(0.5).sway([-1.0, 2.0], asked)
        assert low == pytest.approx(-high / 2)
        factors.append(-low)
    assert statistics.fmean(factors) == pytest.approx(1.0, abs=0.05)
    assert statistics.stdev(map(math.log, factors)) == pytest.approx(0.5, abs=0.03)


def test_a_group_has_the_same_factor_in_every_question() -> None:
    one, other = (question(request(order=order)) for order in ((0, 1), (3, 2)))
    assert UnevenSpread(1.0).sway([1.0, 1.0], one) == UnevenSpread(1.0).sway([1.0, 1.0], other)
