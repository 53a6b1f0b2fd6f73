"""Memory steps of smolagents, as ``AgentMemory.get_full_steps`` and ``get_succinct_steps`` return them.

The messages that were sent to the model repeat earlier steps and are ignored, as are times and token counts. Source of
the fields: ``smolagents.memory``, and steps that it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from calipers.inputs.foreign.pending import Pending, tool_call, tool_result
from calipers.inputs.parts import REASONING
from calipers.inputs.plain import compact_json

_IMAGES = ("iVBOR", "/9j/", "R0lG", "UklG", "Qk", "data:", "http://", "https://")
"""How an image's address begins, or the base64 of PNG, JPEG, GIF, WebP and BMP."""


def is_smolagents(value: dict[str, Any]) -> bool:
    """Return whether a plain dict is a memory step."""
    if "role" in value or "type" in value:
        return False
    return (
        ("step_number" in value and "model_output" in value)
        or ("plan" in value and "model_output_message" in value)
        or value.keys() == {"system_prompt"}
        or value.keys() in ({"task"}, {"task", "task_images"})
        or value.keys() == {"output"}
    )


def is_bare_step(value: dict[str, Any]) -> bool:
    """Return whether a memory step has a single key that rows of any other kind may have, too: a task or an output."""
    return is_smolagents(value) and "step_number" not in value and "plan" not in value


def chat_messages_of_smolagents(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a memory step to chat messages: what the model wrote, what it called, and what came back."""
    if "system_prompt" in value:
        return [{"role": "system", "content": value["system_prompt"]}]
    if "task" in value:
        pending.finals.clear()  # the next run may end with the same answer
        return [{"role": "user", "content": [_part(value["task"]), *_images(value.get("task_images"))]}]
    if "plan" in value:
        plan = "\n\n".join([*_unsaid(value, [value["plan"]]), value["plan"]])
        return [{"role": "assistant", "content": plan} | _reasoning(value)]
    if "step_number" not in value:
        return _final(value["output"], pending)
    calls = _calls(value, pending)
    said = value.get("model_output")
    listed = said if isinstance(said, list) else [] if said is None else [_part(_text(said))]
    listed = [*listed, *map(_part, _unsaid(value, [compact_json(listed), _text(said)]))]
    found: list[dict[str, Any]] = []
    reasoning = _reasoning(value)
    if listed or calls or reasoning:
        found.append({"role": "assistant", "content": listed or None, "tool_calls": calls} | reasoning)
    results = _results(value)
    if results or value.get("error"):
        call_id = calls[0].get("id") if calls and isinstance(calls[0], dict) else None
        found.append(tool_result(results, call_id, failed=bool(value.get("error"))))
    if value.get("is_final_answer") and value.get("action_output") is not None:
        found += _final(value["action_output"], pending)
    return found


def _reasoning(value: dict[str, Any]) -> dict[str, Any]:
    """Return the reasoning that the server returned with the model's message."""
    message = value.get("model_output_message") or {}
    return {key: message[key] for key in REASONING if message.get(key)}


def _unsaid(value: dict[str, Any], said: list[str]) -> list[str]:
    """Return the text of the model's message that ``said`` does not repeat."""
    content = (value.get("model_output_message") or {}).get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in texts if isinstance(text, str) and text and not any(text in one for one in said)]


def _calls(value: dict[str, Any], pending: Pending) -> list[Any]:
    """Return a step's calls: those that were made, or that the model asked for; and code that ran without a call."""
    calls = value.get("tool_calls") or (value.get("model_output_message") or {}).get("tool_calls") or []
    code = value.get("code_action")
    told = [compact_json(calls), _text(value.get("model_output"))]
    if not code or any(code in one or compact_json(code)[1:-1] in one for one in told):
        return list(calls)
    return [*calls, tool_call(pending.unused_id(None), "python_interpreter", code)]


def _results(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a step's actions returned; the output only where the observations do not repeat it."""
    texts = [value["observations"]] if value.get("observations") else []
    output = value.get("action_output")
    if output is not None and not value.get("is_final_answer") and _text(output) not in "".join(texts):
        texts.append(_text(output))
    error = value.get("error")
    if error:
        texts.append(str(error.get("message") or compact_json(error)) if isinstance(error, dict) else str(error))
    return [*map(_part, texts), *_images(value.get("observations_images"))]


def _images(given: Iterable[Any] | None) -> list[dict[str, Any]]:
    """Return images as parts. smolagents writes bare pixels without their size, which are named and not shown."""
    known = [str(image) for image in given or []]
    return [
        {"type": "image", "url": image}
        if image.startswith(_IMAGES[-3:])
        else {"type": "image", "data": image}
        if image.startswith(_IMAGES)
        else _part("[an image, recorded as pixels without a size, which cannot be shown]")
        for image in known
    ]


def _part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _final(output: Any, pending: Pending) -> list[dict[str, Any]]:
    """Return the final answer as a message, unless the step before stated the same."""
    text = _text(output)
    if text in pending.finals:
        return []
    pending.finals.add(text)
    return [{"role": "assistant", "content": text}]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)
