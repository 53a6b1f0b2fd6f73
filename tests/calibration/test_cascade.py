"""Thresholds of a cascade: kept promises on new groups, no promise where nothing can be shown."""

import tomllib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from calipers.aggregators.cascade import confidence, disagreement
from calipers.calibration import CascadeTarget, calibrate
from calipers.calibration.arrays import Array
from calipers.calibration.cascade import CascadeFigures, Pair, confidences, disagreements, proven_threshold
from calipers.types import Scores
from judged import groups, rated

FIDELITY = CascadeTarget("fidelity", 0.95)


def found(
    *records: Iterator[dict[str, Any]], target: CascadeTarget = FIDELITY, every: list[Any]
) -> CascadeFigures | None:
    return calibrate(every, [one for part in records for one in part], cascade=target).cascade


def drawn(count: int, seed: int, *, helpful: bool = True) -> Pair:
    """A cheap judge that is right where it is sure (if ``helpful``), and a last judge that is right in most groups."""
    generator = np.random.default_rng(seed)
    sure = generator.random(count)
    right = generator.random(count) < (0.3 + 0.7 * sure if helpful else 0.5)
    last = np.where(generator.random(count) < 0.9, 0.9, 0.0)
    return Pair(np.arange(count), sure[None], np.where(right, 0.9, 0.0)[None], last, np.where(right, 0.1, 0.5)[None])


def test_arrays_give_what_single_groups_give():
    generator = np.random.default_rng(0)
    one, other = generator.random((20, 4)).round(2), generator.random((20, 4)).round(2)
    one[3, 1] = np.nan
    members = np.ones((20, 4), dtype=bool)

    def scores(row: Array) -> Scores:
        return Scores(tuple(None if np.isnan(value) else float(value) for value in row), (None,) * 4)

    for measure in ("lead", "spread"):
        expected = [confidence(scores(row), measure) for row in one]
        assert [None if np.isnan(value) else value for value in confidences(one, members, measure)] == pytest.approx(
            expected
        )
    assert disagreements(one, other) == pytest.approx(
        [disagreement(scores(a), scores(b)) for a, b in zip(one, other, strict=True)]
    )


def test_a_proven_threshold_keeps_its_promise_on_groups_like_these():
    target, broken, proven = CascadeTarget("fidelity", 0.9), 0, 0
    truth = drawn(200_000, 999)
    for seed in range(25):
        threshold = proven_threshold(drawn(300, seed), target, 0.1)
        if threshold is not None:
            proven += 1
            broken += bool(truth.fidelity(threshold).mean() < 0.9 * truth.last.mean())
    assert proven > 20
    assert broken <= 3


def test_without_anything_in_confidence_nothing_is_proven():
    target, useless = CascadeTarget("fidelity", 0.97), drawn(400, 0, helpful=False)
    threshold = proven_threshold(useless, target, 0.1)
    assert threshold is None or useless.share(threshold) > 0.9  # what hardly any group keeps costs hardly anything
    assert proven_threshold(drawn(5, 0), target, 0.1) is None


def test_a_share_is_kept_too():
    target = CascadeTarget("share", 0.4)
    truth = drawn(100_000, 999)
    shares = [truth.share(proven_threshold(drawn(300, seed), target, 0.1) or 0.0) for seed in range(20)]
    assert sum(one > 0.4 for one in shares) <= 2
    assert np.mean(shares) > 0.25


def test_checks_count_as_groups_of_the_last_judge_and_bring_its_fidelity():
    pair = Pair(np.arange(2), np.array([[0.5, 0.1]]), np.array([[0.2, 0.2]]), np.array([1.0, 1.0]), np.zeros((1, 2)))
    assert pair.share(0.3) == pytest.approx(0.55)
    assert pair.fidelity(0.3) == pytest.approx([0.9 * 0.2 + 0.1, 1.0])
    assert pair.share(0.3, checked=0) == 0.5


def test_a_judge_that_did_not_score_a_member_is_never_sure():
    scores = np.array([[0.9, np.nan], [0.9, 0.1]])
    assert np.isnan(confidences(scores, np.ones((2, 2), dtype=bool), "lead")).tolist() == [True, False]
    gap = confidences(np.array([[0.9, 0.2, np.nan]]), np.array([[True, True, False]]), "lead")
    assert gap == pytest.approx([0.7])  # a smaller group


def test_calibrate_finds_a_cascade_and_its_block_is_read_by_a_run():
    every = groups(250)
    figures = found(rated(every, "good", 0.2), rated(every, "cheap", 1.2, calls=2), every=every)
    assert figures is not None
    way = figures.way
    assert way is not None
    assert [key.judge for key in way.keys] == ["cheap", "good"]
    assert way.share < 1
    assert way.fidelity >= 0.95 * way.last_fidelity
    assert way.random_fidelity < way.fidelity
    assert way.error <= way.error_limit < 1
    block = tomllib.loads(figures.toml())
    assert block["judge"] == ["cheap", "good"]
    assert block["judge_orders"] == f"{way.orders},1"
    assert block["confidence"] == f"{way.threshold:.6g}"
    assert "holds for groups drawn like these 250" in figures.toml()
    assert figures.to_dict()["way"]["share"] == way.share


def test_where_nothing_can_be_shown_the_block_says_so_and_sets_nothing():
    every = groups(12)
    figures = found(rated(every, "good", 0.3), rated(every, "cheap", 3.0), every=every)
    assert figures is not None
    assert figures.way is None
    assert figures.best is not None
    assert tomllib.loads(figures.toml()) == {}
    assert "no threshold could be shown" in figures.toml()


def test_one_judge_or_two_protocols_are_no_cascade():
    every = groups(30)
    assert found(rated(every, "alone", 0.3), every=every) is None
    assert found(rated(every, "a", 0.3), rated(every, "b", 0.5, mode="listwise"), every=every) is None
