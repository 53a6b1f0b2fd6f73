"""Puts messages into the canonical form in which they are compared, shared and shown to the judge.

Call ids become ``c1``, ``c2``, ... in order of appearance (``u1``, ... for a result without its call). Absent and empty
optional values are dropped, a single text part becomes its text, ``content`` is always present, and a short placeholder
replaces binary data. ``inputs`` read the message forms of other libraries, and ``transcript`` writes messages as text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from calipers.types import Message

Reasoning: TypeAlias = Literal["hidden", "shown"]

# Servers and trainers add these keys. They say nothing about what the policy did, so the judge does not see them.
_BOOKKEEPING = frozenset({
    "id", "index", "created", "timestamp", "usage", "cost", "weight", "cache_control", "provider_specific_fields",
    "logprobs", "token_ids", "prompt_token_ids", "completion_token_ids", "response_token_ids", "loss_mask",
})  # fmt: skip
_REASONING_PARTS = frozenset({"reasoning", "thinking", "redacted_thinking"})
_READ_FIRST = frozenset({"role", "content"})
_CALL_KEYS, _FUNCTION_KEYS = {"id", "type", "function"}, {"name", "arguments"}


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
        return replace(self, elided=list(self.elided), unanswered=unanswered, answered=dict(self.answered))

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
        if role == "assistant" and "tool_calls" in rest:
            known["tool_calls"] = [self._call(call) for call in rest.pop("tool_calls")]
        if role == "tool" and "tool_call_id" in rest:
            known["tool_call_id"] = self._call_answered(str(rest.pop("tool_call_id")))
        if role == "tool" and rest.pop("is_error", False):
            known["is_error"] = True
        if rest:
            self._take_rest(known, rest)
        if self.reasoning == "hidden" and role == "assistant":
            self._hide_inline(known)
        return known

    def _take_rest(self, known: dict[str, Any], rest: dict[str, Any]) -> None:
        if self.reasoning == "hidden":
            self.hidden += rest.pop("reasoning", None) is not None
        known |= {key: str(rest.pop(key)) for key in ("reasoning", "name", "refusal") if key in rest}
        self.elided += [f"key {key!r} left out" for key in sorted(rest.keys() & _BOOKKEEPING)]
        known |= {str(key): plain_json(rest[key], self.elided) for key in sorted(rest.keys() - _BOOKKEEPING)}

    def omissions(self) -> tuple[str, ...]:
        """Return a line for each kind of content that the transcript has omitted from the messages so far, without
        duplicates.
        """
        hidden = [f"reasoning of {self.hidden} message{'s' * (self.hidden > 1)} hidden"] if self.hidden else []
        return (*hidden, *dict.fromkeys(self.elided))

    def _content(self, content: Any) -> str | list[dict[str, Any]]:
        if content is None or isinstance(content, str):
            return content or ""
        parts = [part for part in map(self._part, content) if part is not None and part != {"type": "text", "text": ""}]
        if not parts:
            return ""
        return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts

    def _part(self, part: Mapping[str, Any]) -> dict[str, Any] | None:
        kind, image = part.get("type"), part.get("image_url")
        if kind == "text" and isinstance(part.get("text") or "", str):
            return {"type": "text", "text": without_data_urls(part.get("text") or "", self.elided)}
        if kind == "image_url" and isinstance(image, Mapping) and isinstance(image.get("url"), str) and image["url"]:
            detail = image.get("detail")
            return {"type": "image_url", "image_url": {"url": image["url"]} | ({"detail": detail} if detail else {})}
        if self.reasoning == "hidden" and kind in _REASONING_PARTS:
            self.hidden += 1
            return None
        rest = plain_json({key: value for key, value in part.items() if key not in _BOOKKEEPING}, self.elided)
        usual = isinstance(kind, str) and kind not in {"text", "image_url"}
        return dict(rest) if usual else {"type": "unknown", "value": rest}

    def _call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        self.calls += 1
        number = f"c{self.calls}"
        self.unanswered.setdefault(str(call.get("id") or ""), []).append(number)
        if is_usual_call(call):
            function = call["function"]
            arguments = without_data_urls(function["arguments"], self.elided)
            return {"id": number, "type": "function", "function": {"name": function["name"], "arguments": arguments}}
        rest = {key: value for key, value in call.items() if key not in {"id", "index"}}
        return {"id": number, **plain_json(rest, self.elided)}

    def _call_answered(self, call_id: str) -> str:
        """Return the canonical id of the call that a tool result answers: the oldest unanswered call with that id."""
        waiting = self.unanswered.get(call_id)
        if waiting:
            self.answered[call_id] = waiting.pop(0)
        elif call_id not in self.answered:
            unknown = sum(call_number.startswith("u") for call_number in self.answered.values())
            self.answered[call_id] = f"u{unknown + 1}"
        return self.answered[call_id]

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


def is_usual_call(call: Mapping[str, Any]) -> bool:
    """Return whether a tool call is shown as a name and arguments: it has them as text, and nothing else."""
    function = call.get("function")
    if call.keys() != _CALL_KEYS or call["type"] != "function" or not isinstance(function, Mapping):
        return False
    texts = function.keys() == _FUNCTION_KEYS and isinstance(function["name"], str)
    return texts and isinstance(function["arguments"], str)


# Shorter runs of base64 characters are names, hashes and keys: they are evidence and cost few tokens.
_MIN_BASE64 = 256
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_MIN_BASE64},}}={{0,2}}")
_DATA_URL = re.compile(rf"data:([\w.+/-]{{1,80}});base64,[A-Za-z0-9+/_-]{{{_MIN_BASE64},}}={{0,2}}")
# Values nested more deeply are no evidence for a judge, and would exhaust the stack.
_MAX_DEPTH = 32


def plain_json(value: Any, elided: list[str], *, depth: int = 0) -> Any:  # noqa: PLR0911 - one return a kind
    """Return a part of a trajectory as JSON data for the transcript. It survives a round trip. ``elided`` gets a line
    for each replacement.

    Keys become strings, sequences become lists, NaN and infinity become text, and unknown objects become their ``str``.
    """
    match value:
        case None | bool() | int():
            return value
        case str() if len(value) >= _MIN_BASE64 and _BASE64.fullmatch(value):
            return _placeholder("base64", value, elided)
        case str():
            return without_data_urls(value, elided)
        case Mapping() | Sequence() if depth >= _MAX_DEPTH:
            elided.append(f"values nested deeper than {_MAX_DEPTH} left out")
            return "[nested too deeply]"
        case Mapping():
            return {str(key): plain_json(item, elided, depth=depth + 1) for key, item in value.items()}
        case Sequence():
            return [plain_json(item, elided, depth=depth + 1) for item in value]
        case _:
            return value if isinstance(value, float) and math.isfinite(value) else str(value)


def without_data_urls(text: str, elided: list[str]) -> str:
    """Replace base64 data URLs in text shown to the judge by placeholders. ``elided`` gets a line for each."""
    if ";base64," not in text:
        return text
    return _DATA_URL.sub(lambda match: _placeholder(match[1], match[0], elided), text)


def _placeholder(kind: str, data: str, elided: list[str]) -> str:
    digest = hashlib.blake2b(data.encode(), digest_size=6).hexdigest()
    shown = f"[{kind}, {len(data)} bytes, blake2b {digest}]"
    elided.append(f"binary data shown as {shown}")
    return shown
