"""A group of rollouts as engines hand them over: what a policy said may be anything, and must not end a run.

Not responsible for what the messages of a rollout are in an engine (its own module).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.readers import as_trajectory
from calipers.types import Rubric, Trajectory

_log = logging.getLogger(__name__)


def judgeable_group(
    members: Sequence[Mapping[str, Any]], *, rubric: str | Rubric | None, name: str | None = None
) -> dict[str, Any]:
    """A groups-file object of these trajectories. One that cannot be read is left without messages, which is not scored.

    ``name`` is the group's id. A rollout without an id gets its place, from 1. The reason why one cannot be read is logged.
    """
    return {
        "trajectories": [_read(member, str(place)) for place, member in enumerate(members, start=1)],
        "rubric": rubric,
    } | ({"group_id": name} if name is not None else {})


def _read(member: Mapping[str, Any], place: str) -> Trajectory:
    try:
        return as_trajectory(member, default_id=place)
    except InputError as error:
        _log.warning("a rollout cannot be read, so it is not judged: %s", error)
        return Trajectory(str(member.get("id") or place), ())
