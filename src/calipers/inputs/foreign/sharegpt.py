"""Messages of ShareGPT's form: ``from`` and ``value``.

Source of the names: the data README of LLaMA-Factory. A ``function_call`` holds JSON with name and arguments.
"""

from __future__ import annotations

import json
from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.plain import compact_json

_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}
_RESULTS = frozenset(("observation", "tool", "function_response"))


def is_sharegpt(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a message with ``from`` and ``value``."""
    return "value" in value and isinstance(value.get("from"), str) and "role" not in value


def chat_messages_of_sharegpt(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a message of ShareGPT's form. Raises InputError for an unknown speaker."""
    speaker, said = value["from"], value["value"]
    rest = {key: item for key, item in value.items() if key not in ("from", "value")}
    if speaker in _RESULTS:
        return [rest | tool_result(said, pending.answered())]
    if speaker == "function_call":
        return [{"role": "assistant", **_called(said, pending), **rest}]
    if speaker not in _ROLES:
        known = ", ".join([*_ROLES, "function_call", *sorted(_RESULTS)])
        raise InputError(f"is from {speaker[:40]!r}; known are {known}")
    return [{"role": _ROLES[speaker], "content": said, **rest}]


def _called(said: Any, pending: Pending) -> dict[str, Any]:
    """Return the calls in the text of a ``function_call``; text that is no call stays the message's content."""
    try:
        given = json.loads(said) if isinstance(said, str) else said
    except (ValueError, RecursionError):
        return {"content": said}
    calls = given if isinstance(given, list) else [given]
    if not calls or not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        return {"content": said if isinstance(said, str) else compact_json(said)}
    named = [(call["name"], call.get("arguments")) for call in calls]
    return {"content": None, "tool_calls": [tool_call(pending.opened(name), name, given) for name, given in named]}
