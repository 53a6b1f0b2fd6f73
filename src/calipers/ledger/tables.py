"""The tables of a ledger, and the statements that write their rows, which SQLite and Postgres both understand.

``tables.sql`` and ``postgres/tables.sql`` define the tables, with the types of the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final


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
