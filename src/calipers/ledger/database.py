"""The interface of a ledger's database, which SQLite and Postgres implement: queries, decoded values, queued writes.

Statements are SQL that both understand, with ``?`` for values.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from calipers.types.encoding import require_small_when_decoded
from calipers.types.steps import Steps, run_steps

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self, TypeAlias, TypeVar

from calipers.errors import LedgerError
from calipers.types.encoding import without_lone_surrogates

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
_FRAME: Final = b"\x28\xb5\x2f\xfd"
"""The first bytes of Zstandard's data."""
Damaged: Final = (ValueError, zstd.ZstdError)
"""The errors that ``decompress_text`` raises."""


def compress_text(text: str) -> str | bytes:
    """Return a ledger's ``text``, compressed if it is long.

    A text that shrinks so much that ``decompress_text`` would reject it is not compressed.
    """
    return run_steps(compress_pieces([text]))


def compress_pieces(pieces: Sequence[str]) -> Steps[str | bytes]:
    """Return the text that consists of ``pieces`` as ``compress_text`` stores it in the ledger; one piece a step."""
    if sum(map(len, pieces)) < _LONG:
        return "".join(pieces)
    compressor = zstd.ZstdCompressor(_LEVEL)
    size = 0
    found = []
    for number, piece in enumerate(pieces, start=1):
        data = piece.encode()
        size += len(data)
        found.append(
            compressor.compress(data, compressor.FLUSH_FRAME if number == len(pieces) else compressor.CONTINUE)
        )
        yield
    compressed = b"".join(found)
    return compressed if size <= _most(compressed) else "".join(pieces)


def decompress_text(stored: object) -> str | bytes:
    """Return the text that ``compress_text`` stored in the ledger.

    Raises one of ``Damaged`` for data that is cut off, is no text, or expands to more than any real text.
    """
    if isinstance(stored, str):
        return stored
    if not isinstance(stored, bytes) or not stored.startswith(_FRAME):
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
    """A table of the ledger: its ``columns`` in order, of which the first ``keys`` are the primary key."""

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
        changed = ", ".join(f"{name} = excluded.{name}" for name in self.columns[self.keys :])
        return f"{self._insert} ON CONFLICT ({', '.join(self.columns[: self.keys])}) DO UPDATE SET {changed}"

    @property
    def _insert(self) -> str:
        values = ", ".join("?" * len(self.columns))
        return f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({values})"  # noqa: S608 - our own names


ANSWERS: Final = Table(
    "answers",
    (
        "key", "endpoint", "model", "request", "text", "finish_reason", "reasoning", "served_model", "input_tokens",
        "output_tokens", "cached_tokens", "cost_usd", "latency", "attempts", "answered_at",
    ),
)  # fmt: skip
RUNS: Final = Table("runs", ("id", "version", "settings", "learned", "started_at"))
GROUPS: Final = Table("groups", ("run", "position", "group_id", "source", "result"), keys=2)
ASKS: Final = Table("asks", ("run", "position", "number", "key", "cause", "outcome", "reason", "detail"), keys=3)
LEARNED: Final = Table("learned", ("endpoint", "model", "value"), keys=2)
ODDS: Final = Table("odds", ("key", "value"))
FAILED_CALLS: Final = Table(
    "failed_calls",
    (
        "run", "position", "number", "call", "key", "kind", "metered", "input_tokens", "output_tokens",
        "cached_tokens", "cost_usd", "failed_at",
    ),
    keys=4,
)  # fmt: skip
FAILED_BEFORE: Final = Table("failed_before", ("key", "value"))
SHARED_RUNS: Final = Table("shared_runs", ("run", "next"))

TABLES: Final = (RUNS, ANSWERS, ODDS, FAILED_BEFORE, GROUPS, ASKS, LEARNED, FAILED_CALLS, SHARED_RUNS)
"""All tables of a ledger, in an order in which they may be filled."""


T = TypeVar("T")

FORMAT: Final = 6
"""The format of ledgers, which alone is read and written. A change of a table is a new format."""

Row: TypeAlias = tuple[Any, ...]
Claim: TypeAlias = Literal["ours", "taken over", "answered"]


class ReadableLedger(ABC):
    """A ledger that can be queried. Use it as a context manager, or close it."""

    remedy_of_damage: str
    runs_recorded: bool = True
    """False for a file that has no tables yet."""

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

    def hold(self) -> None:  # noqa: B027 - a reader that always reads one snapshot has nothing to do
        """Read the ledger from now on as it is now, whatever a run records meanwhile."""

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

    async def require_writable(self) -> None:
        """Raise LedgerError, before anything is paid for, if the last write failed and would still fail now."""

    @abstractmethod
    def commit_soon(self) -> None:
        """Commit what is queued soon, without waiting for it."""

    def continue_numbers(self) -> None:
        """Number further runs after those that the ledger has, whatever inserted them."""

    def compact(self) -> None:
        """Give the space of removed rows back to the disk."""

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
