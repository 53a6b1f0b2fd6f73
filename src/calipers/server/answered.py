"""Groups that were answered: the latest in memory, all others in the ledger. So a request that comes again is answered
again, also after a restart, and nothing is judged twice.

This is the only part of the server that reads the ledger. Not responsible for recording groups: the judge does.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from calipers.errors import LedgerError
from calipers.inputs import as_group
from calipers.ledger.answers import require_object
from calipers.ledger.database import ReadableLedger
from calipers.server.answers import answer_of
from calipers.server.digests import digest, digest_of_shared
from calipers.server.forms import RolloutAnswer
from calipers.trainers.cohorts import member_results
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult

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
    return f"{run}:{group_id}" if run else group_id


def mark(run: str, group_id: str, size: int | None = None) -> dict[str, Any]:
    """Return the keys by which the server finds a group in the ledger."""
    return {MARK: {"run": run, "group_id": group_id} | ({} if size is None else {"size": size})}


class RecordedGroups:
    """The groups that the server's ledger holds, by name. Without a ledger there are none."""

    def __init__(self, ledger: ReadableLedger | None) -> None:
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

    async def require_readable(self) -> None:
        """Raise LedgerError if the server's ledger cannot be read now."""
        if self._ledger is not None:
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
