"""The options that decide how answers become rewards: panels of judges, when to ask again about close scores, reward
transforms.

Not responsible for what a judge is asked (``question_options``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from calipers.config.arguments import require_range
from calipers.config.flag_values import read_judge_rubrics, read_weights
from calipers.config.option import PANEL, RESOLVING, REWARD, Group, any_value, choice, flag, number, whole_number
from calipers.registry import REWARDS
from calipers.rewards.blend import Blend

PanelMode: TypeAlias = Literal["all", "cycle", "fallback"]
Unresolved: TypeAlias = Literal["keep", "tie", "abstain"]


@dataclass(frozen=True, repr=False)
class Panel(Group):
    """How several judges share the work, and which judges are refused."""

    alone: ClassVar[str] = "mode"
    mode: PanelMode = choice(
        "all",
        PanelMode,
        "Which judges of a panel are asked: all, the next for each order (cycle), or the next if one fails (fallback).",
        key="panel",
        section=PANEL,
        recorded=True,
        link="panels.md",
    )
    weights: Sequence[float] | None = any_value(
        None,
        "The weight of each judge of a panel, in the order of the judges.",
        section=PANEL,
        metavar="W,W...",
        reads=read_weights,
        unset="learned, or equal",
        recorded=True,
        link="panels.md",
    )
    error_correlation: float = number(
        0.0,
        "The correlation of two judges' errors in a panel, as calibrate reports it: standard errors allow for it.",
        low=0,
        high=1,
        below=True,
        section=PANEL,
        metavar="SHARE",
        recorded=True,
        link="panels.md",
    )
    rubrics: Mapping[str, Any] | Sequence[str | None] | None = any_value(
        None,
        "The rubric of one judge of a panel, for groups without a rubric of their own. The other judges have --rubric.",
        key="judge_rubrics",
        flag="judge-rubric",
        section=PANEL,
        metavar="JUDGE=FILE",
        many=True,
        reads=read_judge_rubrics,
        recorded=True,
        link="panels.md#a-rubric-for-each-judge",
    )
    policy: str | None = any_value(
        None,
        "The model under training. Judges of its model family are refused.",
        section=PANEL,
        metavar="MODEL",
        link="panels.md#not-from-the-policys-own-family",
    )
    own_family: bool = flag(False, "Allow judges from the policy's own model family.", section=PANEL, link="panels.md")


@dataclass(frozen=True, repr=False)
class Resolution(Group):
    """When to stop asking about a group: once a presentation adds less than ``tolerance`` to scores' reliability."""

    alone: ClassVar[str] = "tolerance"
    tolerance: float = number(
        0.015,
        "Ask about a group again until one more presentation would add less than this to the reliability of its "
        "scores, e.g. 0.015. Pairwise: ask again in the other order where position bias may have decided.",
        low=0,
        high=1,
        above=True,
        below=True,
        key="resolve",
        section=RESOLVING,
        metavar="TOLERANCE",
        unset="off",
        recorded="resolve.tolerance",
        link="protocols.md#adaptive-calls",
    )
    most: int = whole_number(
        8,
        "With --resolve: how many presentations a group may have.",
        low=1,
        section=RESOLVING,
        recorded="resolve.most",
        link="protocols.md#adaptive-calls",
    )
    unresolved: Unresolved = choice(
        "keep",
        Unresolved,
        "With --resolve: what happens to scores that differ only within their standard errors: keep, tie, or abstain.",
        section=RESOLVING,
        recorded="resolve.unresolved",
        link="protocols.md#adaptive-calls",
    )


@dataclass(frozen=True, repr=False)
class Reward(Group):
    """How scores become rewards. ``kind=None`` uses the protocol's usual transform."""

    alone: ClassVar[str] = "kind"
    kind: str | None = choice(
        None,
        REWARDS,
        "How scores become rewards.",
        key="reward",
        section=REWARD,
        unset="score; pairwise: win_rate",
        recorded="reward.kind",
        link="rewards.md",
    )
    ties: float | None = number(
        None,
        "Tie scores within this many standard errors, e.g. 1.",
        low=0,
        section=REWARD,
        recorded="reward.ties",
        link="rewards.md",
    )
    length: float | None = number(
        None,
        "Reward shorter answers among near-tied scores, by up to this share of their range and of the group's "
        "variance, e.g. 0.3.",
        low=0,
        high=1,
        key="length_control",
        section=REWARD,
        metavar="SHARE",
        recorded="reward.length",
        link="rewards.md",
    )
    blend: Blend | None = choice(
        None,
        Blend,
        "Combine the judge's reward with the reward that a trajectory has already.",
        section=REWARD,
        recorded="reward.blend",
        link="rewards.md",
    )
    weight: float = number(
        0.5,
        "With --blend weighted or normalised: the weight of the judge's reward, from 0 to 1.",
        low=0,
        high=1,
        key="blend_weight",
        section=REWARD,
        recorded="reward.weight",
        link="rewards.md",
    )
    range: tuple[float, float] = any_value(
        (0.0, 1.0),
        "The lowest and highest reward. Scores are scaled to this range; a group of one trajectory gets the middle.",
        check=require_range,
        key="reward_range",
        recorded=True,
    )
