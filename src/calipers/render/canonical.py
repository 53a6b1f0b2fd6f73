"""Puts messages into the canonical form in which they are compared, shared and shown to the judge.

Call ids become ``c1``, ``c2``, ... in order of appearance (``u1``, ... for a result without its call). Absent and empty
optional values are dropped, a single text part becomes its text, and ``content`` is always present. ``inputs`` read
the message forms of other libraries, and ``transcript`` writes messages as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from calipers.render.binaries import plain_json, without_data_urls
from calipers.types import Message

Reasoning: TypeAlias = Literal["hidden", "shown"]

# Servers and trainers add these keys. They say nothing about what the policy did, so the judge does not see them.
_BOOKKEEPING = frozenset({
    "id", "index", "created", "timestamp", "usage", "cost", "weight", "cache_control", "provider_specific_fields",
    "logprobs", "token_ids", "prompt_token_ids", "completion_token_ids", "response_token_ids", "loss_mask",
})  # fmt: skip
_REASONING = ("reasoning", "reasoning_content")
# Servers often repeat the reasoning under these keys, as signed or encrypted blocks.
_REASONING_FORMS = ("reasoning_details", "thinking_blocks")
_REASONING_PARTS = frozenset({"reasoning", "thinking", "redacted_thinking"})
_READ_FIRST = frozenset({"role", "content"})


@dataclass(slots=True)
class Canonicaliser:
    """Makes the messages of one trajectory canonical, in order. ``elided`` describes what was omitted from them."""

    reasoning: Reasoning
    elided: list[str] = field(default_factory=list)
    hidden: int = 0
    calls: int = 0
    unanswered: dict[str, list[str]] = field(default_factory=dict)
    answered: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Canonicaliser:
        """Return an independent copy of this state of rendering, taken after the group's context. Each transcript
        continues from a copy.
        """
        if not (self.calls or self.hidden or self.elided or self.answered):
            return Canonicaliser(self.reasoning)
        unanswered = {key: list(value) for key, value in self.unanswered.items()}
        return Canonicaliser(
            self.reasoning, list(self.elided), self.hidden, self.calls, unanswered, dict(self.answered)
        )

    def canonical_message(self, message: Message) -> Message:
        """Return ``message`` in canonical form for the transcript. If it has only a role and a text, this is the same
        object.
        """
        content = message.get("content")
        if type(content) is str and content:
            # Searching for a single character first is ten times faster, and most texts contain neither character.
            if ";" in content and ";base64," in content:
                content = without_data_urls(content, self.elided)
            elif (
                len(message) == 2
                and type(message.get("role")) is str
                and (">" not in content or "think>" not in content)
            ):
                return message
        role = str(message.get("role") or "unknown")
        known: dict[str, Any] = {"role": role, "content": self._content(content)}
        # Zero and False are information; None and empty values are not.
        rest = {key: value for key, value in message.items() if (value or value == 0) and key not in _READ_FIRST}
        if role == "assistant":
            self._take_calls(known, rest)
        elif role == "tool":
            self._take_result(known, rest)
        if rest:
            self._take_rest(known, rest)
        if self.reasoning == "hidden" and role == "assistant":
            self._hide_inline(known)
        return known

    def omissions(self) -> tuple[str, ...]:
        """Return a line for each kind of content that the transcript has omitted from the messages so far, without
        duplicates.
        """
        hidden = [f"reasoning of {self.hidden} message{'s' * (self.hidden > 1)} hidden"] if self.hidden else []
        return (*hidden, *dict.fromkeys(self.elided))

    def _content(self, content: Any) -> str | list[dict[str, Any]]:
        if content is None or isinstance(content, str):
            return content or ""
        if isinstance(content, Mapping):
            content = [content]
        if not isinstance(content, Sequence):
            return str(content)
        parts = [part for part in map(self._part, content) if part is not None and part != {"type": "text", "text": ""}]
        if not parts:
            return ""
        return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts

    def _part(self, part: Any) -> dict[str, Any] | None:
        if isinstance(part, str):
            part = {"type": "text", "text": part}
        if not isinstance(part, Mapping):
            return {"type": "unknown", "value": plain_json(part, self.elided)}
        if part.get("type") == "text" and isinstance(part.get("text") or "", str):
            return {"type": "text", "text": without_data_urls(part.get("text") or "", self.elided)}
        image = _image(part)
        if image is not None:
            return {"type": "image_url", "image_url": image}
        if self.reasoning == "hidden" and part.get("type") in _REASONING_PARTS:
            self.hidden += 1
            return None
        rest = plain_json({key: value for key, value in part.items() if key not in _BOOKKEEPING}, self.elided)
        usual = isinstance(rest.get("type"), str) and rest["type"] not in {"text", "image_url"}
        return rest if usual else {"type": "unknown", "value": rest}

    def _take_calls(self, known: dict[str, Any], rest: dict[str, Any]) -> None:
        calls = rest.pop("tool_calls", None)
        if calls is not None:
            known["tool_calls"] = [self._call(call) for call in (calls if isinstance(calls, list | tuple) else [calls])]

    def _call(self, call: Any) -> dict[str, Any]:
        if not isinstance(call, Mapping):
            call = {"value": call}
        self.calls += 1
        own = f"c{self.calls}"
        self.unanswered.setdefault(str(call.get("id") or ""), []).append(own)
        function = call.get("function")
        if _is_plain_function_call(call, function):
            arguments = without_data_urls(_text_or_json(function.get("arguments")), self.elided)
            return {"id": own, "type": "function", "function": {"name": function["name"], "arguments": arguments}}
        rest = {key: value for key, value in call.items() if key not in {"id", "index"}}
        return {"id": own, **plain_json(rest, self.elided)}

    def _take_result(self, known: dict[str, Any], rest: dict[str, Any]) -> None:
        answered = rest.pop("tool_call_id", None)
        if answered is not None:
            known["tool_call_id"] = self._call_answered(str(answered))
        if rest.pop("is_error", False):
            known["is_error"] = True

    def _call_answered(self, call_id: str) -> str:
        """Return the canonical id of the call that a tool result answers: the oldest unanswered call with that id."""
        waiting = self.unanswered.get(call_id)
        if waiting:
            self.answered[call_id] = waiting.pop(0)
        elif call_id not in self.answered:
            unknown = sum(own.startswith("u") for own in self.answered.values())
            self.answered[call_id] = f"u{unknown + 1}"
        return self.answered[call_id]

    def _take_rest(self, known: dict[str, Any], rest: dict[str, Any]) -> None:
        self._take_reasoning(known, rest)
        for key in ("name", "refusal"):
            if key in rest:
                known[key] = _text_or_json(rest.pop(key))
        for key in sorted(rest, key=str):
            if key in _BOOKKEEPING:
                self.elided.append(f"key {key!r} left out")
            else:
                known[str(key)] = plain_json(rest[key], self.elided)

    def _take_reasoning(self, known: dict[str, Any], rest: dict[str, Any]) -> None:
        if self.reasoning == "hidden":
            self.hidden += bool([rest.pop(key) for key in (*_REASONING, *_REASONING_FORMS) if key in rest])
            return
        texts = [_text_or_json(rest.pop(key)) for key in _REASONING if key in rest]
        if texts:
            known["reasoning"] = "\n".join(dict.fromkeys(texts))

    def _hide_inline(self, known: dict[str, Any]) -> None:
        """Hide a ``<think>`` block at the start of an assistant's text. If the block never ends, no text remains.

        Chat templates that end in ``<think>`` produce texts that contain only the closing tag.
        """
        content = known["content"]
        if not isinstance(content, str) or "think>" not in content:
            return
        opened = content.lstrip().startswith("<think>")
        if not opened and ("</think>" not in content or "<think>" in content):
            return  # a tag further down is part of the answer
        known["content"] = content.partition("</think>")[2].lstrip()
        self.hidden += 1


def _is_plain_function_call(call: Mapping[str, Any], function: Any) -> bool:
    """Return whether a tool call is a function call with a name and arguments, and nothing else."""
    return (
        isinstance(function, Mapping)
        and isinstance(function.get("name"), str)
        and call.get("type") in {"function", None}
        and call.keys() <= {"id", "type", "function", "index"}
        and function.keys() <= {"name", "arguments"}
    )


def _text_or_json(value: Any) -> str:
    """Return a text unchanged, and any other message value as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(plain_json(value, []), ensure_ascii=False)


def _image(part: Mapping[str, Any]) -> dict[str, str] | None:
    image = part.get("image_url")
    if part.get("type") != "image_url":
        return None
    url = image.get("url") if isinstance(image, Mapping) else image
    if not isinstance(url, str) or not url:
        return None
    detail = image.get("detail") if isinstance(image, Mapping) else None
    return {"url": url, "detail": detail} if isinstance(detail, str) and detail else {"url": url}
