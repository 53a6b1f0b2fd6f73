"""Rewards of many groups at once, held against calipers' transforms of one group; failures and weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.interfaces import RewardTransform
from calipers.rewards.identity import Identity
from calipers.rewards.length import LengthControl
from calipers.rewards.min_max import MinMax
from calipers.rewards.rank import Rank
from calipers.rewards.ties import Ties
from calipers.study.simulation.advantages import advantages
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.judge import Judged
from calipers.study.simulation.settings import Arm, GrpoSettings, JudgeSettings, TreatmentSettings
from calipers.study.simulation.treatment import (
    control_length,
    group_weights,
    reliability,
    rewards_of,
    tie,
    transform,
    without_failures,
)
from calipers.types import Scores
from simulated import first_judged
from viewed import view_of

ERROR = 0.05
GROUPS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 60).map(lambda one: one / 60)), st.integers(1, 12)),
    min_size=2,
    max_size=9,
)


def batch_of(values: list[float | None]) -> Array:
    return np.array([[[math.nan if one is None else one for one in values]]])


def expected(made: RewardTransform, values: list[float | None], lengths: list[int]) -> list[float | None]:
    scores = Scores(tuple(values), tuple(None if one is None else ERROR for one in values))
    return list(made(scores, view_of(*("x" * length for length in lengths))))


def same(found: Array, wanted: list[float | None]) -> bool:
    flat = [None if np.isnan(one) else float(one) for one in found.ravel()]
    return [one is None for one in flat] == [one is None for one in wanted] and all(
        one is None or other is None or abs(one - other) < 2e-9 for one, other in zip(flat, wanted, strict=True)
    )


@given(GROUPS, st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_ties_are_those_of_calipers(group: list[tuple[float | None, int]], within: float) -> None:
    values, lengths = [one for one, _ in group], [one for _, one in group]
    found = tie(batch_of(values), batch_of(values), stderr=ERROR, within=within)
    assert same(found, expected(Ties(Identity(), within), values, lengths))


@given(GROUPS, st.sampled_from([0.5, 1.0, 2.0, 4.0]), st.floats(0, 1))
def test_length_control_is_that_of_calipers(
    group: list[tuple[float | None, int]], within: float, strength: float
) -> None:
    values, lengths = [one for one, _ in group], [one for _, one in group]
    found = control_length(
        batch_of(values), batch_of(values), batch_of([*lengths]), stderr=ERROR, strength=strength, within=within
    )
    assert same(found, expected(LengthControl(Identity(), strength, within), values, lengths))


@given(GROUPS, st.sampled_from([("rank", Rank()), ("min_max", MinMax()), ("score", Identity())]))
def test_rewards_are_those_of_calipers(
    group: list[tuple[float | None, int]], kind: tuple[Any, RewardTransform]
) -> None:
    values, lengths = [one for one, _ in group], [one for _, one in group]
    assert same(transform(batch_of(values), kind[0]), expected(kind[1], values, lengths))


OWN_ERRORS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 60).map(lambda one: one / 60)),
        st.integers(1, 12),
        st.sampled_from([0.0, 0.02, 0.05, 0.1]),
    ),
    min_size=2,
    max_size=9,
)


@given(OWN_ERRORS, st.sampled_from([0.5, 1.0, 2.0, 4.0]), st.floats(0, 1))
def test_scores_with_errors_of_their_own_are_treated_as_calipers_does(
    group: list[tuple[float | None, int, float]], within: float, strength: float
) -> None:
    values, lengths, errors = ([*part] for part in zip(*group, strict=True))
    batch, own = batch_of(values), np.array([[errors]])
    scores = Scores(tuple(values), tuple(None if one is None else error for one, _, error in group))
    view = view_of(*("x" * length for length in lengths))
    assert same(tie(batch, batch, stderr=own, within=within), list(Ties(Identity(), within)(scores, view)))
    found = control_length(batch, batch, batch_of([*lengths]), stderr=own, strength=strength, within=within)
    assert same(found, list(LengthControl(Identity(), strength, within)(scores, view)))


def test_equal_errors_by_score_are_as_one_for_all() -> None:
    scores = np.round(np.random.default_rng(2).random((3, 20, 7)), 3)
    one, other = (tie(scores, scores, stderr=error, within=1.5) for error in (ERROR, np.full(scores.shape, ERROR)))
    assert one.tobytes() == other.tobytes()


def test_many_groups_are_treated_like_each_by_itself() -> None:
    dice = np.random.default_rng(2)
    scores = np.round(dice.random((3, 20, 7)), 2)
    scores[dice.random(scores.shape) < 0.1] = np.nan
    together = tie(scores, scores, stderr=ERROR, within=1.5)
    for place in np.ndindex(3, 20):
        alone = tie(scores[place][None, None], scores[place][None, None], stderr=ERROR, within=1.5)
        assert together[place].tobytes() == alone[0, 0].tobytes()


def test_both_controls_are_applied_in_the_order_of_calipers() -> None:
    treatment = TreatmentSettings(ties=1.0, length_control=0.5, length_within=2.0)
    arm = Arm("a", judge=JudgeSettings(gain=0.2, noise=0.1), treatment=treatment, grpo=GrpoSettings(groups=40, size=5))
    _, responses, judged = first_judged(arm)
    clipped: Array = np.asarray(np.round(np.clip(judged.scores + 0.3, 0.0, 1.0), 3), dtype=float)
    found = rewards_of(arm, Judged(clipped, judged.stderr), responses)
    made = Ties(LengthControl(Identity(), 0.5, 2.0), 1.0)
    for group in range(40):
        own = Scores(tuple(clipped[0, group].tolist()), (0.1,) * 5)
        view = view_of(*("x" * int(length) for length in responses.length[0, group]))
        assert found[0, group].tolist() == pytest.approx(list(made(own, view)), abs=2e-9)


def test_failures_stay_missing_become_zero_or_take_their_group_along() -> None:
    rewards = np.array([[[0.4, math.nan, 0.9], [0.1, 0.2, 0.3]]])
    assert np.isnan(without_failures(rewards, "abstain")).sum() == 1
    assert without_failures(rewards, "zero")[0, 0].tolist() == [0.4, 0.0, 0.9]
    assert np.isnan(without_failures(rewards, "drop")[0]).all(axis=-1).tolist() == [True, False]


def test_reliability_is_the_share_of_variance_that_is_not_noise() -> None:
    scores = np.array([[[0.0, 1.0, math.nan], [0.5, 0.5, 0.5], [0.4, math.nan, math.nan], [0.0, 0.1, 0.2]]])
    assert reliability(scores, stderr=0.5)[0, :, 0].tolist() == pytest.approx([1 - 0.25 / 0.5, 0.0, 0.0, 0.0])
    assert reliability(np.array([0.0, 1.0, np.nan]), stderr=np.array([0.1, 0.3, np.nan])) == pytest.approx(
        [1 - 0.05 / 0.5]
    )


def test_weights_multiply_advantages_and_the_oracle_knows_which_groups_have_no_spread() -> None:
    arm = Arm("a", judge=JudgeSettings(noise=0.4), treatment=TreatmentSettings(weights="reliability"))
    _, responses, judged = first_judged(arm)
    weights = group_weights(arm, judged, responses)
    assert (weights**2).ravel().tolist() == pytest.approx(reliability(judged.scores, stderr=0.4).ravel().tolist())
    oracle = group_weights(Arm("a", treatment=TreatmentSettings(weights="oracle")), judged, responses)
    assert (oracle[..., 0] == (responses.quality.std(axis=-1) > 0)).all()
    assert 0 < oracle.mean() < 1
    assert (group_weights(Arm("a"), judged, responses) == 1.0).all()


def test_min_max_and_score_give_equal_advantages_where_the_group_is_divided_by_its_deviation() -> None:
    scores = np.random.default_rng(3).random((1, 50, 8))
    one, other = (advantages(transform(scores, kind), scale="group", epsilon=0.0) for kind in ("score", "min_max"))
    assert np.abs(one - other).max() < 1e-12
