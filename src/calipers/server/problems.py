"""Refusals: what the server answers in place of a result, as an HTTP status, a kind that programs read, and a sentence.

Not responsible for results without a reward, which are answers (``forms.RolloutAnswer``) and no refusals.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

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
