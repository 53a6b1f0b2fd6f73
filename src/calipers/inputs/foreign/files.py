"""Files of rollouts: a JSON object or array, JSON lines, or inspect_ai's ``.eval``.

A file whose rows are messages or events, such as a session of Claude Code, is one rollout. Not responsible for the
rows themselves (``rollouts``).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from calipers.errors import InputError
from calipers.inputs import jsonl, parquet
from calipers.inputs.foreign.dialects import dialect_of
from calipers.inputs.foreign.grouping import grouped
from calipers.inputs.foreign.inspect_log import eval_rows
from calipers.inputs.foreign.rollouts import FAMILIES, Rollout, family_of, rollouts_in


def rollout_group_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the groups of a file of rollouts, which is read whole. Raises InputError for a file that cannot be read."""
    yield from grouped(file_rollouts(path))


def is_rollout_row(row: Any) -> bool:
    """Return whether a row of a file is a foreign rollout, or a message or an event of one."""
    return isinstance(row, dict) and "trajectories" not in row and (family_of(row) is not None or _is_event(row))


def _is_event(row: dict[str, Any]) -> bool:
    return dialect_of(row) is not None or ("sessionId" in row and isinstance(row.get("message"), dict))


def file_rollouts(path: Path, *, family: str | None = None) -> Iterator[tuple[int, Rollout | str]]:
    """Yield a file's rollouts with their lines, and each unreadable row's problem as text.

    ``family`` names the format of the rows, which is recognised otherwise. Raises InputError for a file that cannot be
    read as a whole.
    """
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        raise InputError("holds no rollouts", source=str(path))
    line, row = first
    if family is None and isinstance(row, dict) and family_of(row) is None and _is_message(row):
        listed = [value for _, value in chain([first], rows)]
        bad = next((value for value in listed if isinstance(value, str)), None)
        yield line, Rollout([*listed], metadata={"file": path.name}) if bad is None else bad
        return
    for number, value in chain([first], rows):
        yield from _row_rollouts(number, value, family)


def _is_message(row: dict[str, Any]) -> bool:
    return _is_event(row) or ("role" in row and "messages" not in row)


def _row_rollouts(line: int, row: Any, family: str | None) -> Iterator[tuple[int, Rollout | str]]:
    if isinstance(row, str):
        yield line, row
        return
    try:
        found = rollouts_in(row, family=family)
    except InputError as error:
        yield line, str(error)
        return
    if found is None and isinstance(row.get("messages"), list):
        notes = {key: item for key, item in row.items() if key not in ("messages", "tools", "reward")}
        found = [Rollout(row["messages"], None, row.get("tools"), row.get("reward"), notes)]
    if found is None:
        keys = ", ".join(map(str, row))[:200] or "none"
        yield line, f"is of no known format; it has the keys {keys}; the formats are {', '.join(FAMILIES)}"
        return
    yield from ((line, rollout) for rollout in found)


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    with jsonl.open_binary(path) as stream:
        head = stream.read(4)
        if head == b"PK\x03\x04":
            yield from eval_rows(path, stream)
            return
    if head == b"PAR1":
        yield from parquet.parquet_rows(path)
        return
    yield from jsonl.read_json_file(path)
