"""Read the groups of a file or a table, one after the other: ``read_groups``. Rollouts in rows of their own make up
groups: ``grouped``.

Rollouts belong together if their rows name their task and the names are equal; otherwise if their prompts are equal.
Where the format does not say what the prompt is, it is all messages before the first reply to a user. Rollouts whose
prompt has no user message belong together only within a row. ``group_by`` names a key of the rows instead.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from calipers import registry
from calipers.errors import ConfigError, InputError
from calipers.inputs import records
from calipers.inputs.groups import as_group, finite_number
from calipers.inputs.messages import canonical
from calipers.inputs.parts import openai_tool_definitions
from calipers.inputs.plain import compact_json, type_in_words
from calipers.inputs.rollouts import Rollout, format_of, rollouts_in
from calipers.types import Message, TrajectoryGroup
from calipers.types.encoding import to_json

P = TypeVar("P")
Note = Callable[[P, str], None]
"""Receives the place of a group's first rollout, and a warning about the group."""
_log = logging.getLogger(__name__)
_LOOKED_AT = 100
"""How many rows are looked at to tell groups from rollouts; titles and damaged lines may precede them."""
_SHAPE = 'one JSON object a line: {"group_id": "g1", "trajectories": [{"id": "a", "messages": [...]}, ...]}'
_STAMPS: Final = frozenset(("id", "uuid", "timestamp", "created", "created_at", "createdAt"))
"""Keys of a message that differ from run to run."""
_NO_PROMPT: Final = (
    "has no user message, so its prompt is unknown and it is a group by itself; give rollouts of one prompt the same "
    "group_id"
)
_NO_REPLY: Final = "has no message of an assistant, so a judge sees no answer in it; put the answer into the messages"


def read_groups(
    path: str | os.PathLike[str] | Iterable[object],
    *,
    reader: str | None = None,
    strict: bool = False,
    on_error: Callable[[InputError], None] | None = None,
    prepare: Callable[[TrajectoryGroup], TrajectoryGroup] | None = None,
) -> Iterator[TrajectoryGroup]:
    """Yield the groups of a groups file (``.jsonl``, ``.jsonl.gz``, ``.parquet``) in order; ``-`` reads stdin's JSON
    lines. A ``.json`` file may hold one group or an array of groups.

    ``reader`` names a registered reader, which another package may provide; by default the file's suffix selects it. A
    bad line (or Parquet row) goes to ``on_error`` as an InputError naming file, 1-based line and remedy, and is
    skipped; with ``strict``, or without ``on_error``, the error is raised. A line that repeats an earlier ``group_id``
    is bad; lines without a ``group_id`` get an id derived from their content. ``prepare`` may change each group; an
    InputError that it raises makes the line a bad one.

    Instead of a path, ``path`` may be groups in memory: a list of groups-file objects or of anything else that
    ``score_group`` takes, a pandas data frame, or a Hugging Face dataset whose rows are groups. Where the first row is
    a rollout, such as a trainer logs it, all rows are, and those of one prompt are a group; they are held in memory.

    The first iteration raises InputError for a path that is missing, a directory, unreadable or without any group, and
    ConfigError for an unknown ``reader``, one beside rows in memory, and Parquet without pyarrow.
    """
    if reader is not None:
        registry.READERS.find(str(reader))
    if prepare is not None and not callable(prepare):
        raise ConfigError(f"prepare={prepare!r}: it must be a function of a group, which returns a group")
    rows: Iterable[tuple[int, object]]
    if not isinstance(path, str | os.PathLike):
        source, rows = f"<{type(path).__name__}>", records.table_rows(path)
    elif os.fspath(path) == "-":
        source, rows = "<stdin>", records.json_line_rows(records.decompressed_stream(sys.stdin.buffer))
    else:
        source, rows = os.fspath(path), records.file_rows(Path(path), reader)
    if reader not in (None, "jsonl") and source[0] == "<":
        raise ConfigError(f"reader={reader!r} reads files, and here are rows of {source}; leave it out, or name a file")
    rows = _group_rows(iter(rows), source)
    first = next(rows, None)
    if first is None:
        raise InputError(f"holds no groups; expected {_SHAPE}", source=source)
    seen: dict[int, int] = {}

    def converted(value: object, line: int) -> TrajectoryGroup:
        read = _group(value, line, seen)
        group: object = read if prepare is None else prepare(read)
        if not isinstance(group, TrajectoryGroup):
            raise InputError(f"prepare= returned {type(group).__name__}; it must return the TrajectoryGroup to judge")
        return group

    on_error = None if strict else on_error
    yield from records.convert_rows(chain([first], rows), converted, source=source, on_error=on_error)


def _group_rows(rows: Iterator[tuple[int, object]], source: str) -> Iterator[tuple[int, object]]:
    """Return rows as they are, or the groups that they make up if the first known one is a rollout."""

    def note(line: int, text: str) -> None:
        _log.warning("%s:%d: %s", source, line, text)

    head = []
    for numbered in islice(rows, _LOOKED_AT):
        head.append(numbered)
        row = numbered[1]
        if not isinstance(row, str | dict) or _is_group(row):
            break
        if format_of(row) is not None:
            return grouped(rollouts_of(chain(head, rows)), note=note)
    return chain(head, rows)


def _is_group(row: object) -> bool:
    return isinstance(row, Mapping) and ("trajectories" in row or "responses" in row)


