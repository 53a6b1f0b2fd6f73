"""The settings of a training study: each with its default, range and meaning, as in the tables of its TOML file.

Not responsible for reading files (``study_file``) or for what fits together (``problems``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, TypeAlias

from calipers.config.option import any_value, choice, flag, number, whole_number
from calipers.errors import ConfigError
from calipers.study.tables import require_line, require_table, require_text
from calipers.study.watching.rules import StopRules

Engine: TypeAlias = Literal["loop", "trl"]
Loss: TypeAlias = Literal["dr_grpo", "dapo", "grpo"]
Scale: TypeAlias = Literal["group", "batch", "none"]
Order: TypeAlias = Literal["content", "arrival"]
Missing: TypeAlias = Literal["none", "group", "zero"]
Weights: TypeAlias = Literal["none", "reliability"]
Optimizer: TypeAlias = Literal["adam", "sgd"]
Control: TypeAlias = Literal["true", "placebo"]
RIGHT_BY_DIFFICULTY: Final = (0.95, 0.5, 0.1)
"""The share of right answers in pre-training, by difficulty: it gives groups of all sorts, and room to improve."""

LARGEST: Final = 1e6
"""The largest weight or width of a study: sums and squares of larger ones leave what single precision holds."""


def _require_shares(name: str, value: object) -> None:
    given = list(value) if isinstance(value, list | tuple) else []
    if len(given) != len(RIGHT_BY_DIFFICULTY) or not all(type(one) in {int, float} and 0 <= one <= 1 for one in given):
        raise ConfigError(f"{name}={value!r:.60}: it must be three numbers from 0 to 1: easy, medium and hard prompts")


@dataclass(frozen=True)
class Size:
    """The size of the policy, a GPT with learned positions."""

    layers: int = whole_number(2, "Blocks.", low=1, high=48)
    width: int = whole_number(64, "The width of the hidden state.", low=8, high=4096)
    heads: int = whole_number(4, "Attention heads; the width is a multiple of them.", low=1, high=64)
    hidden: int = whole_number(128, "The width of a block's hidden layer.", low=8, high=16384)


@dataclass(frozen=True)
class Pretraining:
    """How the policy is pre-trained, with AdamW on drawn prompts and responses."""

    steps: int = whole_number(800, "Steps.", low=1, high=1_000_000)
    batch: int = whole_number(128, "Responses a step.", low=1, high=65_536)
    learning_rate: float = number(3e-3, "The highest learning rate.", low=0, high=1000, above=True)
    short: float = number(
        0.75, "The first share of the steps, in which responses have at most one filler.", low=0, high=1
    )
    right: Sequence[float] = any_value(
        RIGHT_BY_DIFFICULTY,
        "The share of right answers that it shows to easy, medium and hard prompts: near 0 or 1, most groups of the "
        "first policy are all right or all wrong.",
        check=_require_shares,
    )
    seed: int | None = whole_number(
        None, "One seed for all runs' first policies; without it, each run's own.", low=0, high=2**53
    )


@dataclass(frozen=True)
class Training:
    """The step of GRPO, in TRL's terms."""

    prompts: int = whole_number(16, "Prompts a step.", low=1, high=4096)
    group_size: int = whole_number(8, "Responses to each prompt.", low=2, high=256)
    optimizer: Optimizer = choice("adam", Optimizer, "AdamW, or SGD without momentum.")
    learning_rate: float = number(2e-4, "The optimizer's learning rate, constant.", low=0, high=1000)
    loss: Loss = choice(
        "dr_grpo",
        Loss,
        "How tokens are averaged: dr_grpo divides by rollouts times the longest length possible, dapo by the batch's "
        "tokens, grpo averages each rollout first.",
    )
    scale: Scale = choice("group", Scale, "What centred rewards are divided by: a standard deviation, or nothing.")
    kl: float = number(0.0, "The weight of the KL divergence from the first policy.", low=0, high=LARGEST)
    updates: int = whole_number(1, "Updates with each batch of rollouts.", low=1, high=64)
    clip: float = number(
        0.2, "The clipping range of the probability ratio; it acts from the second update on.", low=0, high=LARGEST
    )
    max_norm: float = number(1.0, "The largest norm of the gradient.", low=0, high=LARGEST, above=True)


@dataclass(frozen=True)
class Evaluation:
    """Held-out prompts, the same for all runs of a seed."""

    prompts: int = whole_number(200, "Prompts, each answered once.", low=1, high=100_000)
    every: int = whole_number(10, "Steps between evaluations.", low=1, high=1_000_000)


@dataclass(frozen=True)
class Audit:
    """A second judge that scores a sample of the rollouts, and whose scores never become rewards."""

    judge: str = any_value("", "The name of the audit judge under [judges].")
    every: int = whole_number(10, "Steps between audits.", low=1, high=1_000_000)
    sample: int = whole_number(8, "Groups of a step that are audited.", low=1, high=4096)


def _require_judge(name: str, value: object) -> None:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ConfigError(f"{name}={value!r:.60}: it must be a judge's name, such as openai/gpt-5-mini")


def _require_profile(name: str, value: object) -> None:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ConfigError(f"{name}={value!r:.60}: it must be a profile's name or file, such as gpt-5.4-mini")


