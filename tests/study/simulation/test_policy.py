"""The policy's gradients, expectations and divergence against brute force and against sampling."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.draws import Draws
from calipers.study.simulation.policy import PARAMETERS, Policy, Responses
from calipers.study.simulation.settings import PolicySettings

PLAIN = PolicySettings()
COUPLED = PolicySettings(criteria=3, length_effect=0.4, flattery_effect=-1.0, shares=(1, 2, 1), length_tail="pareto")
THETA = np.array([[0.3, -0.2, 0.5, 1.0, 0.7, -0.4, 0.6], [-0.5, 0.4, -1.0, 0.2, -0.3, 0.9, -0.8]])


def sampled(policy: Policy, theta: Array, *, groups: int = 40, size: int = 6) -> Responses:
    draws = Draws(range(len(theta)))
    return policy.respond(
        theta, draws.uniform("prompts", groups), draws.uniform("responses", policy.draws, groups, size)
    )


@pytest.mark.parametrize("settings", [PLAIN, COUPLED])
def test_the_gradient_is_that_of_the_weighted_log_probabilities(settings: PolicySettings) -> None:
    policy = Policy(settings)
    responses = sampled(policy, THETA)
    weights = np.random.default_rng(1).standard_normal((6, *responses.z.shape))

    def objective(theta: Array) -> Array:
        return np.asarray((weights * policy.log_probs(theta, responses)).sum(axis=0).mean(axis=(1, 2)))

    step = 1e-5
    for column in range(len(PARAMETERS)):
        moved = np.zeros_like(THETA)
        moved[:, column] = step
        slope = (objective(THETA + moved) - objective(THETA - moved)) / (2 * step)
        assert policy.gradient(THETA, responses, weights)[:, column] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("settings", [PLAIN, COUPLED])
def test_expectations_are_means_of_many_responses(settings: PolicySettings) -> None:
    policy = Policy(settings)
    responses = sampled(policy, THETA, groups=20_000, size=4)
    found = policy.expectations(THETA)
    optional = dict(zip(("format", "flattery", "injection"), responses.optional, strict=True))
    measured = {
        "truth": responses.quality,
        "length": responses.length,
        "confidence": responses.confidence,
        "confident_error": responses.confidence * (1 - responses.quality),
        **optional,
    }
    for name, values in measured.items():
        # Responses of a group share a prompt, so groups are the independent units.
        error = values.mean(axis=2).std(axis=1, ddof=1) / math.sqrt(values.shape[1])
        assert (np.abs(values.mean(axis=(1, 2)) - getattr(found, name)) < 4.5 * error).all(), name


@pytest.mark.parametrize("settings", [PLAIN, COUPLED])
def test_the_divergence_is_the_mean_of_the_log_ratio_to_the_first_policy(settings: PolicySettings) -> None:
    policy = Policy(settings)
    responses = sampled(policy, THETA, groups=20_000, size=4)
    ratio = policy.log_probs(THETA, responses).sum(axis=0) - policy.log_probs(0 * THETA, responses).sum(axis=0)
    error = ratio.mean(axis=2).std(axis=1, ddof=1) / math.sqrt(ratio.shape[1])
    assert (np.abs(ratio.mean(axis=(1, 2)) - policy.expectations(THETA).kl) < 4.5 * error).all()
    assert policy.expectations(0 * THETA).kl == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("tail", ["geometric", "normal", "pareto"])
def test_the_first_policy_has_the_mean_length_that_was_asked_for(tail: str) -> None:
    policy = Policy(PolicySettings(length_tail=tail, length_cap=60, length_mean=12.5))  # type: ignore[arg-type]
    assert policy.mean_length == pytest.approx(12.5, abs=1e-9)
    assert policy.expectations(np.zeros((1, 7))).length == pytest.approx(12.5, abs=1e-9)


def test_extreme_parameters_stay_finite() -> None:
    policy = Policy(COUPLED)
    theta = np.full((1, 7), 400.0) * np.array([[1, -1, 1, -1, 1, -1, 1]])
    found = policy.expectations(theta)
    assert all(np.isfinite(getattr(found, name)).all() for name in found.__slots__)
    assert found.length == pytest.approx(24.0)
    assert found.truth == pytest.approx(1.0)
    steep = Policy(PolicySettings(length_cap=300, length_tail="normal", length_effect=-3.0))
    assert np.isfinite(steep.expectations(theta).kl).all()


def test_a_policy_that_learns_quality_slowly_moves_it_by_the_square_of_its_ease() -> None:
    moved = []
    for ease in (1.0, 0.5):
        policy = Policy(PolicySettings(ease=ease))
        responses = sampled(policy, 0 * THETA[:1])
        gradient = policy.gradient(0 * THETA[:1], responses, responses.quality[None])
        before, after = (policy.expectations(shift * gradient).truth for shift in (0.0, 1e-6))
        moved.append(float((after - before)[0]))
    assert moved[1] / moved[0] == pytest.approx(0.25, rel=1e-3)
