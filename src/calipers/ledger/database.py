"""The interface of a ledger's database, which SQLite and Postgres implement: queries, decoded values, queued writes.

Statements are SQL that both understand, with ``?`` for values.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self, TypeAlias, TypeVar
from zlib import crc32

from calipers.errors import LedgerError
from calipers.types.encoding import require_small_when_decoded, without_lone_surrogates

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT: Final = 9
"""The format of ledgers, which alone is read and written. A change of a table is a new format."""
_LONG: Final = 2**14
"""Shorter texts are not compressed, because compressing them would take longer than storing them."""
_LEVEL: Final = 1
"""Zstandard's fastest level except the negative levels, whose results are a fifth larger."""
_LEAST_UNPACKED, _MOST_TIMES = 2**24, 100
"""The most bytes that a text may expand to, or, if that is more, the most times its compressed size. Real text needs a
tenth.
"""
_LARGEST_WINDOW: Final = {int(zstd.DecompressionParameter.window_log_max): 24}
"""The memory that compressed data may request, as a power of two. Level 1 needs 2 ** 19 bytes."""
COMPRESSED: Final = b"\x28\xb5\x2f\xfd"
"""The first bytes of Zstandard's data."""
Damaged: Final = (ValueError, zstd.ZstdError)
"""The errors that ``decompress_text`` raises."""

Row: TypeAlias = tuple[Any, ...]
T = TypeVar("T")


def compress_text(data: bytes) -> str | bytes:
    """Return a ledger's text, given in UTF-8, compressed if it is long.

    A text that shrinks so much that ``decompress_text`` would reject it is not compressed.
    """
    if len(data) < _LONG:
        return data.decode()
    compressed = zstd.compress(data, _LEVEL)
    return compressed if len(data) <= _most(compressed) else data.decode()


def decompress_text(stored: object) -> str | bytes:
    """Return the text that ``compress_text`` stored in the ledger.

    Raises one of ``Damaged`` for data that is cut off, is no text, or expands to more than any real text.
    """
    if isinstance(stored, str):
        return stored
    if not isinstance(stored, bytes) or not stored.startswith(COMPRESSED):
        raise ValueError("it is no text, and not compressed")
    unpacking = zstd.ZstdDecompressor(options=_LARGEST_WINDOW)
    data = unpacking.decompress(stored, _most(stored))
    if not unpacking.eof:
        raise ValueError(f"{len(stored):,} bytes unpack to more than {_most(stored):,}, or not to their end")
    require_small_when_decoded(data)
    return data


def _most(compressed: bytes) -> int:
    return max(_LEAST_UNPACKED, _MOST_TIMES * len(compressed))


@dataclass(frozen=True)
class Table:
    """A table of the ledger: its ``columns`` in order, of which the first ``keys`` are the primary key.

    A last column holds each row's ``checksum``, which ``put`` adds.
    """

    name: str
    columns: tuple[str, ...]
    keys: int = 1

    @cached_property
    def insert_new(self) -> str:
        """The statement that inserts a row, unless the ledger has one with the same key."""
        return f"{self._insert} ON CONFLICT DO NOTHING"

    @cached_property
    def insert_or_replace(self) -> str:
        """The statement that inserts a row into the ledger, or replaces the row with the same key."""
        changed = ", ".join(f"{name} = excluded.{name}" for name in (*self.columns[self.keys :], "checksum"))
        return f"{self._insert} ON CONFLICT ({', '.join(self.columns[: self.keys])}) DO UPDATE SET {changed}"

    @property
    def _insert(self) -> str:
        values = "?, " * len(self.columns)
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}, checksum) VALUES ({values}?)"  # noqa: S608 - our own names


ANSWERS: Final = Table(
    "answers",
    (
        "key", "endpoint", "model", "request", "text", "finish_reason", "reasoning", "served_model", "input_tokens",
        "output_tokens", "cached_tokens", "cost_usd", "latency", "attempts", "answered_at", "logprobs", "failed_before",
    ),
)  # fmt: skip
GROUPS: Final = Table("groups", ("run", "position", "group_id", "source", "result"), keys=2)
ASKS: Final = Table("asks", ("run", "position", "number", "key", "cause", "outcome", "reason", "detail"), keys=3)
LEARNED: Final = Table("learned", ("endpoint", "model", "value"), keys=2)
FAILED_CALLS: Final = Table(
    "failed_calls",
    (
        "run", "position", "number", "call", "key", "kind", "metered", "input_tokens", "output_tokens",
        "cached_tokens", "cost_usd", "failed_at",
    ),
    keys=4,
)  # fmt: skip
RUNS: Final = Table("runs", ("id", "version", "settings", "learned", "started_at"))
TABLES: Final = (RUNS, GROUPS, ASKS, ANSWERS, FAILED_CALLS, LEARNED)
_RECORDING: Final = frozenset(sql for table in TABLES for sql in (table.insert_new, table.insert_or_replace))


def checksum(row: Iterable[Any]) -> int:
    """Return the checksum of a row, the same before it is written and when it is read from either database.

    Numbers count by value, because a database stores 0 as 0.0 where it stores fractions.
    """
    return crc32(
        b"\0".join([
            value.encode("utf-8", "replace") if isinstance(value, str)
            else b"\1" if value is None
            else b"\0" + value if isinstance(value, bytes)  # a text of the same bytes is another value
            else f"{value + 0.0:.17g}".encode()
            for value in row
        ])
    )  # fmt: skip


