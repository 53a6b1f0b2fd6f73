"""Rollouts of one prompt as one group. Not responsible for reading rollouts (``rollouts``, ``files``).

Rollouts belong together if their format names their task and the names are equal; otherwise if their prompts are equal,
which are all messages before the first reply where the format does not say. A name that is only a place in a data set
is taken together with the prompt. ``group_by`` names a key of the rows instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from calipers.errors import InputError
from calipers.inputs.foreign.rollout import Rollout
from calipers.inputs.groups import finite_number
from calipers.inputs.messages import canonical
from calipers.inputs.plain import compact_json, without_nan
from calipers.inputs.tools import openai_tool_definitions
from calipers.types import Message

P = TypeVar("P")
Note = Callable[[P, str], None]
"""What is told of a group: the place of its first rollout, and the text."""


@dataclass(slots=True)
class _Member(Generic[P]):
    place: P
    rollout: Rollout
    prompt: tuple[Message, ...]
    rest: tuple[Message, ...]


@dataclass(slots=True)
class _Group(Generic[P]):
    name: str | None
    members: list[_Member[P]] = field(default_factory=list)


def grouped(
    rollouts: Iterable[tuple[P, Rollout | str]], *, group_by: str | None = None, note: Note[P] | None = None
) -> Iterator[tuple[P, Any]]:
    """Yield a group object of a groups file for each prompt, with the place of its first rollout, in that order.

    A problem of a row (text) is yielded first, in its place. ``note`` is told of each group whose rollouts have
    different prompts, and of each name that stands for several groups. All rollouts are held in memory.
    """
    groups: dict[str, _Group[P]] = {}
    for place, rollout in rollouts:
        if isinstance(rollout, str):
            yield place, rollout
            continue
        try:
            key, name, member = _placed(place, rollout, group_by)
        except InputError as error:
            yield place, str(error)
            continue
        group = groups.setdefault(key, _Group(name))
        if group.members and group.members[0].prompt == member.prompt:
            member.prompt = group.members[0].prompt  # a long prompt is held once
        group.members.append(member)
    names = _own_names(groups, note)
    for group, name in zip(groups.values(), names, strict=True):
        if note is not None and group.name is not None:
            _compare_prompts(group, note)
        yield group.members[0].place, _group_object(name, group.members)


def _placed(place: P, rollout: Rollout, group_by: str | None) -> tuple[str, str | None, _Member[P]]:
    """Return a rollout's group as key and name, and the rollout in canonical form. Raises InputError, so that a bad
    field costs its own row alone.
    """
    if isinstance(rollout.reward, str):
        raise InputError(f"'reward' is {rollout.reward[:40]!r}, which is no finite number; write null if it is unknown")
    checked = replace(
        rollout,
        messages=[],
        tools=openai_tool_definitions(rollout.tools) if rollout.tools else None,
        reward=finite_number(rollout.reward, "'reward'"),
        metadata=without_nan(dict(rollout.metadata)),
    )
    messages = canonical(rollout.messages)
    prompt = _prompt(rollout, messages)
    member = _Member(place, checked, prompt, messages[len(prompt) :])
    if group_by is not None:
        value = _value_at(rollout, group_by)
        return f"by {compact_json(value)}", value if isinstance(value, str) else compact_json(value), member
    if rollout.task is not None and not rollout.is_index:
        return f"task {rollout.task}", rollout.task, member
    return f"prompt {rollout.task} {json.dumps(prompt, sort_keys=True, default=str)}", rollout.task, member


def _prompt(rollout: Rollout, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    if rollout.asked is not None:
        prompt = canonical(rollout.messages[: rollout.asked])
        if messages[: len(prompt)] == prompt:
            return prompt
    first = next((at for at, one in enumerate(messages) if one["role"] == "assistant"), len(messages))
    return messages[:first]


def _value_at(rollout: Rollout, key: str) -> Any:
    value: Any = rollout.metadata
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        known = ", ".join(map(str, rollout.metadata)) or "none"
        raise InputError(f"has no {key!r} to group by; the keys are {known[:200]}")
    return value


def _own_names(groups: dict[str, _Group[P]], note: Note[P] | None) -> list[str | None]:
    """Return an id for each group: its name, with a count where several groups have it."""
    named = {group.name for group in groups.values()}
    first: dict[str, _Group[P]] = {}
    found: list[str | None] = []
    for group in groups.values():
        name = group.name
        if name is None or first.setdefault(name, group) is group:
            found.append(name)
            continue
        count = 2
        while f"{name}-{count}" in named:
            count += 1
        own = f"{name}-{count}"
        named.add(own)
        found.append(own)
        if note is not None:
            note(
                group.members[0].place,
                f"{name!r} is also the name of rollouts with another prompt or value ({_shown(first[name])}); these "
                f"are the group {own!r}",
            )
    return found


def _compare_prompts(group: _Group[P], note: Note[P]) -> None:
    one = group.members[0]
    other = next((member for member in group.members if member.prompt != one.prompt), None)
    if other is not None:
        note(
            other.place,
            f"the rollouts of {group.name!r} have different prompts (compare {_shown(group)}), and are one group all "
            "the same; if they are of different tasks, calipers convert --group-by KEY keeps them apart",
        )


def _shown(group: _Group[P]) -> str:
    place = group.members[0].place
    return ":".join(map(str, place)) if isinstance(place, tuple) else f"line {place}"


def _group_object(name: str | None, members: list[_Member[P]]) -> dict[str, Any]:
    prompt, tools = members[0].prompt, members[0].rollout.tools
    shared = all(member.prompt == prompt for member in members)
    alike = all(member.rollout.tools == tools for member in members)
    listed = [
        {
            "id": str(place),
            "messages": list(member.rest if shared else member.prompt + member.rest),
            **({} if alike or not member.rollout.tools else {"tools": member.rollout.tools}),
            **({} if member.rollout.reward is None else {"reward": member.rollout.reward}),
            **({"metadata": dict(member.rollout.metadata)} if member.rollout.metadata else {}),
        }
        for place, member in enumerate(members, start=1)
    ]
    named = {} if name is None else {"group_id": name}
    offered = {"tools": tools} if alike and tools else {}
    return {**named, "context": list(prompt if shared else ()), **offered, "trajectories": listed}
