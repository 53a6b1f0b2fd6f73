"""The options that decide how answers become rewards: panels of judges, resolving close scores, reward transforms.

Not responsible for what a judge is asked (``question_options``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from calipers.config.arguments import require_range
from calipers.config.option import PANEL, RESOLVING, REWARD, Group, choice, flag, number, thing, whole
from calipers.config.texts import read_weights
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
        "Of several judges: ask all of them, one per order in turn (cycle), or the next where one fails (fallback).",
        key="panel",
        section=PANEL,
        recorded=True,
        link="panels.md",
    )
    weights: Sequence[float] | None = thing(
        None,
        "The weight of each judge of the panel, in their order.",
        section=PANEL,
        metavar="W,W...",
        reads=read_weights,
        unset="learned, or equal",
        recorded=True,
        link="panels.md",
    )
    policy: str | None = thing(
        None,
        "The model under training: judges of its model family are refused.",
        section=PANEL,
        metavar="MODEL",
        link="panels.md#not-from-the-policys-own-family",
    )
    own_family: bool = flag(False, "Allow judges from the policy's own model family.", section=PANEL, link="panels.md")


@dataclass(frozen=True, repr=False)
class Resolution(Group):
    """When to stop asking about a group: once one more presentation adds less than ``tolerance`` to its reliability."""

    alone: ClassVar[str] = "tolerance"
    tolerance: float = number(
        0.015,
        "Repeat the question until one more presentation would add less than this to the group's reliability, "
        "e.g. 0.015; pairwise: ask for the other order where position bias may have decided.",
        low=0,
        high=1,
        above=True,
        below=True,
        key="resolve",
        section=RESOLVING,
        metavar="TOLERANCE",
        unset="off",
        recorded="resolve.tolerance",
        link="resolution.md",
    )
    most: int = whole(
        8,
        "With --resolve: the most presentations of a group.",
        low=1,
        section=RESOLVING,
        recorded="resolve.most",
        link="resolution.md",
    )
    unresolved: Unresolved = choice(
        "keep",
        Unresolved,
        "With --resolve: keep, tie or leave unscored a group whose scores differ only within their standard errors.",
        section=RESOLVING,
        recorded="resolve.unresolved",
        link="resolution.md",
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
        "The share of the range of rewards that length decides among near-tied scores, shorter is better, e.g. 0.3.",
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
        "Combine the judge's reward with the trajectory's own.",
        section=REWARD,
        recorded="reward.blend",
        link="rewards.md",
    )
    weight: float = number(
        0.5,
        "The judge's share with --blend weighted.",
        low=0,
        high=1,
        key="blend_weight",
        section=REWARD,
        recorded="reward.weight",
        link="rewards.md",
    )
    range: tuple[float, float] = thing(
        (0.0, 1.0),
        "Lowest and highest reward; scores are stretched to them, and a group of one gets the middle.",
        check=require_range,
        key="reward_range",
        recorded=True,
    )


def resolution(resolve: object) -> Resolution | None:
    """Turn the ``resolve`` argument of ``Judge`` into a group: None or False is off, True takes the defaults."""
    if resolve is None or resolve is False:
        return None
    return Resolution() if resolve is True else Resolution.of(resolve, "resolve")
