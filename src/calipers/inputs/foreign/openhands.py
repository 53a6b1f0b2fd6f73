"""Events of OpenHands: of its agent SDK (``kind``), and of the servers before it (``action``, ``observation``).

Changes of state, deltas, logs and condensations are bookkeeping and are ignored; an event of an unknown kind is an
error. Of an observation's ``extras``, images, recalled knowledge, a delegate's outputs and how a command ended are
read.
Source of the fields: openhands-sdk 1.58, and ``openhands/events`` of All-Hands-AI/OpenHands.
"""

from __future__ import annotations

import json
from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.parts import REASONING, joined_block_text, joined_texts
from calipers.inputs.plain import compact_json

_KINDS = frozenset({
    "MessageEvent", "ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent", "SystemPromptEvent",
    "CondensationSummaryEvent", "ACPToolCallEvent", "ConversationErrorEvent",
})  # fmt: skip
_SILENT_KINDS = frozenset({
    "ConversationStateUpdateEvent", "Condensation", "CondensationRequest", "PauseEvent", "TokenEvent",
    "StreamingDeltaEvent", "LLMCompletionLogEvent", "HookExecutionEvent", "SecurityAnalysisEvent", "InterruptEvent",
})  # fmt: skip
_SILENT_ACTIONS = frozenset(("null", "change_agent_state", "pause", "resume", "stop", "recall", "condensation"))
_SILENT_OBSERVATIONS = frozenset(("null", "agent_state_changed"))
_NO_TEXT = frozenset(("kind", "image_urls", "screenshot", "set_of_marks"))
_OWN_REASONING = (("reasoning_content", "reasoning"), ("thinking_blocks", "thinking"))
"""The reasoning of an event beside its message, under names that the message does not use: both are read."""
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


def _event(value: dict[str, Any]) -> list[dict[str, Any]]:  # noqa: PLR0911 - one case and return per kind
    kind = value["kind"]
    name, call_id = value.get("tool_name"), value.get("tool_call_id")
    if kind in _SILENT_KINDS:
        return []
    match kind:
        case "MessageEvent":
            said = dict(value.get("llm_message") or {})
            head = _reasoning(said) | {name: value[key] for key, name in _OWN_REASONING if value.get(key)}
            said = {key: item for key, item in said.items() if key != "responses_reasoning_item"}
            return [said | head | {"content": _parts(said.get("content")) + _parts(value.get("extended_content"))}]
        case "ActionEvent":
            call = value.get("tool_call") or {}
            given = call.get("arguments") or _rest(value.get("action") or {})
            named = tool_call(str(call.get("id") or call_id), str(call.get("name") or name), given)
            thought = _parts(value.get("thought"))
            content = [*thought, *_summary(value.get("summary"), [given, thought], named["name"])]
            return [{"role": "assistant", "content": content, "tool_calls": [named]} | _reasoning(value)]
        case "ObservationEvent":
            seen = value.get("observation") or {}
            listed = _parts(seen["content"]) if isinstance(seen.get("content"), list) else [_text(_rest(seen))]
            content = listed + _ending(seen, seen.get("exit_code")) + _parts(value.get("extended_content"))
            return [tool_result(content, call_id, name=name, failed=seen.get("is_error") is True)]
        case "UserRejectObservation" | "AgentErrorEvent":
            text = value.get("error") or f"Action rejected: {value.get('rejection_reason', '')}"
            return [tool_result(text, call_id, name=name, failed=True)]
        case "SystemPromptEvent":
            texts = [value.get(key) for key in ("system_prompt", "dynamic_context")]
            return [{"role": "system", "content": _parts([text for text in texts if text])}]
        case "CondensationSummaryEvent":
            return [{"role": "user", "content": str(value.get("summary", ""))}]
        case "ConversationErrorEvent":
            return [{"role": "user", "content": f"{value.get('code', '')}: {value.get('detail', '')}"}]
        case "ACPToolCallEvent":
            return _acp_call(value)
    raise InputError(f"is an OpenHands event of the unknown kind {str(kind)[:40]!r}")


def _acp_call(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a call that another agent's server ran, with its result."""
    call = tool_call(str(value.get("tool_call_id")), str(value.get("title")), value.get("raw_input"))
    output = value.get("raw_output")
    texts = [text if isinstance(text, str) else compact_json(text) for text in (output, value.get("content")) if text]
    failed = value.get("is_error") is True
    result = tool_result(list(map(_text, texts)), str(value.get("tool_call_id")), failed=failed)
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]


def _summary(summary: Any, said: list[Any], tool: str) -> list[dict[str, Any]]:
    """Return what a model says of its action, unless the action repeats it, or the SDK made it of the call."""
    if not summary:
        return []
    if isinstance(summary, str):
        texts = [one if isinstance(one, str) else compact_json(one) for one in said]
        forms = (summary, compact_json(summary)[1:-1], json.dumps(summary)[1:-1])
        if summary.startswith(f"{tool}: {{") or any(form in text for form in forms for text in texts):
            return []
    return [_text(summary)]


