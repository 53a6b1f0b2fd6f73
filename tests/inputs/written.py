"""Messages and files that tests write, and what is read of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.types import TrajectoryGroup

ASKED: dict[str, Any] = {"role": "user", "content": "q"}
ANSWER: dict[str, Any] = {"role": "assistant", "content": "a"}


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """A call of a tool."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calling(*calls: dict[str, Any], content: Any = None, **more: Any) -> dict[str, Any]:
    """A message of an assistant that calls tools."""
    return {"role": "assistant", "content": content, **more, "tool_calls": list(calls)}


def result(content: Any, call_id: str | None = None, **more: Any) -> dict[str, Any]:
    """A message with what a tool returned."""
    return {"role": "tool", "content": content, **({"tool_call_id": call_id} if call_id else {}), **more}


def not_refused(read_: Callable[[Any], object], cases: Iterable[tuple[Any, str]]) -> list[tuple[Any, object]]:
    """Return the values that are not refused with the words beside them, and what became of each instead."""
    wrong: list[tuple[Any, object]] = []
    for value, words in cases:
        try:
            wrong.append((value, read_(value)))
        except InputError as error:
            wrong += [(value, error)] if words not in str(error) else []
    return wrong


def written(path: Path, *rows: Any) -> Path:
    """Write rows as JSON lines; bytes are written as they are."""
    path.write_bytes(b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows))
    return path


def read(path: Path) -> tuple[list[TrajectoryGroup], list[str]]:
    """Return a file's groups, and the problems of its rows without the path."""
    problems: list[str] = []
    groups = list(read_groups(path, on_error=lambda error: problems.append(str(error).removeprefix(str(path)))))
    return groups, problems


def said_in(groups: list[TrajectoryGroup]) -> list[list[list[Any]]]:
    """Return the contents of all messages of each trajectory of each group, context included."""
    return [
        [[message["content"] for message in (*group.context, *one.messages)] for one in group.trajectories]
        for group in groups
    ]
