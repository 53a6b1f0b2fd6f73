"""Rollouts of one prompt as one group: ``grouped``, and ``rollouts_of`` for the rows of a file or a table.

Rollouts belong together if their rows name their task and the names are equal; otherwise if their prompts are equal.
Where the format does not say what the prompt is, it is all messages before the first reply to a user. Rollouts whose
prompt has no user message belong together only within a row. ``group_by`` names a key of the rows instead.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from calipers.errors import InputError
from calipers.inputs.groups import finite_number
from calipers.inputs.messages import canonical
from calipers.inputs.parts import openai_tool_definitions
from calipers.inputs.plain import compact_json, type_in_words, without_nan
from calipers.inputs.rollouts import Rollout, rollouts_in
from calipers.types import Message
from calipers.types.encoding import to_json

P = TypeVar("P")
Note = Callable[[P, str], None]
"""Receives the place of a group's first rollout, and a warning about the group."""
_log = logging.getLogger(__name__)
_STAMPS: Final = frozenset(("id", "uuid", "timestamp", "created", "created_at", "createdAt"))
"""Keys of a message that differ from run to run."""
_NO_PROMPT: Final = (
    "has no prompt of a user's, so nothing says which rollouts are of the same one, and it is a group alone; give its "
    "rows a group_id"
)
_NO_REPLY: Final = "has no message of an assistant, so a judge sees no answer in it; put the answer into the messages"


def rollout_groups(rows: Iterable[tuple[int, Any]], source: str) -> Iterator[tuple[int, Any]]:
    """Yield the groups that the rows of ``source`` make up. Warnings about them go to the logger of calipers."""

    def note(line: int, text: str) -> None:
        _log.warning("%s:%d: %s", source, line, text)

    yield from grouped(rollouts_of(rows), note=note)


def rollouts_of(rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Rollout | str]]:
    """Yield the rollouts of rows with their lines, and each unreadable row's problem as text."""
    for line, row in rows:
        if isinstance(row, str):
            yield line, row
        elif not isinstance(row, dict):
            yield line, f"is {type_in_words(row)} among rollouts, each of which is an object"
        elif "trajectories" in row or "responses" in row:
            yield line, "is a group among rollouts; give groups and rollouts in files of their own"
        else:
            try:
                yield from ((line, rollout) for rollout in rollouts_in(row))
            except InputError as error:
                yield line, str(error)


@dataclass(slots=True)
class _Member(Generic[P]):
    """A rollout that waits for its group, as JSON, with its place and digests of its prompt and tools."""

    place: P
    where: str
    prompt: bytes
    is_asked: bool
    is_answered: bool
    tools: bytes
    data: bytes

    def is_noted(self, note: Note[P], text: str) -> None:
        note(self.place, f"{self.where}{text}")


@dataclass(slots=True)
class _Group(Generic[P]):
    name: str | None
    members: list[_Member[P]] = field(default_factory=list)


def grouped(
    rollouts: Iterable[tuple[P, Rollout | str]], *, group_by: str | None = None, note: Note[P] | None = None
) -> Iterator[tuple[P, Any]]:
    """Yield a group object of a groups file for each prompt, with the place of its first rollout, in that order.

    A problem of a row (text) is yielded first, in its place. ``note`` receives a warning for each group whose rollouts
    have different prompts or no reply, and for a name that stands for several groups. All rollouts are held in memory,
    as JSON.
    """
    groups: dict[str, _Group[P]] = {}
    for place, rollout in rollouts:
        if isinstance(rollout, str):
            yield place, rollout
            continue
        try:
            key, name, member = _placed(place, rollout, group_by)
        except InputError as error:
            yield place, f"{rollout.where}{error}"
            continue
        groups.setdefault(key, _Group(name)).members.append(member)
    for group, name in zip(groups.values(), _own_names(groups, note), strict=True):
        if note is not None:
            _check(group, note)
        yield group.members[0].place, _group_object(name, group.members)


