"""Finds the groups that belong to results: both files are read once, side by side, in nearly constant memory.

``calipers score`` writes results in the order of the groups, so the next group usually is the one that is wanted.
Groups that are passed by on the way to another one wait in a temporary database.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Self

from calipers.inputs import as_group
from calipers.types import TrajectoryGroup
from calipers.types.encoding import to_json_text


class GroupsById:
    """The groups of a groups file by id; each can be taken once. ``left`` counts those that nobody has taken."""

    def __init__(self, groups: Iterator[TrajectoryGroup]) -> None:
        self._coming = groups
        self._waiting = sqlite3.connect("")  # an empty name: a temporary file, which SQLite deletes
        self._waiting.execute("CREATE TABLE waiting (id TEXT PRIMARY KEY, source TEXT NOT NULL)")
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.close()

    def take(self, group_id: str) -> TrajectoryGroup | None:
        """Return the group with this id, or None if the groups file has none or it was taken before."""
        if self._count and (found := self._take_waiting(group_id)) is not None:
            return found
        for group in self._coming:
            if group.group_id == group_id:
                return group
            row = (group.group_id, to_json_text(group.to_dict()))
            self._waiting.execute("INSERT OR REPLACE INTO waiting VALUES (?, ?)", row)
            self._count += 1
        return None

    def count_left(self) -> int:
        """Read the groups file to its end and return how many of its groups were not taken."""
        return self._count + sum(1 for _ in self._coming)

    def _take_waiting(self, group_id: str) -> TrajectoryGroup | None:
        found = self._waiting.execute("SELECT source FROM waiting WHERE id = ?", (group_id,)).fetchone()
        if found is None:
            return None
        self._waiting.execute("DELETE FROM waiting WHERE id = ?", (group_id,))
        self._count -= 1
        return as_group(json.loads(found[0]))
