"""Judges behind Anthropic's Messages API: Claude, and other servers with this API.

The tests compare the field names with the types of Anthropic's own SDK.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_to_bytes

from calipers.backends.negotiation import Terms
from calipers.backends.server import HttpBackend
from calipers.backends.transport.refusals import require_no_error
from calipers.backends.transport.reply import (
    HttpReply,
    Peer,
    attach_usage,
    completion,
    declined_error,
    empty_reply_error,
    finish_reason_of,
    reply_excerpt,
    reply_json,
)
from calipers.errors import TransientError
from calipers.types import Completion, JudgeRequest, Message, ToolCall, text_of_calls
from calipers.types.encoding import objects_in

_VERSION = "2023-06-01"
_DEFAULT_LIMIT = 8192
"""The token limit of a request without a limit, because the API requires one. Judge uses the same default."""

_UNKNOWN_TO_SCHEMAS = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "minLength", "maxLength",
     "maxItems", "uniqueItems"}
)  # fmt: skip
"""Schema keywords that its structured output does not accept. The question states the scale, too, and scores are
checked when they are read.
"""


class Anthropic(HttpBackend):
    """Judges at ``base_url``, with or without ``/v1``.

    The schema is sent as ``output_config.format``, without the keywords that the API does not accept there. A model
    without structured output gets the question alone. The system message is marked for the prompt cache.
    """

    path = "/messages"
    forms = ("json_schema",)
    required = frozenset({"model", "messages", "system", "max_tokens", "tools"})
    has_logprobs = False
    """The API has no log-probabilities."""
    has_tools = True

    @staticmethod
    def address(base_url: str) -> str:
        """Return the address with the ``/v1`` that may be missing."""
        root = base_url.strip().rstrip("/")
        return root if root.endswith(("/v1", "/messages")) else f"{root}/v1"

    @staticmethod
    def key_headers(key: str) -> dict[str, str]:
        """Return the headers of every request to Anthropic's API."""
        return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}

    def body(self, request: JudgeRequest, terms: Terms) -> dict[str, Any]:
        """Return the body of a request to Anthropic's API."""
        limit = request.max_tokens or _DEFAULT_LIMIT
        body = {"model": self.model, "messages": _messages(request.messages), **_system(request.messages)}
        if request.tools:
            body["tools"] = [
                {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
                for tool in (tool["function"] for tool in request.tools)
            ]
        body["max_tokens"] = limit if terms.limit is None else min(limit, terms.limit)
        body |= {name: value for name, value in request.params.items() if name not in terms.refused}
        if request.schema is not None and "json_schema" not in terms.refused and not terms.plain:
            form = {"type": "json_schema", "schema": plain_schema(request.schema)}
            body["output_config"] = {**body.get("output_config", {}), "format": form}
        return body

    def read(self, request: JudgeRequest, reply: HttpReply) -> Completion:
        """Return the Completion in a server's reply. Raises BackendError if there is none."""
        return read_message(reply, self.peer, may_call=bool(request.tools))


def plain_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a request without the keywords that the API does not accept. A property whose name equals a
    keyword stays.
    """
    plain: dict[str, Any] = {}
    for key, value in schema.items():
        if key in {"properties", "$defs"} and isinstance(value, Mapping):
            plain[key] = {name: plain_schema(inner) for name, inner in value.items()}
        elif key not in _UNKNOWN_TO_SCHEMAS:
            plain[key] = plain_schema(value) if isinstance(value, Mapping) else value
    return plain


def _system(messages: Iterable[Message]) -> dict[str, Any]:
    """Return all system text as a single block that ends a cached prefix.

    The text is the same for every group of a run, so caching it (at 1.25 times its price) pays from the second request
    on. A text below the model's minimum is not cached at all. The text that a group's candidates share is not marked,
    because the orders and samples of a group are sent at the same time, before anything is in the cache.
    """
    texts: list[str] = []
    for content in (message["content"] for message in messages if message["role"] == "system"):
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts += [part["text"] for part in parts if part.get("type") == "text"]
    if not texts:
        return {}
    return {"system": [{"type": "text", "text": "\n\n".join(texts), "cache_control": {"type": "ephemeral"}}]}


def _messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the messages after the system message; the results of a turn's tool calls are one message of the user."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            if turns[-1]["role"] != "user":
                turns.append({"role": "user", "content": []})
            result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
            turns[-1]["content"].append(result)
        elif message["role"] != "system":
            turns.append(_message(message))
    return turns


def _message(message: Message) -> dict[str, Any]:
    content = message["content"]
    if message.get("tool_calls"):
        blocks = [{"type": "text", "text": content}] if content else []
        return {"role": message["role"], "content": [*blocks, *map(_tool_use, message["tool_calls"])]}
    return {
        "role": message["role"],
        "content": [_part(part) for part in content] if isinstance(content, list) else content,
    }


def _tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call in Anthropic's form, whose arguments are an object; {} stands for arguments that are none."""
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        arguments = None
    known = arguments if isinstance(arguments, dict) else {}
    return {"type": "tool_use", "id": call["id"], "name": function["name"], "input": known}


def _part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part of a message in Anthropic's form. Images are converted; text has the same form in both APIs."""
    if part.get("type") != "image_url":
        return part
    url = part["image_url"]["url"]
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url.removeprefix("data:").partition(",")
    media_type, *options = kind.split(";")
    if "base64" not in options:
        data = b64encode(unquote_to_bytes(data)).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type or "image/png", "data": data}}


def read_message(reply: HttpReply, peer: Peer, *, may_call: bool = False) -> Completion:
    """Return the Completion in a 200 reply of Anthropic's API, with thinking separate from text.

    ``may_call`` says that the request offered tools. Raises BackendError if the reply holds no answer.
    """
    body = reply_json(reply, peer)
    with attach_usage(body.get("usage")):
        require_no_error(body, reply, peer)
        content, ended = body.get("content"), finish_reason_of(body.get("stop_reason"))
        if (not isinstance(content, list) and ended != "refused") or body.get("role") == "user":
            raise TransientError("bad_reply", f"The answer has no content: {reply_excerpt(reply, peer)}")
        blocks = objects_in(content)
        text, thinking = _joined(blocks, "text"), _joined(blocks, "thinking")
        answer = completion(reply, body, text, reasoning=thinking, finish=body.get("stop_reason"))
        if answer.finish_reason == "refused":
            details = body.get("stop_details")
            why = details.get("explanation") or details.get("category") if isinstance(details, dict) else None
            raise declined_error(peer, str(why or text))
        uses = [block for block in blocks if block.get("type") == "tool_use"]
        if may_call and uses:
            calls = [
                ToolCall(str(use.get("name") or ""), json.dumps(use.get("input"), ensure_ascii=False)) for use in uses
            ]
            asked = completion(reply, body, text_of_calls(calls, said=text), reasoning=thinking)
            return replace(asked, finish_reason="tool_calls")
        if uses and not text:
            answer = replace(answer, text_source="tool_call")
        if not text.strip() and answer.finish_reason != "length":
            raise empty_reply_error(answer)
        return answer


def _joined(blocks: Iterable[Mapping[str, Any]], kind: str) -> str:
    return "".join(block[kind] for block in blocks if block.get("type") == kind and isinstance(block.get(kind), str))
