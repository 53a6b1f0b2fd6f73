"""Groups that were answered: the latest in memory, all others in the ledger. So a request that comes again is answered
again, also after a restart, and nothing is judged twice.

This is the only part of the server that reads the ledger.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final

import orjson

from calipers.errors import LedgerError
from calipers.inputs import as_group, as_trajectory
from calipers.ledger.answers import require_object
from calipers.ledger.database import WritableLedger
from calipers.server.forms import AnswerStatus, Rollout, RolloutAnswer
from calipers.server.room import RefusalError, conflict
from calipers.trainers.cohorts import MemberResult, member_results, read_common_fields
from calipers.types import GroupResult, Rubric, Trajectory, TrajectoryGroup, TrajectoryResult
from calipers.types.versions import version_fields


def digest(value: Any) -> bytes:
    """Return a digest of a JSON value of a request to the server. The order of keys does not matter."""
    try:
        text = orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer of more than 64 bits
        text = json.dumps(value, default=_plain, sort_keys=True).encode()
    return blake2b(text, digest_size=16).digest()


def digest_of_shared(group: TrajectoryGroup) -> bytes:
    """Return a digest of what the rollouts of a group on the server share."""
    rubric = group.rubric.to_dict() if isinstance(group.rubric, Rubric) else group.rubric
    return digest([group.context, group.tools, rubric])


def _plain(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else list(value)


_LATE: Final = "it arrived after its group had been closed, so its group was judged, or given up, without it"

_LOST: Final = "it has no messages, so there is nothing to judge"


def answer_of(group_id: str, index: int, member: MemberResult) -> RolloutAnswer:
    """Return the server's answer for a rollout of a group that has been judged or given up."""
    row = member.member
    return RolloutAnswer(
        group_id=group_id,
        index=index,
        status=_status(member),
        reward=member.reward,
        score=None if row is None else row.score,
        stderr=None if row is None else row.stderr,
        reason=member.reason,
        rewarded=member.rewarded,
    )


def late_answer(group_id: str, index: int) -> RolloutAnswer:
    """Return the server's answer for a rollout whose group was closed before it arrived."""
    return RolloutAnswer(group_id=group_id, index=index, status="late", reward=None, reason=_LATE)


def lost_answer(group_id: str, index: int) -> RolloutAnswer:
    """Return the server's answer for a rollout without messages."""
    return answer_of(group_id, index, MemberResult(None, _LOST))


def _status(member: MemberResult) -> AnswerStatus:
    if member.reward is not None:
        return "scored"
    if member.member is None:
        return "not_judged"
    return "too_few" if member.member.reward is not None else member.member.status


MARK: Final = "served"
"""The key of a recorded group under which the server notes the group's name, run and size."""


@dataclass(frozen=True, slots=True)
class AnsweredGroup:
    """A group of rollouts that the server has answered: by index, each rollout's digest and answer.

    ``shared`` is the digest of what the rollouts share.
    """

    size: int
    shared: bytes
    members: Mapping[int, tuple[bytes, RolloutAnswer]]


@dataclass(frozen=True, slots=True)
class RecordedGroup:
    """A group of the server's ledger, with its result as an object of a result file."""

    group: TrajectoryGroup
    result: dict[str, Any]


def recorded_name(run: str, group_id: str) -> str:
    """Return the id under which the ledger has a group of the server."""
    # A colon at the beginning is that of a group without a run, whose id has a colon itself.
    return f"{run}:{group_id}" if run or ":" in group_id else group_id


def mark(run: str, group_id: str, size: int | None = None) -> dict[str, Any]:
    """Return the keys by which the server finds a group in the ledger."""
    return {MARK: {"run": run, "group_id": group_id} | ({} if size is None else {"size": size})}


class RecordedGroups:
    """The groups that the server's ledger holds, by name. Without a ledger there are none."""

    def __init__(self, ledger: WritableLedger | None) -> None:
        self._ledger = ledger

    async def find(self, run: str, group_id: str) -> RecordedGroup | None:
        """Return a group that this server, or another one with the same ledger, recorded; or None.

        Raises LedgerError.
        """
        if self._ledger is None:
            return None
        # Another command may have recorded a group of the same name in the same ledger, so the newest is the server's
        # only if it is marked so.
        query = "SELECT source, result FROM groups WHERE group_id = ? ORDER BY rowid DESC LIMIT 1"
        for source, result in await self._ledger.look_up(query, (recorded_name(run, group_id),)):
            group = as_group(self._ledger.decoded(source, require_object))
            marked = group.extra.get(MARK)
            if isinstance(marked, dict) and (marked.get("run"), marked.get("group_id")) == (run, group_id):
                return RecordedGroup(group, self._ledger.decoded(result, require_object))
        return None

    async def require_usable(self) -> None:
        """Raise LedgerError if the server's ledger cannot be read now, or its last write failed and would again."""
        if self._ledger is not None:
            await self._ledger.require_writable()
            await self._ledger.look_up("SELECT 1 FROM runs LIMIT 1")


