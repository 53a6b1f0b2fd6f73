"""Cohorts: rollouts that arrive one at a time, collected until their group is complete and judged once.

For training engines whose workers score each rollout separately. Everything happens in one process and one event loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count as numbers_from
from typing import Any, Final, TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs import as_group, as_trajectory
from calipers.inputs.groups import derived_group_id
from calipers.trainers.rewards import trajectory_rewards
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, TrajectoryResult

UNNAMED: Final = "?"
"""The id of a member that has no id of its own."""

Key: TypeAlias = tuple[Hashable, ...]
"""The key of an engine's group: a name for people, then what distinguishes the group from others."""

_LATE: Final = "it arrived after its group had been closed, and judged or given up without it"

_HEAD: Final = 24
_TAIL: Final = 45
"""Characters of a prompt in a key's name: prompts of one run may begin alike, and end with what was asked."""


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


def key_of_prompt(prompt: str | Sequence[Mapping[str, Any]], *parts: Hashable) -> Key:
    """Return the key of a group that shares ``prompt``, a text or messages: the prompt shortened, then ``parts``."""
    content = prompt if isinstance(prompt, str) else prompt[-1].get("content") if prompt else None
    pieces = (part.get("text") for part in content if isinstance(part, Mapping)) if isinstance(content, list) else ()
    texts = [content] if isinstance(content, str) else [text for text in pieces if isinstance(text, str)]
    text = " ".join(" ".join(texts).split()) or "(no text)"
    return (text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}…{text[-_TAIL:]}", *parts)


def _shown(key: Hashable) -> str:
    """Return how logs and errors show the key of a group."""
    return str(key[0] if isinstance(key, tuple) and key else key)


def _call_later(seconds: float, function: Callable[[], object]) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(seconds, function)


@dataclass(slots=True, eq=False)
class _Member:
    trajectory: Trajectory
    result: asyncio.Future[MemberResult]


@dataclass(slots=True, eq=False)
class _Group:
    """A group of ``size`` members, of which ``lost`` will never arrive. ``common`` is what they share.

    ``stragglers`` is how many members the last group of the key was closed without: so many may be its own.
    """

    size: int
    stragglers: int = 0
    common: TrajectoryGroup | None = None
    members: list[_Member] = field(default_factory=list)
    lost: int = 0
    timer: asyncio.TimerHandle | None = None

    @property
    def missing(self) -> int:
        return self.size - self.lost - len(self.members)

    def settle(self, result: MemberResult | Exception) -> None:
        """Give each member the result, or raise the error in its callers."""
        for future in [member.result for member in self.members]:
            if isinstance(result, Exception):
                future.set_exception(result)
                future.exception()  # marks it as retrieved: perhaps nobody waits
            else:
                future.set_result(result)


