"""A judge behind an HTTP server: its address, what every request carries, its errors, and a check beforehand.

Not responsible for what goes into a body or comes out of an answer (``providers``), for stepping parameters down
(``negotiation``), nor for sockets and event loops (``transport.http``).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Mapping
from functools import cache, partial
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from calipers.backends.negotiation.negotiated import Capabilities, Frame, Negotiated
from calipers.backends.transport import model_list
from calipers.backends.transport.refusals import Refusal, read_refusal, to_error
from calipers.backends.transport.reply import HttpReply, Peer, excerpt, is_page
from calipers.backends.transport.secrets import secrets_in
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.types import JudgeRequest
from calipers.types.encoding import to_json

if TYPE_CHECKING:
    from calipers.backends.transport.http import HttpClient


class HttpBackend(Negotiated):
    """Asks ``model`` at ``path`` below ``base_url``, with ``headers``, over one session per event loop.

    ``carried`` are headers of the caller's own, which win over ours. ``timeout`` is in seconds for one request. Errors
    name ``key_hint`` as the key's source and never show a key. ``lists_models`` False: the server's list of models says
    nothing about ``model``. ``capabilities`` is what was learned earlier. ConfigError for an address or a header that
    cannot work. A provider is a subclass whose ``complete`` writes a body and reads its answer.
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
        parts = _checked_url(base_url, path)
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
        """The client, made when first used, and shared with every copy of this backend."""
        self._models_hint: str | None = None

    async def models(self) -> HttpReply:
        """The server's list of models as it comes, whatever its status. Raises BackendError when no answer came."""
        return await self._http().request("GET", "/models")

    async def check(self) -> list[str]:
        """Ask what the server offers, without a token spent: warnings, or ConfigError when no question can succeed."""
        try:
            reply = await self.models()
        except BackendError as error:
            raise ConfigError(str(error)) from error
        failed = to_error(read_refusal(reply, self.peer.secrets), self.peer) if reply.status >= 400 else None
        if failed is not None and failed.kind == "unauthorized" and not is_page(reply):
            raise ConfigError(f"{self.url} does not accept the key: check {self.peer.key_hint}.")
        if failed is not None and failed.kind in {"unauthorized", "unreachable"}:
            raise ConfigError(f"{self.url}: {failed}")
        self.context_window = model_list.context_window(reply, self.model)
        self.unlisted = None
        if not self._lists_models:
            return []
        offered = model_list.offered(reply)
        if offered is None and reply.status == 200 and is_page(reply):
            page = excerpt(reply.body.decode("utf-8", "replace"), self.peer.secrets)
            return [
                f"{self.url} answers with a web page ({page}): does the address end in /v1, and is no proxy in between?"
            ]
        if offered is None:
            return [f"{self.url} does not list its models (HTTP {reply.status}); does the address end in /v1 ?"]
        if offered and not model_list.is_among(self.model, offered) and not model_list.takes_any_name(reply):
            self.unlisted = f"{self.url} does not list {self.model!r} among its models ({model_list.few(offered)})."
        return [] if self.unlisted is None else [self.unlisted]

    async def aclose(self) -> None:
        """Close the running loop's connections. Never needed for tidiness: loops close them as they end."""
        if self._http.cache_info().currsize:
            await self._http().aclose()

    async def _accepted(self, request: JudgeRequest, frame: Frame) -> HttpReply:
        """The first 200 to what ``frame`` writes of ``request``. Raises BackendError."""
        settled = await self._settle(request, frame, self._post, secrets=self.peer.secrets)
        if isinstance(settled, Refusal):
            raise await self._error(settled)
        return settled

    def _post(self, body: Mapping[str, Any]) -> Awaitable[HttpReply]:
        """The server's answer to ``body``, whatever its status. Raises BackendError when none came."""
        return self._http().request("POST", self._path, body=_encoded(body))

    async def _error(self, refusal: Refusal) -> BackendError:
        """The error a refusal amounts to; one that found nothing says what there is instead."""
        error = to_error(refusal, self.peer)
        if error.kind != "not_found" or refusal.location is not None:
            return error
        if self._models_hint is None:
            self._models_hint = await self._find_models_hint()
        return error.reworded(f"{error} {self._models_hint}")

    async def _find_models_hint(self) -> str:
        """What the server does offer, to put beside "not found"."""
        try:
            offered = model_list.offered(await self.models())
        except BackendError:
            offered = None
        if offered:
            return f"The server offers {model_list.few(offered)}."
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


def _checked_url(base_url: str, path: str) -> SplitResult:
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError("The base URL should look like http://localhost:8000/v1 or https://host/v1.")
    if parts.path.rstrip("/").endswith(path):
        raise ConfigError(f"The base URL should end before {path}, which is added to it.")
    return parts


def _headers(parts: SplitResult, ours: Mapping[str, str], carried: Mapping[str, str]) -> Mapping[str, str]:
    """What every request carries; the caller's own come last and win, whatever their case."""
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
