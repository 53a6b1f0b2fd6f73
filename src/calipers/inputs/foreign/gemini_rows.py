"""Requests of Gemini's API as rollouts, with the candidates of their response. Not responsible for messages
(``gemini``).

A line of a batch has ``request`` and ``response``; a request alone has ``contents``.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.rollout import Rollout, Row, beside, rest_of
from calipers.inputs.plain import compact_json


def is_gemini_row(row: Row) -> bool:
    """Return whether a row is a request of Gemini, or holds one."""
    return isinstance(_request(row).get("contents"), list)


def gemini_rollouts(row: Row) -> list[Rollout]:
    """Return a row's request as one rollout, or as one for each candidate of its response.

    Raises InputError for a request that was not answered, whose last reply is part of its prompt, and for a reward
    that is not said to be which candidate's.
    """
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
    if len(ends) > 1 and reward is not None:
        raise InputError(
            f"has one 'reward' for {len(ends)} candidates; write a row for each candidate, with its reward"
        )
    if not ends:
        _require_answered(row)
        return [Rollout(messages, tools=tools, reward=reward, metadata=notes)]
    return [
        Rollout([*messages, *said], None, tools, reward, beside(notes, "candidate", more), asked=len(messages))
        for said, more in ends
    ]


def _require_answered(row: Row) -> None:
    """Raise InputError for a row of a batch that failed, or whose response has no candidate."""
    response = row.get("response")
    feedback = _either(response, "promptFeedback", "prompt_feedback") if isinstance(response, dict) else None
    failed = () if "contents" in row else (row.get("error"), row.get("status"))
    told = next((one for one in (*failed, feedback) if one), None)
    if told is not None or isinstance(response, dict):
        reason = f"its error is {compact_json(told)[:200]}" if told is not None else "its response has no candidates"
        raise InputError(f"has no answer; {reason}")


def _request(row: Row) -> Row:
    return row["request"] if isinstance(row.get("request"), dict) and "contents" not in row else row


def _either(row: Row, *keys: str) -> Any:
    return next((row[key] for key in keys if row.get(key)), None)


def _tools(tool: Row) -> list[Any]:
    """Return the functions that a tool of Gemini declares; a tool of Google's own, such as a search, stays as it is."""
    declared = _either(tool, "functionDeclarations", "function_declarations") or []
    own = {key: item for key, item in tool.items() if key not in ("functionDeclarations", "function_declarations")}
    return [*declared, *([own] if own else [])]
