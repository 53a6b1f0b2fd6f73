"""Bradley-Terry: what it recovers, what it leaves unknown, how it counts ties and margins."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.bradley_terry import BradleyTerry, _likelihood
from calipers.types import Comparison, Scores

GOLDEN = json.loads((Path(__file__).parents[1] / "fixtures" / "choix.json").read_text(encoding="utf-8"))
MARGINS = st.sampled_from((-1.0, -0.5, 0.0, 0.25, 1.0))


def comparisons(margins: dict[tuple[int, int], float]) -> list[Comparison]:
    return [Comparison(one, other, margin, n) for n, ((one, other), margin) in enumerate(margins.items())]


@pytest.mark.parametrize("case", GOLDEN["pairwise"], ids=lambda case: f"{case['n']} items")
def test_strengths_are_those_of_an_independent_implementation(case: dict[str, Any]):
    wins = [Comparison(one, other, 1.0, n) for n, (one, other) in enumerate(case["wins"])]
    values = BradleyTerry()(wins, case["n"]).values
    assert values == pytest.approx(case["strengths"], abs=1e-4)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), MARGINS), min_size=1, max_size=12))
def test_every_linked_candidate_gets_a_finite_score_that_averages_zero(rows: list[tuple[int, int, float]]):
    scores = BradleyTerry()([Comparison(*row, n) for n, row in enumerate(rows)], 5)
    known = [value for value in scores.values if value is not None]
    assert all(map(math.isfinite, known))
    assert sum(known) == pytest.approx(0, abs=1e-4)
    for value, error in zip(scores.values, scores.stderrs, strict=True):
        assert (value is None) == (error is None)
        assert error is None or 0 < error < 2.1  # never surer than nothing, never less sure than the prior


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), MARGINS), min_size=1, max_size=8), st.integers(0, 5))
def test_the_slope_and_curvature_newton_follows_are_those_of_the_likelihood(
    rows: list[tuple[int, int, float]], seed: int
):
    wins, both, ties, model = np.zeros((4, 4)), np.zeros((4, 4)), 0.0, BradleyTerry(first=0.3)
    for one, other, margin in rows:
        if one != other:
            wins[one, other] += (1 + margin) / 2
            both[one, other] += 1
            ties += 1 - abs(margin)
    points = wins.sum(axis=1) + (both - wins).sum(axis=0)
    at = np.random.default_rng(seed).normal(size=5)
    _, slope, curve = _likelihood(at, both, points, ties, model)
    for place in range(5 if ties else 4):
        step = np.zeros(5)
        step[place] = 1e-5
        above, below = (_likelihood(at + sign * step, both, points, ties, model) for sign in (1, -1))
        assert slope[place] == pytest.approx((above[0] - below[0]) / 2e-5, abs=1e-4)
        assert -curve[place] == pytest.approx((above[1] - below[1]) / 2e-5, abs=1e-4)


def test_contradicting_wins_and_circles_are_level_to_the_last_bit_and_without_a_sign():
    cases: list[dict[tuple[int, int], float]] = [
        {(0, 1): 1.0, (1, 0): 1.0, (1, 2): 0.0, (2, 0): 0.0},
        {(0, 1): 1.0, (1, 2): 1.0, (2, 0): 1.0},
    ]
    for margins in cases:
        assert [str(value) for value in BradleyTerry()(comparisons(margins), 3).values] == ["0.0"] * 3


def test_nothing_compared_is_none():
    assert BradleyTerry()([], 2) == Scores((None, None), (None, None))
    assert BradleyTerry()([Comparison(1, 1, 1.0, 0)], 2).values == (None, None)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=10))
def test_linked_items_are_a_connected_set_no_pair_leaves(pairs: list[tuple[int, int]]):
    values = BradleyTerry()([Comparison(*pair, 1.0, 0) for pair in pairs], 7).values
    linked = {item for item, value in enumerate(values) if value is not None}
    assert len(linked) != 1
    for one, other in pairs:
        assert (one in linked) == (other in linked)
