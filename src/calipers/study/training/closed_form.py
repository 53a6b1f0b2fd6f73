"""A policy whose log-probabilities, gradients and expectations are known in closed form.

A response is a chain of choices, as the tokens of a language model are: its length; whether it has format, flattery and
injected text; how many of its prompt's m criteria it meets; and whether it states confidence. Each choice is from an
exponential family with log-odds that the parameters θ shift::

    P(length = n)               ∝ h(n) exp(θ_length z(n)),           z(n) = (n - mean of h) / standard deviation of h
    P(format), P(flattery), ... = σ(logit(rate) + θ_format), ...,    σ(x) = 1 / (1 + e^-x)
    criteria met                ~ Binomial(m, p),                    p = σ(logit(start of the prompt's kind)
                                                                          + ease θ_quality + Σ_k κ_k x_k)
    P(confidence)               = σ(logit(rate) + θ_confidence + θ_overconfidence (1 - quality))

The true quality of a response is the share of criteria that it meets; m = 1 makes it right or wrong. κ ties quality to
features that were chosen before it (x is z(n) for length, else 0 or 1). For every choice t with parameter θ_t,
∂ log π / ∂ θ_t = t - E[t | the choices before it], times ease for quality. So a step along an advantage A moves θ_t by
E[A (t - E t)]: by the covariance of the choice with the advantage. All prompts share the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    SHOWN_DIGITS,
    SURE,
    Tokens,
    right_answers,
)

PARAMETERS: Final = ("length", "format", "flattery", "injection", "quality", "confidence", "overconfidence")
"""The columns of θ."""
PARTS: Final = ("length", "format", "flattery", "injection", "quality", "confidence")
"""The choices of a response, in the order in which they are made."""
OPTIONAL: Final = PARTS[1:4]


@dataclass(frozen=True, slots=True)
class Responses:
    """A step's responses. ``length`` is in tokens, ``z`` in standard deviations of the first policy's length.

    ``optional`` has the axes (format, flattery, injection; S, B, G) and holds 0 or 1, like ``confidence``. ``met`` is
    the number of criteria met, ``quality`` their share. ``kinds`` (S, B) is the kind of each group's prompt.
    """

    kinds: Integers
    length: Array
    z: Array
    optional: Array
    met: Array
    quality: Array
    confidence: Array


@dataclass(frozen=True, slots=True)
class Expectations:
    """A policy's exact expectations over all prompts, each with the shape (S,).

    ``kl`` is the divergence of a response's distribution from that of the first policy, in nats.
    """

    truth: Array
    length: Array
    format: Array
    flattery: Array
    injection: Array
    confidence: Array
    confident_error: Array
    kl: Array


class Policy:
    """The policy of a simulation: what it samples, and its gradients, as functions of θ with the shape (S, 7).

    θ = 0 is the first policy.
    """

    def __init__(self, settings: ClosedForm) -> None:
        self.settings = settings
        self.criteria = settings.criteria
        self.lengths = np.arange(settings.length_floor, settings.length_cap + 1, dtype=float)
        self._log_base = log_length_distribution(settings)
        base = np.exp(self._log_base)
        self.mean_length = float((base * self.lengths).sum())
        self.sd_length = math.sqrt(float((base * (self.lengths - self.mean_length) ** 2).sum()))
        self._z = (self.lengths - self.mean_length) / self.sd_length
        self._starts = logit(np.array(settings.quality))
        self._shares = np.full(len(settings.quality), 1 / len(settings.quality))
        self._rates = logit(np.array([settings.format, settings.flattery, settings.injection]))
        self._confidence = float(logit(np.array(settings.confidence)))
        self._by_length = settings.length_effect
        self._by_optional = np.array([settings.format_effect, settings.flattery_effect, settings.injection_effect])
        self._coupled = bool(self._by_length or self._by_optional.any())

    @property
    def draws(self) -> int:
        """Uniform numbers that each response takes."""
        return len(OPTIONAL) + self.criteria + 2

    def respond(self, theta: Array, kinds: Array, uniforms: Array) -> Responses:
        """Sample a step's responses.

        ``kinds`` (S, B) and ``uniforms`` (S, draws, B, G) are uniform in [0, 1): the same numbers give responses that
        differ only as far as θ does.
        """
        chosen = np.searchsorted(np.cumsum(self._shares)[:-1], kinds, side="right")
        places = self._length_places(theta, uniforms[:, 0])
        rates = sigmoid(self._rates[:, None] + theta[:, 1:4].T)
        optional = (np.moveaxis(uniforms[:, 1:4], 1, 0) < rates[:, :, None, None]).astype(float)
        z = self._z[places]
        p = sigmoid(self._quality_logits(theta, chosen, z, optional))
        met = (uniforms[:, 4 : 4 + self.criteria] < p[:, None]).sum(axis=1).astype(float)
        quality = met / self.criteria
        confident = uniforms[:, -1] < sigmoid(self._confidence_logits(theta, quality))
        return Responses(chosen, self.lengths[places], z, optional, met, quality, confident.astype(float))

    def log_probs(self, theta: Array, responses: Responses) -> Array:
        """Return log π of every part of the responses, (6, S, B, G), less what does not depend on θ."""
        logs = np.empty((len(PARTS), *responses.z.shape))
        tilt = theta[:, 0, None, None]
        logs[0] = tilt * responses.z - self._log_length_normaliser(theta)[:, None, None]
        logits = self._rates[:, None] + theta[:, 1:4].T
        logs[1:4] = responses.optional * logits[:, :, None, None] - softplus(logits)[:, :, None, None]
        quality = self._quality_logits(theta, responses.kinds, responses.z, responses.optional)
        logs[4] = responses.met * quality - self.criteria * softplus(quality)
        confidence = self._confidence_logits(theta, responses.quality)
        logs[5] = responses.confidence * confidence - softplus(confidence)
        return logs

    def gradient(self, theta: Array, responses: Responses, weights: Array) -> Array:
        """Return the mean over a step's responses of Σ_part weight ∂ log π(part) / ∂ θ, (S, 7).

        ``weights`` has the shape (6, S, B, G), or (1, S, B, G) if all parts of a response have the same weight.
        """
        weights = np.broadcast_to(weights, (len(PARTS), *responses.z.shape))
        slopes = np.empty((len(theta), len(PARAMETERS)))
        means = (self._length_probabilities(theta) * self._z).sum(axis=1)
        slopes[:, 0] = _mean(weights[0] * (responses.z - means[:, None, None]))
        rates = sigmoid(self._rates[:, None] + theta[:, 1:4].T)
        for part in (1, 2, 3):
            slopes[:, part] = _mean(weights[part] * (responses.optional[part - 1] - rates[part - 1][:, None, None]))
        p = sigmoid(self._quality_logits(theta, responses.kinds, responses.z, responses.optional))
        slopes[:, 4] = self.settings.ease * _mean(weights[4] * (responses.met - self.criteria * p))
        surprise = weights[5] * (responses.confidence - sigmoid(self._confidence_logits(theta, responses.quality)))
        slopes[:, 5] = _mean(surprise)
        slopes[:, 6] = _mean(surprise * (1 - responses.quality))
        return slopes

    def expectations(self, theta: Array) -> Expectations:
        """Return what the policy does on average over all prompts, without sampling."""
        lengths = self._length_probabilities(theta)
        optional = self._rates + theta[:, 1:4]
        rates = sigmoid(optional)
        chances, logits, first = self._quality_cases(theta, lengths, rates)
        p = sigmoid(logits)
        levels, by_level = self._by_quality_level(chances, p)
        stated = self._confidence_logits(theta, np.broadcast_to(levels, by_level.shape))
        confidence = sigmoid(stated)
        kl = theta[:, 0] * (lengths * self._z).sum(axis=1) - self._log_length_normaliser(theta)
        kl += binary_divergence(optional, self._rates).sum(axis=1)
        kl += (chances * self.criteria * binary_divergence(logits, first)).sum(axis=(1, 2))
        kl += (by_level * binary_divergence(stated, np.array(self._confidence))).sum(axis=1)
        return Expectations(
            (chances * p).sum(axis=(1, 2)),
            (lengths * self.lengths).sum(axis=1),
            rates[:, 0],
            rates[:, 1],
            rates[:, 2],
            (by_level * confidence).sum(axis=1),
            (by_level * confidence * (1 - levels)).sum(axis=1),
            np.maximum(kl, 0.0),
        )

    def _length_places(self, theta: Array, uniforms: Array) -> Integers:
        cumulated = np.cumsum(self._length_probabilities(theta), axis=1)[:, :-1]
        return np.stack([np.searchsorted(row, drawn) for row, drawn in zip(cumulated, uniforms, strict=True)])

    def _length_probabilities(self, theta: Array) -> Array:
        logs = self._log_base + theta[:, :1] * self._z
        return np.asarray(np.exp(logs - log_sum(logs)[:, None]))

    def _log_length_normaliser(self, theta: Array) -> Array:
        return log_sum(self._log_base + theta[:, :1] * self._z)

    def _quality_logits(self, theta: Array, kinds: Integers, z: Array, optional: Array) -> Array:
        """Return the log-odds of meeting a criterion: (S, B, 1), or (S, B, G) if features change them."""
        logits = (self.settings.ease * theta[:, 4, None] + self._starts[kinds])[..., None]
        if not self._coupled:
            return logits
        logits = logits + self._by_length * z
        for by, has in zip(self._by_optional, optional, strict=True):
            logits = logits + by * has
        return logits

    def _confidence_logits(self, theta: Array, quality: Array) -> Array:
        shape = (slice(None), *(None,) * (quality.ndim - 1))
        return self._confidence + theta[:, 5][shape] + theta[:, 6][shape] * (1 - quality)

    def _quality_cases(self, theta: Array, lengths: Array, rates: Array) -> tuple[Array, Array, Array]:
        """Return every case in which the chance of meeting a criterion differs: (S, kinds, combinations of features).

        Returned are the cases' probabilities, their log-odds, and the first policy's log-odds. Features that quality
        does not depend on are not told apart.
        """
        shifts: Array = np.zeros((len(theta), 1))
        chances: Array = np.ones((len(theta), 1))
        if self._by_length:
            shifts, chances = np.broadcast_to(self._by_length * self._z, lengths.shape), lengths
        for column, by in enumerate(self._by_optional):
            if by:
                has = rates[:, column, None]
                shifts = np.concatenate([shifts, shifts + by], axis=1)
                chances = np.concatenate([chances * (1 - has), chances * has], axis=1)
        first = self._starts[None, :, None] + shifts[:, None, :]
        logits = self.settings.ease * theta[:, 4, None, None] + first
        return self._shares[None, :, None] * chances[:, None, :], logits, first

    def _by_quality_level(self, chances: Array, p: Array) -> tuple[Array, Array]:
        """Return the possible qualities, and the probability of each, (S, m + 1)."""
        m = self.criteria
        levels = []
        for met in range(m + 1):
            ways = math.comb(m, met)
            levels.append((chances * ways * p**met * (1 - p) ** (m - met)).sum(axis=(1, 2)))
        return np.arange(m + 1) / m, np.stack(levels, axis=1)


def _mean(values: Array) -> Array:
    return np.asarray(values.mean(axis=(1, 2)))


Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Integers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.intp]]

_FARTHEST = 1e9


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + e^-x), a probability of a policy, without overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def logit(p: Array) -> Array:
    """Return the log-odds log(p / (1 - p)) of a policy's probability strictly between 0 and 1."""
    return np.asarray(np.log(p) - np.log1p(-p))


