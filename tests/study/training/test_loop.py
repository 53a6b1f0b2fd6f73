"""The loop: rewards of the real judge reach the policy, failures as the arm says, and figures are those of rollouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from calipers.errors import CalipersError
from calipers.study.training.closed_form import ClosedFormPolicy
from calipers.study.training.judges import Truth, judge_for
from calipers.study.training.loop import judged_rollouts, train
from calipers.study.training.rollouts import advantages, grouped_prompts, response_figures, step_figures
from calipers.study.training.settings import Study
from calipers.study.training.task import draw_responses, features
from training_studies import DEAD, study

NOISY = {"vices": [{"kind": "Noise", "sd": 0.1}]}
UNREAD = {"vices": [{"kind": "Noise", "sd": 0.1}, {"kind": "Unread", "rate": 0.2}]}


def policy_of(content: Study, number: int = 0) -> ClosedFormPolicy:
    return ClosedFormPolicy(content.closed_form, content.arms[number])


async def judged(row: dict[str, Any], judge: dict[str, Any]) -> Any:
    content = study({"judge": "own", "training": {"prompts": 20, "group_size": 5}, **row}, judges={"own": judge})
    arm, truth = content.arms[0], Truth(*content.arms[0].judge.quality)
    rollouts = policy_of(content).respond(grouped_prompts(20, 5, 3), 4)
    async with judge_for(arm, 1, truth) as made:
        return rollouts, await judged_rollouts(made, truth, arm, 1, 0, rollouts)


async def test_a_faultless_judge_rewards_what_is_right_whatever_the_order_of_arrival():
    for row in ({}, {"order": "arrival", "jitter": 1.0}, {"order": "arrival", "correlation": 0.5}):
        rollouts, found = await judged(row, {"quality": [0.25, 0.75]})
        assert found.rewards == [0.75 if right else 0.25 for right in rollouts.features.right]
        assert (found.unscored, found.calls, set(found.weights)) == (0.0, 20, {1.0})


async def test_a_missing_reward_becomes_what_the_arm_says():
    _, plain = await judged({}, UNREAD)
    _, zero = await judged({"missing": "zero"}, UNREAD)
    _, group = await judged({"missing": "group"}, UNREAD)
    assert 0.1 < plain.unscored < 0.3
    assert plain.unscored == zero.unscored == group.unscored == plain.rewards.count(None) / 100
    assert zero.rewards == [0.0 if one is None else one for one in plain.rewards]
    lost = [None in plain.rewards[start : start + 5] for start in range(0, 100, 5)]
    assert group.rewards == [None if lost[row // 5] else one for row, one in enumerate(plain.rewards)]


async def test_weights_are_the_root_of_reliability_where_errors_are_known():
    _, found = await judged({"weights": "reliability", "options": {"orders": 2}}, NOISY)
    assert all(len(set(found.weights[start : start + 5])) == 1 for start in range(0, 100, 5))
    assert min(found.weights) < 0.5 < max(found.weights) <= 1
    _, single = await judged({"weights": "reliability"}, NOISY)
    assert set(single.weights) == {1.0}


def test_a_run_is_the_same_again_and_its_calls_are_counted():
    content = study({"options": {"orders": 2}}, {"judge": "true"})
    one, same = (train(content, content.arms[0], 1, policy_of(content)) for _ in range(2))
    assert (one["steps"], one["evaluations"]) == (same["steps"], same["evaluations"])
    assert [row["step"] for row in one["steps"]] == [0, 1, 2]
    counted = [(row["step"], row["groups"], row["calls"]) for row in one["evaluations"]]
    assert counted == [(0, 0, 0), (2, 6, 12), (3, 9, 18)]
    other = train(content, content.arms[1], 1, policy_of(content, 1))
    assert one["steps"][0]["truth"] == other["steps"][0]["truth"]  # both begin with the same rollouts
    assert one["steps"][0]["truth_pull"] < other["steps"][0]["truth_pull"]


def test_a_run_without_any_answer_fails_instead_of_training_on_nothing():
    content = study({"judge": "dead"}, judges={"dead": DEAD})
    with pytest.raises(CalipersError, match="no group of a step"):
        train(content, content.arms[0], 0, policy_of(content))


def test_a_bias_learned_before_the_run_no_longer_pushes_length():
    biased = {"vices": [{"kind": "PositionBias", "strength": 0.3}]}
    row = {"judge": "own", "order": "arrival", "jitter": 0.0, "training": {"prompts": 24, "group_size": 8}}
    content = study(row, {**row, "learn": 64}, judges={"own": biased}, steps=1)
    plain, learned = (train(content, arm, 0, policy_of(content, n)) for n, arm in enumerate(content.arms))
    pulls = [one["steps"][0]["length_pull"] for one in (plain, learned)]
    assert pulls[0] < -0.2
    assert abs(pulls[1]) < abs(pulls[0]) / 3
    assert learned["steps"][0]["calls"] == plain["steps"][0]["calls"]


def test_advantages_are_centred_and_divided_as_trl_divides_them():
    spread = math.sqrt(14 / 3)
    assert advantages([1.0, 2.0, 3.0, 6.0], 4, "group") == pytest.approx([v / (spread + 1e-4) for v in (-2, -1, 0, 3)])
    assert advantages([1.0, 2.0, 3.0, 6.0], 4, "none").tolist() == [-2, -1, 0, 3]
    shared = np.std([0.0, 1.0, 5.0, 5.0], ddof=1) + 1e-4
    assert advantages([0.0, 1.0, 5.0, 5.0], 2, "batch") == pytest.approx([-0.5 / shared, 0.5 / shared, 0, 0])
    weighted = advantages([1.0, 3.0, 1.0, 3.0], 2, "none", [0.5, 0.5, 0.0, 0.0])
    assert weighted.tolist() == [-0.5, 0.5, 0, 0]


def test_a_missing_reward_moves_nothing_and_is_in_no_mean():
    scales: tuple[Any, ...] = ("group", "batch", "none")
    for scale in scales:
        found = advantages([1.0, None, 3.0, None], 4, scale).tolist()
        pair = advantages([1.0, 3.0], 2, scale).tolist()
        assert found == [pair[0], 0, pair[1], 0]
        assert advantages([None, 0.7, None, None, None, None], 3, scale).tolist() == [0] * 6
        assert advantages([0.1] * 7, 7, scale).tolist() == [0] * 7  # no rounding of the mean is left


def test_figures_of_a_step_say_where_it_pushes():
    prompts = grouped_prompts(200, 4, 1)
    found = features(prompts, draw_responses(prompts, np.random.default_rng(2)))
    rewards: list[float | None] = [float(one) for one in found.right]
    rewards[0] = None
    figures = step_figures(found, rewards, advantages(rewards, 4, "group"), 4)
    assert figures == figures | response_figures(found)
    assert figures["truth"] == pytest.approx(found.right.mean())
    assert figures["missing"] == pytest.approx(1 / 800)
    assert figures["reward"] == pytest.approx(found.right[1:].mean())
    assert figures["truth_spread"] == pytest.approx(figures["reward_spread"] or 0, abs=0.006)
    assert 0.3 < (figures["truth_pull"] or 0) < 0.9
    assert abs(figures["length_pull"] or 0) < 0.15
