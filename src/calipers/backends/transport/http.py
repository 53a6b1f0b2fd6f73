"""One request over aiohttp, on whichever event loop is running.

Trainers bring their own loops, sometimes several, and close them in their own ways; a session belongs to exactly one
loop, so there is one per loop, made when first needed. Not responsible for what a status or a body means
(``refusals``, ``reply``), for retries (``retry``) or for bounds on what is in flight (``limit``).
"""

from __future__ import annotations

import asyncio
import atexit
import io
import threading
import urllib.request
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import yarl

from calipers.backends.limits.patience import Patience
from calipers.backends.transport.event_stream import compacted
from calipers.backends.transport.memory import FREE, Room
from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.secrets import scrubbed, secrets_in
from calipers.backends.transport.usage import usage_in
from calipers.errors import BackendError, TransientError
from calipers.types import FailureKind, Usage

MAX_REPLY_BYTES = 16 * 2**20
"""More than any judge says; a longer body is a mistake or an attack, and is not read to its end."""

_MOST_STREAMED = 8 * MAX_REPLY_BYTES
"""Of a stream, which takes many bytes to say one, before its events are put together."""

_ALL_AT_ONCE = Room(8 * 2**20)
"""For the replies of all judges of a process together: its memory is one."""

_CONNECT_SECONDS = 15.0
"""A host that drops packets should be noticed long before a judge's thinking time is over."""

_EXIT_SECONDS = 2.0
"""How long the interpreter's end waits for a loop that another thread still runs."""

_BIG_BODY = 2**20
"""Above this aiohttp wants a file object, which it sends in pieces instead of holding the loop."""


class _Owned(NamedTuple):
    """One loop's session, the generator that closes it with its loop, and how long its requests may take."""

    owner: AsyncGenerator[aiohttp.ClientSession]
    session: aiohttp.ClientSession
    patience: Patience


_Sessions = dict[asyncio.AbstractEventLoop, _Owned]


class HttpClient:
    """Sends requests below ``url`` (a query in it is kept), each bounded by ``timeout`` seconds in all.

    Proxies come from the environment, except for loopback addresses. Redirects are not followed: they would carry
    the key to another host and turn a POST into a GET. A body that shows what ``headers`` hold is handed on without it.
    Large replies wait for ``room``, which is no part of ``timeout``.
    """

    def __init__(self, url: str, *, headers: Mapping[str, str], timeout: float, room: Room = _ALL_AT_ONCE) -> None:
        self._room = room
        self._base = yarl.URL(url)
        self._headers = dict(headers)
        self._secrets = [secret.encode() for secret in secrets_in(headers)]
        self._timeout = timeout
        self._targets: dict[str, yarl.URL] = {}
        self._sessions: _Sessions = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _let_go, self._sessions, self._lock, weakref.ref(self))

    async def request(self, method: Literal["GET", "POST"], path: str, *, body: bytes | None = None) -> HttpReply:
        """The server's answer, whatever its status. Raises BackendError when none, or only part of one, came."""
        _, session, patience = await self._owned()
        data = io.BytesIO(body) if body is not None and len(body) > _BIG_BODY else body
        task = patience.begin()
        received, claim = bytearray(), self._room.claim()
        try:
            async with session.request(method, self._target(path), data=data, allow_redirects=False) as response:
                async for size in _receive(response, received):
                    if not claim.covers(size):
                        left = patience.pause(task)
                        try:
                            await self._room.grow(claim, size)
                        finally:
                            patience.resume(task, left)
                return HttpReply(response.status, response.headers, scrubbed(bytes(received), self._secrets), body)
        except asyncio.CancelledError as error:
            if patience.ran_out(task):
                raise self._translated(TimeoutError()) from error
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError is aiohttp's for headers and URLs it cannot send; a TimeoutError is an OSError.
            raise self._translated(error, usage_in(received)) from error
        finally:
            patience.end(task)
            # What the reply is made of is read before anything else runs on this loop, and not kept; an error's traceback
            # would keep it.
            claim.leave()
            received.clear()

    async def aclose(self) -> None:
        """Close the running loop's session; other loops' close with them. The next request makes a new one."""
        with self._lock:
            owned = self._sessions.pop(asyncio.get_running_loop(), None)
        if owned is not None:
            await owned.owner.aclose()

    def _target(self, path: str) -> yarl.URL:
        target = self._targets.get(path)
        if target is None:
            whole = self._base.path.rstrip("/") + path
            target = self._targets[path] = self._base.with_path(whole, keep_query=True)
        return target

    async def _owned(self) -> _Owned:
        loop = asyncio.get_running_loop()
        owned = self._sessions.get(loop)
        if owned is None:
            _forget_closed_loops(self._sessions, self._lock)
            owner = _owned_session(self._headers, seconds=self._timeout, proxy=_proxy_for(self._base))
            # No other task of this loop runs between here and the entry: nothing awaited below truly waits.
            owned = _Owned(owner, await anext(owner), Patience(self._timeout))
            with self._lock:
                self._sessions[loop] = owned
        elif owned.session.closed:
            # The loop's async generators were shut down, and then it went on.
            with self._lock:
                del self._sessions[loop]
            return await self._owned()
        return owned

    def _translated(self, error: Exception, usage: Usage | None = None) -> BackendError:
        """The one place where this client's foreign exceptions become ours. Texts hold no headers, hence no keys.

        ``usage`` is of an answer that broke off when its bill was said already.
        """
        where = f"{self._base.scheme}://{self._base.host_port_subcomponent}"
        kind: FailureKind = "unreachable"
        match error:
            case aiohttp.ConnectionTimeoutError():
                said = f"{where} did not accept a connection in time: is the host right, and up?"
            case TimeoutError():
                kind = "timeout"
                said = f"{where} gave no whole answer within {self._timeout:g} s; a larger timeout may help."
            case aiohttp.ClientConnectorDNSError():
                said = f"The host name {self._base.host} cannot be resolved: is it spelled right?"
            case aiohttp.ClientConnectorCertificateError():
                said = f"{where} shows a certificate that is not trusted here: {error.certificate_error}"
            case aiohttp.ClientConnectorSSLError():
                said = f"{where} does not speak TLS as expected: should the address begin with http:// ?"
            case aiohttp.ClientConnectorError():
                why = error.os_error.strerror or error.os_error
                said = f"Nothing answers at {where} ({why}): is the server running, and is this its address?"
            case aiohttp.ClientPayloadError():
                kind = "bad_reply"
                said = f"{where} broke off or garbled its answer."
            case aiohttp.ClientResponseError():
                said = f"{where} does not answer in HTTP: should the address begin with https:// ?"
            case aiohttp.ClientConnectionError() | OSError():
                said = f"{where} closed the connection before it had answered."
            case _:
                said = f"The request to {where} could not be sent ({type(error).__name__})."
        translated = TransientError(kind, said)
        translated.usage = usage
        return translated


