"""One request over aiohttp, on whichever event loop is running.

A session belongs to exactly one loop, so there is one per loop, made when first needed (``sessions``). Not responsible
for what a status or a body means (``refusals``, ``reply``), for retries or for bounds on what is in flight
(``limits``).
"""

from __future__ import annotations

import asyncio
import io
import math
import threading
import weakref
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

import aiohttp
import yarl

from calipers.backends.transport.event_stream import compacted
from calipers.backends.transport.memory import FREE, ReplyMemory, Reservation
from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.secrets import scrubbed, secrets_in
from calipers.backends.transport.sessions import Owned, Sessions, forget_closed_loops, let_go, owned_session
from calipers.backends.transport.usage import usage_in
from calipers.errors import BackendError, TransientError
from calipers.types import FailureKind, Usage

MAX_REPLY_BYTES = 16 * 2**20
"""More than any judge says; a longer body is a mistake or an attack, and is not read to its end."""

_MOST_STREAMED = 8 * MAX_REPLY_BYTES
"""Of a stream, which takes many bytes to say one, before its events are put together."""

_OF_THE_PROCESS = ReplyMemory(8 * 2**20)
"""For the large replies of all judges of a process together: its memory is one."""

_BIG_BODY = 2**20
"""Above this aiohttp wants a file object, which it sends in pieces instead of holding the loop."""


class HttpClient:
    """Sends requests below ``url`` (a query in it is kept), each bounded by ``timeout`` seconds in all.

    Proxies come from the environment, except for loopback addresses. Redirects are not followed: they would carry
    the key to another host and turn a POST into a GET. A body that shows what ``headers`` hold is returned without it.
    Large replies wait for ``memory``, which is no part of ``timeout``.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str], timeout: float, memory: ReplyMemory = _OF_THE_PROCESS
    ) -> None:
        self._memory = memory
        self._base = yarl.URL(url)
        self._headers = dict(headers)
        self._secrets = [secret.encode() for secret in secrets_in(headers)]
        self._timeout = timeout
        self._targets: dict[str, yarl.URL] = {}
        self._sessions: Sessions = {}
        self._lock = threading.Lock()
        weakref.finalize(self, let_go, self._sessions, self._lock, weakref.ref(self))

    async def request(self, method: Literal["GET", "POST"], path: str, *, body: bytes | None = None) -> HttpReply:
        """The server's answer, whatever its status. Raises BackendError when none, or only part of one, came."""
        _, session, timeouts = await self._owned()
        data = io.BytesIO(body) if body is not None and len(body) > _BIG_BODY else body
        task = timeouts.begin()
        received, reserved = bytearray(), None
        try:
            async with session.request(method, self._target(path), data=data, allow_redirects=False) as response:
                async for size in _receive(response, received):
                    if size > FREE:
                        reserved = reserved or Reservation(self._memory)
                        await self._reserve(reserved, size, timeouts, task)
                whole = scrubbed(bytes(received), self._secrets) if self._secrets else bytes(received)
                return HttpReply(response.status, response.headers, whole, body)
        except asyncio.CancelledError as error:
            if timeouts.ran_out(task):
                raise self._translated(TimeoutError()) from error
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # ValueError is aiohttp's for headers and URLs it cannot send; a TimeoutError is an OSError.
            raise self._translated(error, usage_in(received)) from error
        finally:
            timeouts.end(task)
            # What the reply is made of is read before anything else runs on this loop, and not kept; an error's
            # traceback would keep it.
            if reserved is not None:
                reserved.release()
            received.clear()

    async def _reserve(self, reserved: Reservation, size: int, timeouts: Timeouts, task: asyncio.Task[Any]) -> None:
        """Wait for memory for ``size`` bytes; its server does nothing to end that wait, so it is not timed."""
        if not reserved.covers(size):
            left = timeouts.pause(task)
            try:
                await reserved.grow(size)
            finally:
                timeouts.resume(task, left)

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

    async def _owned(self) -> Owned:
        loop = asyncio.get_running_loop()
        owned = self._sessions.get(loop)
        if owned is None:
            forget_closed_loops(self._sessions, self._lock)
            owner = owned_session(self._headers, seconds=self._timeout, url=self._base)
            # No other task of this loop runs between here and the entry: nothing awaited below truly waits.
            owned = Owned(owner, await anext(owner), Timeouts(self._timeout))
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


class Timeouts:
    """Many waits of equal length with one timer: gives each task of the running loop at most ``seconds`` between
    ``begin`` and ``end``; then it is cancelled.

    Waits that are given the same time run out in the order in which they began: only the oldest needs a timer, and
    nearly none ever fires. A timer for each, and its cancellation, would cost as much as reading the answer.

    ``ran_out`` tells that cancellation from others, as ``asyncio.timeout`` does.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[asyncio.Task[Any], tuple[float, int]] = {}
        """When each task's time is over, the oldest first, and how often it had been cancelled before."""
        self._over: dict[asyncio.Task[Any], int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> asyncio.Task[Any]:
        """The running task, whose time begins; it waits once at a time, and must come to its ``end``."""
        task = asyncio.current_task(self._loop)
        assert task is not None  # noqa: S101 - what awaits on an event loop runs in a task
        ends = self._loop.time() + self._seconds
        self._waiting[task] = ends, task.cancelling()
        if self._timer is None:
            self._timer = self._loop.call_at(ends, self._look)
        return task

    def end(self, task: asyncio.Task[Any]) -> None:
        """Let it go."""
        if self._waiting.pop(task, None) is None and self._over.pop(task, None) is not None:
            task.uncancel()  # it ended otherwise, just then

    def pause(self, task: asyncio.Task[Any]) -> float:
        """Stop its time, and give what was left of it in seconds; for waiting that is not its server's doing."""
        ends, _ = self._waiting.pop(task, (self._loop.time(), 0))
        return max(0.0, ends - self._loop.time())

    def resume(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Let ``seconds`` of its time go on, with a timer of its own: it is no longer the turn of who began before
        it.
        """
        self._waiting[task] = self._loop.time() + seconds, task.cancelling()
        self._loop.call_later(seconds, self._look_at, task)

    def ran_out(self, task: asyncio.Task[Any]) -> bool:
        """Whether it was cancelled for its time alone. To be asked once, between its cancellation and its end."""
        before = self._over.pop(task, None)
        return before is not None and task.uncancel() <= before

    def _look(self) -> None:
        """Cancel who has waited too long; look again when the next one's time is over."""
        self._timer = None
        now = self._loop.time()
        while self._waiting:
            task, (ends, before) = next(iter(self._waiting.items()))
            if ends > now:
                self._timer = self._loop.call_at(ends, self._look)
                return
            self._end(task, before)

    def _look_at(self, task: asyncio.Task[Any]) -> None:
        ends, before = self._waiting.get(task, (math.inf, 0))
        if ends <= self._loop.time():
            self._end(task, before)

    def _end(self, task: asyncio.Task[Any], before: int) -> None:
        del self._waiting[task]
        self._over[task] = before
        task.cancel()
