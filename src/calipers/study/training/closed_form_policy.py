"""The closed-form policy as a policy of a study: its responses as text of the task, and GRPO's step for it.

For every choice of a response, with ρ = π_θ(choice) / π_old(choice), the step ascends the mean over responses of ::

    Σ  min(ρ A, clip(ρ, 1 - ε, 1 + ε) A)  -  β ρ (e^d - d - 1),     d = log π_first(choice) - log π_θ(choice)

(Shao et al. 2024, arXiv:2402.03300, eq. 3 and 4; the divergence is weighted by ρ as in TRL). Choices are summed and not
divided by their number, as in Dr. GRPO.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from calipers.study.training.closed_form import PARAMETERS, Array, Policy, Responses
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
        found = self._policy.expectations(self._learner.theta)
        values = {name: float(getattr(found, name)[0]) for name in found.__slots__}
        sure, optional = values.pop("confidence"), sum(values[name] for name in ("format", "flattery", "injection"))
        values |= {"length": values["length"] + optional + sure, "overconfident": values.pop("confident_error")}
        return {**values, "sure": sure, "unsure": 0.0}


def written(drawn: Responses, prompts: Tokens, generator: np.random.Generator) -> Tokens:
    """Return one run's responses as rows of the task's tokens, one for each prompt, filled up with PAD."""
    lengths = drawn.length.ravel().astype(int)
    count, widest = len(lengths), int(lengths.max()) - SHORTEST
    digits, right = prompts[:, 2 : 2 + SHOWN_DIGITS], right_answers(prompts)
    others = digits[digits != right[:, None]].reshape(count, SHOWN_DIGITS - 1)
    wrong = others[np.arange(count), generator.integers(SHOWN_DIGITS - 1, size=count)]
    fillers = generator.integers(len(FILLERS), size=(count, widest)) + FILLERS[0]
    columns = [np.where(np.arange(widest) < (lengths - SHORTEST)[:, None], fillers, PAD)]
    columns += [np.full((count, 1), ANSWER), np.where(drawn.met.ravel() > 0, right, wrong)[:, None]]
    formatted, flattering, injected = drawn.optional.reshape(3, count)
    extras = ((drawn.confidence.ravel(), SURE), (flattering, FLATTERY), (formatted, FORMAT), (injected, INJECTION))
    columns += [np.where(has > 0, token, PAD)[:, None] for has, token in extras]
    rows = np.concatenate([*columns, np.full((count, 1), END)], axis=1)
    order = np.argsort(rows == PAD, axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1)
