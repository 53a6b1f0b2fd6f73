"""Groups that servers gathered together: how one of them is read from the ledger and judged, and how it ends without.

Not responsible for who judges a group, or for the callers that wait for it (``shared_rollouts``).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from calipers.inputs import as_trajectory
from calipers.judging.preparing import Preparing
from calipers.ledger.gatherings import Closed
from calipers.server.agreement import NOBODY, shared_of
from calipers.server.answered import MARK, AnsweredGroup, mark, recorded_name
from calipers.server.answers import answer_of, lost_answer
from calipers.server.digests import digest_of_shared
from calipers.server.forms import Rollout, RolloutAnswer
from calipers.server.problems import RefusalError
from calipers.trainers.cohorts.pending import MemberResult, member_results, member_sort_key, read_common_fields
from calipers.types import GroupResult, Trajectory, TrajectoryGroup
from calipers.types.encoding import to_json

Score: TypeAlias = Callable[[TrajectoryGroup], Awaitable[GroupResult]]

_REMEMBERED: Final = 600.0
"""Seconds for which a group that was given up is remembered, so that its rollouts get the same answer again."""
_REFUSED: Final = 5.0
"""Seconds in which the other servers look why a group was not judged. After that its rollouts may come again."""


@dataclass(frozen=True, slots=True)
class HowJudged:
    """How a server judges groups of rollouts: ``score`` a whole one, and ``preparing`` for each rollout as it comes.

    At least ``quorum`` rollouts must have come, and be scored. ``on_lost`` is called with the name of a group that is
    given up, and the reason.
    """

    score: Score
    preparing: Preparing
    quorum: int
    on_lost: Callable[[str, str], object]


@dataclass(frozen=True, slots=True)
class NotJudged:
    """Why a group on the server was not judged. All servers are told ``text``, for so many ``seconds``."""

    why: str
    text: str
    seconds: float


def shared_as_sent(rollout: Rollout) -> bytes:
    """Return what a rollout shares with its siblings on all servers, and the name under which they judge its group."""
    key = rollout.run, rollout.group_id
    return to_json(shared_of(rollout) | {"group_id": recorded_name(*key), **mark(*key, rollout.group_size)})


def read_shared(shared: bytes) -> TrajectoryGroup:
    """Return what the rollouts of a group share on all servers, as a group without rollouts. Raises InputError."""
    return read_common_fields(json.loads(shared), NOBODY)


async def judged(
    closed: Closed, how: HowJudged, prepared: Mapping[int, Trajectory]
) -> tuple[tuple[str, str], AnsweredGroup] | NotJudged:
    """Return the key and the answers of a group that this server has closed, or why it was not judged.

    ``prepared`` are rollouts of it that arrived here. Raises what ``how.score`` raises.
    """
    common = read_shared(closed.shared)
    key = common.extra[MARK]["run"], common.extra[MARK]["group_id"]
    members = sorted(
        (prepared.get(place) or _read(place, body) for place, body in closed.bodies.items()), key=member_sort_key
    )
    needed = min(how.quorum, closed.size)
    if len(members) < needed:
        missing = closed.size - closed.lost - len(members)
        counts = f"{len(members)} of {closed.size}, with {closed.lost} lost and {missing} still missing"
        return given_up(f"too few members of its group arrived to judge it: {counts}")
    result = await how.score(replace(common, trajectories=tuple(members)))
    results = member_results(result, len(members), needed)
    answers = {
        int(one.id): (closed.seen[int(one.id)], answer_of(key[1], int(one.id), found))
        for one, found in zip(members, results, strict=True)
    }
    return key, AnsweredGroup(closed.size, digest_of_shared(common), answers)


def _read(place: int, body: bytes) -> Trajectory:
    return replace(as_trajectory({"messages": json.loads(body)}, default_id=str(place)), id=str(place))


def given_up(why: str) -> NotJudged:
    """Return the end of a group that no server judges, because too few of its rollouts came."""
    return NotJudged(why, json.dumps({"reason": why}), _REMEMBERED)


def refused(refusal: RefusalError) -> NotJudged:
    """Return the end of a group whose judging on one server raised ``refusal``."""
    told = {"status": refusal.status, "kind": refusal.kind, "message": str(refusal), "again": refusal.retry_after}
    return NotJudged(str(refusal), json.dumps(told), _REFUSED)


def answer_for(text: str, rollout: Rollout) -> RolloutAnswer:
    """Return the answer for a rollout whose group no server judged. Raises the RefusalError that ended it.

    A rollout that was reported lost has the same answer before and after the end.
    """
    told: dict[str, Any] = json.loads(text)
    if "reason" in told and not rollout.messages:
        return lost_answer(rollout.group_id, rollout.index)
    if "reason" in told:
        return answer_of(rollout.group_id, rollout.index, MemberResult(None, told["reason"]))
    raise RefusalError(told["status"], told["kind"], told["message"], retry_after=told["again"])
