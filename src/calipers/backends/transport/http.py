"""Sends a request over aiohttp, on whichever event loop is running.

A session belongs to exactly one event loop, so each loop has its own, made when first needed and closed with the loop:
trainers run their own event loops, sometimes several, and close them in different ways.
"""

from __future__ import annotations

import asyncio
import io
import os
import threading
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Mapping, MutableMapping
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import aiohttp
import yarl

from calipers.backends.names import url_without_password
from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.secrets import secrets_in, without_secrets
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import FailureKind

MAX_REPLY_BYTES = 16 * 2**20
"""The most bytes of a reply. No judge's answer is longer; a longer body is a mistake or an attack, so reading stops."""
_MOST_STREAMED = 4 * MAX_REPLY_BYTES
"""The most bytes of a stream, which uses many bytes for each byte of the answer."""
_BIG_BODY = 2**20
"""aiohttp gets a larger body as a file object, which it sends in pieces instead of blocking the loop."""
_CONNECT_SECONDS = 15.0
"""Short, so that a host that drops packets is noticed long before a slow judge would have answered."""
_OF_ANOTHER_NAME_OR_TIME = {9, 10, 62, 64}
"""OpenSSL's codes for a certificate that is not valid yet or no longer, or for another host or IP address."""
_START = "start the server, or correct its address (base URL)"
_KINDS: Final[Mapping[Any, FailureKind]] = {TimeoutError: "timeout", aiohttp.ClientPayloadError: "bad_reply"}
_CAUSES: Final[Mapping[Any, str]] = {
    aiohttp.ConnectionTimeoutError: "{where} accepts no connection in time: check that the host is right and up",
    TimeoutError: "{where} gave no whole answer within {timeout:g} s: a larger timeout or a lower concurrency may help",
    aiohttp.ClientConnectorDNSError: "{peer}: the host name {error.host} cannot be resolved: check its spelling",
    aiohttp.ClientConnectorCertificateError: "{where} is not trusted here ({error.certificate_error}): {certificate}",
    aiohttp.ClientConnectorSSLError: "{where} does not speak TLS: try an address that begins with http://",
    aiohttp.ClientConnectorError: "Nothing answers at {peer} ({why}): {remedy}",
    aiohttp.ClientPayloadError: "{where} broke off or garbled its answer.",
    aiohttp.ClientHttpProxyError: "{where} cannot be reached: the proxy answers HTTP {error.status}",
    aiohttp.ClientResponseError: "{where} does not answer in HTTP: try an address that begins with https://",
    (aiohttp.ClientConnectionError, OSError): "{where} closed the connection before it had answered.",
    Exception: "The request to {where} could not be sent ({error.__class__.__name__}).",
}
"""What each exception of the HTTP client means, the first that fits."""

_Owner: TypeAlias = AsyncGenerator[aiohttp.ClientSession]
_Sessions: TypeAlias = MutableMapping[asyncio.AbstractEventLoop, tuple[_Owner, aiohttp.ClientSession]]


