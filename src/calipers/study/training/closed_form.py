"""A policy whose log-probabilities, gradients and expectations are known in closed form.

A response is a chain of choices, as the tokens of a language model are: its length; whether it has format, flattery and
injected text; whether it is right; and whether it states confidence. Each choice is from an exponential family with
log-odds that the parameters θ shift::

    P(length = n)               ∝ h(n) exp(θ_length z(n)),           z(n) = (n - mean of h) / standard deviation of h
    P(format), P(flattery), ... = σ(logit(rate) + θ_format), ...,    σ(x) = 1 / (1 + e^-x)
    P(right)                    = σ(logit(start of the prompt's kind) + θ_quality)
    P(confidence)               = σ(logit(rate) + θ_confidence + θ_overconfidence (1 - right))

For every choice t with parameter θ_t, ∂ log π / ∂ θ_t = t - E[t | the choices before it]. So a step along an advantage
A moves θ_t by E[A (t - E t)]: by the covariance of the choice with the advantage. All prompts share the parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calipers.study.training.rollouts import Rollouts
from calipers.study.training.settings import Arm, ClosedForm, Training
from calipers.study.training.task import (
    ANSWER,
    DIFFICULTIES,
    END,
    FILLERS,
    FLATTERY,
    FORMAT,
    INJECTION,
    PAD,
    SHORTEST,
    SURE,
    Tokens,
    draw_wrong_answers,
    right_answers,
    without_gaps,
)

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
PARAMETERS: Final = ("length", "format", "flattery", "injection", "quality", "confidence", "overconfidence")
"""The entries of θ."""
CHOICES: Final = ("format", "flattery", "injection", "right", "confidence")
"""The choices between two, which follow that of the length, in the order in which they are made."""
RIGHT, CONFIDENCE = 3, 4


@dataclass(frozen=True, slots=True)
class Responses:
    """A step's responses to B prompts, G each. ``length`` is in tokens, ``z`` in standard deviations of the first
    policy's length.

    ``choices`` (5, B, G) holds 0 or 1, in the order of CHOICES. ``kinds`` (B) is the kind of each group's prompt.
    """

    kinds: NDArray[Any]
    length: Array
    z: Array
    choices: Array


class Policy:
    """The policy of a simulation: what it samples, and its gradients, as functions of θ with seven entries.

    θ = 0 is the first policy.
    """

    def __init__(self, settings: ClosedForm) -> None:
        self.lengths = np.arange(settings.length_floor, settings.length_cap + 1, dtype=float)
        self._log_base = log_length_distribution(settings)
        base = np.exp(self._log_base)
        off = self.lengths - float((base * self.lengths).sum())
        self._z = off / math.sqrt(float((base * off**2).sum()))
        self._starts = logit(np.array(settings.quality))
        self._rates = logit(np.array([settings.format, settings.flattery, settings.injection]))
        self._confidence = float(logit(np.array(settings.confidence)))

    def respond(self, theta: Array, kinds: NDArray[Any], uniforms: Array) -> Responses:
        """Sample a step's responses.

        ``kinds`` are numbers from 0. ``uniforms`` (6, B, G) are uniform in [0, 1): the same numbers give responses that
        differ only as far as θ does.
        """
        places = np.searchsorted(np.cumsum(self._length_probabilities(theta))[:-1], uniforms[0])
        choices = np.zeros((len(CHOICES), *uniforms.shape[1:]))
        for made in (slice(CONFIDENCE), slice(CONFIDENCE, None)):  # confidence depends on whether the answer is right
            choices[made] = (uniforms[1:] < sigmoid(self._log_odds(theta, kinds, choices[RIGHT])))[made]
        return Responses(kinds, self.lengths[places], self._z[places], choices)

    def log_probs(self, theta: Array, responses: Responses) -> Array:
        """Return log π of every choice of the responses, (6, B, G), less what does not depend on θ."""
        odds = self._log_odds(theta, responses.kinds, responses.choices[RIGHT])
        of_length = theta[0] * responses.z - self._log_length_normaliser(theta)
        return np.concatenate([of_length[None], responses.choices * odds - softplus(odds)])

    def gradient(self, theta: Array, responses: Responses, weights: Array) -> Array:
        """Return the mean over a step's responses of Σ_choice weight ∂ log π(choice) / ∂ θ, for each entry of θ.

        ``weights`` has the shape (6, B, G).
        """
        right = responses.choices[RIGHT]
        of_length = weights[0] * (responses.z - (self._length_probabilities(theta) * self._z).sum())
        surprise = weights[1:] * (responses.choices - sigmoid(self._log_odds(theta, responses.kinds, right)))
        slopes = np.concatenate([of_length[None], surprise, (surprise[CONFIDENCE] * (1 - right))[None]])
        return np.asarray(slopes.mean(axis=(1, 2)))

    def expectations(self, theta: Array) -> dict[str, float]:
        """Return what the policy does on average over all prompts, without sampling: a study's figures, and ``kl``.

        ``kl`` is the divergence of a response's distribution from that of the first policy, in nats.
        """
        kinds, right = np.arange(len(self._starts)), np.array([[0.0, 1.0]] * len(self._starts))
        odds, first = (self._log_odds(at, kinds, right) for at in (theta, np.zeros_like(theta)))
        chances, lengths = sigmoid(odds), self._length_probabilities(theta)
        cases = np.where(right > 0, chances[RIGHT], 1 - chances[RIGHT]) / len(kinds)
        rates = dict(zip(CHOICES, (cases * chances).sum(axis=(1, 2)).tolist(), strict=True))
        truth, sure = rates.pop("right"), rates.pop("confidence")
        kl = float(theta[0] * (lengths * self._z).sum() - self._log_length_normaliser(theta))
        kl += float((cases * binary_divergence(odds, first)).sum())
        return {
            **rates,
            "truth": truth,
            "length": float((lengths * self.lengths).sum()) + sum(rates.values()) + sure,
            "sure": sure,
            "unsure": 0.0,
            "overconfident": float((cases * chances[CONFIDENCE])[:, 0].sum()),
            "kl": max(kl, 0.0),
        }

    def _length_probabilities(self, theta: Array) -> Array:
        return np.asarray(np.exp(self._log_base + theta[0] * self._z - self._log_length_normaliser(theta)))

    def _log_length_normaliser(self, theta: Array) -> float:
        return log_sum(self._log_base + theta[0] * self._z)

    def _log_odds(self, theta: Array, kinds: NDArray[Any], right: Array) -> Array:
        """Return the log-odds of each choice between two, (5, B, G); ``right`` (B, G) says which answers are right."""
        odds = np.empty((len(CHOICES), *right.shape))
        odds[:RIGHT] = (self._rates + theta[1:4])[:, None, None]
        odds[RIGHT] = (self._starts + theta[4])[kinds][:, None]
        odds[CONFIDENCE] = self._confidence + theta[5] + theta[6] * (1 - right)
        return odds


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), a probability of a policy, without overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def logit(p: Array) -> Array:
    """Return the log-odds log(p / (1 - p)) of a policy's probability strictly between 0 and 1."""
    return np.asarray(np.log(p) - np.log1p(-p))


