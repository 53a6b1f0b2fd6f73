"""What an error answer of a chat server says, and which of our errors that is.

Pure: bytes and headers in, a ``Refusal`` or a BackendError out. Servers agree on little, so the same fact is looked for
in their codes, in the fields they name and, last, in their prose. Not responsible for stepping a parameter down
(``negotiation``), nor for answers that brought text (``reply``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from calipers.backends.transport.reply import HttpReply, Peer, excerpt, is_page
from calipers.backends.transport.usage import reported, tokens
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import Usage

_YEAR = 366 * 86_400
_MOST_OF_AN_ERROR = 2**16
_AGES_AGO = -(10**12)

_OVERFLOW = re.compile(
    r"exceed_context_size|context_length_exceeded|context ?window ?exceeded|available context size"
    r"|maximum context length|context (?:window|length) (?:of|is|limit|exceed)|exceeds? (?:the |this model's )?context"
    r"|(?:prompt|input) is too long|input length|input token count|max_model_len|reduce the length of the (?:messages"
    r"|prompt)"
)
_SIZES = (
    re.compile(
        r"maximum context length (?:is|of) (?P<window>\d{1,12}) tokens.{0,60}?(?P<prompt>\d{1,12}) input tokens"
    ),
    re.compile(
        r"maximum context length (?:is|of) (?P<window>\d{1,12}) tokens.{0,120}?\((?P<prompt>\d{1,12}) in the messages"
    ),
    re.compile(
        r"maximum context length (?:is|of) (?P<window>\d{1,12}) tokens.{0,60}?messages resulted in "
        r"(?P<prompt>\d{1,12}) tokens"
    ),
    re.compile(r"maximum context length (?:is|of) (?P<window>\d{1,12}) tokens"),
    re.compile(r"prompt is too long: (?P<prompt>\d{1,12}) tokens > (?P<window>\d{1,12})"),
    re.compile(
        r"input token count \((?P<prompt>\d{1,12})\) exceeds the maximum number of tokens allowed "
        r"\((?P<window>\d{1,12})\)"
    ),
)
"""Where OpenAI, vLLM, SGLang, Anthropic and Gemini write the window's size, and the question's."""
_QUOTA = re.compile(
    r"insufficient_quota|insufficient[ _](?:balance|credits?|funds)|exceeded(?:_| your )current[_ ]quota|billing"
    r"|credit balance|out of credits|(?:spend|spending|usage) limits?|quota (?:is |has been )?exhausted|perday"
)
_AGAIN_IN = re.compile(r"(?:retry|again) in (?:(\d{1,9})m)?(\d{1,12}(?:\.\d{1,12})?)(ms|s)\b", re.ASCII)
_MODERATED = re.compile(
    r"content_filter|content management policy|moderation|flagged|responsibleaipolicy|data_inspection"
)
_NO_MODEL = re.compile(
    r"model_not_found|invalid model name|server is pinned to|model\b.{0,200}?(?:does not exist|not found|not available)"
)
_BAD_KEY = re.compile(r"no_db_connection|no connected db|api key (?:not valid|expired)")
"""A LiteLLM proxy without a database, asked with another key than its own; and Google's API."""
_TOO_BIG_A_MINUTE = re.compile(r"request too large")
_NOT_JSON_AFTER_ALL = re.compile(r"json_validate_failed|failed_generation")
_NO_IMAGES = re.compile(
    r"not a multimodal model|image inputs? (?:is|are) not supported|(?:does not|doesn't|do not|don't|cannot) support "
    r"(?:image|vision|multimodal)"
    r"|image_url is only supported by|endpoints found that support image|unknown variant .image_url|at most 0 image"
)
"""vLLM (twice), llama.cpp, OpenAI, OpenRouter, DeepSeek and others, asked about an image by a model that takes none."""
_WANTS_TLS = re.compile(r"plain http request was sent to https|http request to an https server")
_ECHO = re.compile(r"""['"]input['"]\s*:.*""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error answer. ``message`` is for people: short and without secrets.

    ``prose`` is the lower-cased text to search, without what the server echoes of our request, for that holds what
    candidates wrote. ``names`` are the fields the server points at (``param``, ``loc``), dotted parts apart. ``page``:
    it is a web page. ``usage``: what the call took all the same, where the server says so.
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


def no_images(refusal: Refusal) -> bool:
    """Whether the model was shown an image and takes none."""
    return _NO_IMAGES.search(refusal.prose) is not None


def read_refusal(reply: HttpReply, secrets: Iterable[str]) -> Refusal:
    """What an answer with an error status says; total: any bytes will do, and of many the first are enough."""
    text = reply.body[:_MOST_OF_AN_ERROR].decode("utf-8", "replace")
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, list) and len(parsed) == 1:
        parsed = parsed[0]  # Google wraps its errors once more
    return refusal_of(parsed if isinstance(parsed, dict) else text, reply, secrets)


def refusal_of(
    said: Mapping[str, Any] | str, reply: HttpReply, secrets: Iterable[str], *, status: int | None = None
) -> Refusal:
    """Like ``read_refusal`` for a body already parsed; ``status`` overrides the reply's (errors inside a 200)."""
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
        retry_after=wait if (wait := retry_after(reply.headers)) is not None else _told_wait(prose, detail),
        location=None if (location := reply.headers.get("Location")) is None else excerpt(location, secrets),
        page=is_page(reply),
        usage=None if isinstance(said, str) else reported(detail.get("usage") or said.get("usage")),
    )


