"""Sessions of Claude Code: files whose lines are messages, bookkeeping, and the messages of sub-agents.

The messages are Anthropic's, under ``message``, which ``messages`` reads. A sub-agent's lines have ``isSidechain``, or
``parent_tool_use_id`` in the command's stream of JSON; its answer is the result of a call in the main conversation.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from calipers.inputs.foreign.pending import Pending
from calipers.types.counted import counted

Row = dict[str, Any]


def is_session_title(value: Row) -> bool:
    """Return whether a plain dict is a session's title, which nobody in it said."""
    return value.get("type") == "summary" and isinstance(value.get("summary"), str) and "role" not in value


def chat_messages_of_session_title(value: Row, pending: Pending) -> list[Row]:
    """Return no message."""
    del value, pending
    return []


def is_session_line(value: Row) -> bool:
    """Return whether a plain dict is a line of a session that holds a message."""
    return not value.keys().isdisjoint(("sessionId", "session_id")) and isinstance(value.get("message"), dict)


def main_conversation(rows: list[Row]) -> tuple[list[Row], str | None]:
    """Return the rows of a session's main conversation, and what was left out of it, as text.

    Rows of any other kind of file are all returned. A file with a sub-agent's lines alone is the sub-agent's session.
    """
    if not any(map(is_session_line, rows)):
        return rows, None
    lines = [row for row in rows if is_session_line(row)]
    main = [row for row in lines if not _is_of_sub_agent(row)] or lines
    other = [row for row in rows if not is_session_line(row)]
    kept = [row for row in other if "role" in row or not isinstance(row.get("type"), str)]  # reported where it is read
    left = [f"{counted(len(lines) - len(main), 'message')} of sub-agents"] if len(main) < len(lines) else []
    kinds = Counter(str(row["type"])[:40] for row in other if isinstance(row.get("type"), str) and "role" not in row)
    left += [f"{counted(count, 'line')} of type {kind}" for kind, count in kinds.items() if kind != "summary"]
    chosen = {id(row) for row in (*main, *kept)}
    return [row for row in rows if id(row) in chosen], "; ".join(left) or None


def _is_of_sub_agent(row: Row) -> bool:
    return row.get("isSidechain") is True or row.get("parent_tool_use_id") is not None
