"""The texts of a group as a page shows them: what its trajectories share, what is their own, tools and standards.

Not responsible for what a judge said of the group (``details``).
"""

from __future__ import annotations

from typing import Any

from calipers.types import Message, Rubric, TrajectoryGroup


def shared_and_own(
    group: TrajectoryGroup | None,
) -> tuple[list[Message] | None, dict[str, tuple[Message, ...]] | None]:
    """Return the messages that all trajectories of a group begin with, and those that each goes on with, by id.

    Both are None without a group.
    """
    if group is None:
        return None, None
    own = [one.messages for one in group.trajectories if one.messages]
    common = 0
    if len(own) > 1:
        shortest = min(map(len, own)) - 1  # so that each candidate keeps a message of its own
        while common < shortest and all(one[common] == own[0][common] for one in own):
            common += 1
    shared = [*group.context, *(own[0][:common] if own else ())]
    return shared, {one.id: one.messages[common:] for one in group.trajectories}


def shown_tools(group: TrajectoryGroup | None) -> list[Any]:
    """Return the tool definitions that a page shows of a group."""
    if group is None:
        return []
    if group.tools is not None:
        return list(group.tools)
    own = [one.tools for one in group.trajectories if one.tools]
    return list(own[0]) if own else []


def shown_rubric(group: TrajectoryGroup | None) -> Any:
    """Return the standards that a page shows of a group: text, an object with criteria, or None."""
    if group is None or group.rubric is None:
        return None
    return group.rubric.to_dict() if isinstance(group.rubric, Rubric) else group.rubric
