"""Events of OpenHands: of its agent SDK (``kind``), and of the servers before it (``action``, ``observation``).

Changes of state, deltas, logs and condensations are bookkeeping and are ignored; an event of an unknown kind is an
error. Source of the fields: openhands-sdk 1.58, and ``openhands/events`` of All-Hands-AI/OpenHands.
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.plain import compact_json

_KINDS = frozenset({
    "MessageEvent", "ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent", "SystemPromptEvent",
    "CondensationSummaryEvent",
})  # fmt: skip
_SILENT_KINDS = frozenset({
    "ConversationStateUpdateEvent", "Condensation", "CondensationRequest", "PauseEvent", "TokenEvent",
    "StreamingDeltaEvent", "LLMCompletionLogEvent", "HookExecutionEvent", "ConversationErrorEvent",
})  # fmt: skip
_SILENT_ACTIONS = frozenset(("null", "change_agent_state", "pause", "resume", "stop", "recall", "condensation"))
_SILENT_OBSERVATIONS = frozenset(("null", "agent_state_changed"))
_FAILED = frozenset(("error", "user_rejected"))


def is_openhands(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is an event of OpenHands."""
    if "source" not in value or "role" in value:
        return False
    old = (isinstance(value.get("action"), str) and "args" in value) or isinstance(value.get("observation"), str)
    return old or str(value.get("kind")) in _KINDS | _SILENT_KINDS or str(value.get("kind")).endswith("Event")


def chat_messages_of_openhands(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate an event to chat messages, none for bookkeeping."""
    if "kind" in value:
        return _event(value)
    if isinstance(value.get("action"), str):
        return _action(value, pending)
    return _observation(value, pending)


def _event(value: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: PLR0911 - one return per kind
    kind = value["kind"]
    name, call_id = value.get("tool_name"), value.get("tool_call_id")
    if kind in _SILENT_KINDS:
        return []
    match kind:
        case "MessageEvent":
            said = dict(value.get("llm_message") or {})
            return [said | {"content": _parts(said.get("content")) + _parts(value.get("extended_content"))}]
        case "ActionEvent":
            call = value.get("tool_call") or {}
            named = tool_call(str(call.get("id") or call_id), str(call.get("name") or name), call.get("arguments"))
            head = {key: value[key] for key in ("reasoning_content", "thinking_blocks") if value.get(key)}
            return [{"role": "assistant", "content": _parts(value.get("thought")), "tool_calls": [named], **head}]
        case "ObservationEvent":
            seen = value.get("observation") or {}
            content = _parts(seen["content"]) if isinstance(seen.get("content"), list) else _rest(seen)
            if isinstance(content, list):
                content += _parts(value.get("extended_content"))
            return [tool_result(content, call_id, name=name, failed=seen.get("is_error") is True)]
        case "UserRejectObservation" | "AgentErrorEvent":
            text = value.get("error") or f"Action rejected: {value.get('rejection_reason', '')}"
            return [tool_result(text, call_id, name=name, failed=True)]
        case "SystemPromptEvent":
            texts = [value.get(key) for key in ("system_prompt", "dynamic_context")]
            return [{"role": "system", "content": _parts([text for text in texts if text])}]
        case "CondensationSummaryEvent":
            return [{"role": "user", "content": str(value.get("summary", ""))}]
    raise InputError(f"is an OpenHands event of the unknown kind {str(kind)[:40]!r}")


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return content parts; an image of the SDK may have several addresses."""
    found: list[dict[str, Any]] = []
    for part in [content] if isinstance(content, str | dict) else content or []:
        if isinstance(part, dict) and isinstance(part.get("image_urls"), list):
            found += [{"type": "image_url", "image_url": {"url": url}} for url in part["image_urls"]]
        else:
            text = part if isinstance(part, str) else part.get("text", "")
            found.append({"type": "text", "text": text})
    return found


def _rest(seen: dict[str, Any]) -> str:
    return compact_json({key: item for key, item in seen.items() if key != "kind" and item is not None})


def _action(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    action, args = value["action"], dict(value.get("args") or {})
    if action in _SILENT_ACTIONS:
        return []
    role = "user" if value["source"] == "user" else "assistant"
    if action in ("message", "system"):
        images = [{"type": "image_url", "image_url": {"url": url}} for url in args.get("image_urls") or []]
        role = "system" if action == "system" else role
        return [{"role": role, "content": [{"type": "text", "text": args.get("content") or ""}, *images]}]
    if action in ("finish", "think", "reject"):
        texts = [args[key] for key in ("thought", "final_thought") if args.get(key)]
        rest = {key: item for key, item in args.items() if key not in ("thought", "final_thought") and item}
        return [{"role": role, "content": "\n\n".join([*texts, *([compact_json(rest)] if rest else [])])}]
    thought = args.pop("thought", None) or None
    called = value.get("tool_call_metadata") or {}
    name = str(called.get("function_name") or action)
    call_id = pending.opened(name, called.get("tool_call_id") or f"event_{value.get('id')}")
    args = {key: item for key, item in args.items() if item is not None}
    return [{"role": role, "content": thought, "tool_calls": [tool_call(call_id, name, args)]}]


def _observation(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    if value["observation"] in _SILENT_OBSERVATIONS:
        return []
    if value["observation"] == "system":
        return [{"role": "system", "content": value.get("content") or ""}]
    called = value.get("tool_call_metadata") or {}
    own = called.get("tool_call_id") or f"event_{value.get('cause')}"
    waits = any(waiting == own for _, waiting in pending.calls)
    content: Any = value.get("content") or _rest(value.get("extras") or {})
    if not waits:  # a recall, or what the environment says unasked
        return [{"role": "user", "content": content}]
    failed = value["observation"] in _FAILED or value.get("success") is False
    return [tool_result(content, pending.answered(call_id=own), failed=failed)]
