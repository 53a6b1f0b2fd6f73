"""Memory steps of smolagents, as ``AgentMemory.get_full_steps`` and ``get_succinct_steps`` return them.

The messages that were sent to the model repeat earlier steps and are ignored, as are times and token counts. Source of
the fields: ``smolagents.memory``, and steps that it wrote.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.pending import Pending, tool_result
from calipers.inputs.plain import compact_json


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


def chat_messages_of_smolagents(value: dict[str, Any], pending: Pending) -> list[dict[str, Any]]:
    """Translate a memory step to chat messages: what the model wrote, what it called, and what came back."""
    if "system_prompt" in value:
        return [{"role": "system", "content": value["system_prompt"]}]
    if "task" in value:
        images = [{"type": "image", "data": image} for image in value.get("task_images") or []]
        return [{"role": "user", "content": [{"type": "text", "text": value["task"]}, *images]}]
    if "plan" in value:
        return [{"role": "assistant", "content": value["plan"]}]
    if "step_number" not in value:
        return _final(value["output"], pending)
    calls = value.get("tool_calls") or []
    said = value.get("model_output")
    if said is None:
        said = (value.get("model_output_message") or {}).get("content")
    found: list[dict[str, Any]] = []
    if said is not None or calls:
        found.append({"role": "assistant", "content": said, "tool_calls": calls})
    results = _results(value)
    if results or value.get("error"):
        call_id = calls[0].get("id") if calls and isinstance(calls[0], dict) else None
        found.append(tool_result(results, call_id, failed=bool(value.get("error"))))
    if value.get("is_final_answer"):
        found += _final(value.get("action_output"), pending)
    return found


def _results(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a step's actions returned; the output only where the observations do not repeat it."""
    texts = [value["observations"]] if value.get("observations") else []
    output = value.get("action_output")
    if output is not None and not value.get("is_final_answer") and _text(output) not in "".join(texts):
        texts.append(_text(output))
    error = value.get("error")
    if error:
        texts.append(str(error.get("message") or compact_json(error)) if isinstance(error, dict) else str(error))
    parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    return parts + [{"type": "image", "data": image} for image in value.get("observations_images") or []]


def _final(output: Any, pending: Pending) -> list[dict[str, Any]]:
    """Return the final answer as a message, unless the step before stated the same."""
    text = _text(output)
    if text in pending.finals:
        return []
    pending.finals.add(text)
    return [{"role": "assistant", "content": text}]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact_json(value)