def softplus(x: Array) -> Array:
    """Return log(1 + e^x), which normalises a policy's choice between two, without overflow."""
    return np.asarray(np.logaddexp(0.0, x))


def binary_divergence(odds: Array, first: Array) -> Array:
    """Return the Kullback-Leibler divergence of a policy's choice between two from the first policy's, in nats.

    Both are given by their log-odds, so that probabilities may be as near 0 and 1 as they like.
    """
    return np.asarray(sigmoid(odds) * (odds - first) - softplus(odds) + softplus(first))


def log_length_distribution(settings: ClosedForm) -> Array:
    """Return log h, the first policy's log-probabilities of the lengths from ``length_floor`` to ``length_cap``.

    The distribution is geometric, cut at the longest; its parameter follows from ``length_mean`` by bisection.
    """
    above = np.arange(settings.length_cap - settings.length_floor + 1, dtype=float)
    low, high = -100.0, 100.0
    while True:
        middle = (low + high) / 2
        logs: Array = -middle * above
        logs -= log_sum(logs)
        if middle in (low, high):
            return logs
        is_longer = float((np.exp(logs) * above).sum()) > settings.length_mean - settings.length_floor
        low, high = (middle, high) if is_longer else (low, middle)


def log_sum(x: Array) -> float:
    """Return log Σ e^x, which normalises a policy's choice of a length, without overflow."""
    highest = float(x.max())
    return math.log(np.exp(x - highest).sum()) + highest


RATE: Final = {"adam": 250.0, "sgd": 1.0}
"""The learning rate of the closed form over that of the GPT: its parameters are log-odds, a handful in number."""
_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8
"""Adam's constants (Kingma & Ba 2015)."""


