"""Steps of ATIF, the Agent Trajectory Interchange Format of Harbor.

Metrics, times and settings of a step are ignored. Source of the fields: ``harbor.models.trajectories`` (harbor 0.25).
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.parts import REASONING
from calipers.inputs.plain import compact_json

STEP_KEYS = frozenset({
    "step_id", "timestamp", "source", "model_name", "reasoning_effort", "message", "tool_calls", "observation",
    "metrics", "is_copied_context", "llm_call_count", "extra", *REASONING,
})  # fmt: skip
"""The keys of a step that are read, or ignored."""
_ROLES = {"agent": "assistant", "user": "user", "system": "system"}


def is_atif(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a step of an ATIF trajectory."""
    return "step_id" in value and "source" in value and "message" in value and "role" not in value


def chat_messages_of_atif(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a step: its message with calls and reasoning, then a message for each result."""
    source = value["source"]
    if source not in _ROLES:
        raise InputError(f"has the source {str(source)[:40]!r}; ATIF has {', '.join(_ROLES)}")
    message: dict[str, Any] = {"role": _ROLES[source], "content": _content(value["message"])}
    message |= {key: value[key] for key in REASONING if value.get(key)}
    calls = value.get("tool_calls") or []
    if calls:
        message["tool_calls"] = [
            tool_call(
                pending.opened(str(call.get("function_name")), call.get("tool_call_id")),
                str(call.get("function_name")),
                call.get("arguments"),
            )
            for call in calls
        ]
    results = (value.get("observation") or {}).get("results") or []
    only = calls[0].get("tool_call_id") if len(calls) == len(results) == 1 else None
    return [message, *(_result(result, only, pending) for result in results)]


def _result(result: dict[str, Any], only: str | None, pending: Pending) -> dict[str, Any]:
    content = _content(result.get("content"))
    if result.get("subagent_trajectory_ref"):
        listed = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        content = [*listed, {"type": "text", "text": compact_json(result["subagent_trajectory_ref"])}]
    call_id = result.get("source_call_id") or only
    return tool_result(content, pending.answered(call_id=call_id) if call_id else None)


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [_part(part) if isinstance(part, dict) else part for part in content]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    source = part.get("source")
    if not isinstance(source, dict):
        return part
    kind = "image" if part.get("type") == "image" else "file"
    return {"type": kind, "url": source.get("path"), **({"filename": source.get("path")} if kind == "file" else {})}