def _reasoning(value: dict[str, Any]) -> dict[str, Any]:
    """Return the reasoning of an event or a message, from all places that the providers' APIs put it."""
    found = {key: value[key] for key in ("reasoning_content", "thinking_blocks") if value.get(key)}
    item = value.get("responses_reasoning_item")
    return found | ({"reasoning_details": item} if item else {})


def _parts(content: Any) -> list[dict[str, Any]]:
    """Return content parts; an image of the SDK may have several addresses."""
    found: list[dict[str, Any]] = []
    for part in [content] if isinstance(content, str | dict) else content or []:
        if isinstance(part, str):
            found.append(_text(part))
        elif isinstance(part.get("image_urls"), list):
            found += [_image(url) for url in part["image_urls"]]
        else:
            found.append(_text(part["text"]) if isinstance(part.get("text"), str) else part)
    return found


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _ending(seen: dict[str, Any], code: Any) -> list[dict[str, Any]]:
    """Return how a command ended, as an agent is told: an exit code that is none of success, or what the server says of
    a command that still runs (-1).
    """
    if code == -1:
        told = (seen.get("metadata") or {}).get("suffix")
        return [_text(told.strip())] if isinstance(told, str) and told.strip() else []
    return [_text(f"[exit code {code}]")] if isinstance(code, int) and code != 0 else []


def _rest(seen: dict[str, Any]) -> str:
    return compact_json({key: item for key, item in seen.items() if key not in _NO_TEXT and item is not None})


def _action(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    action, args = value["action"], dict(value.get("args") or {})
    if action in _SILENT_ACTIONS:
        return []
    role = "user" if value["source"] == "user" else "assistant"
    if action in ("message", "system"):
        role = "system" if action == "system" else role
        files = [_text(f"[file {name}]") for name in args.get("file_urls") or []]
        content = [_text(args.get("content") or ""), *map(_image, args.get("image_urls") or []), *files]
        return [{"role": role, "content": content}]
    thought, head = _thought(args.pop("thought", None), value, pending)
    if action in ("finish", "think", "reject"):
        texts = [text for text in (thought, args.pop("final_thought", None)) if text]
        rest = {key: item for key, item in args.items() if item}
        return [{"role": role, "content": "\n\n".join([*texts, *([compact_json(rest)] if rest else [])]), **head}]
    called = value.get("tool_call_metadata") or {}
    name = str(called.get("function_name") or action)
    call_id = pending.opened(name, called.get("tool_call_id") or f"event_{value.get('id')}")
    args = {key: item for key, item in args.items() if item is not None}
    return [{"role": role, "content": thought or None, "tool_calls": [tool_call(call_id, name, args)], **head}]


def _thought(thought: Any, value: dict[str, Any], pending: Pending) -> tuple[str, dict[str, Any]]:
    """Return an action's thought, and the reasoning before it. Calls of one reply share the reasoning: it is read once.

    The reply is in the call's metadata; newer servers have the reasoning in the thought, too.
    """
    own = thought if isinstance(thought, dict) else {"text": thought}
    reply = (value.get("tool_call_metadata") or {}).get("model_response") or {}
    choices = reply.get("choices") or [{}]
    said = [own, *((choice.get("message") or {}) for choice in choices[:1])]
    reasoning = joined_texts(joined_block_text(one.get(key)) for one in said for key in REASONING)
    if not reasoning or f"{reply.get('id')} {reasoning}" in pending.finals:
        return str(own.get("text") or ""), {}
    pending.finals.add(f"{reply.get('id')} {reasoning}")
    return str(own.get("text") or ""), {"reasoning": reasoning}


def _observation(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    kind, extras = value["observation"], value.get("extras") or {}
    if kind in _SILENT_OBSERVATIONS:  # only a run that ended says why
        return [{"role": "user", "content": str(extras["reason"])}] if extras.get("reason") else []
    if kind == "system":
        return [{"role": "system", "content": value.get("content") or ""}]
    called = value.get("tool_call_metadata") or {}
    own = called.get("tool_call_id") or f"event_{value.get('cause')}"
    waits = any(waiting == own for _, waiting in pending.calls)
    content = [_text(value.get("content") or _rest(extras)), *_shown(kind, extras, bare=not value.get("content"))]
    if not waits:  # a recall, or what the environment says unasked
        return [{"role": "user", "content": content}]
    failed = kind in _FAILED or value.get("success") is False
    return [tool_result(content, pending.answered(call_id=own), failed=failed)]


def _shown(kind: str, extras: dict[str, Any], *, bare: bool) -> list[dict[str, Any]]:
    """Return what an agent is shown of an observation's extras beside its content."""
    images = [*(extras.get("image_urls") or []), *(extras.get(key) for key in ("screenshot", "set_of_marks"))]
    found = [_image(image) for image in images if isinstance(image, str) and image.startswith(("data:", "http"))]
    texts = {key: item for key, item in extras.items() if item and key not in ("recall_type", "image_urls")}
    if kind in ("recall", "delegate") and texts and not bare:
        found.append(_text(compact_json(texts)))
    return found + _ending(extras, (extras.get("metadata") or {}).get("exit_code"))
