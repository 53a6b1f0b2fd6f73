"""The settings of a simulation: each with its default, range and meaning, as in the tables of its TOML file.

Not responsible for reading files (``configuration``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from calipers.config.option import any_value, choice, number, whole_number
from calipers.study.tables import require_line

Tail: TypeAlias = Literal["geometric", "normal", "pareto"]
Scale: TypeAlias = Literal["group", "batch", "none"]
Optimizer: TypeAlias = Literal["sgd", "adam"]
Divergence: TypeAlias = Literal["weighted", "plain"]
Unit: TypeAlias = Literal["response", "group"]
Order: TypeAlias = Literal["content", "arrival"]
Turning: TypeAlias = Literal["reversed", "rotated"]
OnFailure: TypeAlias = Literal["abstain", "zero", "drop"]
Reward: TypeAlias = Literal["score", "rank", "min_max"]
Weights: TypeAlias = Literal["none", "reliability", "oracle"]
Combination: TypeAlias = Literal["standardised", "mean"]
LARGEST: Final = 1e6
"""The largest opinion, rate or weight: squares of sums of such numbers are exact enough, those of 1e154 overflow."""
_OPINION: Final = {"low": -LARGEST, "high": LARGEST}
_LOG_ODDS: Final = {"low": -100, "high": 100}


@dataclass(frozen=True)
class PolicySettings:
    """The first policy. Rates are probabilities, strictly between 0 and 1."""

    quality: Sequence[float] = any_value(
        (0.9, 0.5, 0.2), "The share of criteria that it meets, for each kind of prompt."
    )
    shares: Sequence[float] = any_value((), "How frequent each kind of prompt is; empty: all equally.")
    ease: float = number(
        1.0,
        "How easily quality is learned: the log-odds that a unit of its parameter adds; 1 as features.",
        low=0,
        high=100,
    )
    criteria: int = whole_number(1, "Criteria per prompt; with 1, a response is right or wrong.", low=1, high=50)
    length_floor: int = whole_number(3, "The shortest response, in tokens.", low=1, high=1999)
    length_cap: int = whole_number(24, "The longest response, in tokens.", low=2, high=2000)
    length_mean: float = number(9.7, "The mean length, in tokens.", low=1, high=2000)
    length_tail: Tail = choice("geometric", Tail, "The distribution of lengths.")
    length_sd: float = number(4.0, "The standard deviation of lengths, for the normal tail only.", low=0.1, high=2000)
    format: float = number(0.3, "The rate of formatted responses.", low=0, high=1, above=True, below=True)
    flattery: float = number(0.3, "The rate of flattering responses.", low=0, high=1, above=True, below=True)
    confidence: float = number(0.3, "The rate of confident responses.", low=0, high=1, above=True, below=True)
    injection: float = number(
        0.03, "The rate of responses that address the judge.", low=0, high=1, above=True, below=True
    )
    length_effect: float = number(
        0.0, "What a standard deviation of length adds to the log-odds of quality.", **_LOG_ODDS
    )
    format_effect: float = number(0.0, "What format adds to the log-odds of quality.", **_LOG_ODDS)
    flattery_effect: float = number(0.0, "What flattery adds to the log-odds of quality.", **_LOG_ODDS)
    injection_effect: float = number(0.0, "What injected text adds to the log-odds of quality.", **_LOG_ODDS)


@dataclass(frozen=True)
class GrpoSettings:
    """The step of GRPO."""

    groups: int = whole_number(64, "Prompts a step.", low=1, high=4096)
    size: int = whole_number(8, "Responses to each prompt.", low=2, high=256)
    scale: Scale = choice("group", Scale, "What the centred rewards are divided by: the standard deviation, or 1.")
    epsilon: float = number(1e-4, "What is added to the standard deviation (TRL 1e-4, verl 1e-6).", low=0, high=LARGEST)
    iterations: int = whole_number(1, "Updates on each batch.", low=1, high=100)
    clip: float = number(0.2, "PPO's clipping range of the probability ratio.", low=0, high=LARGEST, above=True)
    kl: float = number(0.0, "The weight of the divergence from the first policy.", low=0, high=LARGEST)
    divergence: Divergence = choice(
        "weighted", Divergence, "Its estimate: weighted by the probability ratio (TRL's default), or plain (verl's)."
    )
    optimizer: Optimizer = choice("sgd", Optimizer, "How the gradient becomes a step.")
    learning_rate: float = number(0.2, "The step size.", low=1e-9, high=LARGEST)


@dataclass(frozen=True)
class JudgeSettings:
    """A judge as a model of scores: what it adds up to an opinion, and what its answers make of opinions.

    An opinion is in the units of quality, 0 to 1, and may leave that range. Position effects have the mean 0 over a
    list, as in ``aggregators.position_bias``; a U-shaped curve has ``first`` and ``last``.
    """

    profile: str = any_value(
        "", "A profile, a file or a name such as gpt-5.4-mini: the other settings follow from it unless they are set."
    )
    gain: float = number(1.0, "What quality from 0 to 1 adds.", **_OPINION)
    noise: float = number(0.0, "The standard deviation of each answer's own error.", low=0, high=LARGEST)
    response_noise: float = number(0.0, "That of an error that a response keeps in every answer.", low=0, high=LARGEST)
    length: float = number(0.0, "What each doubling of a response's length adds.", **_OPINION)
    format: float = number(0.0, "What format adds.", **_OPINION)
    flattery: float = number(0.0, "What flattery adds.", **_OPINION)
    confidence: float = number(0.0, "What stated confidence adds.", **_OPINION)
    injection: float = number(0.0, "What injected text adds where the judge obeys it.", **_OPINION)
    obeys: float = number(1.0, "How often an answer obeys injected text.", low=0, high=1)
    slope: float = number(
        0.0, "What the last position of a list adds, less the first, along a straight line.", **_OPINION
    )
    first: float = number(0.0, "What the first position adds beyond that.", **_OPINION)
    last: float = number(0.0, "What the last position adds beyond that.", **_OPINION)
    levels: int = whole_number(0, "Equally spaced scores from 0 to 1 that are given; 0: any number.", low=0, high=1001)
    thresholds: Sequence[float] = any_value((), "Opinions at which the score changes, ascending, for uneven levels.")
    scores: Sequence[float] = any_value((), "The scores below, between and above the thresholds, ascending.")
    tpr: float | None = number(None, "With fpr: answers are verdicts; how often full quality passes.", low=0, high=1)
    fpr: float | None = number(None, "How often quality 0 passes. What is added changes these chances.", low=0, high=1)
    failures: float = number(0.0, "How often an answer cannot be used, at the mean length.", low=0, high=1, below=True)
    failures_by_length: float = number(
        0.0, "What each doubling of length adds to the log-odds of a failure.", **_LOG_ODDS
    )
    failures_by_format: float = number(0.0, "What format adds to them.", **_LOG_ODDS)
    failures_by_flattery: float = number(0.0, "What flattery adds to them.", **_LOG_ODDS)
    fails: Unit = choice("response", Unit, "What a failure loses: one response's score, or the whole group's.")
    weight: float = number(1.0, "The judge's weight in a panel.", low=1e-3, high=1e3)


@dataclass(frozen=True)
class AskingSettings:
    """How often and in which orders a group is shown."""

    order: Order = choice("content", Order, "The order of the list: random, or that of arrival.")
    arrival: float = number(
        1.0,
        "The correlation of arrival time and length under the first policy; longer responses arrive later.",
        low=0.001,
        high=1,
    )
    orders: int = whole_number(1, "How many orders each group is shown in.", low=1, high=64)
    turning: Turning = choice(
        "reversed", Turning, "Further orders: each second one the reverse, as calipers does; or rotations only."
    )
    samples: int = whole_number(1, "Answers for each order.", low=1, high=64)
    reasks: int = whole_number(0, "How often a failed answer is asked for again.", low=0, high=10)


@dataclass(frozen=True)
class TreatmentSettings:
    """What scores become before they reach the step."""

    failures: OnFailure = choice(
        "abstain", OnFailure, "A missing score is no signal (calipers' contract), a reward of zero, or drops its group."
    )
    reward: Reward = choice("score", Reward, "What the reward is.")
    ties: float = number(0.0, "Equal rewards within so many standard errors; 0: off.", low=0, high=1000)
    length_control: float = number(0.0, "The strength of length control; 0: off.", low=0, high=1)
    length_within: float = number(
        1.0, "Length control acts within so many standard errors.", low=0, high=1000, above=True
    )
    weights: Weights = choice(
        "none",
        Weights,
        "Advantages times the square root of their group's reliability; or times 0 where quality has no spread "
        "(oracle), which no trainer can know.",
    )
    known_slope: float = number(
        0.0, "The slope over positions that is subtracted, as learned from a ledger.", **_OPINION
    )
    known_first: float = number(0.0, "The extra of the first position that is subtracted.", **_OPINION)
    panel: Combination = choice("standardised", Combination, "How the scores of a panel are combined.")

    @property
    def uses_errors(self) -> bool:
        """Whether standard errors of scores are used."""
        return bool(self.ties or self.length_control or self.weights == "reliability")


@dataclass(frozen=True)
class Arm:
    """One of the cases that a simulation compares. ``against`` is the arm that its runs are paired with, or "".

    If ``panel`` has judges, they replace ``judge``.
    """

    name: str
    against: str = ""
    policy: PolicySettings = field(default_factory=PolicySettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    panel: tuple[JudgeSettings, ...] = ()
    asking: AskingSettings = field(default_factory=AskingSettings)
    treatment: TreatmentSettings = field(default_factory=TreatmentSettings)
    grpo: GrpoSettings = field(default_factory=GrpoSettings)

    @property
    def judges(self) -> tuple[JudgeSettings, ...]:
        """The judges that are asked."""
        return self.panel or (self.judge,)


@dataclass(frozen=True)
class Simulation:
    """Arms that are compared over the same seeds, 0 to ``seeds`` - 1."""

    arms: tuple[Arm, ...]
    title: str = any_value("", "One line about what is compared.", check=require_line)
    steps: int = whole_number(200, "Steps of each run.", low=1, high=100_000)
    seeds: int = whole_number(20, "Runs of each arm.", low=1, high=10_000)
    every: int = whole_number(2, "Steps between points of the curves.", low=1, high=100_000)
    figures: Sequence[str] = any_value(("truth", "length", "drift_length"), "The figures in the printed table.")
