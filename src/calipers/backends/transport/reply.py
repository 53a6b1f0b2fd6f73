"""An HTTP reply of any judge's API: its JSON, its errors inside a 200, and the Completion that a provider reads from
it.

Pure. Not responsible for where an API puts its text (``providers``) or for error statuses (``refusals``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson

from calipers.backends.transport.event_stream import BrokenStreamError, whole_completion
from calipers.backends.transport.secrets import INSTEAD
from calipers.backends.transport.usage import usage_in, usage_of
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.extract.text import condensed
from calipers.types import Completion, FinishReason
from calipers.types.encoding import encodable, printable, require_light

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

_EXCERPT = 300
_SECRET = re.compile(r"\b(?:sk|pk|gsk|xai|hf|AIza)[-_][\w*.-]{6,}|\bbearer\s+[\w.~+/=*-]{6,}", re.IGNORECASE)
_LENIENT = json.JSONDecoder(strict=False)
"""Some servers leave raw control characters in strings."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A whole answer: ``headers`` match names in any case, ``body`` is decompressed and at most 16 MiB.

    ``sent`` is the body it answers.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    sent: bytes | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """Who answers, for error texts: the model, where its key comes from, and what must not be shown."""

    model: str
    key_hint: str
    secrets: tuple[str, ...] = ()


def completion(
    reply: HttpReply,
    body: Mapping[str, Any],
    text: str,
    *,
    reasoning: str = "",
    finish: object = None,
    latency: float = 0.0,
) -> Completion:
    """What every API's answer has: ``text`` and ``reasoning`` of a bounded length, ``finish`` in our words, usage,
    model.
    """
    version = body.get("system_fingerprint")
    return Completion(
        text=encodable(condensed(text)),
        finish_reason=FINISH.get(str(finish).lower(), "unknown"),
        reasoning=encodable(condensed(reasoning)),
        model=encodable(body["model"]) if isinstance(body.get("model"), str) else None,
        usage=usage_of(body.get("usage")),
        latency=latency,
        sent=reply.sent,
        fingerprint=encodable(version) if isinstance(version, str) else None,
    )


def json_of(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    """The object a 200 holds, or, of a stream, the one its events add up to. Raises TransientError for anything
    else.
    """
    try:
        return _object_of(reply, peer)
    except TransientError as error:
        error.usage = usage_in(reply.body)
        raise


def _object_of(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    kind = reply.headers.get("Content-Type", "")
    if kind.startswith("text/event-stream") or reply.body.startswith(b"data:"):
        return _streamed(reply, peer)
    try:
        body = _decoded(reply.body)
    except (ValueError, RecursionError):
        raise _unreadable(reply, peer, f"not JSON ({kind or 'no type'})") from None
    if not isinstance(body, dict):
        raise _unreadable(reply, peer, "not an object")
    return body


def _decoded(body: bytes) -> Any:
    require_light(body)
    try:
        return orjson.loads(body)
    except ValueError:  # or so it is in the strictest reading
        return _LENIENT.decode(body.decode("utf-8"))


def _streamed(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    try:
        return whole_completion(reply.body)
    except BrokenStreamError as error:
        if is_page(reply):
            raise _unreadable(reply, peer, "no stream") from None
        raise TransientError("bad_reply", f"No whole answer: {excerpt(str(error), peer.secrets)}") from None


def is_page(reply: HttpReply) -> bool:
    """Whether an answer is a web page: of a proxy, a firewall, or another program at that address.

    JSON and events are none, whatever they are called: some frameworks give that type to all they are handed as text.
    """
    kind, begins = reply.headers.get("Content-Type", ""), reply.body[:64].lstrip().lower()
    if begins.startswith((b"<!doctype html", b"<html")):
        return True
    return kind.startswith("text/html") and not begins.startswith((b"{", b"[", b"data:"))


def _unreadable(reply: HttpReply, peer: Peer, why: str) -> TransientError:
    """The error of a 200 that holds no JSON object."""
    said = f"The answer is {why}: {shown(reply, peer)}"
    if is_page(reply):
        said = f"The answer is a web page: {shown(reply, peer)}; is the base URL right, and no proxy in between?"
    return TransientError("bad_reply", said)


def declined(peer: Peer, said: str) -> PermanentError:
    """The error of a model that would not answer, with what it said about it."""
    why = excerpt(said, peer.secrets)
    return PermanentError("refused", f"{peer.model} declined to answer" + (f": {why}" if why else "."))


def with_reply(error: E, completion: Completion | None) -> E:
    """``error``, with the whole reply that holds no judgment; None where the reply is not the model's own."""
    error.completion = completion
    return error


def wordless(completion: Completion) -> TransientError:
    """The error of a reply that ended by itself and says nothing. A reply of unknown ending may have been broken
    off.
    """
    error = TransientError("bad_reply", "The judge ended its answer without a word.")
    return with_reply(error, completion if completion.finish_reason == "stop" else None)


def shown(reply: HttpReply, peer: Peer) -> str:
    """A reply's beginning, for an error text."""
    return excerpt(reply.body[:20_000].decode("utf-8", "replace"), peer.secrets) or "(empty)"


def excerpt(text: str, secrets: Iterable[str]) -> str:
    """A line of at most 300 characters for an error message: no markup, no line breaks or escapes, no secrets."""
    plain = re.sub(
        r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]{0,500}>", " ", text[:20_000], flags=re.DOTALL | re.IGNORECASE
    )
    line = printable(" ".join(redacted(plain, secrets).split()))
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def redacted(text: str, secrets: Iterable[str]) -> str:
    """``text`` without any of the secrets, nor anything else that looks like a key."""
    for secret in secrets:
        text = text.replace(secret, INSTEAD)
    return _SECRET.sub(INSTEAD, text)
