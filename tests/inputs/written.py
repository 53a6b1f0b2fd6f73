"""Files that tests write, and what is read of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from calipers.inputs import read_groups
from calipers.types import TrajectoryGroup


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