async def _owned_session(
    headers: Mapping[str, str], *, seconds: float, proxy: str | None
) -> AsyncGenerator[aiohttp.ClientSession]:
    """A session that its loop closes.

    A generator and not a plain object, because ``asyncio.run`` and its kin finalise a loop's async generators before
    they close it: whoever owns the loop, the session is closed on it, in time, without being told.
    """
    session = aiohttp.ClientSession(
        headers=headers,
        # A request as a whole is bounded by ``Patience``.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(seconds, _CONNECT_SECONDS)),
        connector=aiohttp.TCPConnector(limit=0),  # bounds on what is in flight are ours
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=proxy,
    )
    try:
        yield session
    finally:
        await session.close()


def _forget_closed_loops(sessions: _Sessions, lock: threading.Lock) -> None:
    """Let go of sessions whose loop was closed without finalising its generators (``loop.close()`` alone)."""
    with lock:
        for loop in [loop for loop in sessions if loop.is_closed()]:
            session = sessions.pop(loop).session
            if session.connector is not None:
                # On a closed loop this only marks it as closed; the step through the awaitable says it was awaited.
                next(iter(session.connector.close().__await__()), None)


def _let_go(sessions: _Sessions, lock: threading.Lock, client: weakref.ref[HttpClient]) -> None:
    """Run when a client is collected, and for those still alive when the interpreter ends.

    Collected on a running loop, the generator is finalised there by asyncio. Loops at rest that nobody closes would
    leave their sessions to the interpreter's end, and a complaint of aiohttp's.
    """
    _forget_closed_loops(sessions, lock)
    at_exit = client() is not None
    for loop, owned in list(sessions.items()):
        if at_exit:
            _finish(loop, owned.owner)
        elif not loop.is_running():
            atexit.register(_finish, loop, owned.owner)


def _finish(loop: asyncio.AbstractEventLoop, owner: AsyncGenerator[aiohttp.ClientSession]) -> None:
    """Close a session at the interpreter's end, wherever its loop is by then."""
    if loop.is_running():  # in a daemon thread
        asyncio.run_coroutine_threadsafe(_close(owner), loop).result(_EXIT_SECONDS)
    elif not loop.is_closed():
        loop.run_until_complete(_close(owner))


async def _close(owner: AsyncGenerator[aiohttp.ClientSession]) -> None:
    await owner.aclose()


def _proxy_for(url: yarl.URL) -> str | None:
    """The environment's proxy for this host; loopback never goes through one."""
    host = url.host or ""
    if host == "localhost" or host.startswith("127.") or host == "::1" or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return proxy if proxy and urlsplit(proxy).scheme in {"http", "https"} else None


async def _receive(response: aiohttp.ClientResponse, received: bytearray) -> AsyncIterator[int]:
    """The body into ``received``, one growing array, for a server may send a byte at a time: its size, time and again.

    A stream's events are put together on the way.
    """
    total, compact_at = 0, FREE if response.content_type == "text/event-stream" else _MOST_STREAMED
    while chunk := await response.content.readany():
        received += chunk
        total += len(chunk)
        if len(received) > compact_at:
            received[:] = compacted(bytes(received))
            compact_at = max(FREE, 2 * len(received))
        if len(received) > MAX_REPLY_BYTES or total > _MOST_STREAMED:
            response.close()
            raise TransientError("bad_reply", f"The answer is longer than {MAX_REPLY_BYTES // 2**20} MiB.")
        yield len(received)