def _placed(place: P, rollout: Rollout, group_by: str | None) -> tuple[str, str | None, _Member[P]]:
    """Return the key and the name of a rollout's group, and the rollout in canonical form."""
    reward, gold = _number(rollout.reward, "'reward'"), _number(rollout.gold, "'gold'")
    tools = openai_tool_definitions(rollout.tools) if rollout.tools else None
    metadata = without_nan(dict(rollout.metadata))
    messages = canonical(rollout.messages)
    if not messages:
        raise InputError("has no messages, so there is nothing to judge")
    prompt = _prompt(rollout, messages)
    value = None if group_by is None else _value_at(metadata, group_by)
    asked = any(message["role"] == "user" for message in prompt)
    said = [{key: item for key, item in message.items() if key not in _STAMPS} for message in prompt]
    member = _Member(
        place,
        rollout.where,
        _digest(said),
        asked,
        any(message["role"] == "assistant" for message in messages[len(prompt) :]),
        _digest(tools),
        to_json([prompt, messages[len(prompt) :], tools, reward, gold, metadata], lone="replace"),
    )
    task = rollout.task
    if value is not None:
        name = value if isinstance(value, str) else compact_json(value)
        return f"by {compact_json(value)}", name, member
    if task is not None and not rollout.by_prompt:
        file = place[0] if rollout.is_local and isinstance(place, tuple) else ""
        return f"task {file} {task}", task, member
    if not prompt or (task is None and not asked):
        return f"row {place}", None, member
    return f"prompt {task} {rollout.run} {member.prompt.hex()}", task, member


def _number(given: Any, what: str) -> float | None:
    if isinstance(given, str):
        raise InputError(f"{what} is {given[:40]!r}, which is no number; write null if it is unknown")
    return finite_number(given, what)


def _digest(value: Any) -> bytes:
    return hashlib.blake2b(to_json(value, lone="replace"), digest_size=16).digest()


def _prompt(rollout: Rollout, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    if rollout.asked is not None:
        prompt = canonical(rollout.messages[: rollout.asked])
        if messages[: len(prompt)] == prompt:
            return prompt
    roles = [one["role"] for one in messages]
    begins = roles.index("user") if "user" in roles else 0
    return messages[: next((at for at, role in enumerate(roles) if at >= begins and role == "assistant"), len(roles))]


def _value_at(metadata: dict[str, Any], key: str) -> Any:
    value: Any = metadata
    for name in key.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        known = ", ".join(map(str, metadata)) or "none"
        raise InputError(f"has no {key!r} to group by; the keys are {known[:200]}")
    return value


def _own_names(groups: dict[str, _Group[P]], note: Note[P] | None) -> list[str | None]:
    """Return an id for each group: its name, with a count where several groups have it."""
    named = {group.name for group in groups.values()}
    first: dict[str, _Group[P]] = {}
    found: list[str | None] = []
    for group in groups.values():
        name = own = group.name
        if name is not None and first.setdefault(name, group) is not group:
            count = 2
            while (own := f"{name}-{count}") in named:
                count += 1
            named.add(own)
            if note is not None:
                text = f"{name!r} also names rollouts of another prompt ({_shown(first[name])}); these are {own!r}"
                group.members[0].is_noted(note, text)
        found.append(own)
    return found


def _check(group: _Group[P], note: Note[P]) -> None:
    one = group.members[0]
    other = next((member for member in group.members if member.prompt != one.prompt), None)
    if group.name is not None and other is not None:
        text = f"the rollouts of {group.name!r} have different prompts (compare {_shown(group)}), and are one group"
        other.is_noted(note, f"{text}; if they are of different tasks, give their rows a group_id of their own")
    if silent := [member for member in group.members if not member.is_answered]:
        silent[0].is_noted(note, _NO_REPLY + (f" (and {len(silent) - 1} more)" if len(silent) > 1 else ""))
    if group.name is None and len(group.members) == 1 and not one.is_asked:
        one.is_noted(note, _NO_PROMPT)


def _shown(group: _Group[P]) -> str:
    place, where = group.members[0].place, group.members[0].where
    shown = ":".join(map(str, place)) if isinstance(place, tuple) else f"line {place}"
    return f"{shown}, {where.removesuffix(': ')}" if where else shown


def _group_object(name: str | None, members: list[_Member[P]]) -> dict[str, Any]:
    shared = all(member.prompt == members[0].prompt for member in members)
    alike = all(member.tools == members[0].tools for member in members)
    context, tools, listed = list[Any](), None, []
    for place, member in enumerate(members, start=1):
        prompt, rest, tools, reward, gold, metadata = json.loads(member.data)
        context = prompt if shared else []
        own = {"tools": None if alike else tools or None, "reward": reward, "gold": gold, "metadata": metadata or None}
        rest = rest if shared else prompt + rest
        given = {key: item for key, item in own.items() if item is not None}
        listed.append({"id": str(place), "messages": rest} | given)
    named = {} if name is None else {"group_id": name}
    return named | {"context": context} | ({"tools": tools} if alike and tools else {}) | {"trajectories": listed}
