"""The base class of judges behind an HTTP server: address, headers, errors, and a check before the first request.

Not responsible for the content of a request or a reply (``providers``), for leaving out refused parameters
(``negotiation``), nor for sockets and event loops (``transport.http``).
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from calipers.backends.negotiation.negotiated import Capabilities, Frame, Negotiated
from calipers.backends.transport import model_list
from calipers.backends.transport.refusals import Refusal, read_refusal, refusal_error
from calipers.backends.transport.reply import HttpReply, Peer, excerpt, is_web_page
from calipers.backends.transport.secrets import secrets_in
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.types import JudgeRequest
from calipers.types.encoding import to_json

if TYPE_CHECKING:
    from calipers.backends.transport.http import HttpClient
    from calipers.backends.transport.llama_cpp import Properties


_log = logging.getLogger("calipers.calls")

_BESIDE = 2.0
"""The seconds to wait for a page that a run can do without: llama.cpp's properties."""


@dataclass(slots=True)
class Renewal:
    """The ``key`` in use for a judge's server, and the ``source`` of another once it is refused.

    All copies of a backend share one.
    """

    source: Callable[[], str | None]
    key: str

    def renew(self, refused: str | None, client: HttpClient) -> bool:
        """Return whether a request that was sent with the key ``refused`` may be sent again with another."""
        if self.key != refused:
            return True  # another call has renewed it meanwhile
        found = self.source()
        if not found or found == refused:
            return False
        client.replace_key(self.key, found)
        self.key = found
        return True


class HttpBackend(Negotiated):
    """Sends requests to ``model`` at ``path`` below ``base_url``, with ``headers``, over one session per event loop.

    ``carried`` are the caller's own headers, which replace ours of the same name. ``timeout`` is in seconds for one
    request. Errors name ``key_hint`` as the key's source and never show a key. ``lists_models`` is False if the
    server's list of models does not show whether ``model`` exists. ``capabilities`` is what an earlier run learned.
    Raises ConfigError for an address or a header that cannot work. Each provider has a subclass whose ``complete``
    writes a request body and reads the reply.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        model: str,
        *,
        base_url: str,
        path: str,
        headers: Mapping[str, str],
        carried: Mapping[str, str] | None = None,
        timeout: float,
        key_hint: str,
        lists_models: bool = True,
        capabilities: Capabilities | None = None,
    ) -> None:
        super().__init__(model, capabilities=capabilities)
        parts = checked_url(base_url, path)
        if not timeout > 0:
            raise ConfigError(f"timeout must be more than 0 seconds, not {timeout!r}.")
        server = parts.netloc.rpartition("@")[2]
        self.host = parts.hostname or ""
        self.url = self.endpoint = urlunsplit((parts.scheme, server, parts.path.rstrip("/"), "", ""))
        self._path = path
        self._lists_models = lists_models
        asked_url = urlunsplit((parts.scheme, server, parts.path.rstrip("/"), parts.query, ""))
        sent = _headers(parts, headers, carried or {})
        self.peer = Peer(model, key_hint, secrets_in(sent))
        self._http = cache(partial(_client, asked_url, sent, timeout))
        """Returns the HTTP client, made when first used and shared with every copy of this backend."""
        root = asked_url.split("?", 1)[0].removesuffix("/v1")
        self._beside = cache(partial(_client, root, sent, _BESIDE))
        """Returns the client of pages outside the API: llama.cpp's properties."""
        self._models_hint: str | None = None
        self._renewal: Renewal | None = None

    async def models(self) -> HttpReply:
        """Return the server's reply to a request for its list of models, whatever its status.

        Raises BackendError if no reply came.
        """
        return await self._http().request("GET", "/models")

    async def check(self) -> list[str]:
        """Ask the server for its models, which costs no tokens, and return warnings.

        Raises ConfigError when no request can succeed.
        """
        try:
            reply = await self.models()
        except BackendError as error:
            raise ConfigError(str(error)) from error
        failed = refusal_error(read_refusal(reply, self.peer.secrets), self.peer) if reply.status >= 400 else None
        if failed is not None and failed.kind == "unauthorized" and not is_web_page(reply):
            raise ConfigError(f"{self.url} does not accept the key: check {self.peer.key_hint}.")
        if failed is not None and failed.kind in {"unauthorized", "unreachable"}:
            raise ConfigError(f"{self.url}: {failed}")
        told = await self._properties() if model_list.takes_any_name(reply) else None
        listed = model_list.listed_context_window(reply, self.model)
        self.context_window = listed or (None if told is None else told.context_window)
        self.slots = None if told is None else told.slots
        self.unlisted = None
        if not self._lists_models:
            return []
        offered = model_list.listed_models(reply)
        if offered is None and reply.status == 200 and is_web_page(reply):
            page = excerpt(reply.body.decode("utf-8", "replace"), self.peer.secrets)
            return [
                f"{self.url} answers with a web page ({page}): does the address end in /v1, and is no proxy in between?"
            ]
        if offered is None:
            return [f"{self.url} does not list its models (HTTP {reply.status}); does the address end in /v1 ?"]
        if offered and not model_list.is_listed(self.model, offered) and not model_list.takes_any_name(reply):
            self.unlisted = (
                f"{self.url} does not list {self.model!r} among its models ({model_list.first_names(offered)})."
            )
        return [] if self.unlisted is None else [self.unlisted]

    async def aclose(self) -> None:
        """Close the running event loop's connections to the judge's server. Not required, because loops close them as
        they end.
        """
        if self._http.cache_info().currsize:
            await self._http().aclose()
        if self._beside.cache_info().currsize:
            await self._beside().aclose()

    async def _properties(self) -> Properties | None:
        """Return what llama.cpp's server tells of itself, which costs no tokens; None if no reply came."""
        from calipers.backends.transport.llama_cpp import read_properties  # noqa: PLC0415 - other servers have no need

        try:
            return read_properties(await self._beside().request("GET", "/props"))
        except BackendError:
            return None

    async def _accepted(self, request: JudgeRequest, frame: Frame) -> HttpReply:
        """Return the first 200 reply to the bodies that ``frame`` writes for ``request``. Raises BackendError."""
        renewal = self._renewal
        sent_with = None if renewal is None else renewal.key
        settled = await self._negotiate(request, frame, self._post, secrets=self.peer.secrets)
        if isinstance(settled, Refusal):
            error = await self._error(settled)
            if renewal is None or error.kind != "unauthorized" or not renewal.renew(sent_with, self._http()):
                raise error
            _log.warning("%s at %s: the key was refused, and another is in use now", self.model, self.endpoint)
            settled = await self._negotiate(request, frame, self._post, secrets=self.peer.secrets)
        if isinstance(settled, Refusal):
            raise await self._error(settled)
        return settled

    def renew_key_from(self, source: Callable[[], str | None], *, key: str) -> None:
        """Have ``key``, when the judge's server refuses it, replaced by what ``source`` returns then, if anything."""
        self._renewal = Renewal(source, key)

    def _post(self, body: Mapping[str, Any]) -> Awaitable[HttpReply]:
        """Return the server's reply to ``body``, whatever its status. Raises BackendError if no reply came."""
        return self._http().request("POST", self._path, body=_encoded(body))

    async def _error(self, refusal: Refusal) -> BackendError:
        """Return the BackendError for a server's refusal. If the model was not found, the error lists what the server
        offers.
        """
        error = refusal_error(refusal, self.peer)
        if error.kind != "not_found" or refusal.location is not None:
            return error
        if self._models_hint is None:
            self._models_hint = await self._find_models_hint()
        from calipers.types.sentence import as_sentence  # noqa: PLC0415 - only a model that was not found needs it

        return error.reworded(f"{as_sentence(str(error))} {self._models_hint}")

    async def _find_models_hint(self) -> str:
        """Return which models the server offers instead, for a "not found" error."""
        try:
            offered = model_list.listed_models(await self.models())
        except BackendError:
            offered = None
        if offered:
            return f"The server offers {model_list.first_names(offered)}."
        beyond = "" if self.url.endswith("/v1") else " Most servers want an address that ends in /v1."
        return f"Is {self.url} right?{beyond}"


