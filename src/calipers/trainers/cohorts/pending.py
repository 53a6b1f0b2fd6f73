"""The records of a group whose members are still arriving: arrived members, lost members, and each member's result.

Plain records and pure functions. Not responsible for when a group is complete or late (``cohort``).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs import as_group, as_trajectory
from calipers.inputs.groups import derived_group_id
from calipers.judging.preparing import Prepare
from calipers.trainers.cohorts.keys import name_of_key
from calipers.trainers.no_signal.rewards import trajectory_rewards
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult

UNNAMED: Final = "?"
"""The id of a member that has no id of its own."""


class Timer(Protocol):
    """A scheduled call, as ``asyncio``'s event loops return it."""

    def cancel(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MemberResult:
    """A member's finite ``reward``, or None with a ``reason``. It never has both.

    ``group`` is the result of the judged group, and ``member`` the row of this member in it. Both are None if no judge
    was asked. ``rewarded`` counts the members of the group that got a reward.
    """

    reward: float | None
    reason: str | None = None
    member: TrajectoryResult | None = None
    group: GroupResult | None = None
    rewarded: int = 0

    def required(self) -> float:
        """Return the member's reward, for trainers that expect an exception if there is none.

        Raises CalipersError with the reason.
        """
        if self.reward is None:
            raise CalipersError(f"no reward: {self.reason}")
        return self.reward


def prepare_nothing(member: Trajectory) -> Trajectory:
    """Return a trainer's rollout unchanged: the default for cohorts that prepare nothing."""
    return member


@dataclass(slots=True)
class Member:
    """A rollout that arrived, with the future of its result. ``sort_key`` orders it among its siblings."""

    trajectory: Trajectory
    result: asyncio.Future[MemberResult]
    sort_key: tuple[str, str]


@dataclass(slots=True)
class PendingGroup:
    """A group of rollouts that is not judged yet. ``size`` members are expected; ``lost`` of them will never arrive.

    ``common`` is what the members share, as a group without members. ``arrived`` is how many members have arrived.
    ``ends`` is when every member must have its result, on the event loop's clock; None means no limit.
    """

    size: int
    common: TrajectoryGroup | None = None
    prepare: Prepare = prepare_nothing
    members: dict[int, Member] = field(default_factory=dict)
    lost: int = 0
    arrived: int = 0
    timer: Timer | None = None
    ends: float | None = None

    @property
    def missing(self) -> int:
        """Return the number of the group's members that may still come."""
        return self.size - self.lost - len(self.members)

    @property
    def ids(self) -> frozenset[str]:
        """Return the ids of the members that have arrived. Members without an id are omitted."""
        return frozenset(one.trajectory.id for one in self.members.values()) - {UNNAMED}

    @property
    def name(self) -> str:
        """Return the group's id, or "" if its members named none."""
        return self.common.group_id if self.common is not None else ""

    def give_no_reward(self, reason: str) -> None:
        """Give every waiting member of a trainer's group a result without a reward."""
        for member in self.members.values():
            if not member.result.done():
                member.result.set_result(MemberResult(None, reason))


@dataclass(slots=True)
class ClosedGroup:
    """A group that was judged, or given up, while ``missing`` members had not come. ``ids`` are those of the other
    members.
    """

    missing: int
    ids: frozenset[str]
    reason: str
    timer: Timer | None = None


def no_reward(reason: str) -> asyncio.Future[MemberResult]:
    """Return the future of a trainer's rollout whose result is known already: no reward."""
    known: asyncio.Future[MemberResult] = asyncio.get_running_loop().create_future()
    known.set_result(MemberResult(None, reason))
    return known


def read_member(member: object) -> tuple[Trajectory, str | None]:
    """Return a trainer's rollout as a trajectory, and the reason why it cannot be judged, or None if it can."""
    try:
        trajectory = as_trajectory(member, default_id=UNNAMED)
    except InputError as error:
        return Trajectory(UNNAMED, ()), str(error)
    return trajectory, None if trajectory.messages else "it has no messages, so there is nothing to judge"


def read_common_fields(group: Mapping[str, Any], member: Trajectory) -> TrajectoryGroup:
    """Return what the rollouts of a trainer's group share, as a group without members.

    Its id is "" if none was given.
    """
    named = group.get("group_id")
    read = as_group({**group, "trajectories": [member]}, group_id=UNNAMED if named is None else named)
    return replace(read, trajectories=(), group_id="" if named is None else read.group_id)


def require_matching(key: Hashable, pending: PendingGroup, common: TrajectoryGroup, member: Trajectory) -> None:
    """Raise InputError for a trainer's rollout that does not belong to the group it joined."""
    group = f"group {name_of_key(key)!r}"
    if pending.common != common:
        raise InputError(f"{group} has members with another context, tools, rubric or id than this one's")
    if member.id in pending.ids:
        raise InputError(f"{group} already has a member with the id {member.id!r}")


def assembled_group(pending: PendingGroup) -> tuple[list[Member], TrajectoryGroup]:
    """Return the members and group of a trainer's rollouts, in an order that does not depend on when each arrived."""
    assert pending.common is not None  # noqa: S101 - set with the first member
    members = sorted(pending.members.values(), key=lambda one: one.sort_key)
    free = (name for number in range(1, 2 * len(members) + 1) if (name := str(number)) not in pending.ids)
    named = tuple(
        replace(one.trajectory, id=next(free)) if one.trajectory.id == UNNAMED else one.trajectory for one in members
    )
    group = replace(pending.common, trajectories=named)
    return members, group if group.group_id else replace(group, group_id=derived_group_id(group))


def member_sort_key(trajectory: Trajectory) -> tuple[str, str]:
    """Return a sort key for a trainer's rollout: its id, which no other member has, or its content if it has no id."""
    named = trajectory.id != UNNAMED
    return trajectory.id, "" if named else json.dumps(trajectory.messages, ensure_ascii=False, default=str)


def member_results(result: GroupResult, count: int, needed: int) -> list[MemberResult]:
    """Return the result of each of the ``count`` members of a trainer's group, in the group's order.

    If fewer than ``needed`` members were scored, none gets a reward. Raises ConfigError for a result of another length.
    """
    if len(result.trajectories) != count:
        raise ConfigError(f"the judge returned {len(result.trajectories)} results for a group of {count}")
    rewards = trajectory_rewards(result)
    scored = count - rewards.count(None)
    few = f"too few members of its group were scored: {scored} of {count}" if scored < needed else None
    return [
        MemberResult(None, f"{row.status}: {row.reason}", row, result, 0 if few else scored)
        if reward is None
        else MemberResult(None if few else reward, few, row, result, 0 if few else scored)
        for row, reward in zip(result.trajectories, rewards, strict=True)
    ]
