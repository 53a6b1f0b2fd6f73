"""A chat completion's body to a Completion.

Servers leave keys out, send null, an empty text, or a list of parts; put reasoning under two names; and report errors
inside a 200. Pure. Not responsible for what the text says (``extract``) or for error statuses (``translate``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from calipers.backends.transport.event_stream import BrokenStreamError, whole_completion
from calipers.backends.transport.logprobs import odds_in
from calipers.backends.transport.secrets import scrubbed_text
from calipers.backends.transport.translate import HttpReply, Peer, excerpt, is_page, refusal_of, to_error
from calipers.backends.transport.usage import billed, usage_in, usage_of
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.extract.text import condensed
from calipers.types import Completion, FinishReason
from calipers.types.encoding import encodable, require_light

E = TypeVar("E", bound=BackendError)

FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",
    "tool_use": "stop",
    "function_call": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refused",
    "refusal": "refused",
    "safety": "refused",
}

_LENIENT = json.JSONDecoder(strict=False)
"""Some servers leave raw control characters in strings."""


def read_chat_reply(reply: HttpReply, peer: Peer, *, latency: float = 0.0) -> Completion:
    """What a 200 says. Raises BackendError when it holds no answer.

    A cut answer (``length``) may be empty; one that ended by itself may not.
    """
    body = json_of(reply, peer)
    with billed(body.get("usage")):
        return _completion(body, reply, peer, latency=latency)


def _completion(body: Mapping[str, Any], reply: HttpReply, peer: Peer, *, latency: float) -> Completion:
    error = body.get("error")
    choices = body.get("choices")
    if error:
        raise error_in_200(body, error, reply, peer)
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise TransientError("bad_reply", f"The answer has no choices: {shown(reply, peer)}")
    choice = choices[0]
    if choice.get("error"):
        raise error_in_200(choice, choice["error"], reply, peer)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise TransientError("bad_reply", f"The answer has no message: {shown(reply, peer)}")
    finish = FINISH.get(str(choice.get("finish_reason")).lower(), "unknown")
    text, reasoning, refusal = (scrubbed_text(one, peer.secrets) for one in _spoken(message))
    called = None if text.strip() or refusal else _tool_arguments(message)
    spoken = scrubbed_text(called, peer.secrets) if called else text
    kept = condensed(spoken)
    completion = Completion(
        text=encodable(kept),
        finish_reason=finish,
        reasoning=encodable(condensed(reasoning)),
        model=encodable(body["model"]) if isinstance(body.get("model"), str) else None,
        usage=usage_of(body.get("usage")),
        latency=latency,
        sent=reply.sent,
        logprobs=odds_in(choice.get("logprobs"), text) if kept is spoken else None,  # they are told by their places
        fingerprint=encodable(version) if isinstance(version := body.get("system_fingerprint"), str) else None,
        text_source="content" if called is None else "tool_call",
    )
    if refusal or finish == "refused":
        own = replace(completion, text=encodable(refusal), finish_reason="refused") if refusal else None
        raise all_the_same(declined(peer, refusal or text), own)
    return completion if completion.text.strip() or finish == "length" else _answer_in_reasoning(completion)


def json_of(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    """The object a 200 holds, or, of a stream, the one its events add up to. Raises TransientError for anything else."""
    try:
        return _object_of(reply, peer)
    except TransientError as error:
        error.usage = usage_in(reply.body)
        raise


def _object_of(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    kind = reply.headers.get("Content-Type", "")
    if is_page(reply):
        said = f"The answer is a web page: {shown(reply, peer)}; is the base URL right, and no proxy in between?"
        raise TransientError("bad_reply", said)
    if kind.startswith("text/event-stream") or reply.body.startswith(b"data:"):
        try:
            return whole_completion(reply.body)
        except BrokenStreamError as error:
            raise TransientError("bad_reply", f"No whole answer: {excerpt(str(error), peer.secrets)}") from None
    try:
        body = _decoded(reply.body)
    except (ValueError, RecursionError):
        raise TransientError(
            "bad_reply", f"The answer is not JSON ({kind or 'no type'}): {shown(reply, peer)}"
        ) from None
    if not isinstance(body, dict):
        raise TransientError("bad_reply", f"The answer is not an object: {shown(reply, peer)}")
    return body


def _decoded(body: bytes) -> Any:
    require_light(body)
    try:
        return orjson.loads(body)
    except ValueError:  # or so it is in the strictest reading
        return _LENIENT.decode(body.decode("utf-8"))


def declined(peer: Peer, said: str) -> PermanentError:
    """The error of a model that would not answer, with what it said about it."""
    why = excerpt(said, peer.secrets)
    return PermanentError("refused", f"{peer.model} declined to answer" + (f": {why}" if why else "."))


def all_the_same(error: E, completion: Completion | None) -> E:
    """``error``, with the whole reply that holds no judgment; None where the reply is not the model's own."""
    error.completion = completion
    return error


def wordless(completion: Completion) -> TransientError:
    """The error of a reply that ended by itself and says nothing. One of unknown ending may have been broken off."""
    error = TransientError("bad_reply", "The judge ended its answer without a word.")
    return all_the_same(error, completion if completion.finish_reason == "stop" else None)


def shown(reply: HttpReply, peer: Peer) -> str:
    """A reply's beginning, for an error text."""
    return excerpt(reply.body[:20_000].decode("utf-8", "replace"), peer.secrets) or "(empty)"


def error_in_200(holder: Mapping[str, Any], error: object, reply: HttpReply, peer: Peer) -> BackendError:
    """Routers pass an upstream's status as the error's code; without one it is a bad reply."""
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 200
    refusal = refusal_of(
        {"error": error} if isinstance(error, (dict, str)) else holder, reply, peer.secrets, status=status
    )
    if status == 200:
        return TransientError("bad_reply", f"The server reported an error in place of an answer: {refusal.message}")
    return to_error(refusal, peer)


def _spoken(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Text, reasoning and refusal of a message; each may be empty."""
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning") or ""
    refusal = message.get("refusal") or ""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        text = _joined(parts, "text")
        reasoning = reasoning or _joined(parts, "thinking")
        refusal = refusal or _joined(parts, "refusal")
    else:
        text = content if isinstance(content, str) else ""
    return text, reasoning if isinstance(reasoning, str) else "", refusal if isinstance(refusal, str) else ""


def _joined(parts: Sequence[Mapping[str, Any]], key: str) -> str:
    """The texts under ``key``; a thinking part may hold parts itself."""
    texts: list[str] = []
    for part in parts:
        value = part.get(key)
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, list):
            texts += [
                inner["text"] for inner in value if isinstance(inner, dict) and isinstance(inner.get("text"), str)
            ]
    return "".join(texts)


def _tool_arguments(message: Mapping[str, Any]) -> str | None:
    """The arguments of the only tool call: how some servers give structured answers. Empty for others, None without any."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return None
    if len(calls) != 1 or not isinstance(calls[0], dict):
        return ""
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(arguments, dict):
        return json.dumps(arguments, ensure_ascii=False)
    return arguments if isinstance(arguments, str) else ""


def _answer_in_reasoning(completion: Completion) -> Completion:
    """Some servers put the whole answer under reasoning; it counts only when it is strict JSON and ended by itself."""
    if completion.finish_reason == "stop":
        try:
            answer = json.loads(completion.reasoning)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict):
            return replace(completion, text=completion.reasoning, reasoning="", text_source="reasoning")
    raise wordless(completion)
