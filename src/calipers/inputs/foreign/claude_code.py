"""Lines of a Claude Code session that are no messages: ``summary``, the session's title, which nobody in it said.

The other lines hold Anthropic's messages under ``message``, which ``messages`` reads.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.pending import Pending


def is_session_title(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a session's title."""
    return value.get("type") == "summary" and isinstance(value.get("summary"), str) and "role" not in value


def chat_messages_of_session_title(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Return no message."""
    del value, pending
    return []