class HttpClient:
    """Sends requests to paths below ``url``, each limited to ``timeout`` seconds in all. A query string in ``url`` is
    sent.

    Proxies come from the environment, except for loopback addresses. Redirects are not followed, because they would
    carry the key to another host and turn a POST into a GET. Secrets in ``headers`` are removed from the body of a
    reply.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout: float) -> None:
        self._base = yarl.URL(url)
        self._headers = dict(headers)
        self._secrets = [secret.encode() for secret in secrets_in(headers)]
        self._timeout = timeout
        self._targets: dict[str, yarl.URL] = {}
        self._sessions: _Sessions = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _forget_closed_loops, self._sessions, self._lock)

    async def request(self, method: Literal["GET", "POST"], path: str, *, body: bytes | None = None) -> HttpReply:
        """Return the server's reply, whatever its status. Raises BackendError if no complete reply came."""
        session = await self._session_of_loop()
        data = io.BytesIO(body) if body is not None and len(body) > _BIG_BODY else body
        target = self._targets.get(path)
        if target is None:
            whole = self._base.path.rstrip("/") + path
            target = self._targets[path] = self._base.with_path(whole, keep_query=True)
        received = bytearray()
        try:
            async with session.request(method, target, data=data, allow_redirects=False) as response:
                most = _MOST_STREAMED if response.content_type == "text/event-stream" else MAX_REPLY_BYTES
                while chunk := await response.content.readany():
                    received += chunk
                    if len(received) > most:
                        response.close()
                        raise TransientError("bad_reply", f"The answer is longer than {most // 2**20} MiB.")
                return HttpReply(
                    response.status, response.headers, without_secrets(bytes(received), self._secrets), body
                )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # aiohttp raises ValueError for headers and URLs that it cannot send. A TimeoutError is an OSError.
            raise self._translated(error) from error

    async def aclose(self) -> None:
        """Close the running event loop's HTTP session with the judge's server; the next request makes a new one."""
        with self._lock:
            owned = self._sessions.pop(asyncio.get_running_loop(), None)
        if owned is not None:
            await owned[0].aclose()

    async def _session_of_loop(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        owned = self._sessions.get(loop)
        if owned is not None and not owned[1].closed:
            return owned[1]
        _forget_closed_loops(self._sessions, self._lock)
        owner = _owned_session(self._headers, seconds=self._timeout, url=self._base)
        # No other task of this loop runs before the session is stored, because ``anext`` does not suspend here.
        session = await anext(owner)
        with self._lock:
            self._sessions[loop] = owner, session
        return session

    def _translated(self, error: Exception) -> BackendError:
        """Return the BackendError for an exception of the HTTP client. Its text holds no headers, and so no keys.

        This is the only place that translates the client's exceptions.
        """
        server, proxy = f"{self._base.scheme}://{self._base.host_port_subcomponent}", _proxy_for(self._base)
        peer = f"the proxy {url_without_password(proxy)}" if proxy else server
        cause, message = next((cause, text) for cause, text in _CAUSES.items() if isinstance(error, cause))
        values = {"timeout": self._timeout, "certificate": _certificate_remedy(error), "peer": peer, "error": error}
        values["why"] = getattr(error, "strerror", None) or getattr(error, "os_error", "")
        values["where"] = f"{server} (by way of {peer})" if proxy else server
        values["remedy"] = f"correct its address, or set NO_PROXY={self._base.host}" if proxy else _START
        return TransientError(_KINDS.get(cause, "unreachable"), message.format(**values))


# --- sessions ---------------------------------------------------------------------------------------------------------


async def _owned_session(headers: Mapping[str, str], *, seconds: float, url: yarl.URL) -> _Owner:
    """Yield an aiohttp session, which is closed when its event loop ends.

    This is a generator because ``asyncio.run`` and similar runners finalise a loop's async generators before they close
    the loop. So the session is closed on its own loop without any call, whichever code owns the loop.
    """
    session = aiohttp.ClientSession(
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, _CONNECT_SECONDS)),
        connector=aiohttp.TCPConnector(limit=0),  # calipers limits the calls in flight itself
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=_proxy_for(url),
    )
    try:
        yield session
    finally:
        await session.close()


def _forget_closed_loops(sessions: _Sessions, lock: threading.Lock) -> None:
    """Drop the sessions of event loops that were closed without finalising their generators (by ``loop.close()``)."""
    with lock:
        for loop in [loop for loop in sessions if loop.is_closed()]:
            _, session = sessions.pop(loop)
            if session.connector is not None:
                # On a closed loop this only marks the connector as closed. One step of the awaitable avoids a warning.
                next(iter(session.connector.close().__await__()), None)


def _certificate_remedy(error: Exception) -> str:
    if getattr(getattr(error, "certificate_error", None), "verify_code", 0) in _OF_ANOTHER_NAME_OR_TIME:
        return "use an address that the certificate names, or renew it"
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        paths = os.environ.get(name)
        if paths and not any(map(os.path.exists, (paths, *paths.split(os.pathsep)))):
            return f"{name} names {paths[:80]}, which does not exist"
    return "set SSL_CERT_FILE to a file with the certificate of its issuer"


def _proxy_for(url: yarl.URL) -> str | None:
    """Return the environment's proxy for this host, or None; a loopback address never uses a proxy, and one for SOCKS
    is not used. Raises PermanentError for a proxy that is not an address.
    """
    host = url.host or ""
    if host == "localhost" or host.startswith("127.") or host == "::1" or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    name = url.scheme if proxies.get(url.scheme) else "all"
    proxy = proxies.get(name)
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urlsplit(proxy)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:  # it may hold a password, so it is not shown
        why = f"{name.upper()}_PROXY is not an address: write it as http://proxy.example:3128, or unset it"
        raise PermanentError("not_found", why, fatal=True)
    return proxy if parts.scheme in {"http", "https"} else None
