"""GRPO's step: the clipped objective with a penalty on the divergence from the first policy, and the optimiser.

For every part of a response (a token), with ρ = π_θ(part) / π_old(part), the step ascends the mean over responses of ::

    Σ_part  min(ρ A, clip(ρ, 1 - ε, 1 + ε) A)  -  β w (e^d - d - 1),     d = log π_first(part) - log π_θ(part)

(Shao et al. 2024, arXiv:2402.03300, eq. 3 and 4). The divergence has the weight w = ρ, which makes its gradient
unbiased (DeepSeek-V3.2, arXiv:2512.02556; TRL's default), or w = 1 (verl). Parts are summed and not divided by their
number, as in Dr. GRPO. Not responsible for advantages.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.policy import PARAMETERS, Policy, Responses
from calipers.study.simulation.settings import GrpoSettings

_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8
"""Adam's constants (Kingma & Ba 2015)."""


@dataclass(slots=True)
class Learner:
    """Parameters of all runs (S, 7), and the optimiser's state; both begin at 0."""

    policy: Policy
    settings: GrpoSettings
    theta: Array
    _mean: Array = field(init=False)
    _square: Array = field(init=False)
    _updates: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._mean, self._square = np.zeros_like(self.theta), np.zeros_like(self.theta)

    @classmethod
    def start(cls, policy: Policy, settings: GrpoSettings, runs: int) -> Learner:
        """Return the learner of ``runs`` runs at the first policy."""
        return cls(policy, settings, np.zeros((runs, len(PARAMETERS))))

    def update(self, responses: Responses, advantages: Array) -> None:
        """Make all updates of one batch; ``advantages`` has the shape (S, B, G)."""
        several = self.settings.iterations > 1
        old = self.policy.log_probs(self.theta, responses) if several else None
        for _ in range(self.settings.iterations):
            self._ascend(self.gradient(responses, advantages, old))

    def gradient(self, responses: Responses, advantages: Array, old: Array | None = None) -> Array:
        """Return the gradient of the objective, (S, 7).

        ``old`` holds the log-probabilities under the policy that sampled; None if that is the present policy.
        """
        weights = advantages[None]
        if old is None and not self.settings.kl:
            return self.policy.gradient(self.theta, responses, weights)
        now = self.policy.log_probs(self.theta, responses)
        if old is not None:
            weights = _clipped_weights(np.exp(now - old), advantages, self.settings.clip)
        if self.settings.kl:
            away = self.policy.log_probs(np.zeros_like(self.theta), responses) - now
            weighted = self.settings.divergence == "weighted"
            ratio = np.exp(now - old) if old is not None and weighted else 1.0
            # The derivative of ρ (e^d - d - 1) is -ρ d ∂ log π; that of e^d - d - 1 is (1 - e^d) ∂ log π.
            weights = weights + self.settings.kl * (ratio * away if weighted else np.expm1(away))
        return self.policy.gradient(self.theta, responses, weights)

    def _ascend(self, gradient: Array) -> None:
        rate = self.settings.learning_rate
        if self.settings.optimizer == "sgd":
            self.theta = self.theta + rate * gradient
            return
        self._updates += 1
        self._mean = _DECAY * self._mean + (1 - _DECAY) * gradient
        self._square = _SQUARE_DECAY * self._square + (1 - _SQUARE_DECAY) * gradient**2
        mean = self._mean / (1 - _DECAY**self._updates)
        square = self._square / (1 - _SQUARE_DECAY**self._updates)
        self.theta = self.theta + rate * mean / (np.sqrt(square) + _TINY)


def _clipped_weights(ratio: Array, advantages: Array, clip: float) -> Array:
    """Return ρ A where the minimum is not the clipped constant, else 0: the weight of ∂ log π in the gradient."""
    constant = np.where(advantages > 0, ratio > 1 + clip, ratio < 1 - clip)
    return np.where(constant, 0.0, ratio * advantages)