def _client(url: str, headers: Mapping[str, str], timeout: float) -> HttpClient:
    from calipers.backends.transport.http import HttpClient  # noqa: PLC0415 - aiohttp takes 0.1 s to import

    return HttpClient(url, headers=headers, timeout=timeout)


def _encoded(body: Mapping[str, Any]) -> bytes:
    if odd := [name for name, value in body.items() if type(value) is float and not isfinite(value)]:
        raise PermanentError("bad_request", f"The request cannot be written as JSON: {', '.join(odd)} is no number")
    try:
        return to_json(body, lone="replace")
    except (TypeError, ValueError) as error:
        raise PermanentError("bad_request", f"The request cannot be written as JSON: {error}") from error


def checked_url(base_url: str, path: str) -> SplitResult:
    """Return the parts of a server's address, to which ``path`` will be added. Raises ConfigError."""
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        (parts.hostname or "").encode("idna")
    except ValueError:  # UnicodeError, of a name that no host can have, is one
        usable = False
    if not usable:
        given = "" if {"@", "?"} & {*base_url} else f" {base_url!r}"  # it may hold a secret
        raise ConfigError(f"The base URL{given} should look like http://localhost:8000/v1 or https://host/v1.")
    if parts.path.rstrip("/").endswith(path):
        raise ConfigError(f"The base URL should end before {path}, which is added to it.")
    return parts


def _headers(parts: SplitResult, ours: Mapping[str, str], carried: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers of every request; the caller's own replace ours, whatever their case."""
    headers = {"content-type": "application/json", "user-agent": "calipers"}
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    headers |= ours
    headers |= {name.lower(): value.strip() for name, value in carried.items()}
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"The {name} header (or the key in it) holds characters that HTTP does not take.")
    return MappingProxyType(headers)
