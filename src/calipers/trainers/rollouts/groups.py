"""Makes a group for a judge from an engine's rollouts. No text that a policy writes may end a run."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.errors import InputError
from calipers.inputs import as_trajectory
from calipers.trainers.rollouts.rows import assistant_message, prompt_messages
from calipers.types import Rubric, Trajectory

_log = logging.getLogger(__name__)


def rollout_group(
    members: Sequence[Mapping[str, Any] | str | None],
    *,
    prompt: object = (),
    rubric: str | Rubric | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Return a trainer's rollouts as a group object of a groups file.

    A member is a trajectory's object, or the text of an answer to ``prompt``, or None for no answer. ``name`` is the
    group's id. A rollout without an id gets its position, from 1. A rollout that cannot be read is logged and stays
    without messages, so that it gets no score. Raises InputError for a prompt that cannot be read.
    """
    return {
        "context": prompt_messages(prompt),
        "trajectories": [_read(member, str(position)) for position, member in enumerate(members, start=1)],
        "rubric": rubric,
    } | ({"group_id": name} if name is not None else {})


def _read(member: Mapping[str, Any] | str | None, position: str) -> Trajectory:
    if member is None:
        return Trajectory(position, ())
    value = {"messages": [assistant_message(member)]} if isinstance(member, str) else member
    try:
        return as_trajectory(value, default_id=position)
    except InputError as error:
        _log.warning("a rollout cannot be read, so it is not judged: %s", error)
        return Trajectory(str(value.get("id") or position), ())
