"""Reads an HTTP reply of any judge's API: its JSON, its usage, and the parts that all Completions share.

Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import orjson

from calipers.backends.transport.event_stream import BrokenStreamError, whole_completion
from calipers.backends.transport.secrets import INSTEAD
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.replies.text import condense_reply
from calipers.types import Completion, FinishReason, Usage
from calipers.types.encoding import finite_number, printable, require_small_when_decoded, without_lone_surrogates

_NATURAL = frozenset({
    "stop", "eos", "eos_token", "end_turn", "stop_sequence", "tool_call", "tool_calls", "tool_use", "function_call",
    "complete", "completed", "end", "finished", "normal",
})  # fmt: skip
_CUT_OFF = re.compile(r"(?:model_)?length|max_(?:\w+_)?tokens|model_context_window_exceeded")
_REFUSED = re.compile(r"filter|refus|safety|sensitive|block|prohibit|recitation|moderat|guardrail|policy|spii|toxic")
_FAILED = re.compile(r"error|fail|abort|cancel|resource|timeout|overload|unavailable|interrupt")

_EXCERPT = 300
_SECRET = re.compile(r"\b(?:sk|pk|gsk|xai|hf|AIza)[-_][\w*.-]{6,}|\bbearer\s+[\w.~+/=*-]{6,}", re.IGNORECASE)
_MARKUP = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]{0,500}>", re.DOTALL | re.IGNORECASE)
_LENIENT = json.JSONDecoder(strict=False)
"""Reads strings with raw control characters, which some servers send."""
_ABSURD: Final = 10**12
"""No usage object states so many tokens or dollars."""


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


def finish_reason_of(word: object, native: object = None) -> FinishReason:
    """Return how an answer ended, by the API's own ``word`` for it; "unknown" if the server does not say.

    Only an answer that ended by itself, or at the token limit, is the judge's. Raises TransientError for an answer that
    the server broke off or paused, and for a word that no API documents. A router's word may hide a provider's
    (``native``).
    """
    native, reason = ("" if end is None else str(end).lower().strip() for end in (native, word))
    for end in (native, reason):
        if _CUT_OFF.fullmatch(end):
            return "length"
        if _REFUSED.search(end):
            return "refused"
        if _FAILED.search(end):
            raise TransientError("server", f"The server broke off its answer (finish reason {end[:50]!r})")
    if not reason:
        return "unknown"
    if _NATURAL.issuperset(reason.split()):
        return "stop"
    raise TransientError("bad_reply", f"The answer is unfinished (finish reason {reason[:50]!r})")


def completion(
    reply: HttpReply,
    body: Mapping[str, Any],
    text: str,
    *,
    reasoning: str = "",
    finish: object = None,
    native: object = None,
) -> Completion:
    """Return a Completion with the parts of a server's reply that every API has: text, reasoning, finish reason, usage,
    model.

    ``text`` and ``reasoning`` are cut to a bounded length; ``finish`` is the API's own word for why the answer ended.
    Raises TransientError for an answer that did not end.
    """
    model, version = (body.get(name) for name in ("model", "system_fingerprint"))
    finish_reason_of(None, body.get("status"))  # a text beside "failed" is no answer
    return Completion(
        text=without_lone_surrogates(condense_reply(text)),
        finish_reason=finish_reason_of(finish, native),
        reasoning=without_lone_surrogates(condense_reply(reasoning)),
        model=without_lone_surrogates(model) if isinstance(model, str) else None,
        usage=reported_usage(body.get("usage")) or Usage(),
        sent=reply.sent,
        fingerprint=without_lone_surrogates(version) if isinstance(version, str) else None,
    )


def reply_json(reply: HttpReply, peer: Peer) -> Mapping[str, Any]:
    """Return the JSON object in a server's 200 reply, or the object that the events of a stream add up to.

    Raises TransientError for anything else.
    """
    kind = reply.headers.get("Content-Type", "") or "no type"
    why = "not an object"
    try:
        if kind.startswith("text/event-stream") or reply.body.startswith(b"data:"):
            return whole_completion(reply.body)
        body = _decoded(reply.body)
        if isinstance(body, dict):
            return body
    except BrokenStreamError as error:
        why = f"not whole ({excerpt(str(error), peer.secrets)})"
    except (ValueError, RecursionError):
        why = f"not JSON ({kind})"
    beginning = reply_excerpt(reply, peer)
    if is_web_page(reply):
        raise TransientError(
            "bad_reply", f"The answer is a web page: {beginning}; check the base URL, and whether a proxy is in between"
        )
    raise TransientError("bad_reply", f"The answer is {why}: {beginning}")


def _decoded(body: bytes) -> Any:
    require_small_when_decoded(body)
    try:
        return orjson.loads(body)
    except ValueError:  # orjson is stricter than some servers, which put raw control characters into strings
        return _LENIENT.decode(body.decode("utf-8"))


def is_web_page(reply: HttpReply) -> bool:
    """Return whether a server's reply is a web page: of a proxy, a firewall, or another program at that address.

    JSON and events are not web pages, even if the content type says HTML, because some frameworks label every text as
    HTML.
    """
    kind, begins = reply.headers.get("Content-Type", ""), reply.body[:64].lstrip().lower()
    if begins.startswith((b"<!doctype html", b"<html")):
        return True
    return kind.startswith("text/html") and not begins.startswith((b"{", b"[", b"data:"))


# --- what error messages show of a reply ------------------------------------------------------------------------------


def declined_error(peer: Peer, said: str, *, reply: Completion | None = None) -> PermanentError:
    """Return the BackendError for a model that declined to answer, with the model's own explanation, and its ``reply``
    if that is a whole one.
    """
    why = excerpt(said, peer.secrets)
    error = PermanentError("refused", f"{peer.model} declined to answer" + (f": {why}" if why else "."))
    error.completion = reply
    return error


def empty_reply_error(completion: Completion) -> TransientError:
    """Return the error for a server's reply without text. The reply is attached if it ended normally; otherwise it may
    be cut off.
    """
    error = TransientError("bad_reply", "The judge's answer is empty.")
    error.completion = completion if completion.finish_reason == "stop" else None
    return error


def reply_excerpt(reply: HttpReply, peer: Peer) -> str:
    """Return the beginning of a server's reply for an error message."""
    return excerpt(reply.body[:20_000].decode("utf-8", "replace"), peer.secrets) or "(empty)"


