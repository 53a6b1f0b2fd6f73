"""Runs the server: its socket, its event loop, and how it ends on SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from calipers.errors import ConfigError
from calipers.server import limits

if TYPE_CHECKING:
    from calipers.server.service import Service

_log = logging.getLogger("calipers.server")

_BACKLOG = 4096
_CLOSE_EVERY = 0.1
_TO_SEND = 2
"""Seconds, after the grace of the end is over, in which the last answers are sent before connections are cut."""
_SPARE_FILES = 256
"""Open files that the process needs beside the connections of waiting rollouts."""


def require_installed() -> None:
    """Raise ConfigError, with the install command, if a package that the server needs is missing."""
    for name in ("httptools", "msgspec", "starlette", "uvicorn"):
        if find_spec(name) is None:
            raise ConfigError(f"the server needs {name}: pip install 'calipers[server]'")


def require_safe(host: str, *, tokens: bool) -> None:
    """Raise ConfigError for a server that other machines could reach without a token."""
    if not tokens and not limits.is_loopback(host):
        raise ConfigError(
            f"--host {host}: other machines could reach the server, and nobody would need a token. Give --tokens FILE, "
            "or a token in CALIPERS_SERVER_TOKEN, or keep to --host 127.0.0.1"
        )


def allow_open_files(wanted: int) -> str | None:
    """Raise the process's limit of open files so that ``wanted`` rollouts may wait on the server, if the system allows.

    Return a warning if it does not.
    """
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return None
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    short = f"{wanted} waiting rollouts need {needed} open files, and the system allows {allowed}: raise the limit "
    return None if allowed >= needed else f"{short}(ulimit -n {needed}) or lower --max-waiting"


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that the server listens on. Raises ConfigError if the address is not free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends an answer's body at once only on sockets that name the protocol; on others it follows 40 ms later.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise ConfigError(f"--host {host} --port {port}: the address cannot be used: {error.strerror}") from error
    return listener


def address_of(bound: socket.socket) -> str:
    """Return the URL of a server's socket."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def serve(
    service: Service,
    bound: socket.socket,
    *,
    grace: float,
    on_started: Callable[[Any], object],
) -> None:
    """Run the server until SIGTERM or SIGINT. Then incomplete groups are sent away to come again, and groups that are
    being judged are answered, for at most ``grace`` seconds. ``on_started`` gets uvicorn's server when it answers.
    """
    import uvicorn  # noqa: PLC0415 - --help stays quick

    from calipers.server.app import server_app  # noqa: PLC0415 - likewise
    from calipers.server.connection import BoundedProtocol  # noqa: PLC0415 - likewise

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if not self.should_exit:
                on_started(self)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            service.drain(grace)
            closing = asyncio.ensure_future(_close_idle(self.server_state.connections))
            try:
                await super().shutdown(sockets)
            finally:
                closing.cancel()

    config: Any = uvicorn.Config(
        server_app(service),
        http=BoundedProtocol,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        proxy_headers=False,
        ws="none",
        backlog=_BACKLOG,
        timeout_keep_alive=math.ceil(limits.HEADER_SECONDS),
        timeout_graceful_shutdown=math.ceil(grace) + _TO_SEND,
    )
    await Server(config).serve(sockets=[bound])


async def _close_idle(connections: set[Any]) -> None:
    """Close connections without a request, again and again: one may have been accepted while the server ended."""
    while True:
        for connection in list(connections):
            connection.shutdown()
        await asyncio.sleep(_CLOSE_EVERY)
