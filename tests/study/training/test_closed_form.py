"""The closed-form policy: its gradients against finite differences, its expectations against sampling, its text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from calipers.study.training.closed_form import PARAMETERS, RATE, Array, ClosedFormPolicy, Learner, Policy, Responses
from calipers.study.training.rollouts import FIGURES, grouped_prompts, response_figures
from calipers.study.training.settings import ClosedForm, Training
from training_studies import study

PLAIN = ClosedForm()
COUPLED = ClosedForm(criteria=3, length_effect=0.4, flattery_effect=-1.0, length_tail="pareto")
THETA = np.array([[0.3, -0.2, 0.5, 1.0, 0.7, -0.4, 0.6], [-0.5, 0.4, -1.0, 0.2, -0.3, 0.9, -0.8]])


def sampled(policy: Policy, theta: Array, *, groups: int = 40, size: int = 6) -> Responses:
    generator = np.random.default_rng(0)
    kinds, uniforms = generator.random((len(theta), groups)), generator.random((len(theta), policy.draws, groups, size))
    return policy.respond(theta, kinds, uniforms)


def slopes(objective: Callable[[Array], Any], theta: Array, step: float) -> Array:
    """The objective's slope in each parameter, by finite differences."""
    moves = step * np.eye(len(PARAMETERS))
    return np.stack([(objective(theta + move) - objective(theta - move)) / (2 * step) for move in moves], axis=-1)


@pytest.mark.parametrize("settings", [PLAIN, COUPLED])
def test_the_gradient_is_that_of_the_weighted_log_probabilities(settings: ClosedForm) -> None:
    policy = Policy(settings)
    responses = sampled(policy, THETA)
    weights = np.random.default_rng(1).standard_normal((6, *responses.z.shape))

    def objective(theta: Array) -> Array:
        return np.asarray((weights * policy.log_probs(theta, responses)).sum(axis=0).mean(axis=(1, 2)))

    found = policy.gradient(THETA, responses, weights)
    assert found == pytest.approx(slopes(objective, THETA, 1e-5), abs=1e-8)


@pytest.mark.parametrize("settings", [PLAIN, COUPLED])
def test_expectations_are_means_of_many_responses(settings: ClosedForm) -> None:
    policy = Policy(settings)
    responses = sampled(policy, THETA, groups=20_000, size=4)
    found = policy.expectations(THETA)
    ratio = policy.log_probs(THETA, responses).sum(axis=0) - policy.log_probs(0 * THETA, responses).sum(axis=0)
    measured = {
        "truth": responses.quality,
        "length": responses.length,
        "confidence": responses.confidence,
        "confident_error": responses.confidence * (1 - responses.quality),
        "kl": ratio,
        **dict(zip(("format", "flattery", "injection"), responses.optional, strict=True)),
    }
    for name, values in measured.items():
        # Responses of a group share a prompt, so groups are the independent units.
        error = values.mean(axis=2).std(axis=1, ddof=1) / math.sqrt(values.shape[1])
        assert (np.abs(values.mean(axis=(1, 2)) - getattr(found, name)) < 4.5 * error).all(), name


def test_the_first_policy_has_the_mean_length_that_was_asked_for_and_extremes_stay_finite() -> None:
    for tail in ("geometric", "normal", "pareto"):
        policy = Policy(ClosedForm(length_tail=tail, length_cap=60, length_mean=12.5))
        assert policy.expectations(np.zeros((1, 7))).length == pytest.approx(12.5, abs=1e-9)
    found = Policy(COUPLED).expectations(np.full((1, 7), 400.0) * np.array([[1, -1, 1, -1, 1, -1, 1]]))
    assert all(np.isfinite(getattr(found, name)).all() for name in found.__slots__)
    assert found.length == pytest.approx(24.0)
    assert found.truth == pytest.approx(1.0)


def test_the_step_ascends_the_clipped_objective() -> None:
    policy, kl = Policy(COUPLED), 0.3
    responses = sampled(policy, THETA[:1])
    advantages = np.random.default_rng(2).standard_normal(responses.z.shape)
    old = policy.log_probs(THETA[:1] - 0.25, responses)

    def objective(theta: Array) -> float:
        now, first = policy.log_probs(theta, responses), policy.log_probs(0 * theta, responses)
        ratio = np.exp(now - old)
        kept = np.minimum(ratio * advantages, np.clip(ratio, 0.8, 1.2) * advantages)
        return float((kept - kl * ratio * (np.exp(first - now) - (first - now) - 1)).sum(axis=0).mean())

    learner = Learner(policy, Training(kl=kl))
    learner.theta = THETA[:1].copy()
    found = learner.gradient(responses, advantages, old)[0]
    assert np.abs(np.exp(policy.log_probs(learner.theta, responses) - old) - 1).max() > 0.2  # something is clipped
    assert found == pytest.approx(slopes(objective, learner.theta, 1e-6), abs=1e-7)


def test_sgd_moves_by_the_gradient_and_adam_s_first_step_is_the_same_for_all() -> None:
    policy = Policy(PLAIN)
    responses = sampled(policy, THETA[:1] * 0)
    advantages = np.random.default_rng(3).standard_normal(responses.z.shape)
    gradient = policy.gradient(THETA[:1] * 0, responses, advantages[None])
    sgd, adam = (Learner(policy, Training(optimizer=one, learning_rate=0.01)) for one in ("sgd", "adam"))
    assert sgd.update(responses, advantages) == pytest.approx(float(np.linalg.norm(gradient)))
    assert sgd.theta == pytest.approx(0.01 * gradient)
    adam.update(responses, advantages)
    assert adam.theta == pytest.approx(0.01 * RATE["adam"] * np.sign(gradient), rel=1e-2)


def test_responses_are_text_of_the_task_with_the_features_that_were_drawn() -> None:
    content = study({"training": {"prompts": 400, "group_size": 4}}, policy="closed-form")
    policy = ClosedFormPolicy(content.closed_form, content.arms[0])
    rollouts = policy.respond(grouped_prompts(400, 4, 0), 7)
    drawn, found = rollouts.drawn, rollouts.features
    extras = drawn.optional.sum(axis=0) + drawn.confidence
    assert found.length.tolist() == (drawn.length + extras).ravel().astype(int).tolist()
    assert found.right.tolist() == (drawn.met.ravel() > 0).tolist()
    assert found.overconfident.tolist() == (drawn.confidence * (1 - drawn.quality)).ravel().astype(bool).tolist()
    for name, values in zip(("format", "flattery", "injection"), drawn.optional, strict=True):
        assert getattr(found, name).tolist() == values.ravel().astype(bool).tolist()
    expected, measured = policy.evaluate(), response_figures(found)
    assert expected.keys() == {*FIGURES, "kl"}
    assert {name: expected[name] for name in FIGURES} == pytest.approx(measured, abs=0.05, rel=0.05)
