"""Sessions of Codex: files whose lines are items of the Responses API in an envelope, and bookkeeping.

The ``payload`` of a line of type ``response_item`` is an item of the conversation, which ``messages`` reads. The other
lines repeat items for the screen, or hold settings. After a compaction, the items before it are still in the file.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from calipers.inputs.openai_responses import is_responses_item
from calipers.types.counted import counted

Row = dict[str, Any]
_ITEM = "response_item"
_LINES = frozenset((_ITEM, "session_meta", "turn_context", "event_msg", "compacted"))
_UNDONE = "thread_rolled_back"
_SILENT = frozenset(("ghost_snapshot", "context_compaction"))


def is_codex_line(value: Row) -> bool:
    """Return whether a plain dict is a line of a session."""
    return str(value.get("type")) in _LINES and isinstance(value.get("payload"), dict) and "role" not in value


def codex_items(rows: list[Row]) -> tuple[list[Row], str | None]:
    """Return the items of a session's conversation, and what was left out of it, as text.

    Rows that are no lines of such a session are returned as they are.
    """
    if not any(map(is_codex_line, rows)):
        return rows, None
    left = Counter(_kind(row) for row in rows if _is_bookkeeping(row))
    told = "; ".join(f"{counted(count, 'line')} of type {kind}" for kind, count in left.items())
    items = [row["payload"] if is_codex_line(row) else row for row in rows if not _is_bookkeeping(row)]
    return [item for item in items if not _is_silent(item)], told or None


def _is_bookkeeping(row: Row) -> bool:
    """Return whether a row is a line without an item, of a type of this version of Codex or of another one."""
    payload = row.get("payload")
    if not isinstance(payload, dict) or "role" in row:
        return False
    return row.get("type") != _ITEM or not ("role" in payload or _is_silent(payload) or is_responses_item(payload))


def _is_silent(item: Row) -> bool:
    return str(item.get("type")) in _SILENT


def _kind(row: Row) -> str:
    kind = row["payload"].get("type")
    if kind == _UNDONE:
        return f"{_UNDONE} (the turns that it undoes are in the rollout)"
    return str(kind if row.get("type") == _ITEM else row.get("type"))[:40]