class Cohorts:
    """Collects rollouts by key. Each group is judged once, when it is complete or its deadline has passed.

    ``judge`` gets the group. ``size`` is a group's number of members unless ``join`` gives another. A group is complete
    when every member has arrived or is reported lost. ``deadline`` is in seconds from the first of them; None means
    that a group waits for as long as it takes. A group that has ``quorum`` members then is judged without the others
    (None: never). With fewer, or with fewer scored, no member gets a reward, because engines overrate a single member.

    Who arrives within a ``deadline`` after a short group is of the key's next group, unless by that one's deadline no
    more came than were missing: then they were stragglers, and get no reward. This cannot distinguish stragglers that
    come together with the next group, so a key that no other group has, such as a ``uid``, is best.

    An object belongs to one event loop at a time.
    ``on_lost`` is called with the name of every group that is given up before it has a result, and the reason.
    """

    def __init__(
        self,
        judge: Callable[[TrajectoryGroup], Awaitable[GroupResult]],
        *,
        size: int,
        quorum: int | None = 2,
        deadline: float | None = 600.0,
        on_lost: Callable[[str, str], object] | None = None,
    ) -> None:
        require_callable(judge=judge, on_lost=on_lost)
        require_whole(size=size, quorum=quorum)
        require_above_zero(size=size, quorum=quorum, deadline=deadline)
        self._judge, self._size, self._quorum = judge, size, quorum
        self._on_lost, self._deadline = on_lost, deadline
        self._groups: dict[Hashable, _Group] = {}
        self._closed: dict[Hashable, _Group] = {}
        self._judging: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def join(
        self, key: Hashable, member: object, *, size: int | None = None, group: Mapping[str, Any] | None = None
    ) -> MemberResult:
        """Add a rollout to its group, wait until the group is judged, and return this rollout's result.

        ``member`` is a trajectory in any form a group may hold. One that cannot be read, or has no messages, gets the
        reason at once. ``group`` is what the members share, as in a groups file (``context``, ``tools``, ``rubric``,
        ``group_id``). A member whose caller is cancelled stays in its group. The same member again, with its id and
        messages, is the same one until a caller has its result.

        Raises InputError for a ``size`` or ``group`` that differs from that of its siblings, and for a ``group`` that
        cannot be read: siblings do not wait for such a member. Raises InputError, and changes nothing, for other
        messages under the id of a sibling. Also raises whatever ``judge`` raises.
        """
        loop = self._bind()
        trajectory, unfit = _read_member(member)
        if unfit is not None:
            self.report_lost(key, size=size)
            return MemberResult(None, unfit)
        entered = self._entered(key, trajectory)
        if entered is None:
            joined = self._open(key, size)
            try:
                _require_fit(key, joined, trajectory, group or {})
            except InputError:
                joined.lost += 1
                self._close_if_complete(key, joined)
                raise
            entered = _Member(trajectory, loop.create_future())
            joined.members.append(entered)
            self._close_if_complete(key, joined)
        await asyncio.wait((entered.result,))
        closed = self._closed.get(key)
        if closed is not None and entered in closed.members:
            closed.members.remove(entered)
            self._forget_if_answered(key, closed)
        return entered.result.result()

    def report_lost(self, key: Hashable, *, size: int | None = None) -> None:
        """Report that a member of a group will not come, so that the others do not wait for it."""
        self._bind()
        closed = self._closed.get(key)
        if key not in self._groups and closed is not None and closed.stragglers:
            closed.stragglers -= 1
        else:
            group = self._open(key, size)
            group.lost += 1
            self._close_if_complete(key, group)

    def _bind(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None and not self._loop.is_closed() and (self._groups or self._judging):
                raise CalipersError("all members must join in one event loop, and others are waiting in another one")
            # The previous loop has ended, and with it every caller that waited in it.
            self._groups.clear()
            self._closed.clear()
            self._judging.clear()
            self._loop = loop
        return loop

    def _entered(self, key: Hashable, again: Trajectory) -> _Member | None:
        """Return the member that a trajectory with an id is, if it joined before. Raises InputError if it differs."""
        for groups in (self._groups, self._closed):
            for member in groups[key].members if key in groups and again.id != UNNAMED else ():
                if member.trajectory == again:
                    return member
                if member.trajectory.id == again.id and groups is self._groups:
                    raise InputError(
                        f"group {_shown(key)!r} already has a member with the id {again.id!r}, and other messages"
                    )
        return None

    def _forget(self, key: Hashable, group: _Group) -> None:
        """Forget a closed group: its stragglers, and the results that no caller got."""
        if group.timer is not None:
            group.timer.cancel()
        if self._closed.get(key) is group:
            del self._closed[key]

    def _forget_if_answered(self, key: Hashable, group: _Group) -> None:
        if not group.members and not group.stragglers:
            self._forget(key, group)

    def _open(self, key: Hashable, size: int | None) -> _Group:
        """Return the group that collects members under this key, begun with its first member."""
        wanted = self._size if size is None else size
        if key not in self._groups:
            require_whole(size=wanted)
            require_above_zero(size=wanted)
            last = self._closed.get(key)
            fresh = self._groups[key] = _Group(wanted, 0 if last is None else last.stragglers)
            if self._deadline is not None:
                fresh.timer = _call_later(self._deadline, partial(self._close, key, fresh))
        group = self._groups[key]
        if group.size != wanted:
            raise InputError(
                f"group {_shown(key)!r} has {group.size} members, but this member joins a group of {wanted}"
            )
        return group

    def _close_if_complete(self, key: Hashable, group: _Group) -> None:
        if group.missing == 0:
            self._close(key, group)

    def _close(self, key: Hashable, group: _Group) -> None:
        """Judge the group, or give it up if it has too few members. In both cases the group takes no more members."""
        del self._groups[key]
        if group.timer is not None:
            group.timer.cancel()
        if group.missing and group.size - group.missing <= group.stragglers:
            group.settle(MemberResult(None, _LATE))
            return
        arrived, needed = len(group.members), self._needed(group)
        group.stragglers = group.missing
        self._closed[key] = group
        if self._deadline is not None:
            group.timer = _call_later(self._deadline, partial(self._forget, key, group))
        if arrived < needed:
            why = (
                f"too few members of its group arrived to judge it: {arrived} of {group.size}, with {group.lost} lost "
                f"and {group.missing} still missing"
            )
            group.settle(MemberResult(None, why))
            self._forget_if_answered(key, group)
            if self._deadline is None:
                self._forget(key, group)
            if self._on_lost is not None:
                self._on_lost((group.common.group_id if group.common is not None else "") or _shown(key), why)
        else:
            task = self._bind().create_task(self._ask(key, group))
            self._judging.add(task)
            task.add_done_callback(self._judging.discard)

    def _needed(self, group: _Group) -> int:
        return group.size if self._quorum is None else min(self._quorum, group.size)

    async def _ask(self, key: Hashable, group: _Group) -> None:
        members, judged = _assembled(group)
        try:
            results = member_results(await self._judge(judged), len(members), self._needed(group))
            for member, result in zip(members, results, strict=True):
                member.result.set_result(result)
        except Exception as error:  # noqa: BLE001 - raised in every member that waits
            group.settle(error)
        if self._deadline is None:
            self._forget(key, group)


def _read_member(member: object) -> tuple[Trajectory, str | None]:
    """Return a rollout as a trajectory, and the reason why it cannot be judged, or None if it can."""
    try:
        trajectory = as_trajectory(member, default_id=UNNAMED)
    except InputError as error:
        return Trajectory(UNNAMED, ()), str(error)
    return trajectory, None if trajectory.messages else "it has no messages, so there is nothing to judge"


def _require_fit(key: Hashable, group: _Group, member: Trajectory, shared: Mapping[str, Any]) -> None:
    """Raise InputError if a member cannot enter its group. The first member decides what all share."""
    common = read_common_fields(shared, member)
    group.common = group.common or common
    if group.common != common:
        raise InputError(f"group {_shown(key)!r} has members with another context, tools, rubric or id than this one's")


def read_common_fields(group: Mapping[str, Any], member: Trajectory) -> TrajectoryGroup:
    """Return what the rollouts of a group share, as a group without members. Its id is "" if none was given."""
    named = group.get("group_id")
    read = as_group({**group, "trajectories": [member]}, group_id=UNNAMED if named is None else named)
    return replace(read, trajectories=(), group_id="" if named is None else read.group_id)


def _assembled(group: _Group) -> tuple[list[_Member], TrajectoryGroup]:
    """Return the members and the group, in an order that does not depend on when each arrived."""
    assert group.common is not None  # noqa: S101 - set with the first member
    members = sorted(group.members, key=lambda member: order_key(member.trajectory))
    judged = replace(group.common, trajectories=with_ids([member.trajectory for member in members]))
    return members, judged if judged.group_id else replace(judged, group_id=derived_group_id(judged))


def order_key(trajectory: Trajectory) -> tuple[str, str]:
    """Return a member's id, which no other has, or its content: an order that does not depend on who came first."""
    messages = trajectory.messages if trajectory.id == UNNAMED else ()
    return trajectory.id, json.dumps(messages, ensure_ascii=False, default=str)


def with_ids(members: Sequence[Trajectory]) -> tuple[Trajectory, ...]:
    """Return the members of a group, in which a free number is the id of those that had none."""
    ids = {member.id for member in members}
    free = (name for number in numbers_from(1) if (name := str(number)) not in ids)
    return tuple(replace(member, id=next(free)) if member.id == UNNAMED else member for member in members)


def member_results(result: GroupResult, count: int, needed: int) -> list[MemberResult]:
    """Return the result of each of the ``count`` members of a group, in the group's order.

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
