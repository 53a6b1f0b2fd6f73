"""The settings of a study: each with its default, range and meaning, as in the tables of its TOML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.config.option import setting
from calipers.errors import ConfigError

PolicyKind: TypeAlias = Literal["gpt", "closed-form"]
Loss: TypeAlias = Literal["dr_grpo", "dapo", "grpo"]
Scale: TypeAlias = Literal["group", "batch", "none"]
Order: TypeAlias = Literal["content", "arrival"]
Missing: TypeAlias = Literal["none", "group", "zero"]
Weights: TypeAlias = Literal["none", "reliability"]
Optimizer: TypeAlias = Literal["adam", "sgd"]
Control: TypeAlias = Literal["true", "placebo"]
RIGHT_BY_DIFFICULTY: Final = (0.95, 0.5, 0.1)
"""The share of right answers in pre-training, by difficulty: it gives groups of all sorts, and room to improve."""


def _require_table(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a table")


def _require_line(name: str, value: object) -> None:
    if not isinstance(value, str) or not value.isprintable():
        raise ConfigError(f"{name}={value!r:.60}: it must be one line of text")


def _require_shares(name: str, value: object) -> None:
    shares = list(value) if isinstance(value, list | tuple) else []
    if len(shares) != len(RIGHT_BY_DIFFICULTY) or not all(
        type(share) in {int, float} and 0 <= share <= 1 for share in shares
    ):
        raise ConfigError(f"{name}={value!r:.60}: it must be three numbers from 0 to 1: easy, medium and hard prompts")


def _require_inner_shares(name: str, value: object) -> None:
    _require_shares(name, value)
    if not all(0 < share < 1 for share in value):  # type: ignore[attr-defined]  # a list of three numbers
        raise ConfigError(f"{name}={value!r:.60}: each must be above 0 and below 1, because its log-odds are needed")


def _require_qualities(name: str, value: object) -> None:
    pair = list(value) if isinstance(value, list | tuple) else []
    if not (len(pair) == 2 and all(type(end) in {int, float} for end in pair) and 0 <= pair[0] <= pair[1] <= 1):
        raise ConfigError(
            f"{name}={value!r:.60}: give two numbers from 0 to 1, for wrong and for right answers, in rising order"
        )


def _require_list(name: str, value: object) -> None:
    if not isinstance(value, list | tuple) or len(value) > 100:
        raise ConfigError(f"{name}={value!r:.60}: it must be a list of at most 100 entries")


@dataclass(frozen=True)
class ClosedForm:
    """The closed-form policy at its start. Rates are probabilities."""

    quality: Sequence[float] = setting(
        (0.9, 0.5, 0.2), "The share of right answers to easy, medium and hard prompts.", check=_require_inner_shares
    )
    length_floor: int = setting(3, "The shortest response, in tokens.", low=3, high=1999)
    length_cap: int = setting(24, "The longest response, in tokens.", low=4, high=2000)
    length_mean: float = setting(9.7, "The mean length, in tokens.", low=3, high=2000)
    format: float = setting(0.3, "The rate of formatted responses.", low=0, high=1, above=True, below=True)
    flattery: float = setting(0.3, "The rate of flattering responses.", low=0, high=1, above=True, below=True)
    confidence: float = setting(0.3, "The rate of confident responses.", low=0, high=1, above=True, below=True)
    injection: float = setting(0.03, "The rate of injected instructions.", low=0, high=1, above=True, below=True)


@dataclass(frozen=True)
class Size:
    """The size of the GPT."""

    layers: int = setting(2, "Blocks.", low=1, high=48)
    width: int = setting(64, "The width of the hidden state.", low=8, high=4096)
    heads: int = setting(4, "Attention heads; the width is a multiple of them.", low=1, high=64)
    hidden: int = setting(128, "The width of a block's hidden layer.", low=8, high=16384)


@dataclass(frozen=True)
class Pretraining:
    """How the GPT is pre-trained, with AdamW on drawn prompts and responses."""

    steps: int = setting(800, "Steps.", low=1, high=1_000_000)
    batch: int = setting(128, "Responses a step.", low=1, high=65_536)
    learning_rate: float = setting(3e-3, "The highest learning rate.", low=0, high=1000, above=True)
    short: float = setting(
        0.75, "The first share of the steps, in which responses have at most one filler.", low=0, high=1
    )
    right: Sequence[float] = setting(
        RIGHT_BY_DIFFICULTY, "The share of right answers to easy, medium and hard prompts.", check=_require_shares
    )
    seed: int | None = setting(
        None, "One seed for all runs' first policies, not each run's.", "whole", low=0, high=2**53
    )


@dataclass(frozen=True)
class Training:
    """The step of GRPO, in TRL's terms."""

    prompts: int = setting(16, "Prompts a step.", low=1, high=4096)
    group_size: int = setting(8, "Responses to each prompt.", low=2, high=256)
    optimizer: Optimizer = setting("adam", "Adam, or SGD without momentum.", choices=get_args(Optimizer))
    learning_rate: float = setting(2e-4, "The optimizer's constant learning rate.", low=0, high=1000)
    loss: Loss = setting(
        "dr_grpo", "GPT: how the losses of tokens are averaged, as TRL's loss_type.", choices=get_args(Loss)
    )
    scale: Scale = setting(
        "group", "What centred rewards are divided by: a standard deviation, or nothing.", choices=get_args(Scale)
    )
    kl: float = setting(0.0, "The weight of the KL divergence from the first policy.", low=0, high=1e6)
    updates: int = setting(1, "Updates with each batch of rollouts.", low=1, high=64)
    clip: float = setting(
        0.2, "The clipping range of the probability ratio, from the second update on.", low=0, high=1e6
    )
    max_norm: float = setting(1.0, "GPT: the largest norm of the gradient.", low=0, high=1e6, above=True)


