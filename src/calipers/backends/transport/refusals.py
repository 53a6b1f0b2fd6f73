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
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from calipers.backends.transport.reply import HttpReply, Peer, excerpt, is_web_page
from calipers.backends.transport.usage import reported_usage, token_count
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import FailureKind, Usage

_YEAR = 366 * 86_400
_MOST_OF_AN_ERROR = 2**16
_AGES_AGO = -(10**12)

_AGAIN_IN = re.compile(r"(?:retry|again) in (?:(\d{1,9})m)?(\d{1,12}(?:\.\d{1,12})?)(ms|s)\b", re.ASCII)
_ECHO = re.compile(r"""['"]input['"]\s*:.*""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error reply of a server. ``message`` is for people: short and without secrets.

    ``prose`` is the lower-cased text to search. It lacks the server's echo of our request, because candidates wrote
    parts of the request. ``names`` are the fields that the server names (``param``, ``loc``), split at dots. ``page``
    is True for a web page. ``usage`` is what the call cost, if the server reports it.
    """

    status: int
    message: str
    prose: str
    names: frozenset[str]
    detail: Mapping[str, Any]
    retry_after: float | None = None
    location: str | None = None
    page: bool = False
    usage: Usage | None = None


def read_refusal(reply: HttpReply, secrets: Iterable[str]) -> Refusal:
    """Return the Refusal in a server's reply with an error status. Any bytes are accepted; only the first 64 KiB are
    read.
    """
    text = reply.body[:_MOST_OF_AN_ERROR].decode("utf-8", "replace")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and len(parsed) == 1:
        parsed = parsed[0]  # Google wraps its errors in a list
    return parse_refusal(parsed if isinstance(parsed, dict) else text, reply, secrets)


def parse_refusal(
    said: Mapping[str, Any] | str, reply: HttpReply, secrets: Iterable[str], *, status: int | None = None
) -> Refusal:
    """Return the Refusal in a server's error body that is already parsed.

    For an error inside a 200, ``status`` replaces the reply's status.
    """
    detail = _detail(said)
    messages, names = _messages(said if isinstance(said, str) else detail)
    codes = " ".join([*(str(detail[key]) for key in ("code", "type") if detail.get(key) is not None), *_quotas(detail)])
    spoken = "; ".join(messages)
    prose = _ECHO.sub("", f"{spoken} {codes}"[:8_000]).lower()
    return Refusal(
        status=reply.status if status is None else status,
        message=excerpt(spoken or codes or "no explanation", secrets),
        prose=prose,
        names=names,
        detail=detail,
        retry_after=wait if (wait := retry_after_seconds(reply.headers)) is not None else _stated_wait(prose, detail),
        location=None if (location := reply.headers.get("Location")) is None else excerpt(location, secrets),
        page=is_web_page(reply),
        usage=None if isinstance(said, str) else reported_usage(detail.get("usage") or said.get("usage")),
    )


def _detail(said: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if isinstance(said, str):
        return {}
    inner = said.get("error")
    if isinstance(inner, dict):
        return inner
    return {**said, "message": inner} if isinstance(inner, str) else said


def _messages(said: Mapping[str, Any] | str) -> tuple[list[str], frozenset[str]]:
    """Return the sentences of a server's error object and the fields that it names, without echoes of the request."""
    if isinstance(said, str):
        return [said], frozenset()
    messages: list[str] = []
    names: list[str] = []
    rows = [said, *(row for key in ("detail", "errors") for row in _rows(said.get(key)))]
    for row in rows:
        messages += [row[key] for key in ("message", "msg", "detail") if isinstance(row.get(key), str)]
        names += [row["param"]] if isinstance(row.get("param"), str) else []
        loc = row.get("loc")
        names += [part for part in loc if isinstance(part, str)] if isinstance(loc, list) else []
    return messages, frozenset(part for name in names for part in name.split(".") if part != "body")


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return the wait in seconds that a server's headers ask for, or None.

    If they give a date, it is compared with the server's own clock.
    """
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif "Retry-After" in headers:
            seconds = _seconds(headers["Retry-After"], headers.get("Date"))
        else:
            return None
    except (ValueError, TypeError, OverflowError):  # OverflowError: a date whose year has 23 digits
        return None
    return _plausible_wait(seconds)


def _plausible_wait(seconds: float) -> float | None:
    """Return the wait if it is plausible, 0 for a moment in the past, or None for a wait of more than a year."""
    return max(seconds, 0.0) if _AGES_AGO < seconds < _YEAR else None  # NaN fails the comparison


def _stated_wait(prose: str, detail: Mapping[str, Any]) -> float | None:
    """Return the wait in seconds that an error states in its text or in Google's ``RetryInfo``, or None."""
    delays = [row["retryDelay"] for row in _rows(detail.get("details")) if isinstance(row.get("retryDelay"), str)]
    told = _AGAIN_IN.search("; ".join([*(f"again in {delay[:32]}" for delay in delays), prose]))
    if told is None:
        return None
    seconds = float(told[2]) / (1000 if told[3] == "ms" else 1)
    return _plausible_wait(seconds + 60 * int(told[1] or 0))


def _quotas(detail: Mapping[str, Any]) -> list[str]:
    """Return the quota names in a Google error. Only the names distinguish a quota per day from a quota per minute."""
    violations = [row for part in _rows(detail.get("details")) for row in _rows(part.get("violations"))]
    return [row["quotaId"] for row in violations if isinstance(row.get("quotaId"), str)]


def _seconds(value: str, server_date: str | None) -> float:
    try:
        return float(value)
    except ValueError:
        now = parsedate_to_datetime(server_date) if server_date else datetime.now(UTC)
        return (parsedate_to_datetime(value) - now).total_seconds()


def refusal_error(refusal: Refusal, peer: Peer) -> BackendError:
    """Return the BackendError for a server's refusal, by the first matching entry of ``refusals.toml``."""
    cause = next(one for one in _table().causes if one.fits(refusal))
    said = f"HTTP {refusal.status}: {refusal.message}"
    message = cause.message.format(model=peer.model, key=peer.key_hint, location=refusal.location)
    error: BackendError
    if cause.kind == "context_window":
        limit, prompt = _window_and_prompt_tokens(refusal)
        error = PermanentError(
            cause.kind, _too_long_message(message, limit, prompt, peer.model, said), limit=limit, prompt=prompt
        )
    elif cause.may_pass:
        error = TransientError(cause.kind, f"{message} ({said})", retry_after=refusal.retry_after)
    else:
        error = PermanentError(cause.kind, f"{message} ({said})", fatal=cause.fatal)
    # A reply with an error status is not billed, unless the server reports usage.
    error.usage = refusal.usage or (Usage(cost_usd=0.0) if refusal.status >= 400 else None)
    return error


def refuses_images(refusal: Refusal) -> bool:
    """Return whether the server refused because the request holds an image and the model takes none."""
    return any(one.prose.search(refusal.prose) for one in _table().causes if one.name == "no images" and one.prose)


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
        return (
            (self.status is None or self.status.fullmatch(status) is not None)
            and (self.not_status is None or self.not_status.fullmatch(status) is None)
            and (self.prose is None or self.prose.search(refusal.prose) is not None)
            and (not self.page or refusal.page)
            and not (self.unless_wait and _names_a_wait(refusal))
        )


class _Table(NamedTuple):
    causes: tuple[_Cause, ...]
    sizes: tuple[re.Pattern[str], ...]


@cache
def _table() -> _Table:
    read = tomllib.loads(files("calipers.backends.transport").joinpath("refusals.toml").read_text(encoding="utf-8"))
    return _Table(tuple(map(_Cause.of, read["cause"])), tuple(map(re.compile, read["context_window"]["sizes"])))


def _names_a_wait(refusal: Refusal) -> bool:
    """Return whether a 429 states a wait, which means a quota per minute, even if Google's words fit a daily quota."""
    return (
        refusal.status == 429
        and _stated_wait(refusal.prose, refusal.detail) is not None
        and "perday" not in refusal.prose
    )


def _window_and_prompt_tokens(refusal: Refusal) -> tuple[int | None, int | None]:
    """Return the tokens of the context window and of the prompt, each None unless the server reports it."""
    needed, window = (token_count(refusal.detail.get(name)) for name in ("n_prompt_tokens", "n_ctx"))
    if needed is not None and window is not None:
        return window, needed
    found = next((found for pattern in _table().sizes if (found := pattern.search(refusal.prose))), None)
    if found is None:
        return None, None
    prompt = found.groupdict().get("prompt")
    return token_count(int(found["window"])), None if prompt is None else token_count(int(prompt))


def _too_long_message(message: str, limit: int | None, prompt: int | None, model: str, said: str) -> str:
    if limit is not None and prompt is not None:
        return f"The question has {prompt} tokens, but {model} has a context window of {limit}."
    if limit is not None:
        return f"{message} ({said})"
    return (
        f"{message}, and the server does not report its size ({said}). Set it with calls={{'context_window': ...}} or "
        "--context-window: then long texts are shortened, and only what is still too long is omitted"
    )


def error_in_200(holder: Mapping[str, Any], error: object, reply: HttpReply, peer: Peer) -> BackendError:
    """Return the BackendError for an error that a server reports inside a 200.

    If a router passed on another server's status as the error's code, that status decides. Otherwise the kind is
    ``bad_reply``.
    """
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 200
    refusal = parse_refusal(
        {"error": error} if isinstance(error, (dict, str)) else holder, reply, peer.secrets, status=status
    )
    if status == 200:
        return TransientError("bad_reply", f"The server reported an error in place of an answer: {refusal.message}")
    return refusal_error(refusal, peer)