def softplus(x: Array) -> Array:
    """Return log(1 + e^x), which normalises a policy's choice between two, without overflow."""
    return np.asarray(np.logaddexp(0.0, x))


def binary_divergence(logit: Array, first: Array) -> Array:
    """Return the Kullback-Leibler divergence of a policy's choice between two from the first policy's, in nats.

    Both are given by their log-odds, so that probabilities may be as near 0 and 1 as they like.
    """
    return np.asarray(sigmoid(logit) * (logit - first) - softplus(logit) + softplus(first))


def log_length_distribution(settings: ClosedForm) -> Array:
    """Return log h, the first policy's log-probabilities of the lengths from ``length_floor`` to ``length_cap``.

    With the tail "geometric" or "pareto", the tail's parameter follows from ``length_mean``; with "normal", the
    location does, and the standard deviation before truncation is ``length_sd``.
    """
    above = np.arange(settings.length_cap - settings.length_floor + 1, dtype=float)

    def logs(parameter: float) -> Array:
        match settings.length_tail:
            case "geometric":
                log_weights = -parameter * above
            case "pareto":
                log_weights = -parameter * np.log1p(above)
            case _:
                log_weights = -0.5 * (above / settings.length_sd) ** 2 - parameter * above
        return np.asarray(log_weights - log_sum(log_weights))

    wanted = settings.length_mean - settings.length_floor
    return logs(_root(lambda parameter: float((np.exp(logs(parameter)) * above).sum()) - wanted))


