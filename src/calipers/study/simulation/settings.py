"""The settings of a simulation: each with its default, range and meaning, as in the tables of its TOML file.

Not responsible for reading files (``configuration``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from calipers.config.option import any_value, choice, number, whole_number

Tail: TypeAlias = Literal["geometric", "normal", "pareto"]
Scale: TypeAlias = Literal["group", "batch", "none"]
Optimizer: TypeAlias = Literal["sgd", "adam"]


@dataclass(frozen=True)
class PolicySettings:
    """The first policy. Rates are probabilities, strictly between 0 and 1."""

    quality: Sequence[float] = any_value(
        (0.9, 0.5, 0.2), "The share of criteria that it meets, for each kind of prompt."
    )
    shares: Sequence[float] = any_value((), "How frequent each kind of prompt is; empty: all equally.")
    criteria: int = whole_number(1, "Criteria per prompt; with 1, a response is right or wrong.", low=1, high=50)
    length_floor: int = whole_number(3, "The shortest response, in tokens.", low=1)
    length_cap: int = whole_number(24, "The longest response, in tokens.", low=2, high=2000)
    length_mean: float = number(9.7, "The mean length, in tokens.", low=1)
    length_tail: Tail = choice("geometric", Tail, "The distribution of lengths.")
    length_sd: float = number(4.0, "The standard deviation of lengths, for the normal tail only.", low=0, above=True)
    format: float = number(0.3, "The rate of formatted responses.", low=0, high=1, above=True, below=True)
    flattery: float = number(0.3, "The rate of flattering responses.", low=0, high=1, above=True, below=True)
    confidence: float = number(0.3, "The rate of confident responses.", low=0, high=1, above=True, below=True)
    injection: float = number(
        0.03, "The rate of responses that address the judge.", low=0, high=1, above=True, below=True
    )
    length_effect: float = number(0.0, "What a standard deviation of length adds to the log-odds of quality.")
    format_effect: float = number(0.0, "What format adds to the log-odds of quality.")
    flattery_effect: float = number(0.0, "What flattery adds to the log-odds of quality.")
    injection_effect: float = number(0.0, "What injected text adds to the log-odds of quality.")


@dataclass(frozen=True)
class GrpoSettings:
    """The step of GRPO."""

    groups: int = whole_number(64, "Prompts a step.", low=1)
    size: int = whole_number(8, "Responses to each prompt.", low=2, high=256)
    scale: Scale = choice("group", Scale, "What the centred rewards are divided by: the standard deviation, or 1.")
    epsilon: float = number(1e-4, "What is added to the standard deviation (TRL 1e-4, verl 1e-6).", low=0)
    iterations: int = whole_number(1, "Updates on each batch.", low=1, high=100)
    clip: float = number(0.2, "PPO's clipping range of the probability ratio.", low=0, above=True)
    kl: float = number(0.0, "The weight of the divergence from the first policy.", low=0)
    optimizer: Optimizer = choice("sgd", Optimizer, "How the gradient becomes a step.")
    learning_rate: float = number(0.2, "The step size.", low=0, above=True)


@dataclass(frozen=True)
class JudgeSettings:
    """A judge as a model of scores: quality, 0 to 1, plus what is added to it, in the same units."""

    noise: float = number(0.0, "The standard deviation of one answer's noise.", low=0)
    length: float = number(0.0, "What a response gains with each doubling of its length.")
    format: float = number(0.0, "What a formatted response gains.")
    flattery: float = number(0.0, "What a flattering response gains.")
    confidence: float = number(0.0, "What a confident response gains.")


@dataclass(frozen=True)
class Arm:
    """One of the cases that a simulation compares. ``against`` is the arm that its runs are paired with, or ""."""

    name: str
    against: str = ""
    policy: PolicySettings = field(default_factory=PolicySettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    grpo: GrpoSettings = field(default_factory=GrpoSettings)


@dataclass(frozen=True)
class Simulation:
    """Arms that are compared over the same seeds, 0 to ``seeds`` - 1."""

    arms: tuple[Arm, ...]
    title: str = any_value("", "One line about what is compared.")
    steps: int = whole_number(200, "Steps of each run.", low=1, high=100_000)
    seeds: int = whole_number(20, "Runs of each arm.", low=1, high=10_000)
    every: int = whole_number(2, "Steps between points of the curves.", low=1)
