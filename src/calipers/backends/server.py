"""The base class of judges behind an HTTP server: address, headers, errors, and a check before the first request."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache, partial
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from calipers.backends.negotiation import Negotiated
from calipers.backends.transport.refusals import Refusal, read_refusal, refusal_error
from calipers.backends.transport.reply import HttpReply, Peer, excerpt, is_web_page
from calipers.backends.transport.secrets import secrets_in
from calipers.errors import BackendError, ConfigError, PermanentError
from calipers.types.encoding import objects_in, require_small_when_decoded, to_json

if TYPE_CHECKING:
    from calipers.backends.transport.http import HttpClient


class HttpBackend(Negotiated):
    """Sends requests to ``model`` at ``path`` below ``base_url``, over one session per event loop.

    ``headers`` are added to every request and replace ours of the same name. ``timeout`` is in seconds for one request.
    Errors name ``api_key_env`` as the key's source and never show a key. ``routing`` are body parameters for every
    request with structured output. ``refused`` is what an earlier run learned. Raises ConfigError for an address or a
    header that cannot work.
    """

    path: ClassVar[str]

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        routing: Mapping[str, Any] | None = None,
        timeout: float = 120.0,
        refused: Iterable[str] = (),
        api_key_env: str | None = None,
    ) -> None:
        super().__init__(model, refused=refused)
        parts = _checked_url(self.address(base_url), self.path)
        if not timeout > 0:
            raise ConfigError(f"timeout must be more than 0 seconds, not {timeout!r}.")
        server, path = parts.netloc.rpartition("@")[2], parts.path.rstrip("/")
        self.host = parts.hostname or ""
        self.url = self.endpoint = urlunsplit((parts.scheme, server, path, "", ""))
        self._routing = routing
        sent = _headers(parts, self.key_headers((api_key or "").strip()), headers or {})
        given = next((name for name in headers or {} if name.lower() in {"authorization", "x-api-key"}), None)
        key_source = f"the header {given}" if given else api_key_env or "the API key"
        self.peer = Peer(model, key_source, secrets_in(sent))
        self._http = cache(partial(_client, urlunsplit((parts.scheme, server, path, parts.query, "")), sent, timeout))
        """Returns the HTTP client, made when first used and shared with every copy of this backend."""
        self._models_hint: str | None = None
        self._address_hint = "" if self.url.endswith("/v1") else " Most servers want an address that ends in /v1."

    @staticmethod
    def address(base_url: str) -> str:
        """Return the address to which the API's path is added."""
        return base_url

    @staticmethod
    def key_headers(key: str) -> dict[str, str]:
        """Return the headers that carry a judge's key, which may be empty."""
        return {"authorization": f"Bearer {key}"} if key else {}

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
        if failed is not None and failed.kind in {"unauthorized", "unreachable"}:
            raise ConfigError(f"{self.url}: {failed}")
        offered = listed_models(reply)
        if offered is None:
            page = excerpt(reply.body.decode("utf-8", "replace"), self.peer.secrets) if is_web_page(reply) else ""
            answer = f"a web page: {page}" if page else f"HTTP {reply.status}"
            return [f"{self.url} does not list its models ({answer}).{self._address_hint}"]
        # Also as its full tag, dated snapshot or resource name.
        listed = rf"(?:models/)?{re.escape(self.model.removesuffix('-latest'))}(?::latest|-latest|-\d{{8}})?"
        if offered and not any(re.fullmatch(listed, name) for name in offered):
            return [f"{self.url} does not list {self.model!r} among its models ({first_names(offered)})."]
        return []

    async def aclose(self) -> None:
        """Close the running event loop's connections to the judge's server; loops also close them as they end."""
        if self._http.cache_info().currsize:
            await self._http().aclose()

    async def send(self, body: Mapping[str, Any]) -> HttpReply:
        """Send a body to the judge's server, and return its reply, whatever the status. Raises BackendError."""
        return await self._http().request("POST", self.path, body=_encoded(body))

    async def error_for(self, refusal: Refusal) -> BackendError:
        """Return the error for a server's refusal; where the model was not found, it lists what the server offers."""
        error = await super().error_for(refusal)
        if error.kind != "not_found" or refusal.location is not None:
            return error
        if self._models_hint is None:
            try:
                offered = listed_models(await self.models())
            except BackendError:
                offered = None
            doubt = f"Is {self.url} right?{self._address_hint}"
            self._models_hint = f"The server offers {first_names(offered)}." if offered else doubt
        from calipers.types.encoding import as_sentence  # noqa: PLC0415 - only a model that was not found needs it

        return error.reworded(f"{as_sentence(str(error))} {self._models_hint}")


# --- the server's list of models --------------------------------------------------------------------------------------


def listed_models(reply: HttpReply) -> list[str] | None:
    """Return the ids of the models that a server lists, or None if the form of the list is unknown.

    The result is empty if the list does not show whether a model exists: it is one page of several, or llama.cpp's,
    which answers under any name.
    """
    try:
        require_small_when_decoded(reply.body)
        body = json.loads(reply.body) if reply.status == 200 else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict) or not isinstance(body.get("data"), list):
        return None
    rows = objects_in(body["data"])
    if body.get("has_more") or any(row.get("owned_by") == "llamacpp" for row in rows):
        return []
    return [row["id"] for row in rows if isinstance(row.get("id"), str)]


def first_names(names: list[str]) -> str:
    """Return the first five of a server's model names as text, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


# --- the request ------------------------------------------------------------------------------------------------------


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
    """Return the parts of a server's address, to which ``path`` will be added. Raises ConfigError."""
    try:
        parts = urlsplit(base_url.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        (parts.hostname or "").encode("idna")
    except ValueError:  # UnicodeError, of a name that no host can have, is one
        usable = False
    if not usable:
        shown = "" if {"@", "?"} & {*base_url} else f" {base_url!r}"  # it may hold a secret
        raise ConfigError(f"The base URL{shown} should look like http://localhost:8000/v1 or https://host/v1.")
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