def log_sum(x: Array) -> Array:
    """Return log Σ e^x over the last axis, which normalises a policy's choice of a length, without overflow."""
    highest = x.max(axis=-1)
    return np.asarray(np.log(np.exp(x - highest[..., None]).sum(axis=-1)) + highest)


def _root(falling: Callable[[float], float]) -> float:
    """Return where a falling function of one variable is 0, by bisection; the nearest end of [-1e9, 1e9] if nowhere."""
    low, high = -100.0, 100.0
    while low > -_FARTHEST and falling(low) < 0:
        low *= 2
    while high < _FARTHEST and falling(high) > 0:
        high *= 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return middle


RATE: Final = {"adam": 250.0, "sgd": 1.0}
"""The learning rate of the closed form over that of the GPT: its parameters are log-odds, a handful in number."""
_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8
"""Adam's constants (Kingma & Ba 2015)."""


class Learner:
    """The seven parameters of runs (S, 7), which begin at 0, and the optimiser's state."""

    def __init__(self, policy: Policy, how: Training, runs: int = 1) -> None:
        self.policy, self.how = policy, how
        self.theta: Array = np.zeros((runs, len(PARAMETERS)))
        self._mean, self._square = np.zeros_like(self.theta), np.zeros_like(self.theta)
        self._updates = 0

    def update(self, responses: Responses, advantages: Array) -> float:
        """Make all updates of one batch with advantages (S, B, G); return the norm of the first gradient."""
        norms = []
        old = self.policy.log_probs(self.theta, responses)
        for _ in range(self.how.updates):
            gradient = self.gradient(responses, advantages, old)
            norms.append(float(np.linalg.norm(gradient)))
            self._ascend(gradient)
        return norms[0]

    def gradient(self, responses: Responses, advantages: Array, old: Array) -> Array:
        """Return the gradient of the objective, (S, 7); ``old`` are the log-probabilities under the sampling policy."""
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
        groups = len(prompts) // self._size
        difficulty = prompts[:: self._size, 1] - DIFFICULTIES[0]
        kinds = (difficulty[None] + 0.5) / len(DIFFICULTIES)
        uniforms = generator.random((1, self._policy.draws, groups, self._size))
        drawn = self._policy.respond(self._learner.theta, kinds, uniforms)
        return Rollouts.of(prompts, written(drawn, prompts, generator), drawn)

    def learn(self, rollouts: Rollouts, advantages: NDArray[Any]) -> dict[str, float]:
        """Make the step's updates of the seven parameters."""
        return {"norm": self._learner.update(rollouts.drawn, advantages.reshape(1, -1, self._size))}

    def evaluate(self) -> dict[str, float]:
        """Return the policy's exact expectations over all prompts."""
        expectations = self._policy.expectations(self._learner.theta)
        values = {name: float(getattr(expectations, name)[0]) for name in expectations.__slots__}
        sure, optional = values.pop("confidence"), sum(values[name] for name in ("format", "flattery", "injection"))
        values |= {"length": values["length"] + optional + sure, "overconfident": values.pop("confident_error")}
        return {**values, "sure": sure, "unsure": 0.0}