@dataclass(frozen=True)
class Evaluation:
    """Held-out prompts, the same for all arms of a seed. The closed form has exact expectations instead."""

    prompts: int = setting(200, "Prompts, each answered once.", low=1, high=100_000)
    every: int = setting(10, "Steps between evaluations.", low=1, high=1_000_000)


@dataclass(frozen=True)
class JudgeTable:
    """A judge of the study: one of ``vices``, ``profile``, ``model`` and ``panel``. Without any, it is faultless."""

    vices: Sequence[Mapping[str, Any]] | None = setting(
        None, "The vices of a simulated judge: tables with kind and the vice's own fields.", check=_require_list
    )
    profile: str | None = setting(None, "A judge's profile, a name with its options.", check=_require_line)
    model: str | None = setting(None, "A judge by its name, such as openai/gpt-5-mini.", check=_require_line)
    panel: Sequence[str] | None = setting(None, "Names of two or more of the study's judges.", check=_require_list)
    quality: Sequence[float] = setting(
        (0.375, 0.625), "What a wrong and a right response are worth to a simulated judge.", check=_require_qualities
    )
    options: Mapping[str, Any] | None = setting(None, "Options of Judge, by their flat names.", check=_require_table)


@dataclass(frozen=True)
class ArmTable:
    """An arm as written: a judge, how it is asked, and what differs from the study's settings."""

    name: str = setting("", "The arm's name.", check=_require_line)
    judge: str = setting("", "The name of its judge.", check=_require_line)
    against: str = setting("", "The arm that its runs are paired with.", check=_require_line)
    control: Control | None = setting(
        None, "True rewards, from which truth should rise, or a placebo.", choices=get_args(Control)
    )
    order: Order = setting(
        "content", "Candidates in the order that calipers draws, or as they arrived.", choices=get_args(Order)
    )
    jitter: float | None = setting(
        None, "Rollouts arrive in order of length plus noise with this deviation, in tokens.", "number", low=0, high=1e6
    )
    correlation: float | None = setting(
        None, "Rollouts arrive in an order with about this correlation to their length.", "number", low=-1, high=1
    )
    missing: Missing = setting(
        "none", "No reward: no signal, none for its group, or a reward of 0.", choices=get_args(Missing)
    )
    weights: Weights = setting(
        "none", "Advantages times 1, or times the root of the group's reliability.", choices=get_args(Weights)
    )
    learn: int = setting(
        0, "Groups judged before the run in 4 orders, so that noise and position bias are known.", low=0, high=4096
    )
    seeds: int | None = setting(None, "Runs of this arm; by default the study's.", "whole", low=1, high=10_000)
    options: Mapping[str, Any] | None = setting(None, "Options of Judge for this arm.", check=_require_table)
    training: Mapping[str, Any] | None = setting(None, "Settings of [training] for it.", check=_require_table)
    vary: Mapping[str, Sequence[Any]] | None = setting(
        None, "Keys with lists: an arm for each combination of values.", check=_require_table
    )


@dataclass(frozen=True)
class Arm:
    """One arm with all of its settings. ``members`` are the tables of a panel's judges."""

    name: str
    table: ArmTable
    judge: JudgeTable
    members: tuple[JudgeTable, ...]
    options: Mapping[str, Any]
    training: Training
    seeds: int
    against: str = ""


@dataclass(frozen=True)
class Study:
    """Arms that are trained with the same seeds: ``seeds`` of them from ``first_seed`` on."""

    title: str = setting("", "One line about what is compared.", check=_require_line)
    policy: PolicyKind = setting(
        "gpt", "What is trained: a tiny transformer, or seven numbers.", choices=get_args(PolicyKind)
    )
    seeds: int = setting(10, "Runs of each arm.", low=1, high=10_000)
    first_seed: int = setting(0, "The seed of the first of them.", low=0, high=2**53)
    steps: int = setting(60, "Steps of each run.", low=1, high=100_000)
    window: int = setting(10, "The last steps of a run over which its figures are means.", low=1, high=100_000)
    arms: tuple[Arm, ...] = ()
    gpt: Size = field(default_factory=Size)
    closed_form: ClosedForm = field(default_factory=ClosedForm)
    pretraining: Pretraining = field(default_factory=Pretraining)
    training: Training = field(default_factory=Training)
    evaluation: Evaluation = field(default_factory=Evaluation)