@dataclass(frozen=True)
class JudgeTable:
    """A judge of the study: simulated from ``vices`` or a ``profile``, or a ``model``, or a ``panel`` of judges.

    Without any of them, it is faultless.
    """

    vices: Sequence[Mapping[str, Any]] | None = any_value(
        None, "The vices of a simulated judge: tables with kind, a name of calipers.testing or of this study."
    )
    profile: str | None = any_value(
        None,
        "A judge's profile, a file or the name of one of calipers', perhaps with options: gpt-5.4?fidelity=0.5.",
        check=_require_profile,
    )
    model: str | None = any_value(
        None, "A judge by its name, such as openai/gpt-5-mini or scripted:FILE.", check=_require_judge
    )
    panel: Sequence[str] | None = any_value(
        None, "Names of this study's judges, which are a panel; each has its own randomness, also if named twice."
    )
    quality: Sequence[float] = any_value(
        (0.375, 0.625), "What a judge with vices thinks a wrong and a right response are worth, from 0 to 1."
    )
    options: Mapping[str, Any] | None = any_value(
        None, "Options of Judge by their flat names, as in calipers.toml.", check=require_table
    )


@dataclass(frozen=True)
class ArmTable:
    """An arm of the matrix, as written: a judge, how it is asked, and what differs from the study's settings."""

    name: str = any_value("", "The arm's name.")
    judge: str = any_value("", "The name of its judge.")
    against: str = any_value("", "The arm that its runs are paired with.", check=require_text)
    control: Control | None = choice(
        None, Control, "What the arm shows about the study: true rewards are learned, or a placebo is not."
    )
    order: Order = choice(
        "content", Order, "Candidates in the order that calipers draws from their content, or as they arrived."
    )
    jitter: float | None = number(
        None,
        "Rollouts arrive in order of length plus noise with this standard deviation, in tokens.",
        low=0,
        high=LARGEST,
    )
    correlation: float | None = number(
        None, "Rollouts arrive in an order with about this correlation to their length.", low=-1, high=1
    )
    missing: Missing = choice(
        "none", Missing, "A rollout without a reward: no signal, no signal for its group, or a reward of 0."
    )
    weights: Weights = choice(
        "none",
        Weights,
        "What a group's advantages are multiplied by: 1, or the root of the reliability of its scores, "
        "max(0, 1 - mean squared standard error / variance).",
    )
    learn: int = whole_number(
        0,
        "Groups that are judged before the run in 4 orders, so that the judge's position bias is known.",
        low=0,
        high=4096,
    )
    seeds: int | None = whole_number(None, "Runs of this arm; by default the study's.", low=1, high=10_000)
    engine: Engine | None = choice(None, Engine, "What trains; by default the study's.")
    options: Mapping[str, Any] | None = any_value(None, "Options of Judge for this arm.", check=require_table)
    training: Mapping[str, Any] | None = any_value(None, "Settings of [training] for this arm.", check=require_table)
    vary: Mapping[str, Sequence[Any]] | None = any_value(
        None, "Keys with lists: an arm for each combination of values.", check=require_table
    )


@dataclass(frozen=True)
class Arm:
    """One arm of the matrix, with all of its settings.

    ``judge`` is the table of its judge, ``members`` are those of a panel's judges, and ``options`` are all of the
    judge's, the arm's included. ``against`` is the name of the arm that it is paired with, or "".
    """

    name: str
    judge: JudgeTable
    table: ArmTable
    training: Training
    options: Mapping[str, Any]
    engine: Engine
    seeds: int
    against: str = ""
    members: tuple[JudgeTable, ...] = ()

    @classmethod
    def of_defaults(cls) -> Self:
        """Return an arm in which every setting has its default."""
        return cls("", JudgeTable(), ArmTable(), Training(), {}, "loop", 1)


@dataclass(frozen=True)
class TrainingStudy:
    """Arms that are trained with the same seeds, 0 to ``seeds`` - 1."""

    arms: tuple[Arm, ...]
    title: str = any_value("", "One line about what is compared.", check=require_line)
    seeds: int = whole_number(10, "Runs of each arm.", low=1, high=10_000)
    steps: int = whole_number(60, "Steps of each run.", low=1, high=1_000_000)
    engine: Engine = choice("loop", Engine, "What trains: calipers' own loop, or TRL's GRPOTrainer.")
    window: int = whole_number(10, "The last steps of a run over which its figures are means.", low=1, high=1_000_000)
    policy: Size = field(default_factory=Size)
    pretraining: Pretraining = field(default_factory=Pretraining)
    evaluation: Evaluation = field(default_factory=Evaluation)
    audit: Audit | None = None
    auditor: Arm | None = None
    """The audit judge, as an arm that is not trained."""
    stop: StopRules | None = None
    trl: Mapping[str, Any] | None = any_value(None, "Arguments of TRL's GRPOConfig.", check=require_table)
    shared_noise: bool = flag(
        False, "TRL samples with the noise of the loop, so that the engines' runs begin with the same rollouts."
    )
    checkpoints: bool = flag(True, "Write the state of a run after every step, to continue it after a crash.")
