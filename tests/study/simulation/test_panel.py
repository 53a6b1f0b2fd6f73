"""Panels of many groups at once, held against calipers' aggregator of one group."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from calipers.aggregators.panel import Panel
from calipers.study.simulation.panel import combine
from calipers.types import Judgment, Rating

WEIGHTS = (2.0, 1.0, 0.5)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_panel_is_combined_as_calipers_does(missing: float) -> None:
    dice = np.random.default_rng(5)
    rows = np.round(dice.random((3, 1, 300, 6)) * np.array([1.0, 0.3, 0.05])[:, None, None, None], 2)
    rows[dice.random(rows.shape) < missing] = np.nan
    rows[1, 0, ::5] = 0.4  # a judge that finds all equal
    combined = combine(list(rows), WEIGHTS, "standardised")
    compared = 0
    for group in range(300):
        judgments: list[Judgment] = [
            Rating(item, float(value), slot, slot=slot)
            for slot in range(3)
            for item, value in enumerate(rows[slot, 0, group])
            if not np.isnan(value)
        ]
        counts = Counter(one.slot for one in judgments)
        if len(counts) < 2 or min(counts.values()) < 2:
            continue  # calipers keeps the scores of a judge that is alone as they are, also a single one
        compared += 1
        expected = Panel(WEIGHTS)(judgments, 6).values
        found = combined[0, group]
        assert [bool(np.isnan(one)) for one in found] == [one is None for one in expected]
        known = [one for one in expected if one is not None]
        assert found[~np.isnan(found)].tolist() == pytest.approx(known, abs=2e-6)
    assert compared > 150


def test_the_plain_mean_is_weighted_over_the_judges_that_scored() -> None:
    rows = np.array([[0.2, 0.4, np.nan, np.nan], [0.8, np.nan, 0.6, np.nan]])[:, None, None, :]
    found = combine(list(rows), (3.0, 1.0), "mean")[0, 0]
    assert found[:3].tolist() == pytest.approx([0.35, 0.4, 0.6])
    assert np.isnan(found[3])
