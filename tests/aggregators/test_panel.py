"""Panels: scales removed, weights without labels, failures left out."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.panel import Fallback, Panel, standard_scores
from calipers.types import Judgment, Rating, Scores

scores_ = st.floats(0, 1).map(lambda one: round(one, 2))
weights_ = st.floats(0.1, 3).map(lambda one: round(one, 1))


def ratings(*rows: tuple[float | None, ...]) -> list[Judgment]:
    return [
        Rating(item, value, slot, slot=slot)
        for slot, row in enumerate(rows)
        for item, value in enumerate(row)
        if value is not None
    ]


def test_offset_and_spread_of_a_judge_do_not_count():
    one = Panel((1.0, 1.0))(ratings((0.1, 0.2, 0.6), (0.3, 0.1, 0.5)), 3)
    other = Panel((1.0, 1.0))(ratings((0.91, 0.92, 0.96), (0.3, 0.1, 0.5)), 3)
    assert standard_scores(one.values) == pytest.approx(standard_scores(other.values), abs=1e-5)


def test_a_judge_that_failed_is_left_out_and_its_error_is_unknown():
    assert Panel((1.0, 1.0))(ratings((0.1, 0.7)), 2) == Scores((0.1, 0.7), (None, None))
    assert Panel((1.0,))([], 2) == Scores((None, None), (None, None))


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=6))
def test_standard_scores_have_mean_zero_and_spread_one_or_zero(values: list[float | None]):
    known = [one for one in standard_scores(values) if one is not None]
    if known:
        assert math.fsum(known) == pytest.approx(0, abs=1e-3)
        assert math.fsum(one**2 for one in known) / len(known) == pytest.approx(1, abs=1e-3) or not any(known)


@given(st.lists(st.tuples(scores_, scores_, scores_), min_size=2, max_size=8), st.tuples(weights_, weights_, weights_))
def test_scores_on_the_mean_scale_stay_on_the_judges_scale_and_in_order(
    rows: list[tuple[float, float, float]], weights: tuple[float, float, float]
):
    columns = list(zip(*rows, strict=True))
    found = Panel(weights)(ratings(*columns), len(rows))
    before = np.average(np.array([standard_scores(one) for one in columns], float), axis=0, weights=weights).round(6)
    for value in found.values:
        assert value is not None
        assert min(map(min, columns)) - 1e-6 <= value <= max(map(max, columns)) + 1e-6
    there = np.array(found.values, float)
    assert all(
        (there[a] - there[b]) * (before[a] - before[b]) >= 0 for a, b in itertools.combinations(range(len(rows)), 2)
    )


def test_a_judge_without_weight_changes_no_score_and_does_not_count_towards_the_quorum():
    rows = ratings((0.1, 0.7), (0.9, 0.2))
    assert Panel((1.0, 0.0))(rows, 2).values == (0.1, 0.7)
    rows = ratings((0.1, 0.7), (0.2, 0.8))
    assert Panel((1.0, 0.0), quorum=2)(rows, 2).values == (None, None)
    assert Panel((1.0, 1e-9), quorum=2)(rows, 2).values == (0.1, 0.7)


def test_the_judge_that_scored_most_speaks_and_no_other_is_mixed_in():
    assert Fallback()(ratings((0.9, None), (0.1, 0.3)), 2).values == (0.1, 0.3)
    both = ratings((0.9, 0.8), (0.1, 0.3))
    assert Fallback()(both[::-1], 2).values == (0.9, 0.8)
    assert Fallback()([*both, *(replace(one, presentation=7) for one in both[2:])], 2).values == (0.1, 0.3)
    assert Fallback()([], 2) == Scores((None, None), (None, None))