class Learner:
    """The seven parameters of a run, which begin at 0, and the optimiser's state."""

    def __init__(self, policy: Policy, how: Training) -> None:
        self.policy, self.how = policy, how
        self.theta: Array = np.zeros(len(PARAMETERS))
        self._mean, self._square = np.zeros_like(self.theta), np.zeros_like(self.theta)
        self._updates = 0

    def update(self, responses: Responses, advantages: Array) -> float:
        """Make all updates of one batch with advantages (B, G); return the norm of the first gradient."""
        norms = []
        old = self.policy.log_probs(self.theta, responses)
        for _ in range(self.how.updates):
            gradient = self.gradient(responses, advantages, old)
            norms.append(float(np.linalg.norm(gradient)))
            self._ascend(gradient)
        return norms[0]

    def gradient(self, responses: Responses, advantages: Array, old: Array) -> Array:
        """Return the gradient of the objective; ``old`` are the log-probabilities under the sampling policy."""
        now = self.policy.log_probs(self.theta, responses)
        ratio = np.exp(now - old)
        clipped = np.where(advantages > 0, ratio > 1 + self.how.clip, ratio < 1 - self.how.clip)
        weights = np.where(clipped, 0.0, ratio * advantages)
        if self.how.kl:
            away = self.policy.log_probs(np.zeros_like(self.theta), responses) - now
            # The derivative of ρ (e^d - d - 1) is -ρ d ∂ log π.
            weights = weights + self.how.kl * ratio * away
        return self.policy.gradient(self.theta, responses, weights)

    def _ascend(self, gradient: Array) -> None:
        rate = self.how.learning_rate * RATE[self.how.optimizer]
        if self.how.optimizer == "sgd":
            self.theta = self.theta + rate * gradient
            return
        self._updates += 1
        self._mean = _DECAY * self._mean + (1 - _DECAY) * gradient
        self._square = _SQUARE_DECAY * self._square + (1 - _SQUARE_DECAY) * gradient**2
        mean = self._mean / (1 - _DECAY**self._updates)
        square = self._square / (1 - _SQUARE_DECAY**self._updates)
        self.theta = self.theta + rate * mean / (np.sqrt(square) + _TINY)


class ClosedFormPolicy:
    """The closed-form policy in an arm's run. A response is written as tokens of the task, ``length`` of them and one
    for each of format, flattery, injected text and confidence.
    """

    def __init__(self, settings: ClosedForm, arm: Arm) -> None:
        self._policy, self._size = Policy(settings), arm.training.group_size
        self._learner = Learner(self._policy, arm.training)

    def respond(self, prompts: Tokens, seed: int) -> Rollouts:
        """Sample a response to each of the prompts."""
        generator = np.random.default_rng(seed)
        kinds = prompts[:: self._size, 1] - DIFFICULTIES[0]
        uniforms = generator.random((1 + len(CHOICES), len(kinds), self._size))
        drawn = self._policy.respond(self._learner.theta, kinds, uniforms)
        return Rollouts.of(prompts, written(drawn, prompts, generator), drawn)

    def learn(self, rollouts: Rollouts, advantages: NDArray[Any]) -> dict[str, float]:
        """Make the step's updates of the seven parameters."""
        return {"norm": self._learner.update(rollouts.drawn, advantages.reshape(-1, self._size))}

    def evaluate(self) -> dict[str, float]:
        """Return the policy's exact expectations over all prompts."""
        return self._policy.expectations(self._learner.theta)


def written(drawn: Responses, prompts: Tokens, generator: np.random.Generator) -> Tokens:
    """Return a step's responses as rows of the task's tokens, one for each prompt, filled up with PAD."""
    lengths = drawn.length.ravel().astype(int)
    count, widest = len(lengths), int(lengths.max()) - SHORTEST
    wrong = draw_wrong_answers(prompts, generator)
    fillers = generator.integers(len(FILLERS), size=(count, widest)) + FILLERS[0]
    formatted, flattering, injected, right, confident = drawn.choices.reshape(len(CHOICES), count)
    columns = [np.where(np.arange(widest) < (lengths - SHORTEST)[:, None], fillers, PAD), np.full((count, 1), ANSWER)]
    columns += [np.where(right > 0, right_answers(prompts), wrong)[:, None]]
    extras = ((confident, SURE), (flattering, FLATTERY), (formatted, FORMAT), (injected, INJECTION))
    columns += [np.where(has > 0, token, PAD)[:, None] for has, token in extras]
    return without_gaps(np.concatenate([*columns, np.full((count, 1), END)], axis=1))