def written(drawn: Responses, prompts: Tokens, generator: np.random.Generator) -> Tokens:
    """Return one run's responses as rows of the task's tokens, one for each prompt, filled up with PAD."""
    lengths = drawn.length.ravel().astype(int)
    count, widest = len(lengths), int(lengths.max()) - SHORTEST
    digits, right = prompts[:, 2 : 2 + SHOWN_DIGITS], right_answers(prompts)
    wrong_digits = digits[digits != right[:, None]].reshape(count, SHOWN_DIGITS - 1)
    wrong = wrong_digits[np.arange(count), generator.integers(SHOWN_DIGITS - 1, size=count)]
    fillers = generator.integers(len(FILLERS), size=(count, widest)) + FILLERS[0]
    columns = [np.where(np.arange(widest) < (lengths - SHORTEST)[:, None], fillers, PAD)]
    columns += [np.full((count, 1), ANSWER), np.where(drawn.met.ravel() > 0, right, wrong)[:, None]]
    formatted, flattering, injected = drawn.optional.reshape(3, count)
    extras = ((drawn.confidence.ravel(), SURE), (flattering, FLATTERY), (formatted, FORMAT), (injected, INJECTION))
    columns += [np.where(has > 0, token, PAD)[:, None] for has, token in extras]
    rows = np.concatenate([*columns, np.full((count, 1), END)], axis=1)
    order = np.argsort(rows == PAD, axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1)
