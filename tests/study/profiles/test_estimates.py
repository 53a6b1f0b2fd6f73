"""Intervals of a profile's figures hold the truth about as often as they say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from calipers.study.profiles.agreement import agreement
from calipers.study.profiles.answers import tabulate
from calipers.study.profiles.estimates import estimate, ratio, sum_by_group
from calipers.study.profiles.figures import Figure
from calipers.study.profiles.positions import position_curve
from calipers.study.profiles.repeats import repeatability
from calipers.study.profiles.scale_use import scale_use
from drawn_answers import Drawn

SEEDS = 60


def measured(judge: Drawn, seed: int) -> Mapping[str, Figure]:
    records, frame = judge.records(seed)
    table = tabulate(records, frame)
    position, placed = position_curve(table)
    repeats, gold, scale = repeatability(table, placed), agreement(table, placed), scale_use(table)
    return {
        "noise": repeats.noise,
        "order noise": repeats.order_noise,
        "spread": repeats.spread,
        "reliability": repeats.reliability,
        "slope": position.slope,
        "ties": scale.ties,
        "used": scale.used,
        "j": gold.j,
        "true positives": gold.true_positives,
        "somers d": gold.somers_d,
        "pearson": gold.pearson,
        "quality": gold.per_quality,
        "at a quarter": gold.pearson_at_quarter_spread,
    }


KNOWN = {
    "pointwise": (Drawn(), {"noise": 0.05, "quality": 0.4}),
    "listwise": (Drawn(listwise=True, orders=3, repeats=2, slope=0.1), {"slope": 0.1, "noise": 0.05, "quality": 0.4}),
    "verdicts": (Drawn(binary=True, repeats=2, verdict=lambda score: (score > 0.5).astype(float)), {}),
    "coarse": (Drawn(steps=4, noise=0.1), {}),
}


@pytest.mark.parametrize("name", KNOWN)
def test_95_percent_intervals_hold_the_truth_in_about_95_percent_of_samples(name: str) -> None:
    """The truth is known by construction, or from a sample 20 times as large, whose own error is small beside it."""
    judge, known = KNOWN[name]
    large = measured(Drawn(**{**vars(judge), "groups": 20 * judge.groups}), seed=10_000)
    truth = {key: figure.value for key, figure in large.items() if figure.value is not None} | known
    held = dict.fromkeys(truth, 0)
    for seed in range(SEEDS):
        found = measured(judge, seed)
        for key, value in truth.items():
            held[key] += found[key].covers(value, slack=1e-9)
    shares = {key: count / SEEDS for key, count in held.items()}
    assert min(shares.values()) >= 0.83, shares  # 0.95 less four standard errors of 60 samples, and the truth's own
    assert 0.90 <= float(np.mean(list(shares.values()))) <= 0.99, shares


def test_a_figure_that_sums_do_not_show_is_none_with_the_reason() -> None:
    assert estimate(np.zeros((5, 2)), ratio(0, 1), n=0, reason="nothing") == Figure(None, reason="nothing")


def test_one_group_has_no_interval() -> None:
    found = estimate(np.array([[1.0, 2.0], [0.0, 0.0]]), ratio(0, 1), n=2, reason="")
    assert found == Figure(0.5, n=2, groups=1)


def test_groups_without_any_sum_are_not_resampled() -> None:
    sums = np.array([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]])
    assert estimate(sums, ratio(0, 1), n=2, reason="") == estimate(sums[:2], ratio(0, 1), n=2, reason="")


def test_equal_data_gives_equal_figures() -> None:
    judge = Drawn(groups=40)
    assert measured(judge, 3) == measured(judge, 3)


def test_sums_count_unknown_values_as_nothing() -> None:
    values = np.array([[1.0, np.nan], [2.0, 5.0], [4.0, 1.0]])
    assert sum_by_group(values, np.array([0, 0, 2]), 3).tolist() == [[3.0, 5.0], [0.0, 0.0], [4.0, 1.0]]
