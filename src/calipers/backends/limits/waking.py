"""A judge's server that is woken before its first call and put to rest after the last, to lend its GPU to a trainer.

Waking and resting are requests to addresses of the server, or functions of the caller's. Groups that are judged at the
same time wake the server once. Not responsible for which groups are judged together (``judging``), or for requests as
such (``transport.switches``).
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import logging
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any, TypeAlias

from calipers.backends.limits.metered import report_error
from calipers.backends.limits.wrapper import Wrapper
from calipers.backends.transport.machine_lock import MachineLock
from calipers.backends.transport.switches import addresses_of_switch, post_to_all
from calipers.errors import BackendError, TransientError
from calipers.interfaces import Backend
from calipers.types import Completion, JudgeRequest

_log = logging.getLogger(__name__)

Switch: TypeAlias = "str | Sequence[str] | Callable[[], Any]"
"""What wakes a server or puts it to rest: an address, a path of the server, several of these in order, or a function
without arguments, which may be asynchronous.
"""


class Waking:
    """Wakes the server of ``backend`` when it is first asked, and puts it to rest ``linger`` seconds after the last
    group.

    A period begins with the first ``awake`` while somebody holds the server, and ends when nobody has held it for
    ``linger`` seconds, or at once with ``rest``. All of it happens in a thread, so it survives the event loop of the
    group that began it. Processes of this machine that use the same addresses share the server: it rests when the last
    of them is done. ``timeout`` is in seconds for each request or function. Safe to use from several event loops.
    """

    def __init__(
        self, backend: Backend, *, wake: Switch | None, rest: Switch | None, linger: float, timeout: float
    ) -> None:
        self._wake = self._action("wake", wake, backend)
        self._rest = self._action("rest", rest, backend)
        self._linger, self._timeout = linger, timeout
        named = [one for one in (wake, rest) if one is not None and not callable(one)]
        self._shared = f"{named} {_servers(backend)}" if named else None
        self._turn = threading.Lock()
        self._changed = threading.Condition()
        self._forget()

    def _forget(self) -> None:
        self._process = os.getpid()
        self._holders = 0
        self._hurry = False
        self._woken: Future[None] | None = None
        self._rested: Future[None] | None = None

    def hold(self) -> None:
        """Keep the server from resting until ``release``, once for each call. This alone does not wake it."""
        self._hold(1)

    def release(self) -> None:
        """Let the server rest if nobody else holds it."""
        self._hold(-1)

    def _hold(self, step: int) -> None:
        if self._process != os.getpid():  # a fork has none of its parent's threads, and its locks may be held for ever
            self._turn, self._changed = threading.Lock(), threading.Condition()
            self._forget()
        with self._changed:
            self._holders += step
            self._hurry = self._hurry and step < 0
            self._changed.notify_all()

    async def awake(self) -> None:
        """Return once the server is awake. The caller holds it. Raises BackendError if it cannot be woken."""
        with self._changed:
            if self._woken is None:
                self._woken, self._rested = Future(), Future()
                arguments = (self._woken, self._rested)
                threading.Thread(target=self._period, args=arguments, name="calipers-waking", daemon=True).start()
            woken = self._woken
        try:
            if woken.done():
                woken.result()
            else:
                await asyncio.shield(asyncio.wrap_future(woken))
        except BackendError as error:
            raise error.reworded(str(error)) from error  # each call gets an error of its own, which is counted

    async def rest(self) -> None:
        """Put the server to rest now if nobody holds it, and return once that is done. Never raises for a server that
        cannot be put to rest, which is in the log.
        """
        with self._changed:
            rested = self._rested if self._woken is not None and not self._holders else None
            self._hurry = rested is not None
            self._changed.notify_all()
        if rested is not None:
            await asyncio.shield(asyncio.wrap_future(rested))

    def _period(self, woken: Future[None], rested: Future[None]) -> None:
        with self._turn, MachineLock(self._shared) as lock:  # an earlier period may still be putting the server to rest
            at_exit = _rest_at_exit(self)
            try:
                self._wake()
            except Exception as error:  # noqa: BLE001 - all who wait for the server must hear of it
                self._end()
                woken.set_exception(error)
            else:
                woken.set_result(None)
                self._wait()
                self._put_to_rest(lock)
            finally:
                atexit.unregister(at_exit)
                rested.set_result(None)

    def _put_to_rest(self, lock: MachineLock) -> None:
        try:
            if lock.is_last():
                self._rest()
        except BackendError as error:
            _log.warning("The judge's server was not put to rest, and may still hold its GPU's memory: %s", error)

    def _wait(self) -> None:
        """Return once nobody has held the server for the time to linger; a later ``awake`` begins another period."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: not self._holders)
                if not self._changed.wait_for(lambda: self._holders or self._hurry, timeout=self._linger):
                    break
                if not self._holders:
                    break
            self._end()

    def _end(self) -> None:
        with self._changed:
            self._woken, self._hurry = None, False

    def leave_at_exit(self) -> None:
        """Put the server to rest because the process ends, whoever holds it; wait for that as long as it may take."""
        with self._changed:
            rested = self._rested
            self._holders, self._hurry = 0, True
            self._changed.notify_all()
        if rested is not None:
            wait([rested], timeout=2 * self._timeout)

    def _action(self, name: str, switch: Switch | None, backend: Backend) -> Callable[[], None]:
        if switch is None:
            return lambda: None
        if callable(switch):
            function: Callable[[], Any] = switch
            return lambda: _call(name, function, self._timeout)
        at = addresses_of_switch(name, [switch] if isinstance(switch, str) else switch, _servers(backend))
        return lambda: post_to_all(at, doing=name, timeout=self._timeout)