def excerpt(text: str, secrets: Iterable[str]) -> str:
    """Return a server's ``text`` as a line of at most 300 characters for an error message, without markup, escapes,
    the ``secrets``, and anything else that looks like a key.
    """
    plain = _MARKUP.sub(" ", text[:20_000])
    for secret in secrets:
        plain = plain.replace(secret, INSTEAD)
    line = printable(" ".join(_SECRET.sub(INSTEAD, plain).split()))
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1] + "…"


# --- usage ------------------------------------------------------------------------------------------------------------


def reported_usage(stated: object) -> Usage | None:
    """Return the tokens and dollars in a server's usage object, or None if it holds no usable count.

    A count without the input or without the output is unusable, because it would be too low. Anthropic counts tokens
    read from its cache and tokens written to it separately; both are input.
    """
    if not isinstance(stated, Mapping):
        return None
    details = stated.get("prompt_tokens_details") or stated.get("input_tokens_details")
    read, written = (_count(stated, f"cache_{name}_input_tokens") or 0 for name in ("read", "creation"))
    hit = _count(details, "cached_tokens") if isinstance(details, Mapping) else None
    sent = _count(stated, "prompt_tokens", "input_tokens")
    produced = _count(stated, "completion_tokens", "output_tokens")
    cost = finite_number(stated.get("cost"))  # in dollars; one that a router does not state is unknown, not 0
    dollars = cost if cost is not None and 0 <= cost < _ABSURD else None
    if sent is None or produced is None:
        return None if dollars is None else Usage(cost_usd=dollars)
    return Usage(sent + read + written, produced, (hit or 0) + read, dollars)


@contextmanager
def attach_usage(stated: object) -> Iterator[None]:
    """Attach the usage in a server's reply to every BackendError raised in the block. ``stated`` is the usage object in
    the reply.
    """
    try:
        yield
    except BackendError as error:
        error.usage = reported_usage(stated) or error.usage
        raise


def token_count(value: object) -> int | None:
    """Return ``value`` from a server's usage object if it is a plausible number of tokens above 0, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _ABSURD else None


def _count(stated: Mapping[str, Any], *names: str) -> int | None:
    """Return the first field among ``names`` that holds a number of tokens, which may be 0, or None."""
    counts = (finite_number(stated.get(name)) for name in names)
    return next((int(count) for count in counts if count is not None and 0 <= count < _ABSURD), None)
