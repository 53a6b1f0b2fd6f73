"""Reads the error reply of a server and chooses the BackendError for it, by the table ``refusals.toml``.

Pure: bytes and headers in, a ``Refusal`` or a BackendError out. Servers differ, so a fact is searched for in their
error codes, then in the fields they name, and last in their prose.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from calipers.backends.transport.reply import HttpReply, Peer, excerpt, is_web_page, reported_usage, token_count
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import FailureKind, Usage
from calipers.types.encoding import objects_in

_YEAR = 366 * 86_400
_MOST_OF_AN_ERROR = 2**16

_AGAIN_IN = re.compile(r"(?:retry|again) in (?:(\d{1,9})m)?(\d{1,12}(?:\.\d{1,12})?)(ms|s)\b", re.ASCII)
_ECHO = re.compile(r"""['"]input['"]\s*:.*""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error reply of a server. ``message`` is for people: short and without secrets.

    ``prose`` is the lower-cased text to search. It lacks the server's echo of our request, because candidates wrote
    parts of the request. ``names`` are the fields that the server names (``param``, ``loc``), split at dots. ``page``
    is True for a web page. ``usage`` is what the call cost, if the server reports it. ``states_wait`` is True if the
    text, and not a header, says how long to wait.
    """

    status: int
    message: str
    prose: str
    names: frozenset[str]
    detail: Mapping[str, Any]
    retry_after: float | None = None
    states_wait: bool = False
    location: str | None = None
    page: bool = False
    usage: Usage | None = None


def read_refusal(reply: HttpReply, secrets: Iterable[str]) -> Refusal:
    """Return the Refusal in a server's error reply. Any bytes are accepted; the first 64 KiB are read."""
    text = reply.body[:_MOST_OF_AN_ERROR].decode("utf-8", "replace")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and len(parsed) == 1:
        parsed = parsed[0]  # Google wraps its errors in a list
    return parse_refusal(parsed if isinstance(parsed, dict) else {"message": text}, reply, secrets)


def parse_refusal(
    body: Mapping[str, Any], reply: HttpReply, secrets: Iterable[str], *, status: int | None = None
) -> Refusal:
    """Return the Refusal in a server's error body that is already parsed.

    For an error inside a 200, ``status`` replaces the reply's status.
    """
    inner = body.get("error")
    detail = inner if isinstance(inner, dict) else {**body, "message": inner} if isinstance(inner, str) else body
    messages: list[str] = []
    names: list[str] = []
    for row in [detail, *(row for key in ("detail", "errors") for row in objects_in(detail.get(key)))]:
        messages += [row[key] for key in ("message", "msg", "detail") if isinstance(row.get(key), str)]
        loc = row.get("loc")
        fields = [row.get("param"), *(loc if isinstance(loc, list) else ())]
        names += [part for field in fields if isinstance(field, str) for part in field.split(".") if part != "body"]
    google = objects_in(detail.get("details"))
    # Only the names of Google's quotas distinguish a quota per day from a quota per minute.
    quotas = [row.get("quotaId") for part in google for row in objects_in(part.get("violations"))]
    codes = " ".join(str(code) for code in (detail.get("code"), detail.get("type"), *quotas) if code is not None)
    spoken = "; ".join(messages)
    prose = _ECHO.sub("", f"{spoken} {codes}"[:8_000]).lower()
    stated = _stated_wait("; ".join([*(f"again in {str(row.get('retryDelay'))[:32]}" for row in google), prose]))
    wait = retry_after_seconds(reply.headers)
    location = reply.headers.get("Location")
    return Refusal(
        status=reply.status if status is None else status,
        message=excerpt(spoken or codes or "no explanation", secrets),
        prose=prose,
        names=frozenset(names),
        detail=detail,
        retry_after=stated if wait is None else wait,
        states_wait=stated is not None,
        location=None if location is None else excerpt(location, secrets),
        page=is_web_page(reply),
        usage=reported_usage(detail.get("usage") or body.get("usage")),
    )


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a server's headers ask for, or None. A date is not read."""
    try:
        if "retry-after-ms" in headers:
            return _plausible_wait(float(headers["retry-after-ms"]) / 1000)
        return _plausible_wait(float(headers["Retry-After"])) if "Retry-After" in headers else None
    except ValueError:
        return None


def _plausible_wait(seconds: float) -> float | None:
    """Return the wait if it is plausible, 0 for a moment in the past, or None for a wait of more than a year."""
    return max(seconds, 0.0) if -1e12 < seconds < _YEAR else None  # NaN fails the comparison


def _stated_wait(text: str) -> float | None:
    """Return the wait in seconds that an error states in its text or in Google's ``RetryInfo``, or None."""
    stated = _AGAIN_IN.search(text)
    if stated is None:
        return None
    seconds = float(stated[2]) / (1000 if stated[3] == "ms" else 1)
    return _plausible_wait(seconds + 60 * int(stated[1] or 0))


def refusal_error(refusal: Refusal, peer: Peer) -> BackendError:
    """Return the BackendError for a server's refusal, by the first matching entry of ``refusals.toml``."""
    cause = next(row for row in _table().causes if row.fits(refusal))
    answer = f"HTTP {refusal.status}: {refusal.message}"
    message = cause.message.format(model=peer.model, key=peer.key_hint, location=refusal.location)
    error: BackendError
    if cause.kind == "context_window":
        error = _too_long(refusal, message, answer, peer.model)
    elif cause.may_pass:
        error = TransientError(cause.kind, f"{message} ({answer})", retry_after=refusal.retry_after)
    else:
        error = PermanentError(cause.kind, f"{message} ({answer})", fatal=cause.fatal)
    # A reply with an error status is not billed, unless the server reports usage.
    error.usage = refusal.usage or (Usage(cost_usd=0.0) if refusal.status >= 400 else None)
    return error


def refuses_images(refusal: Refusal) -> bool:
    """Return whether the server refused because the request holds an image and the model takes none."""
    return any(
        cause.prose.search(refusal.prose) for cause in _table().causes if cause.name == "no images" and cause.prose
    )


@dataclass(frozen=True, slots=True)
class _Cause:
    """An entry of ``refusals.toml``; the comments there explain the fields."""

    kind: FailureKind
    message: str
    name: str = ""
    status: re.Pattern[str] | None = None
    not_status: re.Pattern[str] | None = None
    prose: re.Pattern[str] | None = None
    page: bool = False
    unless_wait: bool = False
    fatal: bool = False
    may_pass: bool = False

    @staticmethod
    def of(row: Mapping[str, Any]) -> _Cause:
        compiled = {name: re.compile(row[name]) for name in ("status", "not_status") if name in row}
        prose = {"prose": re.compile("|".join(row["prose"]))} if "prose" in row else {}
        return _Cause(**{**row, **compiled, **prose})

    def fits(self, refusal: Refusal) -> bool:
        status = str(refusal.status)
        # A 429 that states a wait means a quota per minute, even if Google's words fit a quota per day.
        waits = refusal.status == 429 and refusal.states_wait and "perday" not in refusal.prose
        return (
            (self.status is None or self.status.fullmatch(status) is not None)
            and (self.not_status is None or self.not_status.fullmatch(status) is None)
            and (self.prose is None or self.prose.search(refusal.prose) is not None)
            and (refusal.page or not self.page)
            and not (self.unless_wait and waits)
        )


class _Table(NamedTuple):
    causes: tuple[_Cause, ...]
    sizes: tuple[re.Pattern[str], ...]


@cache
def _table() -> _Table:
    read = tomllib.loads(files("calipers.backends.transport").joinpath("refusals.toml").read_text(encoding="utf-8"))
    return _Table(tuple(map(_Cause.of, read["cause"])), tuple(map(re.compile, read["context_window"]["sizes"])))


def _too_long(refusal: Refusal, message: str, said: str, model: str) -> PermanentError:
    """Return the error for a question beyond the context window, with the sizes in tokens that the server reports."""
    prompt, limit = (token_count(refusal.detail.get(name)) for name in ("n_prompt_tokens", "n_ctx"))
    if prompt is None or limit is None:
        size = next((size for pattern in _table().sizes if (size := pattern.search(refusal.prose))), None)
        sizes: Mapping[str, str | None] = {} if size is None else size.groupdict()
        limit, prompt = (token_count(int(sizes.get(name) or 0)) for name in ("window", "prompt"))
    if limit is None:
        text = (
            f"{message}, and the server does not report its size ({said}). Set it with calls={{'context_window': ...}} "
            "or --context-window: then long texts are shortened, and only what is still too long is omitted"
        )
    elif prompt is None:
        text = f"{message} ({said})"
    else:
        text = f"The question has {prompt} tokens, but {model} has a context window of {limit}."
    return PermanentError("context_window", text, limit=limit, prompt=prompt)


def error_in_200(error: object, reply: HttpReply, peer: Peer) -> BackendError:
    """Return the BackendError for an error that a server reports inside a 200.

    If a router passed on another server's status as the error's code, that status decides. Otherwise the kind is
    ``bad_reply``, or ``refused`` for a content filter's.
    """
    code = str(error.get("code")) if isinstance(error, dict) else ""
    status = int(code) if re.fullmatch(r"[45]\d\d", code, re.ASCII) else 200
    refusal = parse_refusal({"error": error}, reply, peer.secrets, status=status)
    known = refusal_error(refusal, peer)
    if status == 200 and known.kind != "refused":
        return TransientError("bad_reply", f"The server reported an error in place of an answer: {refusal.message}")
    return known