class ReadableLedger(ABC):
    """A ledger that can be queried. Use it as a context manager, or close it."""

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

    def check(self) -> None:  # noqa: B027 - Postgres examines a page whenever it reads it
        """Raise LedgerError unless the database finds itself sound."""

    @abstractmethod
    def close(self) -> None:
        """Close the ledger; one that is written writes what is queued first."""

    def text(self, stored: object) -> str:
        """Return a text from the ledger, which may be compressed. Raises LedgerError for anything else."""
        try:
            text = decompress_text(stored)
        except Damaged as error:
            raise self.damaged() from error
        return text if isinstance(text, str) else text.decode("utf-8", "replace")

    def decoded(self, stored: str | bytes, make: Callable[[Any], T]) -> T:
        """Return the result of ``make`` for a JSON value from the ledger, which may be compressed.

        Raises LedgerError for damage that a database cannot detect: no JSON, or a form that ``make`` does not accept.
        The error names the ledger.
        """
        try:
            return make(json.loads(decompress_text(stored)))
        except (TypeError, LookupError, AttributeError, RecursionError, *Damaged) as error:
            raise self.damaged() from error
        except LedgerError as error:
            raise LedgerError(f"{self.name}: {error}") from None

    def damaged(self, answer: str | None = None) -> LedgerError:
        """Return the LedgerError for a row that calipers did not write, such as the ``answer`` with this key."""
        remedy = "Restore a backup, or begin another ledger"
        if answer is not None:
            remedy = f"To have it asked again: DELETE FROM answers WHERE key = '{answer}'"  # noqa: S608 - a message, which nothing runs
        problem = f"a row is damaged and cannot be read; `calipers ledger verify {self.name}` names it"
        return LedgerError(f"{self.name}: {problem}. {remedy}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Waiter: TypeAlias = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class WritableLedger(ReadableLedger):
    """A ledger that records runs. Writes are queued by ``put`` and safe once ``commit`` has returned.

    Safe to use from several threads and event loops. If the database cannot be written, ``commit`` raises LedgerError
    in everyone who waits, so nothing is used that is not recorded.
    """

    is_on_server: bool = False
    """True if processes on several machines may record in it."""
    shared: bool = False
    """True if an answer that was just recorded may have been recorded by another process first."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._pending: dict[str, list[Row]] = {}
        self._waiting: list[Waiter] = []
        self._closed = False
        self._failed = False  # whether the last write failed; what it should have written is queued again

    def put(self, statement: str, values: Row) -> None:
        """Queue a write to the ledger. It is safe after a later ``commit`` or ``close`` has returned.

        Writes with the same statement keep their order. Writes with different statements must not depend on it. A lone
        surrogate becomes a question mark. Raises ValueError or TypeError at once for values that cannot be stored,
        because a later failure would affect the whole transaction.
        """
        row = self._as_stored(statement, values)
        if statement in _RECORDING:
            row = (*row, checksum(values))
        with self._lock:
            self._pending.setdefault(statement, []).append(row)

    def _as_stored(self, statement: str, values: Row) -> Row:  # noqa: ARG002 - Postgres stores some texts as bytes
        return tuple([value if type(value) is str and value.isascii() else as_stored(value) for value in values])

    @abstractmethod
    def insert(self, statement: str, values: Row) -> int:
        """Insert a row into the ledger at once and return its id."""

    async def commit(self) -> None:
        """Wait until all queued writes to the ledger are committed. Many waiters share a transaction.

        If the wait is cancelled, the queue is written all the same.
        """
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        with self._lock:
            self._waiting.append((loop, waiter))
        self.commit_soon()
        await waiter

    async def require_writable(self) -> None:
        """Raise LedgerError, before anything is paid for, if the last write failed and fails again now."""
        if self._failed:
            await self.commit()

    @abstractmethod
    def commit_soon(self) -> None:
        """Commit what is queued soon, without waiting for it."""

    def compact(self) -> None:
        """Give the space of removed rows back to the disk."""

    async def claim(self, key: str) -> bool:  # noqa: ARG002 - for databases that several machines share
        """Wait for the right to ask the request ``key`` (True), or until its answer is recorded (False).

        A claim ends with ``release``, or with the process that has it; then another process takes it over.
        """
        return True

    def release(self, key: str) -> None:
        """Give up the claim to the request ``key``, whose answer is committed, or which got none."""


def end_waits(waiters: Sequence[asyncio.Future[None]], error: LedgerError | None) -> None:
    """Tell those who wait for a commit of the ledger that it is done, or failed."""
    for waiter in waiters:
        if waiter.done():
            continue  # cancelled meanwhile; what it queued is written anyway
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)


def as_stored(value: Any) -> Any:
    """Return ``value`` as a ledger stores it. Raises ValueError or TypeError if it cannot be stored."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("an integer of more than 64 bits cannot be stored in a ledger")
    if value is not None and not isinstance(value, int | float | bytes):
        raise TypeError(f"{type(value).__name__} cannot be stored in a ledger")
    return value
