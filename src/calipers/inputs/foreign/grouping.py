"""Rollouts of one prompt as one group. Not responsible for reading rollouts (``rollouts``, ``files``).

Rollouts belong together if their format names their task and the names are equal; otherwise if everything before the
first reply is equal. ``group_by`` names a key of the rows instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from calipers.errors import InputError
from calipers.inputs.foreign.rollouts import Rollout
from calipers.inputs.messages import canonical
from calipers.inputs.plain import compact_json
from calipers.types import Message

P = TypeVar("P")
Member = tuple[Rollout, tuple[Message, ...], tuple[Message, ...]]


def grouped(rollouts: Iterable[tuple[P, Rollout | str]], *, group_by: str | None = None) -> Iterator[tuple[P, Any]]:
    """Yield a group object of a groups file for each prompt, with the place of its first rollout, in that order.

    A problem of a row (text) is yielded first, in its place. All rollouts are held in memory.
    """
    groups: dict[str, tuple[P, str | None, list[Member]]] = {}
    for line, rollout in rollouts:
        if isinstance(rollout, str):
            yield line, rollout
            continue
        try:
            messages = canonical(rollout.messages)
            task = rollout.task if group_by is None else _value_at(rollout, group_by)
        except InputError as error:
            yield line, str(error)
            continue
        first = next((at for at, one in enumerate(messages) if one["role"] == "assistant"), len(messages))
        prompt, rest = messages[:first], messages[first:]
        key = json.dumps(prompt, sort_keys=True, default=str) if task is None else f"task {task}"
        groups.setdefault(key, (line, task, []))[2].append((rollout, prompt, rest))
    for line, task, members in groups.values():
        yield line, _group(task, members)


def _value_at(rollout: Rollout, key: str) -> str:
    value: Any = rollout.metadata
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        known = ", ".join(map(str, rollout.metadata)) or "none"
        raise InputError(f"has no {key!r} to group by; the keys are {known[:200]}")
    return value if isinstance(value, str) else compact_json(value)


def _group(task: str | None, members: list[Member]) -> dict[str, Any]:
    prompt = members[0][1]
    shared = all(other == prompt for _, other, _ in members)
    tools = members[0][0].tools
    alike = all(rollout.tools == tools for rollout, _, _ in members)
    listed = [
        {
            "id": str(place),
            "messages": list(rest if shared else own + rest),
            **({} if alike or not rollout.tools else {"tools": rollout.tools}),
            **({} if rollout.reward is None else {"reward": rollout.reward}),
            **({"metadata": dict(rollout.metadata)} if rollout.metadata else {}),
        }
        for place, (rollout, own, rest) in enumerate(members, start=1)
    ]
    named = {} if task is None else {"group_id": task}
    offered = {"tools": tools} if alike and tools else {}
    return {**named, "context": list(prompt if shared else ()), **offered, "trajectories": listed}
