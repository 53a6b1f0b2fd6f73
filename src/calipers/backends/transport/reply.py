"""Reads an HTTP reply of any judge's API: its JSON, errors inside a 200, and the parts that all Completions share.

Pure.
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
from calipers.replies.text import condense_reply
from calipers.types import Completion, FinishReason
from calipers.types.encoding import printable, require_small_when_decoded, without_lone_surrogates

E = TypeVar("E", bound=BackendError)

_NATURAL = frozenset({
    "stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_calls", "tool_use", "function_call", "complete",
    "completed", "end", "finished",
})  # fmt: skip
_CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
_REFUSED = re.compile(r"filter|refus|safety|sensitive|block|prohibit|recitation|moderat|guardrail|policy|spii")
_FAILED = re.compile(r"error|fail|abort|cancel|resource|timeout|overload|unavailable|interrupt")

_EXCERPT = 300
_SECRET = re.compile(r"\b(?:sk|pk|gsk|xai|hf|AIza)[-_][\w*.-]{6,}|\bbearer\s+[\w.~+/=*-]{6,}", re.IGNORECASE)
_LENIENT = json.JSONDecoder(strict=False)
"""Reads strings with raw control characters, which some servers send."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A complete HTTP reply: ``headers`` match names in any case, ``body`` is decompressed and at most 16 MiB.

    ``sent`` is the body of the request.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    sent: bytes | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """What error messages state about the judge: the model and the source of its key. ``secrets`` are removed from
    messages.
    """

    model: str
    key_hint: str
    secrets: tuple[str, ...] = ()


def finish_reason_of(word: object) -> FinishReason:
    """Return how an answer ended, by the API's own ``word`` for it; "unknown" if the server does not say.

    Only an answer that ended by itself, or at the token limit, is the judge's. Raises TransientError for an answer that
    the server broke off or paused, and for a word that no API documents.
    """
    if word is None or word == "":
        return "unknown"
    said = str(word).lower()
    if said in _NATURAL:
        return "stop"
    if said in _CUT_OFF:
        return "length"
    if _REFUSED.search(said):
        return "refused"
    if _FAILED.search(said):
        raise TransientError("server", f"The server broke off its answer (finish reason {said[:50]!r})")
    raise TransientError("bad_reply", f"The answer is unfinished (finish reason {said[:50]!r})")


def completion(
    reply: HttpReply,
    body: Mapping[str, Any],
    text: str,
    *,
    reasoning: str = "",
    finish: object = None,
    latency: float = 0.0,
) -> Completion:
    """Return a Completion with the parts of a server's reply that every API has: text, reasoning, finish reason, usage,
    model.

    ``text`` and ``reasoning`` are cut to a bounded length; ``finish`` is the API's own word for why the answer ended.
    Raises TransientError for an answer that did not end.
    """
    version = body.get("system_fingerprint")
    return Completion(
        text=without_lone_surrogates(condense_reply(text)),
        finish_reason=finish_reason_of(finish),
        reasoning=without_lone_surrogates(condense_reply(reasoning)),
        model=without_lone_surrogates(body["model"]) if isinstance(body.get("model"), str) else None,
        usage=usage_of(body.get("usage")),
        latency=latency,
        sent=reply.sent,
        fingerprint=without_lone_surrogates(version) if isinstance(version, str) else None,
    )


def reply_json(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    """Return the JSON object in a server's 200 reply, or the object that the events of a stream add up to.

    Raises TransientError for anything else.
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
        raise _unreadable_error(reply, peer, f"not JSON ({kind or 'no type'})") from None
    if not isinstance(body, dict):
        raise _unreadable_error(reply, peer, "not an object")
    return body


def _decoded(body: bytes) -> Any:
    require_small_when_decoded(body)
    try:
        return orjson.loads(body)
    except ValueError:  # orjson is stricter than some servers, which put raw control characters into strings
        return _LENIENT.decode(body.decode("utf-8"))


def _streamed(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    try:
        return whole_completion(reply.body)
    except BrokenStreamError as error:
        if is_web_page(reply):
            raise _unreadable_error(reply, peer, "no stream") from None
        raise TransientError("bad_reply", f"No whole answer: {excerpt(str(error), peer.secrets)}") from None


def is_web_page(reply: HttpReply) -> bool:
    """Return whether a server's reply is a web page: of a proxy, a firewall, or another program at that address.

    JSON and events are not web pages, even if the content type says HTML, because some frameworks label every text as
    HTML.
    """
    kind, begins = reply.headers.get("Content-Type", ""), reply.body[:64].lstrip().lower()
    if begins.startswith((b"<!doctype html", b"<html")):
        return True
    return kind.startswith("text/html") and not begins.startswith((b"{", b"[", b"data:"))


def _unreadable_error(reply: HttpReply, peer: Peer, why: str) -> TransientError:
    """Return the error for a 200 that holds no JSON object."""
    said = f"The answer is {why}: {reply_excerpt(reply, peer)}"
    if is_web_page(reply):
        said = (
            f"The answer is a web page: {reply_excerpt(reply, peer)}; is the base URL right, and no proxy in between?"
        )
    return TransientError("bad_reply", said)


def declined_error(peer: Peer, said: str) -> PermanentError:
    """Return the BackendError for a model that declined to answer, with the model's own explanation."""
    why = excerpt(said, peer.secrets)
    return PermanentError("refused", f"{peer.model} declined to answer" + (f": {why}" if why else "."))


def attach_reply(error: E, completion: Completion | None) -> E:
    """Return ``error`` with the server's complete reply attached, or None if the reply is not the model's own."""
    error.completion = completion
    return error


def empty_reply_error(completion: Completion) -> TransientError:
    """Return the error for a server's reply without text. The reply is attached if it ended normally; otherwise it may
    be cut off.
    """
    error = TransientError("bad_reply", "The judge ended its answer without a word.")
    return attach_reply(error, completion if completion.finish_reason == "stop" else None)


def reply_excerpt(reply: HttpReply, peer: Peer) -> str:
    """Return the beginning of a server's reply for an error message."""
    return excerpt(reply.body[:20_000].decode("utf-8", "replace"), peer.secrets) or "(empty)"


def excerpt(text: str, secrets: Iterable[str]) -> str:
    """Return a server's ``text`` as a line of at most 300 characters for an error message, without markup, escapes or
    secrets.
    """
    plain = re.sub(
        r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]{0,500}>", " ", text[:20_000], flags=re.DOTALL | re.IGNORECASE
    )
    line = printable(" ".join(redacted(plain, secrets).split()))
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Return a server's ``text`` without the secrets and without anything else that looks like a key."""
    for secret in secrets:
        text = text.replace(secret, INSTEAD)
    return _SECRET.sub(INSTEAD, text)