def _detail(said: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if isinstance(said, str):
        return {}
    inner = said.get("error")
    if isinstance(inner, dict):
        return inner
    return {**said, "message": inner} if isinstance(inner, str) else said


def _messages(said: Mapping[str, Any] | str) -> tuple[list[str], frozenset[str]]:
    """The sentences of an error object and the fields it points at; echoes of the request are left out."""
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


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds a server asks for, as a number or as a date (read by its own clock), or None."""
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif "Retry-After" in headers:
            seconds = _seconds(headers["Retry-After"], headers.get("Date"))
        else:
            return None
    except (ValueError, TypeError, OverflowError):  # OverflowError: a date whose year has 23 digits
        return None
    return _wait(seconds)


def _wait(seconds: float) -> float | None:
    """A wait to believe in: a past moment is now, and nobody means more than a year."""
    return max(seconds, 0.0) if _AGES_AGO < seconds < _YEAR else None  # NaN fails the comparison


def _told_wait(prose: str, detail: Mapping[str, Any]) -> float | None:
    """The wait in seconds that the text of an error names, or Google's ``RetryInfo`` in it."""
    delays = [row["retryDelay"] for row in _rows(detail.get("details")) if isinstance(row.get("retryDelay"), str)]
    told = _AGAIN_IN.search("; ".join([*(f"again in {delay[:32]}" for delay in delays), prose]))
    if told is None:
        return None
    seconds = float(told[2]) / (1000 if told[3] == "ms" else 1)
    return _wait(seconds + 60 * int(told[1] or 0))


def _quotas(detail: Mapping[str, Any]) -> list[str]:
    """The names of the quotas an error of Google's complains of; only they tell a day's from a minute's."""
    violations = [row for part in _rows(detail.get("details")) for row in _rows(part.get("violations"))]
    return [row["quotaId"] for row in violations if isinstance(row.get("quotaId"), str)]


def _seconds(value: str, server_date: str | None) -> float:
    try:
        return float(value)
    except ValueError:
        now = parsedate_to_datetime(server_date) if server_date else datetime.now(UTC)
        return (parsedate_to_datetime(value) - now).total_seconds()


def to_error(refusal: Refusal, peer: Peer) -> BackendError:
    """The error an answer amounts to."""
    said = f"HTTP {refusal.status}: {refusal.message}"
    error = _not_the_model(refusal, said) or _known_cause(refusal, peer, said) or _by_status(refusal, peer, said)
    # What is refused with an error status is not billed, unless the server says that it is.
    error.usage = refusal.usage or (Usage(cost_usd=0.0) if refusal.status >= 400 else None)
    return error


def _not_the_model(refusal: Refusal, said: str) -> BackendError | None:
    """What stands between us and the model, and answers in its place."""
    if _WANTS_TLS.search(refusal.prose):
        return PermanentError("unreachable", f"The address should begin with https:// ({said})", fatal=True)
    if refusal.status == 407 or (refusal.page and refusal.status == 403):
        said = f"A proxy or a firewall stands in between: check HTTP_PROXY, HTTPS_PROXY and NO_PROXY ({said})"
        return PermanentError("unauthorized", said, fatal=True)
    return None


def _known_cause(  # noqa: PLR0911 - one cause after the other
    refusal: Refusal, peer: Peer, said: str
) -> BackendError | None:
    """What the text tells; servers use one status for many causes, and several for one."""
    status, prose = refusal.status, refusal.prose
    if status not in {401, 429} and _MODERATED.search(prose):
        said = f"{peer.model} was kept from answering by the provider's content filter ({said})"
        return PermanentError("refused", said)
    if status not in {401, 403, 429} and no_images(refusal):
        said = (
            f"{peer.model} accepts no images, but this group has some: use a judge with vision, or remove them ({said})"
        )
        return PermanentError("bad_request", said)
    if status == 402 or (status in {400, 403, 429} and _QUOTA.search(prose) and not _passes(refusal)):
        return PermanentError("rate_limited", f"The account's quota or credit is used up ({said})", fatal=True)
    if status == 429 and _TOO_BIG_A_MINUTE.search(prose):
        return PermanentError("rate_limited", f"The question alone exceeds the rate allowed ({said})")
    if status == 413 or (status in {400, 422, 500} and _OVERFLOW.search(prose)):
        limit, prompt = _sizes(refusal)
        return PermanentError("context_window", _overflow(limit, prompt, peer.model, said), limit=limit, prompt=prompt)
    if status in {400, 422} and _NOT_JSON_AFTER_ALL.search(prose):
        return TransientError("bad_reply", f"{peer.model} did not keep to the form asked for ({said})")
    return None


def _passes(refusal: Refusal) -> bool:
    """A quota by the minute: Google's words for it are the same as for a whole day's, but it says how long to wait."""
    return (
        refusal.status == 429
        and _told_wait(refusal.prose, refusal.detail) is not None
        and "perday" not in refusal.prose
    )


def _by_status(refusal: Refusal, peer: Peer, said: str) -> BackendError:
    status = refusal.status
    if status in {401, 403} or (status == 400 and _BAD_KEY.search(refusal.prose)):
        said = f"The key is not accepted: check {peer.key_hint} ({said})"
        return PermanentError("unauthorized", said, fatal=True)
    if status in {404, 405, 410} or (status in {400, 422} and _NO_MODEL.search(refusal.prose)):
        return PermanentError("not_found", f"{peer.model} is not to be had there ({said})", fatal=True)
    if 300 <= status < 400:
        said = f"The server sends us on to {refusal.location}: use that as the base URL (HTTP {status})"
        return PermanentError("not_found", said, fatal=True)
    if status == 429:
        return TransientError("rate_limited", f"Too many requests ({said})", retry_after=refusal.retry_after)
    if status in {408, 409, 425} or (status >= 500 and status != 501):
        return TransientError("server", f"The server failed ({said})", retry_after=refusal.retry_after)
    return PermanentError("bad_request", f"The request was refused ({said})")


def _sizes(refusal: Refusal) -> tuple[int | None, int | None]:
    """The tokens of the context window and of the question, as far as the server tells; never a guess."""
    needed, window = (tokens(refusal.detail.get(name)) for name in ("n_prompt_tokens", "n_ctx"))
    if needed is not None and window is not None:
        return window, needed
    for pattern in _SIZES:
        found = pattern.search(refusal.prose)
        if found:
            prompt = found.groupdict().get("prompt")
            return tokens(int(found["window"])), None if prompt is None else tokens(int(prompt))
    return None, None


def _overflow(limit: int | None, prompt: int | None, model: str, said: str) -> str:
    if limit is None:
        return (
            f"The question does not fit the context window of {model}, and the server does not report its size "
            f"({said}). "
            "Set it with calls={'context_window': ...} or --context-window: then long texts are shortened, and only "
            "what is "
            "still too long is omitted"
        )
    if prompt is not None:
        return f"The question has {prompt} tokens, but {model} has a context window of {limit}."
    return f"The question does not fit the context window of {model} ({said})"


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
