"""Sessions of Claude Code: files whose lines are messages, bookkeeping, and the messages of sub-agents.

The messages are Anthropic's, under ``message``, which ``messages`` reads. A sub-agent's lines have ``isSidechain``, or
``parent_tool_use_id`` in the command's stream of JSON; its answer is the result of a call in the main conversation.
Each line names the one before it (``parentUuid``): after a rewind, several lines follow one, and the branch of the last
line is the conversation.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from calipers.errors import InputError
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
    Raises InputError for lines of several sessions, none of which names the line before it.
    """
    if not any(map(is_session_line, rows)):
        return rows, None
    lines = [row for row in rows if is_session_line(row)]
    own = [row for row in lines if not _is_of_sub_agent(row)] or lines
    main = _last_branch(own, rows)
    other = [row for row in rows if not is_session_line(row)]
    kept = [row for row in other if "role" in row or not isinstance(row.get("type"), str)]  # reported where it is read
    left = [f"{counted(len(lines) - len(own), 'message')} of sub-agents"] if len(own) < len(lines) else []
    left += _unread(own, main)
    kinds = Counter(str(row["type"])[:40] for row in other if isinstance(row.get("type"), str) and "role" not in row)
    left += [f"{counted(count, 'line')} of type {kind}" for kind, count in kinds.items() if kind != "summary"]
    chosen = {id(row) for row in (*main, *kept)}
    return [row for row in rows if id(row) in chosen], "; ".join(left) or None


def _unread(own: list[Row], main: list[Row]) -> list[str]:
    """Return what of a session's own lines is not in its main conversation, as texts."""
    sessions = set(map(_session, main))
    others = sum(_session(row) not in sessions for row in own)
    undone = len(own) - len(main) - others
    left = [f"{counted(others, 'message')} of other sessions"] if others else []
    return left + ([f"{counted(undone, 'message')} of branches before a rewind"] if undone else [])


def _session(row: Row) -> str:
    return str(row.get("sessionId") or row.get("session_id"))


def _is_of_sub_agent(row: Row) -> bool:
    return row.get("isSidechain") is True or row.get("parent_tool_use_id") is not None


def _last_branch(lines: list[Row], rows: list[Row]) -> list[Row]:
    """Return the lines of the branch that the last line ends, in the order of the file.

    Lines without an id belong to every branch. So do the other blocks of a reply in the branch, and the results of its
    calls: those of parallel calls follow the call each, and not one another.
    """
    named = [(row["uuid"], row) for row in lines if isinstance(row.get("uuid"), str)]
    if not any(isinstance(row.get("parentUuid"), str) for _, row in named):  # nothing says what follows what
        if len(sessions := dict.fromkeys(map(_session, lines))) > 1:
            named_as = ", ".join(sessions)[:100]
            raise InputError(f"the file has {len(sessions)} sessions ({named_as}); give each a file of its own")
        return lines
    kept = _path(named[-1][0], rows)
    replies = {_reply(row) for own, row in named if own in kept} - {None}
    kept |= {own for own, row in named if _reply(row) in replies}
    calls = {call for own, row in named if own in kept for call in _blocks(row, "tool_use", "id")}
    answered = {call for own, row in named if own in kept for call in _blocks(row, "tool_result", "tool_use_id")}
    for own, row in named:
        results = _blocks(row, "tool_result", "tool_use_id")
        if own not in kept and results and results <= calls - answered:
            kept.add(own)
            answered |= results
    return [row for row in lines if not isinstance(row.get("uuid"), str) or row["uuid"] in kept]


def _path(leaf: str, rows: list[Row]) -> set[str]:
    """Return the ids of a line and of all before it. Where the line before is not named, or is not in the file, it is
    the one above; a compacted conversation follows the one that it stands for.
    """
    listed = [row for row in rows if isinstance(row.get("uuid"), str)]
    places = {row["uuid"]: at for at, row in enumerate(listed)}
    found: set[str] = set()
    at = places[leaf]
    while at >= 0 and listed[at]["uuid"] not in found:
        row = listed[at]
        found.add(row["uuid"])
        parent = row.get("parentUuid", "")
        if parent is None and row.get("subtype") == "compact_boundary":
            before = row.get("logicalParentUuid") or ""
            parent = "" if before in found else before  # messages that it preserves follow it
        if parent is None:
            break
        at = places.get(str(parent), at - 1)
    return found


def _reply(row: Row) -> str | None:
    message = row["message"]
    return str(message["id"]) if message.get("role") == "assistant" and message.get("id") else None


def _blocks(row: Row, kind: str, key: str) -> set[str]:
    content = row["message"].get("content")
    blocks = content if isinstance(content, list) else []
    return {str(block.get(key)) for block in blocks if isinstance(block, dict) and block.get("type") == kind}
