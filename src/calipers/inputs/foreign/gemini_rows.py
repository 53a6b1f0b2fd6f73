"""Requests of Gemini's API as rollouts, with the candidates of their response. Not responsible for messages
(``gemini``).

A line of a batch has ``request`` and ``response``; a request alone has ``contents``.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.rollout import Rollout, Row, beside, rest_of


def is_gemini_row(row: Row) -> bool:
    """Return whether a row is a request of Gemini, or holds one."""
    return isinstance(_request(row).get("contents"), list)


def gemini_rollouts(row: Row) -> list[Rollout]:
    """Return a row's request as one rollout, or as one for each candidate of its response."""
    asked = _request(row)
    given = _either(asked, "systemInstruction", "system_instruction")
    parts = [{"text": given}] if isinstance(given, str) else (given or {}).get("parts")
    messages = ([{"role": "system", "parts": parts}] if parts else []) + asked["contents"]
    offered = [found for tool in asked.get("tools") or [] for found in _tools(tool)]
    read = ("contents", "systemInstruction", "system_instruction", "tools", "reward", "request", "response")
    notes = rest_of(row, *read)
    notes = notes if asked is row else beside(notes, "request", rest_of(asked, *read))
    answers = (row.get("response") or {}).get("candidates") or []
    if isinstance(row.get("response"), dict):
        notes = beside(notes, "response", rest_of(row["response"], "candidates", "usageMetadata", "usage_metadata"))
    ends = [([answer["content"]] if answer.get("content") else [], rest_of(answer, "content")) for answer in answers]
    reward, tools = row.get("reward"), offered or None
    if not ends:
        return [Rollout(messages, tools=tools, reward=reward, metadata=notes)]
    return [
        Rollout([*messages, *said], None, tools, reward, beside(notes, "candidate", more), asked=len(messages))
        for said, more in ends
    ]


def _request(row: Row) -> Row:
    return row["request"] if isinstance(row.get("request"), dict) and "contents" not in row else row


def _either(row: Row, *keys: str) -> Any:
    return next((row[key] for key in keys if row.get(key)), None)


def _tools(tool: Row) -> list[Any]:
    """Return the functions that a tool of Gemini declares; a tool of Google's own, such as a search, stays as it is."""
    declared = _either(tool, "functionDeclarations", "function_declarations") or []
    own = {key: item for key, item in tool.items() if key not in ("functionDeclarations", "function_declarations")}
    return [*declared, *([own] if own else [])]
