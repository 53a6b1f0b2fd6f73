"""The closed-form policy: its gradients against finite differences, its expectations against sampling, its text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calipers.study.training.closed_form import (
    CHOICES,
    PARAMETERS,
    RATE,
    Array,
    ClosedFormPolicy,
    Learner,
    Policy,
    Responses,
)
from calipers.study.training.rollouts import FIGURES, grouped_prompts, response_figures
from calipers.study.training.settings import ClosedForm, Training
from training_studies import study

POLICY = Policy(ClosedForm(quality=(0.9, 0.5, 0.2)))
THETA = np.array([0.3, -0.2, 0.5, 1.0, 0.7, -0.4, 0.6])
OTHER = np.array([-0.5, 0.4, -1.0, 0.2, -0.3, 0.9, -0.8])


def sampled(theta: Array, *, groups: int = 40, size: int = 6) -> Responses:
    generator = np.random.default_rng(0)
    return POLICY.respond(theta, generator.integers(3, size=groups), generator.random((6, groups, size)))


def slopes(objective: Callable[[Array], Any], theta: Array, step: float) -> Array:
    """The objective's slope in each parameter, by finite differences."""
    moves = step * np.eye(len(PARAMETERS))
    return np.array([(objective(theta + move) - objective(theta - move)) / (2 * step) for move in moves])


def test_the_gradient_is_that_of_the_weighted_log_probabilities() -> None:
    responses = sampled(THETA)
    weights = np.random.default_rng(1).standard_normal((6, *responses.z.shape))

    def objective(theta: Array) -> Array:
        return np.asarray((weights * POLICY.log_probs(theta, responses)).sum(axis=0).mean())

    found = POLICY.gradient(THETA, responses, weights)
    assert found == pytest.approx(slopes(objective, THETA, 1e-5), abs=1e-8)


@pytest.mark.parametrize("theta", [THETA, OTHER])
def test_expectations_are_means_of_many_responses(theta: Array) -> None:
    responses = sampled(theta, groups=20_000, size=4)
    found = POLICY.expectations(theta)
    drawn = dict(zip(CHOICES, responses.choices, strict=True))
    right, sure = drawn.pop("right"), drawn.pop("confidence")
    measured = {
        **drawn,
        "truth": right,
        "length": responses.length + sum(drawn.values()) + sure,
        "sure": sure,
        "overconfident": sure * (1 - right),
        "kl": (POLICY.log_probs(theta, responses) - POLICY.log_probs(0 * theta, responses)).sum(axis=0),
    }
    assert found.keys() == {*measured, "unsure"}
    for name, values in measured.items():
        # Responses of a group share a prompt, so groups are the independent units.
        error = values.mean(axis=1).std(ddof=1) / math.sqrt(len(values))
        assert abs(values.mean() - found[name]) < 4.5 * error, name


def test_the_first_policy_has_the_mean_length_that_was_asked_for_and_extremes_stay_finite() -> None:
    first = Policy(ClosedForm(length_cap=60, length_mean=12.5))
    assert first.expectations(np.zeros(7))["length"] == pytest.approx(12.5 + 0.3 + 0.3 + 0.03 + 0.3, abs=1e-9)
    found = POLICY.expectations(400.0 * np.array([1, -1, 1, -1, 1, -1, 1]))
    assert all(map(math.isfinite, found.values()))
    assert found["length"] == pytest.approx(24.0 + 1)
    assert found["truth"] == pytest.approx(1.0)


def test_the_step_ascends_the_clipped_objective() -> None:
    kl, responses = 0.3, sampled(THETA)
    advantages = np.random.default_rng(2).standard_normal(responses.z.shape)
    old = POLICY.log_probs(THETA - 0.25, responses)

    def objective(theta: Array) -> float:
        now, first = POLICY.log_probs(theta, responses), POLICY.log_probs(0 * theta, responses)
        ratio = np.exp(now - old)
        kept = np.minimum(ratio * advantages, np.clip(ratio, 0.8, 1.2) * advantages)
        return float((kept - kl * ratio * (np.exp(first - now) - (first - now) - 1)).sum(axis=0).mean())

    learner = Learner(POLICY, Training(kl=kl))
    learner.theta = THETA.copy()
    found = learner.gradient(responses, advantages, old)
    assert np.abs(np.exp(POLICY.log_probs(learner.theta, responses) - old) - 1).max() > 0.2  # something is clipped
    assert found == pytest.approx(slopes(objective, learner.theta, 1e-6), abs=1e-7)


def test_sgd_moves_by_the_gradient_and_adam_s_first_step_is_the_same_for_all() -> None:
    responses = sampled(THETA * 0)
    advantages = np.random.default_rng(3).standard_normal(responses.z.shape)
    gradient = POLICY.gradient(THETA * 0, responses, np.broadcast_to(advantages, (6, *advantages.shape)))
    sgd, adam = (Learner(POLICY, Training(optimizer=one, learning_rate=0.01)) for one in ("sgd", "adam"))
    assert sgd.update(responses, advantages) == pytest.approx(float(np.linalg.norm(gradient)))
    assert sgd.theta == pytest.approx(0.01 * gradient)
    adam.update(responses, advantages)
    assert adam.theta == pytest.approx(0.01 * RATE["adam"] * np.sign(gradient), rel=1e-2)


def test_responses_are_text_of_the_task_with_the_features_that_were_drawn() -> None:
    content = study({"training": {"prompts": 400, "group_size": 4}}, policy="closed-form")
    policy = ClosedFormPolicy(content.closed_form, content.arms[0])
    rollouts = policy.respond(grouped_prompts(400, 4, 0), 7)
    found = rollouts.features
    drawn = dict(zip(CHOICES, rollouts.drawn.choices.reshape(5, -1).astype(bool), strict=True))
    right, sure = drawn.pop("right"), drawn.pop("confidence")
    extras = np.sum([*drawn.values(), sure], axis=0)
    assert found.length.tolist() == (rollouts.drawn.length.ravel() + extras).astype(int).tolist()
    assert found.right.tolist() == right.tolist()
    assert found.overconfident.tolist() == (sure & ~right).tolist()
    assert {name: getattr(found, name).tolist() for name in drawn} == {
        name: has.tolist() for name, has in drawn.items()
    }
    expected, measured = policy.evaluate(), response_figures(found)
    assert expected.keys() == {*FIGURES, "kl"}
    assert {name: expected[name] for name in FIGURES} == pytest.approx(measured, abs=0.05, rel=0.05)
