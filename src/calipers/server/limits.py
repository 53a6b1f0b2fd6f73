"""What the server allows, in one place: refusals, the room for what waits, bodies, headers, hosts, and times."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request

from calipers.errors import CalipersError, ConfigError, InputError, LedgerError
from calipers.types.encoding import as_sentence

SOON: Final = 1
"""Seconds after which a client should ask again: a full server frees places with every judged group."""
TO_READ: Final = 60.0
"""Seconds within which the body of a request must have arrived."""
HEADER_SECONDS: Final = 60.0
"""Seconds for the next headers, from the beginning of a connection or its last answer, and for reading an answer."""
LARGE: Final = 2**18
"""Bytes of a request or group from which it is read and rendered in a thread: it must not hold up the event loop."""
MANY: Final = 256
"""Members of a group from which it is rendered and judged there."""
MOST_HEADERS: Final = 2**16  # bytes
MOST_FIELDS: Final = 256
"""Headers of a request, and those after its body."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server allows, as the command line has checked it.

    ``wait`` is in seconds from a group's first rollout until it is judged incomplete. ``quorum`` is the least number of
    rollouts that must have arrived by then, and of rewards in a group. ``group_size`` is for engines that do not name
    the size of their groups. ``body`` is the size of a request in bytes. ``patience`` is the number of lost groups in a
    row after which every request is refused; None means never.
    """

    wait: float = 600.0
    quorum: int = 2
    group_size: int | None = None
    body: int = 16 * 2**20  # bytes
    patience: int | None = None


class RefusalError(Exception):
    """The server's refusal of a request. ``retry_after`` is in seconds; None: asking again changes nothing.

    ``logged`` is what the log says in place of ``message``, where the caller must not read it.
    """

    def __init__(
        self, status: int, kind: str, message: str, *, retry_after: int | None = None, logged: str | None = None
    ) -> None:
        super().__init__(message)
        self.logged = message if logged is None else logged
        self.status, self.kind, self.retry_after = status, kind, retry_after


class WaitingError(Exception):
    """There is no answer within the seconds for which a request waits."""


def invalid(message: str) -> RefusalError:
    """Return the refusal of a request that is JSON, but does not say what it must."""
    return RefusalError(422, "invalid", message)


def conflict(message: str) -> RefusalError:
    """Return the refusal of a rollout or group that contradicts what arrived before it."""
    return RefusalError(409, "conflict", message)


def draining() -> RefusalError:
    """Return the refusal of requests to a server that is about to end."""
    return RefusalError(503, "draining", "the server is about to end; send the request again", retry_after=SOON)


def busy(message: str) -> RefusalError:
    """Return the refusal of a request for which the server has no room now."""
    return RefusalError(429, "busy", f"{message}; ask again", retry_after=SOON)


def caller_gone() -> RefusalError:
    """Return what ends a request whose caller left before there was an answer: it is counted, and nobody reads it."""
    return RefusalError(499, "gone", "the caller left before there was an answer")


def refusal_for(error: Exception) -> RefusalError | None:
    """Return the refusal of a request for which calipers or the system raised ``error``; None if that is a fault."""
    match error:
        case RefusalError():
            return error
        case InputError():
            return invalid(str(error))
        case LedgerError():
            why = "the server's ledger fails, and its log says why; nothing recorded is lost, send the request again"
            return RefusalError(503, "ledger", why, retry_after=SOON, logged=str(error))
        case CalipersError():  # the judge refuses every question, or patience ran out
            return RefusalError(503, "judge", f"{as_sentence(str(error))} The server judges again after a restart.")
        case OSError():  # out of open files or memory, which passes
            why = f"the server's operating system refused a request: {error.strerror or error}; send the request again"
            return RefusalError(503, "internal", why, retry_after=SOON)
    return None


class Room:
    """Room for ``rollouts`` rollouts of at most ``size`` bytes together.

    A group is admitted with its first rollout. So a full server refuses new groups, and never a rollout that an
    admitted group waits for. What counts is what has arrived, not what a request announces.
    """

    def __init__(self, *, rollouts: int, size: int) -> None:
        self.most, self.most_bytes = rollouts, size
        self.taken = 0
        self.taken_bytes = 0
        self.arriving = 0
        """The bytes of requests that are being read."""

    def share(self, tenants: int) -> Room:
        """Return the room of each of so many tenants, so that none of them fills that of another."""
        return self if tenants == 1 else Room(rollouts=max(1, self.most // tenants), size=self.most_bytes // tenants)

    def require_fits(self, body: int) -> None:
        """Raise ConfigError unless there is room for a request of ``body`` bytes."""
        if self.most_bytes < body:
            raise ConfigError(
                f"a request may have {body} bytes, but all waiting requests together only {self.most_bytes}: "
                "raise --max-waiting-mb, or lower --max-body-mb"
            )

    def admit(self, members: int) -> None:
        """Raise RefusalError unless there is room for a new group of so many rollouts."""
        if members > self.most:
            raise invalid(f"a group of {members} is larger than the bound of {self.most}")
        if self.taken >= self.most or self.taken_bytes >= self.most_bytes:
            raise busy(
                f"{self.taken} rollouts of {self.taken_bytes} bytes are waiting, and the server takes no new group "
                "before some of them are judged"
            )

    def arrive(self, size: int, body: int) -> None:
        """Count bytes of a ``body`` that is being read. Raises RefusalError (429) if the others exceed the bound."""
        self.arriving += size
        if self.arriving - body > self.most_bytes:
            raise busy("too many requests are being sent at once")

    def hold(self, size: int, *, held: int = 0, members: int = 1) -> None:
        """Count ``members`` rollouts of ``size`` bytes of a group, of which ``held`` bytes are counted already.

        Raises RefusalError at twice the bound: 429, or 413 for a group that would not fit if it were alone.
        """
        if held + size > 2 * self.most_bytes:
            why = f"with this rollout, the group has {held + size} bytes, and at most {2 * self.most_bytes} may wait: "
            raise RefusalError(413, "too_large", f"{why}send less, or raise the server's --max-waiting-mb")
        if self.taken_bytes + size > 2 * self.most_bytes:
            raise busy(f"{self.taken_bytes} bytes of rollouts are waiting")
        self.taken += members
        self.taken_bytes += size

    def release(self, members: int, size: int) -> None:
        """Free the places and the bytes of a group that has been answered."""
        self.taken -= members
        self.taken_bytes -= size


# --- one request

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([^,;\s\"]*)", re.IGNORECASE)
_LONGEST_WAIT: Final = 86_400


def request_id(request: Request) -> str:
    """Return the id of a request: that of its ``X-Request-Id``, or a new one."""
    stated = request.headers.get("x-request-id", "")
    return stated if _REQUEST_ID.fullmatch(stated) else os.urandom(8).hex()


def wait_of(request: Request) -> int | None:
    """Return for how many seconds a request waits (``Prefer: wait=N``), or None if it does not say.

    Raises RefusalError (400) for what is no whole number of seconds.
    """
    match = _WAIT.search(",".join(request.headers.getlist("prefer")))
    if match is None:
        return None
    if not match[1].isdecimal():
        raise RefusalError(400, "bad_header", "the header Prefer: wait=N needs a whole number of seconds, from 0")
    return min(int(match[1][:18]), _LONGEST_WAIT)


async def read_body(request: Request, most: int, room: Room) -> bytes:
    """Return the body of a request; ``room`` counts its bytes until all have come.

    Raises RefusalError for a compressed body (415), a slow one (408), more than ``most`` bytes (413) or too many
    at once (429), and for a caller that leaves (499).
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RefusalError(415, "compressed", "the request has a Content-Encoding; send its JSON as it is")
    stated = request.headers.get("content-length", "")
    body = bytearray()
    too_large = RefusalError(413, "too_large", f"the request is larger than the server's --max-body-mb ({most} bytes)")
    if stated.isdecimal() and int(stated) > most:
        raise too_large
    try:
        async with asyncio.timeout(TO_READ):
            async for chunk in request.stream():
                if len(body) + len(chunk) > most:
                    raise too_large
                body += chunk
                room.arrive(len(chunk), len(body))
    except TimeoutError:
        why = f"the request did not arrive within {TO_READ:g} seconds; send it again"
        raise RefusalError(408, "too_slow", why, retry_after=SOON) from None
    except ClientDisconnect:
        raise caller_gone() from None
    finally:
        room.arriving -= len(body)
    return bytes(body)


def require_own_page(request: Request) -> None:
    """Raise RefusalError (403) for a request that a page of another host sent, or that names another host.

    For a server without tokens, which only this machine can reach: a browser on it must not lend its reach to any page.
    """
    hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
    for name, addresses in {"Host": ["//" + host for host in hosts or [""]], "Origin": origins}.items():
        if len(addresses) > 1 or not all(map(_is_own, addresses)):
            message = f"the header {name} does not name this machine; give the server a token (--tokens) to allow that"
            raise RefusalError(403, "forbidden", message)


@lru_cache(maxsize=64)
def _is_own(address: str) -> bool:
    try:
        return is_loopback(urlsplit(address).hostname or "")
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
