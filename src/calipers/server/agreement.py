"""What a rollout on the server shares with its siblings, and whether it agrees with what arrived before it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from calipers.inputs import as_trajectory
from calipers.server.answered import AnsweredGroup
from calipers.server.answers import lost_answer
from calipers.server.digests import digest, digest_of_shared
from calipers.server.forms import Rollout, RolloutAnswer
from calipers.server.problems import RefusalError, conflict
from calipers.trainers.cohorts import read_common_fields
from calipers.types import Trajectory
from calipers.types.versions import version_fields

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
