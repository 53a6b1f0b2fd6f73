"""A request over ASGI: its body within a limit, its id, how long it waits, and whether its caller has left."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import msgspec

from calipers.server.room import RefusalError, invalid
from calipers.server.running import is_loopback
from calipers.server.tenant import Tenant
from calipers.types.encoding import printable

Gone: TypeAlias = Callable[[], Awaitable[None]]
"""Returns when the caller has left."""


class CallerGoneError(Exception):
    """The caller of a request to the server left before there was an answer."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the server that passed the checks of all operations.

    ``parameters`` has the values of its operation's parameters, or their defaults.
    """

    tenant: Tenant
    body: bytes
    parameters: Mapping[str, Any]
    gone: Gone


Handler: TypeAlias = Callable[[Call], Awaitable[bytes]]
"""Returns the JSON of an answer. Raises RefusalError, CalipersError and CallerGoneError."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the query of a request to the server.

    ``form`` is what its value must be; ``default`` is the value where the query holds none.
    """

    name: str
    description: str
    form: Any
    default: Any = None

    def read(self, query: Mapping[str, str]) -> Any:
        """Return the value in the query of a URL, or the default. Raises RefusalError for what cannot be one."""
        text = query.get(self.name)
        if text is None:
            return self.default
        try:
            return msgspec.convert(text, self.form, strict=False)
        except msgspec.ValidationError as error:
            raise invalid(f"?{self.name}={printable(text[:40])} in the URL: {error}") from None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the server: POST to ``path``.

    ``form`` is what a request holds, and ``answer`` what the server answers; None is any JSON, described by the
    examples. ``waits`` says that the answer may take long, and that the request may say how long it waits.
    """

    path: str
    name: str
    summary: str
    handler: Handler
    form: Any = None
    answer: Any = None
    example: Any = None
    answer_example: Any = None
    parameters: tuple[Parameter, ...] = field(default=())
    waits: bool = False


def decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """Return the body of a request to the server as the decoder's type. Raises RefusalError (400, 422)."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RefusalError(400, "bad_json", f"the request is not JSON: {error}") from None
    except RecursionError:
        raise RefusalError(400, "bad_json", "the request is JSON that is nested too deeply") from None


Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_WAIT: Final = re.compile(rb"(?:^|[,;\s])wait\s*=\s*(\d{1,18})(?:$|[,;\s])", re.IGNORECASE)
_LONGEST_WAIT: Final = 86_400


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return a header of a request to the server, or None. ``name`` is in lower case."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    for key, value in headers:
        if key == name:
            return value
    return None


def request_id(scope: Scope) -> str:
    """Return the id of a request to the server: that of its ``X-Request-Id``, or a new one."""
    given = header(scope, b"x-request-id")
    return given.decode() if given is not None and _REQUEST_ID.fullmatch(given) else os.urandom(8).hex()


def patience(scope: Scope) -> int | None:
    """Return for how many seconds a request to the server waits (``Prefer: wait=N``), or None if it does not say."""
    found = _WAIT.search(header(scope, b"prefer") or b"")
    return None if found is None or int(found[1]) == 0 else min(int(found[1]), _LONGEST_WAIT)


async def read_body(scope: Scope, receive: Receive, most: int, arrive: Callable[[int], None]) -> bytes:
    """Return the body of a request to the server; ``arrive`` counts its bytes if it comes in pieces.

    Raises RefusalError for a compressed body (415) and for more than ``most`` bytes (413), and CallerGoneError.
    """
    coding = header(scope, b"content-encoding")
    if coding is not None and coding.strip().lower() not in (b"", b"identity"):
        raise _compressed()
    stated = header(scope, b"content-length")
    if stated is not None and stated.isdigit() and int(stated) > most:
        raise _too_large(most)
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body") and message["type"] == "http.request" and len(body) <= most:
        return body
    chunks, size = [body], len(body)
    if size <= most:
        arrive(size)
    while message["type"] == "http.request" and message.get("more_body") and size <= most:
        message = await receive()
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size <= most:
            arrive(len(chunks[-1]))
    if message["type"] != "http.request":
        raise CallerGoneError
    if size > most:
        raise _too_large(most)
    return b"".join(chunks)


def query_of(scope: Scope) -> dict[str, str]:
    """Return the query of the URL of a request to the server. Raises RefusalError for one that is not UTF-8."""
    text = scope.get("query_string", b"")
    if not text:
        return {}
    try:
        return dict(parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=32))
    except ValueError as error:
        raise invalid(f"the query of the URL cannot be read: {error}") from None


def require_own_page(scope: Scope) -> None:
    """Raise RefusalError (403) for a request that a page of another host sent, or that names another host.

    For a server without tokens, which only this machine can reach: a browser on it must not lend its reach to any page.
    """
    origin = header(scope, b"origin")
    host = b"//" + (header(scope, b"host") or b"")
    for name, value in (("Host", host), ("Origin", origin)):
        if value is not None and not _is_own(value.decode("latin-1")):
            message = f"the header {name} does not name this machine; give the server a token (--tokens) to allow that"
            raise RefusalError(403, "forbidden", message)


@lru_cache(maxsize=64)
def _is_own(address: str) -> bool:
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False


def _compressed() -> RefusalError:
    return RefusalError(415, "compressed", "the request has a Content-Encoding; send its JSON as it is")


def _too_large(most: int) -> RefusalError:
    return RefusalError(413, "too_large", f"the request is larger than {most} bytes, the server's --max-body-mb")