class Awake(Wrapper):
    """``backend`` whose server is woken by ``waking`` before a call, and kept awake during the call."""

    def __init__(self, backend: Backend, *, waking: Waking) -> None:
        super().__init__(backend)
        self._waking = waking

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's answer. Raises what the backend raises, and BackendError for a server that cannot be
        woken.
        """
        self._waking.hold()
        try:
            try:
                await self._waking.awake()
            except BackendError as error:
                report_error(request, error)
                raise
            return await self._backend.complete(request)
        finally:
            self._waking.release()


def _servers(backend: Backend) -> list[str]:
    """Return the addresses of all servers of ``backend``; none for a judge that is not behind HTTP."""
    members = getattr(backend, "members", (backend,))
    return [url for member in members if isinstance(url := getattr(member, "url", None), str)]


def _call(name: str, function: Callable[[], Any], timeout: float) -> None:
    """Call a user's ``function``, in a thread of its own, because nothing else can be waited for with a timeout."""
    done: Future[None] = Future()

    def run() -> None:
        try:
            made = function()
            if inspect.isawaitable(made):
                asyncio.run(_awaited(made))
        except BaseException as error:  # noqa: BLE001 - it is a user's function; its failure is data here
            done.set_exception(error)
        else:
            done.set_result(None)

    threading.Thread(target=run, name=f"calipers-{name}", daemon=True).start()
    try:
        done.result(timeout)
    except TimeoutError as error:
        raise TransientError("timeout", f"{name}: the function did not return within {timeout:g} s") from error
    except BaseException as error:
        raise TransientError("unreachable", f"{name}: the function raised {type(error).__name__}: {error}") from error


async def _awaited(made: Awaitable[Any]) -> None:
    await made


def _rest_at_exit(waking: Waking) -> Callable[[], None]:
    """Register, and return, a function that puts the server to rest if the process ends while it is awake."""
    known = weakref.ref(waking)

    def leave() -> None:
        found = known()
        if found is not None:
            found.leave_at_exit()

    atexit.register(leave)
    return leave