class AnsweredGroups:
    """Answered groups of rollouts on the server. The latest ``remembered`` are in memory; the ledger has the others.

    ``quorum`` is the server's: with fewer rewards in a group, none of its rollouts gets one.
    """

    def __init__(self, recorded: RecordedGroups, *, quorum: int, remembered: int = 8192) -> None:
        self._recorded, self._quorum, self._remembered = recorded, quorum, remembered
        self._latest: OrderedDict[tuple[str, str], AnsweredGroup] = OrderedDict()

    def add(self, key: tuple[str, str], group: AnsweredGroup) -> None:
        """Remember a group that the server has answered."""
        self._latest[key] = group
        if len(self._latest) > self._remembered:
            for _ in range(max(1, self._remembered // 8)):
                self._latest.popitem(last=False)

    def latest(self, key: tuple[str, str]) -> AnsweredGroup | None:
        """Return a group that this server has answered and still has in memory, or None."""
        return self._latest.get(key)

    async def find(self, key: tuple[str, str]) -> AnsweredGroup | None:
        """Return a group that the server has answered, or None. Raises LedgerError."""
        if (latest := self._latest.get(key)) is not None:
            return latest
        found = await self._recorded.find(*key)
        if found is None:
            return None
        group = self._restored(key, found)
        if group is not None:
            self.add(key, group)
        return group

    def _restored(self, key: tuple[str, str], found: RecordedGroup) -> AnsweredGroup | None:
        group, size = found.group, found.group.extra[MARK].get("size")
        if size is None:  # it was a whole group, whose members have no index
            members = {}
        else:
            results = member_results(_result(found.result), len(group.trajectories), min(self._quorum, size))
            members = {
                int(one.id): (digest(one.messages), answer_of(key[1], int(one.id), result))
                for one, result in zip(group.trajectories, results, strict=True)
            }
        return AnsweredGroup(size or 0, digest_of_shared(group), members)


def _result(recorded: Mapping[str, Any]) -> GroupResult:
    """Return a recorded result with what the answers for its rollouts need."""
    names = ("id", "status", "reward", "score", "stderr", "explanation", "reason")
    try:
        rows = tuple(TrajectoryResult(**{name: one[name] for name in names}) for one in recorded["trajectories"])
        return GroupResult(recorded["group_id"], recorded["status"], rows)
    except (KeyError, TypeError) as error:
        raise LedgerError("the ledger is damaged: a group's result has not the form that calipers writes") from error


def shown_result(result: Mapping[str, Any], group_id: str) -> dict[str, Any]:
    """Return a result as the server answers it: under the id of the request, without the server's own keys."""
    return {key: value for key, value in result.items() if key != MARK} | {"group_id": group_id}


def marked_group(group: TrajectoryGroup, run: str) -> TrajectoryGroup:
    """Return a whole group as the server has it judged: named and marked so that it is found in the ledger."""
    marked = {**group.extra, **mark(run, group.group_id)}
    return replace(group, group_id=recorded_name(run, group.group_id), extra=marked)


NOBODY: Final = Trajectory("?", ())
"""A rollout without messages, of which only the group's common fields are read."""


def shared_of(rollout: Rollout) -> dict[str, Any]:
    """Return what a rollout on the server shares with its siblings."""
    return {"context": rollout.context or [], "tools": rollout.tools, "rubric": rollout.rubric}


def trajectory_of(rollout: Rollout) -> Trajectory:
    """Return a rollout on the server as a trajectory. Raises InputError."""
    read = as_trajectory(rollout.messages, default_id=str(rollout.index))
    version = rollout.policy_version
    return read if version is None else replace(read, metadata=version_fields(version))


def known_answer(rollout: Rollout, answered: AnsweredGroup) -> RolloutAnswer | None:
    """Return the answer that the server's answered group has for a rollout; None: it had been closed without it.

    A rollout without messages is not recorded, so its answer follows from the rollout itself.
    Raises RefusalError for a rollout that contradicts the group.
    """
    if answered.size != rollout.group_size:
        raise size_conflict(rollout, answered.size)
    member = answered.members.get(rollout.index)
    if member is None:
        return None if rollout.messages else lost_answer(rollout.group_id, rollout.index)
    # The ledger has the messages as they were read, so a rollout that was sent in another form is read as well.
    same = member[0] == digest(rollout.messages) or member[0] == digest(trajectory_of(rollout).messages)
    require_same(rollout, same=same)
    if answered.shared != digest_of_shared(read_common_fields(shared_of(rollout), NOBODY)):
        raise other_group(rollout)
    return member[1]


def require_same(rollout: Rollout, *, same: bool) -> None:
    """Raise RefusalError unless a rollout on the server is the ``same`` that arrived before under its index."""
    if not same:
        raise conflict(
            f"rollout {rollout.index} of group {rollout.group_id!r} arrived before with other messages; an index names "
            "one rollout of its group, and a group_id one group of its run"
        )


def size_conflict(rollout: Rollout, before: int) -> RefusalError:
    """Return the server's refusal of a rollout whose group had another size ``before``; 0: it was sent whole."""
    was = f"has group_size {before}, but this rollout has {rollout.group_size}" if before else "was sent whole before"
    return conflict(f"group {rollout.group_id!r} {was}; if it belongs to another training run, name the run")


def other_group(rollout: Rollout) -> RefusalError:
    """Return the server's refusal of a rollout that shares something else than its siblings."""
    return conflict(
        f"group {rollout.group_id!r} has another context, tools or rubric than this rollout; if it belongs to another "
        "training run, name the run"
    )
