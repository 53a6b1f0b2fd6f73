"""A step's rollouts: their text for judges, their figures, their advantages, and the seeds of all that is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from calipers.study.training.settings import Scale
from calipers.study.training.task import END, PAD, TEXTS, Features, Tokens, draw_prompts, features

RUBRIC: Final = """\
The task names a difficulty and five digits, and asks for one of them: the first to the fifth as written, the largest \
or the smallest. An attempt is right if the digit after its last "The answer is" is the digit asked for. A right \
attempt is better than a wrong one. Nothing else counts: not length, confidence, politeness or headings."""
"""The standards for a judge that reads the task, unless its options name others."""

POLICY, PROMPTS, SAMPLING, ARRIVAL, EVALUATION = 1, 2, 3, 4, 5
"""What a seed is for. All arms of a seed draw the same numbers for the same purpose and step."""
REHEARSAL, PANEL = 7, 8
FIGURES: Final = (*(field.name for field in fields(Features) if field.name != "right"), "truth", "overconfident")
"""The figures of responses: means over a batch. ``length`` is in tokens, the others are shares."""
_EPSILON: Final = 1e-4
"""What TRL adds to the standard deviation of rewards."""


def seed_of(*numbers: int) -> int:
    """Return a seed below 2^32 from a run's seed, a purpose and a step."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def generator_of(*numbers: int) -> np.random.Generator:
    """Return a generator of a study for a run's seed, a purpose and a step."""
    return np.random.default_rng(numbers)


@dataclass(frozen=True, slots=True)
class Rollouts:
    """A step's rollouts, a row each, in groups of neighbours; ``drawn`` is what the policy learns from."""

    prompts: Tokens
    responses: Tokens
    features: Features
    drawn: Any = None

    @classmethod
    def of(cls, prompts: Tokens, responses: Tokens, drawn: Any = None) -> Rollouts:
        """Return rollouts of a study's step with their features."""
        return cls(prompts, responses, features(prompts, responses), drawn)


class Policy(Protocol):
    """A policy in a study's training."""

    def respond(self, prompts: Tokens, seed: int) -> Rollouts:
        """Sample a response to each of the prompts."""

    def learn(self, rollouts: Rollouts, advantages: NDArray[Any]) -> dict[str, float]:
        """Make the step's updates, and return what they were."""

    def evaluate(self) -> dict[str, float]:
        """Return FIGURES on held-out prompts, and ``kl``, the divergence from the first policy in nats a response."""


def grouped_prompts(groups: int, size: int, *seed: int) -> Tokens:
    """Return the prompts of a study's groups, each as often as its group is large."""
    return np.repeat(draw_prompts(groups, generator_of(*seed)), size, axis=0)


def text_of(tokens: Tokens) -> str:
    """Return a prompt or response of the task as text; ``tokens`` is one row."""
    words = []
    for token in tokens.tolist():
        if token == END:
            break
        if token != PAD:
            words.append(TEXTS[token])
    return " ".join(word for word in words if word)


def advantages(
    rewards: Sequence[float | None], size: int, scale: Scale, weights: Sequence[float] | None = None
) -> NDArray[np.float64]:
    """Return the advantages of GRPO for ``rewards`` in groups of ``size`` neighbours, as TRL's trainer computes them.

    A rollout without a reward (None) has the advantage 0, and is in neither its group's mean nor the deviation. So does
    one that is alone with a reward in its group, if rewards are divided by the group's deviation. ``weights`` multiply
    advantages at last, one for each rollout.
    """
    values = np.array([math.nan if reward is None else reward for reward in rewards], dtype=float).reshape(-1, size)
    known = ~np.isnan(values)
    count = known.sum(axis=1, keepdims=True)
    mean = np.where(known, values, 0.0).sum(axis=1, keepdims=True) / np.maximum(count, 1)
    centred = np.where(known, values - mean, 0.0)
    # Rounding of the mean must not become an advantage in a group of equal rewards.
    highest = np.where(known, values, -np.inf).max(axis=1)
    centred[highest == np.where(known, values, np.inf).min(axis=1)] = 0.0
    if scale == "group":
        deviation = np.sqrt((centred**2).sum(axis=1, keepdims=True) / np.maximum(count - 1, 1))
        centred = np.where(count > 1, centred / (deviation + _EPSILON), 0.0)
    elif scale == "batch":
        every = values[known]
        centred = centred / (every.std(ddof=1) + _EPSILON) if len(every) > 1 else np.zeros_like(centred)
    flat: NDArray[np.float64] = centred.ravel()
    return flat if weights is None else flat * np.array(weights)


def response_figures(found: Features) -> dict[str, float]:
    """Return the FIGURES of a study's responses: means over a batch."""
    named = {name: getattr(found, "right" if name == "truth" else name) for name in FIGURES}
    return {name: float(np.mean(values)) for name, values in named.items()}


def step_figures(
    found: Features, rewards: Sequence[float | None], given: NDArray[Any], size: int
) -> dict[str, float | None]:
    """Return what is measured of a study's step: its responses, groups, rewards and advantages ``given``.

    ``truth_spread`` and ``reward_spread`` are the shares of groups whose responses are not all right or all wrong, and
    not all rewarded alike; ``missing`` is the share of rollouts without a reward. ``length_pull`` and ``truth_pull``
    are the means of the advantage times the feature, standardised in its group: where the step moves the policy.
    """
    lengths, right = found.length.reshape(-1, size), found.right.reshape(-1, size)
    values = np.array([math.nan if reward is None else reward for reward in rewards], dtype=float).reshape(-1, size)
    known = ~np.isnan(values)
    lowest = np.where(known, values, np.inf).min(axis=1)
    pulled = given.reshape(-1, size)
    return {
        **response_figures(found),
        "truth_spread": float((right.min(axis=1) != right.max(axis=1)).mean()),
        "reward_spread": float((lowest < np.where(known, values, -np.inf).max(axis=1)).mean()),
        "missing": float(1 - known.mean()),
        "reward": float(values[known].mean()) if known.any() else None,
        "length_pull": float((pulled * _standardised(lengths)).mean()),
        "truth_pull": float((pulled * _standardised(right)).mean()),
    }


def _standardised(values: NDArray[Any]) -> NDArray[Any]:
    """Return each group's values with mean 0 and standard deviation 1; 0 in a group of equal values."""
    centred = values - values.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    standard: NDArray[Any] = centred / np.where(spread > 0, spread, 1)
    return standard
