"""Looks after ledgers of either kind: checks one, removes old runs from one, copies one into another database."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from calipers.errors import ConfigError, LedgerError
from calipers.ledger.answers import find_run
from calipers.ledger.database import (
    ANSWERS,
    ASKS,
    GROUPS,
    RUNS,
    TABLES,
    Damaged,
    ReadableLedger,
    Row,
    Table,
    WritableLedger,
    decompress_text,
)

_AT_ONCE: Final = 200
"""Rows that are read or written at once; a group may have megabytes."""
_MOST_NAMED: Final = 20
_COUNTED: Final = (ANSWERS, GROUPS)
"""Tables with a row number, whose rows keep their order when they are copied."""


def all_rows(ledger: ReadableLedger, table: Table) -> Iterator[Row]:
    """Yield all rows of a ledger's table, in the order of their recording or by key; few are in memory."""
    at = ("rowid",) if table in _COUNTED else table.columns[: table.keys]
    order, names = ", ".join(at), ", ".join((*at, *table.columns))
    last: Row = ()
    while True:
        after = f"WHERE ({order}) > ({', '.join('?' * len(last))})" if last else ""
        query = f"SELECT {names} FROM {table.name} {after} ORDER BY {order} LIMIT {_AT_ONCE}"  # noqa: S608 - our names
        found = ledger.rows(query, last)
        yield from (row[len(at) :] for row in found)
        if len(found) < _AT_ONCE:
            return
        last = found[-1][: len(at)]


async def copy_ledger(
    source: ReadableLedger, target: WritableLedger, on_table: Callable[[str, int], None] = lambda _name, _rows: None
) -> dict[str, int]:
    """Copy a whole ledger into an empty one of either kind; return the number of rows by table.

    Runs keep their numbers, and replays of the copy are byte-equal. ``on_table`` is called after each table. Raises
    LedgerError if ``target`` is not empty.
    """
    for table in (RUNS, ANSWERS):
        if target.rows(f"SELECT 1 FROM {table.name} LIMIT 1"):  # noqa: S608 - our own names
            raise LedgerError(f"{target.name}: is not empty; name a ledger that does not exist yet")
    copied: dict[str, int] = {}
    for table in TABLES:
        count = 0
        for count, row in enumerate(all_rows(source, table), start=1):
            target.put(table.insert_new, row)
            if count % _AT_ONCE == 0:
                await target.commit()
        await target.commit()
        copied[table.name] = count
        on_table(table.name, count)
    target.continue_numbers()
    return copied


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed from a ledger: the numbers of its runs, and of answers that no other run used."""

    runs: tuple[int, ...]
    answers: int


async def prune_ledger(
    ledger: WritableLedger, *, keep: int | None = None, before: str | None = None, dry_run: bool = False
) -> Pruned:
    """Remove old runs from a ledger, and the answers that no remaining run used.

    All but the newest ``keep`` runs are removed, or those that began ``before`` an ISO time, or those for which both
    hold. Answers that a running run has not finished with are kept.
    """
    if keep is None and before is None:
        raise ConfigError("name the runs to remove: --keep N or --before DATE")
    runs = ledger.rows("SELECT id, started_at FROM runs ORDER BY id DESC")
    old = [row for row in runs[keep or 0 :] if before is None or row[1] < before]
    kept = [row for row in runs if row not in old]
    since = min((row[1] for row in kept), default="9")
    numbers = [row[0] for row in old]
    unused = f"key NOT IN (SELECT key FROM asks WHERE {_not_of(numbers)}) AND answered_at < ?"  # noqa: S608 - numbers
    [(answers,)] = ledger.rows(f"SELECT count(*) FROM answers WHERE {unused}", (since,))  # noqa: S608 - numbers
    if not dry_run and old:
        for name in ("groups", "asks", "failed_calls", "shared_runs"):
            ledger.put(f"DELETE FROM {name} WHERE NOT ({_not_of(numbers)})", ())  # noqa: S608 - numbers
        ledger.put(f"DELETE FROM runs WHERE NOT ({_not_of(numbers, 'id')})", ())  # noqa: S608 - numbers
        ledger.put(f"DELETE FROM answers WHERE {unused}", (since,))  # noqa: S608 - numbers
        for name in ("odds", "failed_before"):
            ledger.put(f"DELETE FROM {name} WHERE key NOT IN (SELECT key FROM answers)", ())  # noqa: S608 - our names
        await ledger.commit()
        ledger.compact()
    return Pruned(tuple(sorted(numbers)), int(answers) if old else 0)


def _not_of(numbers: list[int], column: str = "run") -> str:
    return f"{column} NOT IN ({', '.join(map(str, numbers))})" if numbers else "1 = 1"


@dataclass(slots=True)
class Verified:
    """What a check of a ledger read: rows by table, and the first of its ``problems`` (``more``: how many further)."""

    rows: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, problem: str) -> None:
        """Add a problem of the ledger."""
        if len(self.problems) < _MOST_NAMED:
            self.problems.append(problem)
        else:
            self.more += 1


def verify_ledger(ledger: ReadableLedger) -> Verified:
    """Return what in a whole ledger is damaged: contents that cannot be read, and answers that are missing."""
    found = Verified()
    for table in TABLES:
        count = 0
        for count, row in enumerate(all_rows(ledger, table), start=1):  # noqa: B007 - used below
            _check_row(table, dict(zip(table.columns, row, strict=True)), found)
        found.rows[table.name] = count
    for (run,) in ledger.rows("SELECT id FROM runs ORDER BY id"):
        try:
            find_run(ledger, run)
        except LedgerError as error:
            found.add(f"run {run}: {error}")
    missing = (
        "SELECT run, position, number FROM asks WHERE key <> '' AND key NOT IN (SELECT key FROM answers) "
        "AND outcome IN ('strict', 'repaired', 'text', 'partial', 'rejected') ORDER BY run, position, number"
    )
    for run, position, number in ledger.rows(missing):
        found.add(f"run {run}, group {position}: the answer to question {number} is missing")
    return found


_JSON: Final = {
    "groups": ("source", "result"),
    "asks": ("detail",),
    "answers": (),
    "odds": ("value",),
    "learned": ("value",),
    "failed_before": ("value",),
}


def _check_row(table: Table, row: dict[str, Any], found: Verified) -> None:
    key = ", ".join(f"{name} {row[name]}" for name in table.columns[: table.keys])
    for name in _JSON.get(table.name, ()):
        try:
            json.loads(decompress_text(row[name]))
        except (TypeError, RecursionError, *Damaged):
            found.add(f"{table.name}, {key}: {name} cannot be read")
    if table is ANSWERS:
        try:
            decompress_text(row["request"])
        except (TypeError, *Damaged):
            found.add(f"answers, {key}: request cannot be read")
    if table is ASKS and not isinstance(row["outcome"], str):
        found.add(f"asks, {key}: it has no outcome")
