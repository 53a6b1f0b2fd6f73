"""aiohttp sessions, each closed together with the event loop that it belongs to.

Trainers run their own event loops, sometimes several, and close them in different ways. Not responsible for requests
(``http``).
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Mapping, MutableMapping
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
import yarl

from calipers.backends.transport.timeouts import Timeouts

_CONNECT_SECONDS = 15.0
"""Short, so that a host that drops packets is noticed long before a slow judge would have answered."""

_EXIT_SECONDS = 2.0
"""How long the exit of the interpreter waits for an event loop that still runs in another thread."""


class Owned(NamedTuple):
    """The aiohttp session of an event loop, the generator that closes it, and the time limits of its requests."""

    owner: AsyncGenerator[aiohttp.ClientSession]
    session: aiohttp.ClientSession
    timeouts: Timeouts


Sessions = MutableMapping[asyncio.AbstractEventLoop, Owned]


async def owned_session(
    headers: Mapping[str, str], *, seconds: float, url: yarl.URL
) -> AsyncGenerator[aiohttp.ClientSession]:
    """Yield an aiohttp session for requests, which is closed when its event loop ends.

    This is a generator because ``asyncio.run`` and similar runners finalise a loop's async generators before they close
    the loop. So the session is closed on its own loop without any call, whichever code owns the loop.
    """
    session = aiohttp.ClientSession(
        headers=headers,
        # ``Timeouts`` limits a request as a whole.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(seconds, _CONNECT_SECONDS)),
        connector=aiohttp.TCPConnector(limit=0),  # calipers limits the calls in flight itself
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=_proxy_for(url),
    )
    try:
        yield session
    finally:
        await session.close()


def forget_closed_loops(sessions: Sessions, lock: threading.Lock) -> None:
    """Drop the backend's HTTP sessions of event loops that were closed without finalising their generators (by
    ``loop.close()``).
    """
    with lock:
        for loop in [loop for loop in sessions if loop.is_closed()]:
            session = sessions.pop(loop).session
            if session.connector is not None:
                # On a closed loop this only marks the connector as closed. One step of the awaitable avoids a warning.
                next(iter(session.connector.close().__await__()), None)


def close_sessions(sessions: Sessions, lock: threading.Lock, client: weakref.ref[object]) -> None:
    """Close the HTTP sessions of a backend's client that is garbage-collected, or that still exists when the
    interpreter exits.

    On a running loop, asyncio finalises the generator. On an idle loop that is never closed, the session is closed at
    interpreter exit, because aiohttp would complain.
    """
    forget_closed_loops(sessions, lock)
    at_exit = client() is not None
    for loop, owned in list(sessions.items()):
        if at_exit:
            _finish(loop, owned.owner)
        elif not loop.is_running():
            atexit.register(_finish, loop, owned.owner)


def _finish(loop: asyncio.AbstractEventLoop, owner: AsyncGenerator[aiohttp.ClientSession]) -> None:
    """Close a session at interpreter exit, in the thread of its event loop."""
    if loop.is_running():  # in a daemon thread
        asyncio.run_coroutine_threadsafe(_close(owner), loop).result(_EXIT_SECONDS)
    elif not loop.is_closed():
        loop.run_until_complete(_close(owner))


async def _close(owner: AsyncGenerator[aiohttp.ClientSession]) -> None:
    await owner.aclose()


def _proxy_for(url: yarl.URL) -> str | None:
    """Return the environment's proxy for this host, or None; a loopback address never uses a proxy."""
    host = url.host or ""
    if host == "localhost" or host.startswith("127.") or host == "::1" or urllib.request.proxy_bypass(host):
        return None
    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    return proxy if proxy and urlsplit(proxy).scheme in {"http", "https"} else None
