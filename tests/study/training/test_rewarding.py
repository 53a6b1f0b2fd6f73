"""Rewards reach the rollouts that they belong to, through the pipeline that TRL uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calipers.study.training.judges import judge_for, truth_for
from calipers.study.training.rewarding import Rewarder, Tally
from calipers.study.training.settings import Arm
from training_studies import arm, batch

GROUPS, SIZE = 6, 4


def rewarder(judge: dict[str, Any] | None = None, seed: int = 0, **row: Any) -> Rewarder:
    return rewarder_of(arm(judge, **row), seed)


def rewarder_of(made: Arm, seed: int = 0) -> Rewarder:
    truth, tally = truth_for(made.judge), Tally()
    return Rewarder(judge_for(made, seed, truth, tally), made, truth, tally, seed)


def expected(found: Any) -> list[float]:
    # Scores are whole numbers from 0 to 100: 37.5 and 62.5 are rounded to even.
    return [0.62 if right else 0.38 for right in found.right]


@pytest.mark.parametrize(
    "row",
    [
        {},
        {"order": "arrival", "jitter": 0.0},
        {"order": "arrival", "correlation": 0.5, "options": {"orders": 2}},
        {"options": {"protocol": "pairwise"}},
        {"options": {"protocol": "pointwise"}},
    ],
)
def test_an_honest_judge_rewards_what_is_true_in_whatever_order_rollouts_arrive(row: Any):
    prompts, responses, found = batch(GROUPS, SIZE)
    rewards = rewarder(**row).rewards(3, prompts, responses, found).rewards
    if row.get("options", {}).get("protocol") == "pairwise":  # rewards are expected win rates in the group
        grouped = np.array(rewards, dtype=float).reshape(GROUPS, SIZE)
        mixed = 0
        for values, truth in zip(grouped, found.right.reshape(GROUPS, SIZE), strict=True):
            if truth.any() and not truth.all():
                mixed += 1
                assert values[truth].min() > values[~truth].max()
        assert mixed > 2
    else:
        assert rewards == pytest.approx(expected(found), abs=1e-5)  # constant groups are rounded to 16 bits


def test_the_same_step_gets_the_same_rewards_and_another_seed_others():
    noisy = {"vices": [{"kind": "Noise", "sd": 0.1}]}
    rollouts = batch(GROUPS, SIZE)
    one, same, other = (rewarder(noisy, seed).rewards(0, *rollouts).rewards for seed in (1, 1, 2))
    assert one == same != other


def test_position_bias_rewards_early_arrival_only_where_candidates_are_shown_as_they_arrive():
    early = {"vices": [{"kind": "PositionBias", "strength": 0.3}]}
    prompts, responses, found = batch(200, SIZE)
    # All responses of a group are equally right, so that nothing but their position tells them apart.
    object.__setattr__(found, "right", np.repeat(found.right[::SIZE], SIZE))
    lengths = found.length.reshape(-1, SIZE)

    def pull(of: Rewarder) -> float:
        rewards = np.array(of.rewards(0, prompts, responses, found).rewards, dtype=float)
        z = lengths - lengths.mean(axis=1, keepdims=True)
        return float((rewards.reshape(-1, SIZE) * z).sum() / (z**2).sum())

    arrived = arm(early, order="arrival", jitter=0.0)
    content = replace(arrived, table=replace(arrived.table, order="content"))
    assert pull(rewarder_of(arrived)) < -0.015
    assert abs(pull(rewarder_of(content))) < 0.005
    assert abs(pull(rewarder(early, order="arrival"))) < 0.005
    assert abs(pull(rewarder(early, order="arrival", jitter=0.0, options={"orders": 2}))) < 0.005


UNREAD = {"vices": [{"kind": "Unread", "rate": 0.3}]}


def test_what_a_missing_reward_becomes():
    prompts, responses, found = batch(20, SIZE, seed=1)
    judged = [
        rewarder(UNREAD, missing=missing).rewards(0, prompts, responses, found) for missing in ("none", "zero", "group")
    ]
    none, zero, group = (one.rewards for one in judged)
    assert [one.unscored for one in judged] == [none.count(None) / len(none)] * 3
    assert [one.weights for one in judged] == [None] * 3
    lost = np.array([one is None for one in none])
    assert 0.1 < lost.mean() < 0.6
    assert [0.0 if one is None else one for one in none] == zero
    assert 0.0 not in none
    for start in range(0, len(none), SIZE):
        part = none[start : start + SIZE]
        assert group[start : start + SIZE] == ([None] * SIZE if None in part else part)


def test_the_tally_counts_groups_calls_and_what_was_not_scored():
    made = rewarder(UNREAD, options={"orders": 2, "reasks": 0})
    rollouts = batch(20, SIZE, seed=1)
    rewards = made.rewards(0, *rollouts).rewards
    tally = made.tally
    assert (tally.groups, tally.calls, tally.unscored) == (20, 40, rewards.count(None))
    assert tally.seconds > 0
    assert tally.counts() == {"groups": 20, "calls": 40, "unscored": rewards.count(None), "seconds": tally.seconds}


NOISY = {"vices": [{"kind": "Noise", "sd": 0.1}]}


def test_weights_are_the_roots_of_the_reliability_that_calipers_own_errors_give_each_group():
    made = rewarder(NOISY, weights="reliability", options={"orders": 2}, order="arrival", jitter=1.0)
    prompts, responses, found = batch(40, SIZE)
    judged = made.rewards(0, prompts, responses, found)
    assert judged.weights is not None
    weights = np.array(judged.weights).reshape(-1, SIZE)
    rewards = np.array(judged.rewards, dtype=float).reshape(-1, SIZE)  # the rewards of this arm are the scores
    assert (weights == weights[:, :1]).all()
    for result in made.tally.results:
        errors = np.array([one.stderr for one in result.trajectories], dtype=float)
        scores = np.array([one.score for one in result.trajectories], dtype=float)
        expected_weight = np.sqrt(max(0, 1 - (errors**2).mean() / scores.var(ddof=1)))
        row = next(row for row, own in enumerate(rewards) if sorted(own) == pytest.approx(sorted(scores), abs=1e-6))
        assert weights[row, 0] == pytest.approx(expected_weight, abs=1e-6)
    mixed = found.right.reshape(-1, SIZE).any(axis=1) & ~found.right.reshape(-1, SIZE).all(axis=1)
    assert weights[mixed].mean() > weights[~mixed].mean() + 0.2
    assert (weights == 0).any()


def test_a_run_that_goes_on_counts_on():
    tally = Tally()
    tally.go_on_from({"groups": 3, "calls": 4, "unscored": 1, "seconds": 0.5})
    assert tally == Tally(3, 4, 1, 0.5)
