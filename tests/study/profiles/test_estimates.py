"""Intervals of a profile's figures hold the truth about as often as they say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from calipers.study.profiles.agreement import agreement
from calipers.study.profiles.answers import tabulate
from calipers.study.profiles.estimates import estimate, estimate_share, ratio, sum_by_group
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


@pytest.mark.parametrize(("share", "ends"), [(0.0, (0.0, 0.0881)), (1.0, (0.9119, 1.0))])
def test_a_share_that_never_or_always_occurs_has_an_interval_of_the_groups(
    share: float, ends: tuple[float, float]
) -> None:
    sums = np.tile([4 * share, 4.0], (40, 1))
    found = estimate_share(sums, 0, 1, n=160, reason="")
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-3)  # Wilson at 40 observations, not at 160


def test_a_rare_share_counts_answers_that_fail_together_as_fewer() -> None:
    together, apart = np.tile([0.0, 4.0], (40, 1)), np.tile([0.0, 4.0], (40, 1))
    together[0, 0], apart[:4, 0] = 4, 1
    wide, narrow = (estimate_share(one, 0, 1, n=160, reason="") for one in (together, apart))
    assert wide.value == narrow.value == 0.025
    assert (narrow.low, narrow.high) == pytest.approx((0.0098, 0.0625), abs=2e-3)  # Wilson for 4 of 160
    assert (wide.high or 0) > 0.1
    assert wide.covers(0.025)


def test_a_rare_share_that_is_the_same_in_all_groups_counts_every_answer() -> None:
    found = estimate_share(np.tile([1.0, 4.0], (5, 1)), 0, 1, n=20, reason="")
    assert found.value == 0.25
    assert found.low == pytest.approx(0.112, abs=0.001)  # Wilson's interval of 5 of 20
    assert found.high == pytest.approx(0.469, abs=0.001)


def test_a_frequent_share_has_the_interval_of_resampled_groups() -> None:
    sums = np.tile([[1.0, 4.0], [3.0, 4.0]], (20, 1))
    assert estimate_share(sums, 0, 1, n=160, reason="") == estimate(sums, ratio(0, 1), n=160, reason="")


def test_an_interval_holds_its_own_value() -> None:
    sums = np.stack([np.arange(12.0), np.ones(12)], axis=1)
    found = estimate(sums, lambda one: -((one[..., 0] - 5.5) ** 2), n=12, reason="")
    assert found.covers(found.value or 0.0)


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
