"""The step: its gradient is that of the objective as it is written down, and its update that of the optimiser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.grpo import Learner
from calipers.study.simulation.policy import Policy, Responses
from calipers.study.simulation.settings import Arm, GrpoSettings, PolicySettings
from simulated import first_batch

POLICY = PolicySettings(criteria=2, flattery_effect=-0.7, length_effect=0.2)
MOVED = np.array([[0.3, -0.2, 0.5, 1.0, 0.7, -0.4, 0.6]])


def batch(groups: int = 30) -> tuple[Policy, Responses, Array]:
    policy, responses, scores = first_batch(Arm("a", policy=POLICY, grpo=GrpoSettings(groups=groups, size=4)))
    return policy, responses, np.round(scores - scores.mean(axis=-1, keepdims=True), 2) * 2


def objective(
    theta: Array, policy: Policy, responses: Responses, advantages: Array, old: Array, settings: GrpoSettings
) -> float:
    """The clipped objective with its penalty, as it is written in the docs."""
    now, first = policy.log_probs(theta, responses), policy.log_probs(0 * theta, responses)
    ratio = np.exp(now - old)
    kept = np.minimum(ratio * advantages, np.clip(ratio, 0.8, 1.2) * advantages)
    penalty = np.exp(first - now) - (first - now) - 1
    penalty = penalty * ratio if settings.divergence == "weighted" else penalty
    return float((kept - settings.kl * penalty).sum(axis=0).mean())


@pytest.mark.parametrize("kl", [0.0, 0.3])
@pytest.mark.parametrize("divergence", ["weighted", "plain"])
def test_the_gradient_is_that_of_the_clipped_objective(kl: float, divergence: Any) -> None:
    policy, responses, advantages = batch()
    settings = GrpoSettings(clip=0.2, kl=kl, divergence=divergence, iterations=2)
    old = policy.log_probs(MOVED - 0.25, responses)
    found = Learner(policy, settings, MOVED.copy()).gradient(responses, advantages, old)[0]
    assert np.abs(np.exp(policy.log_probs(MOVED, responses) - old) - 1).max() > 0.2  # something is clipped
    for column in range(7):
        step = np.zeros_like(MOVED)
        step[:, column] = 1e-6
        up, down = (objective(MOVED + sign * step, policy, responses, advantages, old, settings) for sign in (1, -1))
        assert found[column] == pytest.approx((up - down) / 2e-6, abs=1e-7)


def test_on_policy_nothing_is_clipped_and_the_ratio_is_one() -> None:
    policy, responses, advantages = batch()
    learner = Learner(policy, GrpoSettings(), MOVED.copy())
    old = policy.log_probs(MOVED, responses)
    assert learner.gradient(responses, advantages) == pytest.approx(learner.gradient(responses, advantages, old))


def test_several_iterations_reuse_the_batch_and_clipping_holds_them_back() -> None:
    policy, responses, advantages = batch()
    ends = []
    for clip in (0.05, 100.0):
        learner = Learner.start(policy, GrpoSettings(iterations=30, clip=clip, learning_rate=2.0), 1)
        learner.update(responses, advantages)
        ends.append(float(np.abs(learner.theta).max()))
    assert ends[0] < ends[1] / 2


def test_gradient_ascent_moves_by_the_gradient() -> None:
    policy, responses, advantages = batch()
    learner = Learner.start(policy, GrpoSettings(learning_rate=0.5), 1)
    gradient = learner.gradient(responses, advantages)
    learner.update(responses, advantages)
    assert learner.theta == pytest.approx(0.5 * gradient)


def test_adam_s_first_step_has_the_same_size_for_every_parameter() -> None:
    policy, responses, advantages = batch()
    learner = Learner.start(policy, GrpoSettings(optimizer="adam", learning_rate=0.01), 1)
    gradient = learner.gradient(responses, advantages)
    learner.update(responses, advantages)
    assert np.abs(gradient).min() > 1e-6
    assert learner.theta == pytest.approx(0.01 * np.sign(gradient), rel=1e-2)
