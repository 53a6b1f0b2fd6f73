"""Samples of inspect_ai's logs: their messages, and what else is kept of them. Not responsible for files
(``eval_file``).

Events, stores and times of a sample are not read. Source of the fields: inspect_ai, and logs that it wrote in both of
its formats.
"""

from __future__ import annotations

from typing import Any

from calipers.inputs.foreign.rollout import rest_of
from calipers.inputs.parts import REASONING, joined_block_text

_NOT_KEPT = ("messages", "input", "events", "events_data", "attachments", "store", "timelines", "output")


def notes_of_sample(sample: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a sample beside its messages: an input and an output that they do not repeat, too."""
    output = sample.get("output") or {}
    own = {
        "output_error": output.get("error"),
        "output": _unsaid_answer(sample),
        "other_outputs": [choice["message"] for choice in (output.get("choices") or [])[1:]],
        "input": sample.get("input") if not _is_repeated(sample.get("input"), sample.get("messages")) else None,
    }
    return rest_of(sample, *_NOT_KEPT) | {key: item for key, item in own.items() if item}


def _is_repeated(given: Any, messages: Any) -> bool:
    """Return whether every text of a sample's input is also in its messages, or they are made of it."""
    if not messages:
        return True
    texts = [given] if isinstance(given, str) else [message.get("content") for message in given or []]
    said = [message.get("content") for message in messages]
    return all(text in said or any(isinstance(one, str) and str(text) in one for one in said) for text in texts)


def messages_of_sample(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a sample's messages, with attachments in their places; its input where there are none, and its output
    where none is a reply: a solver may set the output, which is scored, without a message.
    """
    attachments = sample.get("attachments") or {}
    given, answer = list(sample.get("messages") or []), _answer(sample)
    if not given:
        asked = sample.get("input")
        given = [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked or [])
    if answer and not _replies(sample):
        given.append(answer)
    return [_message(_attached(message, attachments)) for message in given]


def _answer(sample: dict[str, Any]) -> dict[str, Any] | None:
    choices = (sample.get("output") or {}).get("choices")
    return choices[0]["message"] if choices else None


def _replies(sample: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in sample.get("messages") or [] if message["role"] == "assistant"]


def _unsaid_answer(sample: dict[str, Any]) -> str | None:
    """Return the text of a sample's output if there are replies, and none repeats it."""
    replies, text = _replies(sample), joined_block_text((_answer(sample) or {}).get("content"))
    return text if replies and not any(text in joined_block_text(one.get("content")) for one in replies) else None


def _attached(value: Any, attachments: dict[str, str]) -> Any:
    if isinstance(value, str):
        return attachments.get(value.removeprefix("attachment://"), value) if value.startswith("attachment") else value
    if isinstance(value, dict):
        return {key: _attached(item, attachments) for key, item in value.items()}
    return [_attached(item, attachments) for item in value] if isinstance(value, list) else value


def _message(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        content = [block for part in content for block in _blocks(part)]
    found = {"role": message["role"], "content": content}
    found |= {key: message[key] for key in REASONING if message.get(key)}  # its older logs had it beside the content
    calls = message.get("tool_calls")
    if calls and isinstance(content, list):  # they follow the tools that the provider ran
        found["content"] = [*content, *({**call, "type": "tool_use"} for call in calls)]
    elif calls:
        found["tool_calls"] = calls
    if message["role"] == "tool":
        error = message.get("error")
        found["tool_call_id"] = message.get("tool_call_id")
        if error:
            text = str(error.get("message") or "")
            found["is_error"] = True
            found["content"] = [*_listed(content), {"type": "text", "text": text}] if content else text
    return found


def _listed(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _blocks(part: Any) -> list[dict[str, Any]]:
    """Return a content of inspect_ai as typed blocks."""
    if not isinstance(part, dict):
        return [{"type": "text", "text": str(part)}]
    kind = part.get("type")
    if kind == "text":
        return [{key: part[key] for key in ("type", "text", "citations") if part.get(key) is not None}]
    if kind == "reasoning":
        keys = ("summary",) if part.get("redacted") else ("summary", "reasoning")
        return [{"type": "thinking", "thinking": "\n\n".join(part[key] for key in keys if part.get(key))}]
    if kind == "tool_use":  # run by the provider, with its result
        call = {"type": "tool_use", "id": part["id"], "name": part["name"], "input": part.get("arguments")}
        failed = {"is_error": True} if part.get("error") else {}
        texts = [str(part[key]) for key in ("result", "error") if part.get(key)]
        return [call, {"type": "tool_result", "tool_use_id": part["id"], "content": "\n\n".join(texts), **failed}]
    if kind in ("audio", "video", "document"):
        where = str(part.get(kind))
        name = {"filename": part["filename"]} if part.get("filename") else {}
        return [{"type": "file", ("file_data" if where.startswith("data:") else "file_url"): where, **name}]
    return [part]
