"""A group on its way to being whole: who came, who is lost, and what each gets in the end.

Plain records and pure functions. Not responsible for when a group is whole or late (``cohort``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from calipers.errors import CalipersError, InputError
from calipers.judging.preparing import Prepare
from calipers.readers import as_group, as_trajectory
from calipers.readers.groups import derived_id
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult

UNNAMED: Final = "?"
"""The id of a member that brought none."""


class Timer(Protocol):
    """A call that was put off, as ``asyncio``'s event loops return it."""

    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MemberResult:
    """What one member got: a finite ``reward``, or None and the ``reason``, never both.

    ``member`` is its row of ``group``, the judged group's result; both are None where no judge was asked. ``rewarded`` is
    how many of the group got a reward.
    """

    reward: float | None
    reason: str | None = None
    member: TrajectoryResult | None = None
    group: GroupResult | None = None
    rewarded: int = 0

    def required(self) -> float:
        """The reward, for an engine to which a raise is *no signal*; raises CalipersError with the reason."""
        if self.reward is None:
            raise CalipersError(f"no reward: {self.reason}")
        return self.reward


def as_it_is(member: Trajectory) -> Trajectory:
    """A rollout for which nothing is prepared."""
    return member


@dataclass(slots=True)
class Member:
    """A rollout that came, and the promise of its share; ``place`` says where it stands among its siblings."""

    trajectory: Trajectory
    share: asyncio.Future[MemberResult]
    place: tuple[str, str]


@dataclass(slots=True)
class Gathering:
    """A group that is not judged yet: ``lost`` counts those of ``size`` that will not come."""

    size: int
    head: TrajectoryGroup | None = None
    prepare: Prepare = as_it_is
    members: dict[int, Member] = field(default_factory=dict)
    lost: int = 0
    came: int = 0
    timer: Timer | None = None

    @property
    def missing(self) -> int:
        """How many may still come."""
        return self.size - self.lost - len(self.members)

    @property
    def ids(self) -> frozenset[str]:
        """The ids its members brought."""
        return frozenset(one.trajectory.id for one in self.members.values()) - {UNNAMED}

    @property
    def name(self) -> str:
        """The group's id, empty where its members brought none."""
        return self.head.group_id if self.head is not None else ""

    def tell(self, reason: str) -> None:
        """No reward for whoever still waits."""
        for member in self.members.values():
            if not member.share.done():
                member.share.set_result(MemberResult(None, reason))


@dataclass(slots=True)
class Judged:
    """A group that went to the judge with ``missing`` members still out; ``ids`` are those of the ones who were there."""

    missing: int
    ids: frozenset[str]
    reason: str
    timer: Timer | None = None


def read_member(member: object) -> tuple[Trajectory, str | None]:
    """A rollout as a trajectory, and why it cannot be judged, or None where it can."""
    try:
        trajectory = as_trajectory(member, default_id=UNNAMED)
    except InputError as error:
        return Trajectory(UNNAMED, ()), str(error)
    return trajectory, None if trajectory.messages else "it has no messages: there is nothing of it to judge"


def read_head(group: Mapping[str, Any], member: Trajectory) -> TrajectoryGroup:
    """What a group's members have in common, with no member in it; its id is empty where none was given."""
    named = group.get("group_id")
    read = as_group({**group, "trajectories": [member]}, group_id=UNNAMED if named is None else named)
    return replace(read, trajectories=(), group_id="" if named is None else read.group_id)


def as_judged(gathering: Gathering) -> tuple[list[Member], TrajectoryGroup]:
    """The members and their group, in an order that does not depend on who came first."""
    assert gathering.head is not None  # noqa: S101 - set with the first member
    members = sorted(gathering.members.values(), key=lambda one: one.place)
    free = (name for number in range(1, 2 * len(members) + 1) if (name := str(number)) not in gathering.ids)
    named = tuple(
        replace(one.trajectory, id=next(free)) if one.trajectory.id == UNNAMED else one.trajectory for one in members
    )
    group = replace(gathering.head, trajectories=named)
    return members, group if group.group_id else replace(group, group_id=derived_id(group))


def place_of(trajectory: Trajectory) -> tuple[str, str]:
    """By ids, which are all different; by content where there are none."""
    named = trajectory.id != UNNAMED
    return trajectory.id, "" if named else json.dumps(trajectory.messages, ensure_ascii=False, default=str)
