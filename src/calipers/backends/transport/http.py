"""Sends a request over aiohttp, on whichever event loop is running.

A session belongs to exactly one event loop, so each loop has its own, made when first needed (``sessions``). Not
responsible for what a status or a body means (``refusals``, ``reply``), for retries or for limits on calls in flight
(``limits``).
"""

from __future__ import annotations

import asyncio
import io
import threading
import weakref
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

import aiohttp
import yarl

from calipers.backends.transport.event_stream import compact_stream
from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.reply_memory import FREE, ReplyMemory, Reservation
from calipers.backends.transport.secrets import secrets_in, without_secrets
from calipers.backends.transport.sessions import Owned, Sessions, close_sessions, forget_closed_loops, owned_session
from calipers.backends.transport.timeouts import Timeouts
from calipers.backends.transport.usage import usage_in
from calipers.errors import BackendError, TransientError
from calipers.types import FailureKind, Usage

MAX_REPLY_BYTES = 16 * 2**20
"""The most bytes of a reply. No judge's answer is longer; a longer body is a mistake or an attack, so reading stops."""

_MOST_STREAMED = 8 * MAX_REPLY_BYTES
"""The most bytes of a stream before its events are merged. A stream uses many bytes for each byte of the answer."""

_OF_THE_PROCESS = ReplyMemory(8 * 2**20)
"""The memory for large replies. All judges of a process share it, because they share the process's memory."""

_BIG_BODY = 2**20
"""aiohttp gets a larger body as a file object, which it sends in pieces instead of blocking the loop."""


class HttpClient:
    """Sends requests to paths below ``url``, each limited to ``timeout`` seconds in all. A query string in ``url`` is
    sent.

    Proxies come from the environment, except for loopback addresses. Redirects are not followed, because they would
    carry the key to another host and turn a POST into a GET. Secrets in ``headers`` are removed from the body of a
    reply. Large replies wait for ``memory``; that wait does not count towards ``timeout``.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], timeout: float, memory: ReplyMemory = _OF_THE_PROCESS
    ) -> None:
        self._memory = memory
        self._base = yarl.URL(url)
        self._headers = dict(headers)
        self._secrets = [secret.encode() for secret in secrets_in(headers)]
        self._timeout = timeout
        self._renewed: dict[str, str] | None = None
        self._targets: dict[str, yarl.URL] = {}
        self._sessions: Sessions = {}
        self._lock = threading.Lock()
        weakref.finalize(self, close_sessions, self._sessions, self._lock, weakref.ref(self))

    def replace_key(self, old: str, new: str) -> None:
        """Send ``new`` in every header to the judge's server that holds the key ``old``, from the next request on."""
        headers = self._renewed or self._headers
        self._renewed = {name: value.replace(old, new) for name, value in headers.items()}
        self._secrets += [secret.encode() for secret in secrets_in(self._renewed)]

    async def request(self, method: Literal["GET", "POST"], path: str, *, body: bytes | None = None) -> HttpReply:
        """Return the server's reply, whatever its status. Raises BackendError if no complete reply came."""
        _, session, timeouts = await self._session_of_loop()
        data = io.BytesIO(body) if body is not None and len(body) > _BIG_BODY else body
        task = timeouts.begin()
        received, reserved = bytearray(), None
        try:
            async with session.request(
                method, self._target(path), data=data, headers=self._renewed, allow_redirects=False
            ) as response:
                async for size in _receive(response, received):
                    if size > FREE:
                        reserved = reserved or Reservation(self._memory)
                        await self._reserve(reserved, size, timeouts, task)
                whole = without_secrets(bytes(received), self._secrets) if self._secrets else bytes(received)
                return HttpReply(response.status, response.headers, whole, body)
        except asyncio.CancelledError as error:
            if timeouts.ran_out(task):
                raise self._translated(TimeoutError()) from error
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # aiohttp raises ValueError for headers and URLs that it cannot send. A TimeoutError is an OSError.
            raise self._translated(error, usage_in(received)) from error
        finally:
            timeouts.end(task)
            # The received bytes are cleared before other code runs on this loop. Otherwise an error's traceback would
            # hold them.
            if reserved is not None:
                reserved.release()
            received.clear()

    async def _reserve(self, reserved: Reservation, size: int, timeouts: Timeouts, task: asyncio.Task[Any]) -> None:
        """Wait until ``size`` bytes of the reply may be held in memory; the wait does not count towards the request's
        timeout.
        """
        if not reserved.covers(size):
            left = timeouts.pause(task)
            try:
                await reserved.grow(size)
            finally:
                timeouts.resume(task, left)

    async def aclose(self) -> None:
        """Close the running event loop's HTTP session with the judge's server; other loops close their own. The next
        request makes a new session.
        """
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

    async def _session_of_loop(self) -> Owned:
        loop = asyncio.get_running_loop()
        owned = self._sessions.get(loop)
        if owned is None:
            forget_closed_loops(self._sessions, self._lock)
            owner = owned_session(self._headers, seconds=self._timeout, url=self._base)
            # No other task of this loop runs before the session is stored, because the coroutines awaited below do not
            # suspend.
            owned = Owned(owner, await anext(owner), Timeouts(self._timeout))
            with self._lock:
                self._sessions[loop] = owned
        elif owned.session.closed:
            # The loop's async generators were shut down, which closed the session, and then the loop was used again.
            with self._lock:
                del self._sessions[loop]
            return await self._session_of_loop()
        return owned

    def _translated(self, error: Exception, usage: Usage | None = None) -> BackendError:
        """Return the BackendError for an exception of the HTTP client. Its text holds no headers, and so no keys.

        This is the only place that translates the client's exceptions. ``usage`` is what the server billed for an
        answer that broke off.
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


async def _receive(response: aiohttp.ClientResponse, received: bytearray) -> AsyncIterator[int]:
    """Read the body of the server's response into ``received``, and yield the number of bytes held after each piece.

    ``received`` is a single growing array, because a server may send a byte at a time. The events of a stream are
    merged while they arrive.
    """
    total, compact_at = 0, FREE if response.content_type == "text/event-stream" else _MOST_STREAMED
    while chunk := await response.content.readany():
        received += chunk
        total += len(chunk)
        if len(received) > compact_at:
            received[:] = compact_stream(bytes(received))
            compact_at = max(FREE, 2 * len(received))
        if len(received) > MAX_REPLY_BYTES or total > _MOST_STREAMED:
            response.close()
            raise TransientError("bad_reply", f"The answer is longer than {MAX_REPLY_BYTES // 2**20} MiB.")
        yield len(received)