def _group(value: object, line: int, seen: dict[int, int]) -> TrajectoryGroup:
    """Convert a row to a group with an id of its own. A derived id that occurred before gets a count as suffix."""
    group = as_group(value)
    if isinstance(value, Mapping) and not _is_group(value) and len(group.trajectories) == 1:
        raise InputError("is a rollout in a file of groups; put groups and rollouts into separate files")
    group_id = value.group_id if isinstance(value, TrajectoryGroup) else None
    name = group.group_id
    while (earlier := seen.setdefault(hash(name), line)) != line:
        if group_id or (isinstance(value, Mapping) and value.get("group_id") is not None):
            raise InputError(f"the group_id {name!r} was used on line {earlier}; each group needs its own")
        # The count depends on the content alone, so that the id does not depend on other lines.
        stem, _, count = name.partition("-")
        name = f"{stem}-{int(count or 1) + 1}"
    return group if name == group.group_id else replace(group, group_id=name)


def rollouts_of(rows: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, Rollout | str]]:
    """Yield the rollouts of rows with their lines, and each unreadable row's problem as text."""
    for line, row in rows:
        if isinstance(row, str):
            yield line, row
        elif not isinstance(row, dict):
            yield line, f"is {type_in_words(row)}, and each rollout must be an object"
        elif _is_group(row):
            yield line, "is a group in a file of rollouts; put groups and rollouts into separate files"
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

    @property
    def shown(self) -> str:
        place = ":".join(map(str, self.place)) if isinstance(self.place, tuple) else f"line {self.place}"
        return f"{place}, {self.where.removesuffix(': ')}" if self.where else place


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
    first_named: dict[str, _Group[P]] = {}
    names = {group.name for group in groups.values()}
    for group in groups.values():
        warnings, name = _warnings(group), group.name
        if name is not None and (first := first_named.setdefault(name, group)) is not group:
            name = next(new for count in range(2, 2**62) if (new := f"{group.name}-{count}") not in names)
            names.add(name)
            shown = f"({first.members[0].shown}); these are {name!r}"
            warnings.append((group.members[0], f"{group.name!r} also names rollouts of another prompt {shown}"))
        if note is not None:
            for member, text in warnings:
                note(member.place, f"{member.where}{text}")
        yield group.members[0].place, _group_object(name, group.members)


def _placed(place: P, rollout: Rollout, group_by: str | None) -> tuple[str, str | None, _Member[P]]:
    """Return the key and the name of a rollout's group, and the rollout in canonical form."""
    reward, gold = _number(rollout.reward, "'reward'"), _number(rollout.gold, "'gold'")
    tools = openai_tool_definitions(rollout.tools) if rollout.tools else None
    messages, task = canonical(rollout.messages), rollout.task
    if not messages:
        raise InputError("has no messages, so there is nothing to judge")
    prompt = _prompt(rollout, messages)
    asked = any(message["role"] == "user" for message in prompt)
    answered = any(message["role"] == "assistant" for message in messages[len(prompt) :])
    compared = [{key: item for key, item in message.items() if key not in _STAMPS} for message in prompt]
    data = to_json([prompt, messages[len(prompt) :], tools, reward, gold, rollout.metadata], lone="replace")
    member = _Member(place, rollout.where, _digest(compared), asked, answered, _digest(tools), data)
    if group_by is not None:
        value = _value_at(rollout.metadata, group_by)
        return f"by {compact_json(value)}", value if isinstance(value, str) else compact_json(value), member
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
    roles = [message["role"] for message in messages]
    begins = roles.index("user") if "user" in roles else 0
    return messages[: next((at for at, role in enumerate(roles) if at >= begins and role == "assistant"), len(roles))]


def _value_at(metadata: Mapping[str, Any], key: str) -> Any:
    value: Any = metadata
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    if value is None:
        known = ", ".join(str(name) for name in metadata if not str(name).startswith("calipers_")) or "no keys"
        raise InputError(
            f"cannot be grouped by {key!r}: besides messages, tools and rewards it has {known[:200]}. Without "
            "--group-by, rows with the same prompt become one group"
        )
    return value


def _warnings(group: _Group[P]) -> list[tuple[_Member[P], str]]:
    first, texts = group.members[0], list[tuple[_Member[P], str]]()
    different = next((member for member in group.members if member.prompt != first.prompt), None)
    if group.name is not None and different is not None:
        text = f"the rollouts of {group.name!r} have different prompts (compare {first.shown}), but are one group"
        texts.append((different, f"{text}; if they are of different tasks, give their rows a group_id of their own"))
    if silent := [member for member in group.members if not member.is_answered]:
        texts.append((silent[0], _NO_REPLY + (f" (and {len(silent) - 1} more)" if len(silent) > 1 else "")))
    if group.name is None and len(group.members) == 1 and not first.is_asked:
        texts.append((first, _NO_PROMPT))
    return texts


def _group_object(name: str | None, members: list[_Member[P]]) -> dict[str, Any]:
    shared = all(member.prompt == members[0].prompt for member in members)
    alike = all(member.tools == members[0].tools for member in members)
    context, tools, listed = list[Any](), None, []
    for place, member in enumerate(members, start=1):
        prompt, rest, tools, reward, gold, metadata = json.loads(member.data)
        context = prompt if shared else []
        row = {"tools": None if alike else tools or None, "reward": reward, "gold": gold, "metadata": metadata or None}
        stated = {key: item for key, item in row.items() if item is not None}
        listed.append({"id": str(place), "messages": rest if shared else prompt + rest} | stated)
    named = {} if name is None else {"group_id": name}
    return named | {"context": context} | ({"tools": tools} if alike and tools else {}) | {"trajectories": listed}
