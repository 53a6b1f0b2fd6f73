"""Plackett-Luce: rankings whole and partial to utilities."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.plackett_luce import PlackettLuce
from calipers.types import Ranking

GOLDEN = json.loads((Path(__file__).parents[1] / "fixtures" / "choix.json").read_text(encoding="utf-8"))


def rankings(*rows: tuple[int, ...]) -> list[Ranking]:
    return [Ranking(row, number) for number, row in enumerate(rows)]


@pytest.mark.parametrize("case", GOLDEN["rankings"], ids=lambda case: f"{case['n']} items")
def test_utilities_are_those_of_an_independent_implementation(case: dict[str, Any]):
    values = PlackettLuce()(rankings(*map(tuple, case["rankings"])), case["n"]).values
    assert values == pytest.approx(case["utilities"], abs=1e-4)


@given(st.lists(st.permutations(range(5)), min_size=1, max_size=4))
def test_utilities_are_finite_average_zero_and_have_errors(rows: list[list[int]]):
    scores = PlackettLuce()(rankings(*map(tuple, rows)), 5)
    values = [value for value in scores.values if value is not None]
    assert len(values) == 5
    assert math.fsum(values) == pytest.approx(0, abs=1e-4)
    assert all(error is not None and 0 < error < 2.1 for error in scores.stderrs)


@given(st.permutations(range(5)))
def test_one_ranking_is_kept_in_its_order(row: list[int]):
    values = PlackettLuce()(rankings(tuple(row)), 5).values
    assert sorted(range(5), key=lambda item: -(values[item] or 0.0)) == row


def test_contradicting_rankings_are_level():
    assert PlackettLuce()(rankings((0, 1), (1, 0)), 2).values == pytest.approx((0.0, 0.0))


def test_a_candidate_left_out_of_a_ranking_is_missing_from_it_and_not_last():
    """2 is left out once, and beats 1 where it is ranked; being left out must not put it below."""
    values = PlackettLuce()(rankings((0, 1), (0, 2, 1)), 3).values
    assert values[2] is not None
    assert values[1] is not None
    assert values[2] > values[1]


def test_what_no_ranking_links_and_a_ranking_of_one_are_unknown():
    values = PlackettLuce()(rankings((0, 1, 2), (3, 4), (5,)), 6).values
    assert [value is None for value in values] == [False] * 3 + [True] * 3
    assert PlackettLuce()([], 2).values == (None, None)
