"""A judge's calls of tools, and the text under which an answer that calls tools is recorded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from calipers.types.answers import Completion

TOOL_NAMES: Final = ("list_files", "read_file", "search", "diff", "python")
"""The tools that a judge may have. None of them runs a candidate's code, unless a judge's own program does so."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A judge's call of a tool: the tool's ``name``, and its ``arguments`` as JSON text, both as the judge wrote
    them.
    """

    name: str
    arguments: str


def text_of_calls(calls: Sequence[ToolCall], said: str = "") -> str:
    """Return the text of an answer that calls tools: one JSON object with what the judge ``said`` and its calls.

    The server's ids of the calls are left out: they differ at every attempt, and the next question follows from this
    text.
    """
    listed = [{"name": call.name, "arguments": call.arguments} for call in calls]
    return json.dumps({"said": said, "tool_calls": listed}, ensure_ascii=False)


def said_and_calls(completion: Completion) -> tuple[str, tuple[ToolCall, ...]]:
    """Return what the judge said in an answer whose ``finish_reason`` is "tool_calls", and the tools that it called.

    No calls are returned for a text that ``text_of_calls`` did not write, such as one that was too long to be recorded
    whole.
    """
    try:
        found = json.loads(completion.text)
        return str(found["said"]), tuple(
            ToolCall(str(call["name"]), str(call["arguments"])) for call in found["tool_calls"]
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", ()
