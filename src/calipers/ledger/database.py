"""The interface of a ledger's database, which SQLite and Postgres implement: queries, decoded values, queued writes.

Statements are SQL that both understand, with ``?`` for values. Not responsible for what the tables hold
(``contents``, ``answers``, ``recorder``).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar

from calipers.errors import LedgerError
from calipers.ledger.compression import Damaged, decompress_text
from calipers.types.encoding import without_lone_surrogates

T = TypeVar("T")

FORMAT: Final = 5
"""The newest format of ledgers, which this version writes. 2 added log-probabilities, 3 the cost of failed calls, 4
runs that processes share, and 5 an index of groups by name. Postgres begins with 4.
"""

Row: TypeAlias = tuple[Any, ...]
Claim: TypeAlias = Literal["ours", "taken over", "answered"]


class ReadableLedger(ABC):
    """A ledger that can be queried. Use it as a context manager, or close it."""

    remedy_of_damage: str

    @property
    @abstractmethod
    def name(self) -> str:
        """The ledger's path or address in messages, without a password."""

    @abstractmethod
    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a read-only query. Raises LedgerError if the ledger cannot be read."""

    async def look_up(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return what ``rows`` returns, without blocking the event loop for the time of a network."""
        return self.rows(query, values)

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Return whether the ledger has a table; those of older versions have fewer."""

    def hold(self) -> None:  # noqa: B027 - a reader that always reads one snapshot has nothing to do
        """Read the ledger from now on as it is now, whatever a run records meanwhile."""

    def check(self) -> None:  # noqa: B027 - Postgres examines a page whenever it reads it
        """Raise LedgerError unless the database finds itself sound."""

    @abstractmethod
    def close(self) -> None:
        """Close the ledger; one that is written writes what is queued first."""

    def decoded(self, stored: str | bytes, make: Callable[[Any], T]) -> T:
        """Return the result of ``make`` for a JSON value from the ledger, which may be compressed.

        Raises LedgerError for damage that a database cannot detect: no JSON, or a form that ``make`` does not accept.
        """
        try:
            return make(json.loads(decompress_text(stored)))
        except (TypeError, LookupError, AttributeError, RecursionError, *Damaged) as error:
            raise self.damaged() from error

    def damaged(self) -> LedgerError:
        """Return the LedgerError for contents that calipers did not write."""
        return LedgerError(f"{self.name}: the ledger is damaged and cannot be read. {self.remedy_of_damage}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WritableLedger(ReadableLedger):
    """A ledger that records runs. Writes are queued by ``put`` and safe once ``commit`` has returned.

    Safe to use from several threads and event loops. If the database cannot be written, ``commit`` raises LedgerError
    in everyone who waits, so nothing is used that is not recorded.
    """

    claims: bool = False
    """Whether ``claim`` must be awaited before a request is paid for, so that no other process pays for it too."""
    shared: bool = False
    """True if an answer that was just recorded may have been recorded by another process first."""

    @abstractmethod
    def may_hold(self, key: str) -> bool:
        """Return whether it is worth looking for the answer to the request ``key`` before asking."""

    @abstractmethod
    def add_key(self, key: str) -> None:
        """Remember that the ledger holds an answer to the request ``key``."""

    @abstractmethod
    def put(self, statement: str, values: Row) -> None:
        """Queue a write. It is safe after a later ``commit`` or ``close`` has returned.

        Writes with the same statement keep their order. Writes with different statements must not depend on it. A lone
        surrogate becomes a question mark. Raises ValueError or TypeError at once for values that cannot be stored.
        """

    @abstractmethod
    def insert(self, statement: str, values: Row) -> int:
        """Insert a row at once and return its id."""

    @abstractmethod
    def share_run(self, run: int) -> None:
        """Let other processes join the run ``run``, whose groups the ledger counts from now on."""

    @abstractmethod
    async def take_number(self, run: int) -> int:
        """Return the next number of a group of the shared run ``run``, which no other process gets."""

    @abstractmethod
    async def commit(self) -> None:
        """Wait until all queued writes are committed. Many waiters share a transaction.

        If the wait is cancelled, the queue is written all the same.
        """

    @abstractmethod
    def commit_soon(self) -> None:
        """Commit what is queued soon, without waiting for it."""

    def continue_numbers(self) -> None:
        """Number further runs after those that the ledger has, whatever inserted them."""

    def compact(self) -> None:
        """Give the space of removed rows back to the disk."""

    @abstractmethod
    def roll_back(self, to: int) -> None:
        """Bring the ledger back to the older format ``to``, for an older calipers, and close it.

        What that format cannot hold is lost. Raises LedgerError for a format that this ledger never had.
        """

    async def claim(self, key: str) -> Claim:  # noqa: ARG002 - for databases that several machines share
        """Wait for the right to ask the request ``key``, or for its answer.

        A claim ends with ``release``, or with the process that has it; then another process takes it over.
        """
        return "ours"

    def release(self, key: str) -> None:
        """Give up the claim to the request ``key``, with the next commit."""


def as_stored(value: Any) -> Any:
    """Return ``value`` as a ledger stores it. Raises ValueError or TypeError if it cannot be stored."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer of more than 64 bits cannot be stored in a ledger")
    if value is not None and not isinstance(value, int | float | bytes):
        raise TypeError(f"{type(value).__name__} cannot be stored in a ledger")
    return value


def steps_back(name: str, found: int, to: int, back: Mapping[int, str]) -> list[str]:
    """Return the statements that take a ledger from the format ``found`` to the older ``to``.

    ``back`` maps each format to the way to the one before. Raises LedgerError if there is no such way.
    """
    if to > found or any(number not in back for number in range(to + 1, found + 1)):
        known = range(min(back, default=found + 1) - 1, found)
        raise LedgerError(
            f"{name}: has format {found}, and cannot be taken back to {to}; "
            + (f"older formats are {', '.join(map(str, known))}" if known else "there is no older one")
        )
    return [back[number] for number in range(found, to, -1)]
