"""Sessions of aiohttp, each closed by the event loop it belongs to, whoever owns the loop.

Trainers bring their own loops, sometimes several, and close them in their own ways. Not responsible for requests
(``http``).
"""

from __future__ import annotations

import asyncio
import atexit
import threading
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Mapping, MutableMapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import yarl

if TYPE_CHECKING:
    from calipers.backends.transport.http import Timeouts

_CONNECT_SECONDS = 15.0
"""A host that drops packets should be noticed long before a judge's thinking time is over."""

_EXIT_SECONDS = 2.0
"""How long the interpreter's end waits for a loop that another thread still runs."""


class Owned(NamedTuple):
    """A loop's session, the generator that closes it with its loop, and what bounds its requests in time."""

    owner: AsyncGenerator[aiohttp.ClientSession]
    session: aiohttp.ClientSession
    timeouts: Timeouts


Sessions = MutableMapping[asyncio.AbstractEventLoop, Owned]


async def owned_session(
    headers: Mapping[str, str], *, seconds: float, url: yarl.URL
) -> AsyncGenerator[aiohttp.ClientSession]:
    """A session that its loop closes.

    A generator and not a plain object, because ``asyncio.run`` and its kin finalise a loop's async generators before
    they close it: whoever owns the loop, the session is closed on it, in time, without being told.
    """
    session = aiohttp.ClientSession(
        headers=headers,
        # A request as a whole is bounded by ``http.Timeouts``.
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(seconds, _CONNECT_SECONDS)),
        connector=aiohttp.TCPConnector(limit=0),  # bounds on what is in flight are ours
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=_proxy_for(url),
    )
    try:
        yield session
    finally:
        await session.close()


def forget_closed_loops(sessions: Sessions, lock: threading.Lock) -> None:
    """Let go of sessions whose loop was closed without finalising its generators (``loop.close()`` alone)."""
    with lock:
        for loop in [loop for loop in sessions if loop.is_closed()]:
            session = sessions.pop(loop).session
            if session.connector is not None:
                # On a closed loop this only marks it as closed; the step through the awaitable says it was awaited.
                next(iter(session.connector.close().__await__()), None)


def let_go(sessions: Sessions, lock: threading.Lock, client: weakref.ref[object]) -> None:
    """Run when a client is collected, and for those still alive when the interpreter ends.

    Collected on a running loop, the generator is finalised there by asyncio. Loops at rest that nobody closes would
    leave their sessions to the interpreter's end, and a complaint of aiohttp's.
    """
    forget_closed_loops(sessions, lock)
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
