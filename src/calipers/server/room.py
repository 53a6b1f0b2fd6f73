"""The bound of the server's memory: how many rollouts, and how many bytes of them, may wait at once for a tenant.

A group is admitted with its first rollout. So a full server refuses new groups, and never a rollout that an admitted
group waits for, which would leave its siblings waiting until their deadline. What counts is what has arrived, not what
a request announces.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from calipers.config.arguments import require_above_zero, require_whole
from calipers.errors import CalipersError, ConfigError, InputError, LedgerError

Kind: TypeAlias = Literal[
    "bad_json",
    "unauthorized",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "too_slow",
    "conflict",
    "too_large",
    "compressed",
    "invalid",
    "busy",
    "internal",
    "draining",
    "ledger",
    "judge",
]

SOON: Final = 1
"""Seconds after which a client should ask again: a full server frees places with every judged group."""


_LEDGER_FAILS: Final = (
    "the server's ledger fails, and the server's log says why; nothing recorded is lost, send the request again"
)


class RefusalError(Exception):
    """The server's refusal of a request. ``retry_after`` is in seconds; None: asking again changes nothing.

    ``logged`` is what the log says in place of ``message``, where the caller must not read it.
    """

    def __init__(
        self, status: int, kind: Kind, message: str, *, retry_after: int | None = None, logged: str | None = None
    ) -> None:
        super().__init__(message)
        self.logged = message if logged is None else logged
        self.status, self.kind, self.retry_after = status, kind, retry_after


def invalid(message: str) -> RefusalError:
    """Return the server's refusal of a request that is JSON, but does not say what it must."""
    return RefusalError(422, "invalid", message)


def conflict(message: str) -> RefusalError:
    """Return the server's refusal of a rollout or group that contradicts what arrived before it."""
    return RefusalError(409, "conflict", message)


def refusal_for(error: CalipersError) -> RefusalError:
    """Return the server's refusal of a request for which calipers raised ``error``."""
    match error:
        case InputError():
            return invalid(str(error))
        case LedgerError():
            return RefusalError(503, "ledger", _LEDGER_FAILS, retry_after=SOON, logged=str(error))
        case ConfigError():  # a judge that refuses every question
            return RefusalError(503, "judge", str(error))
        case _:  # the run is over: patience ran out
            return RefusalError(503, "judge", str(error))


def short_of(error: OSError) -> RefusalError:
    """Return the refusal of a request for which the server's system had no file or memory left."""
    message = f"the server's system refused it something: {error.strerror or error}; send the request again"
    return RefusalError(503, "internal", message, retry_after=SOON)


def too_slow(seconds: float) -> RefusalError:
    """Return the server's refusal of a request whose body has not arrived within so many ``seconds``."""
    message = f"the request did not arrive within {seconds:g} seconds; send it again"
    return RefusalError(408, "too_slow", message, retry_after=SOON)


def draining() -> RefusalError:
    """Return the refusal of requests to a server that is about to end."""
    return RefusalError(503, "draining", "the server is about to end; send the request again", retry_after=SOON)


class Room:
    """Room for ``rollouts`` rollouts of at most ``size`` bytes together, on the server.

    Raises ConfigError for bounds that are not above zero.
    """

    def __init__(self, *, rollouts: int, size: int) -> None:
        require_whole(rollouts=rollouts, size=size)
        require_above_zero(rollouts=rollouts, size=size)
        self.most, self.most_bytes = rollouts, size
        self.taken = 0
        self.taken_bytes = 0
        self.arriving = 0
        """The bytes of requests that are being read."""

    def share(self, tenants: int) -> Room:
        """Return the room of each of so many tenants, so that none of them fills that of another."""
        return self if tenants == 1 else Room(rollouts=max(1, self.most // tenants), size=self.most_bytes // tenants)

    def require_fits(self, body: int) -> None:
        """Raise ConfigError unless the server has room for a request of ``body`` bytes."""
        if self.most_bytes < body:
            raise ConfigError(
                f"the server has room for {self.most_bytes} bytes of waiting requests, but takes requests of {body}: "
                "raise --max-waiting-mb or lower --max-body-mb"
            )

    def admit(self, members: int) -> None:
        """Raise RefusalError unless the server has room for a new group of so many rollouts."""
        if members > self.most:
            raise RefusalError(422, "invalid", f"a group of {members} is larger than the bound of {self.most}")
        if self.taken >= self.most or self.taken_bytes >= self.most_bytes:
            raise RefusalError(
                429,
                "busy",
                f"{self.taken} rollouts of {self.taken_bytes} bytes are waiting, and the server takes no new group "
                "before some of them are judged; ask again",
                retry_after=SOON,
            )

    def arrive(self, size: int) -> None:
        """Count bytes of a request that is being read. Raises RefusalError (429) if too many are read at once."""
        self.arriving += size
        if self.arriving + self.taken_bytes > 3 * self.most_bytes:
            raise RefusalError(429, "busy", "too many requests are being sent at once; ask again", retry_after=SOON)

    def hold(self, size: int, *, held: int = 0, members: int = 1) -> None:
        """Count ``members`` rollouts of ``size`` bytes of a group, of which ``held`` bytes are counted already.

        Raises RefusalError at twice the server's bound: 429, or 413 for a group that would not fit if it were alone.
        """
        if held + size > 2 * self.most_bytes:
            raise RefusalError(
                413,
                "too_large",
                f"the group has {held + size} bytes with this rollout, and at most {2 * self.most_bytes} may wait: "
                "send less, or raise the server's --max-waiting-mb",
            )
        if self.taken_bytes + size > 2 * self.most_bytes:
            raise RefusalError(
                429, "busy", f"{self.taken_bytes} bytes of rollouts are waiting; ask again", retry_after=SOON
            )
        self.taken += members
        self.taken_bytes += size

    def release(self, members: int, size: int) -> None:
        """Free the places and the bytes of a group that the server has answered."""
        self.taken -= members
        self.taken_bytes -= size
