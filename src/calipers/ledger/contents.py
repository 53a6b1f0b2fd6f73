"""Reads from a ledger, for people, what a run recorded: its results, its groups, and every question with its answer.

Groups and questions are read one at a time, so that a long run needs no more memory than a short one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from calipers.errors import ConfigError, LedgerError
from calipers.ledger.answers import find_run, require_object
from calipers.ledger.database import RUNS, TABLES, ReadableLedger, Row, Table, WritableLedger, checksum
from calipers.registry import import_library
from calipers.types.encoding import finite_number


@dataclass(frozen=True, slots=True)
class RecordedQuestion:
    """A question of a recorded group, and how it ended.

    ``detail`` holds the ``judgments`` that were read and what is ``missing``, or the ``kind`` and ``reason`` of a
    failure. ``request`` is the body that was sent, as JSON text; ``answer`` holds the columns of the ledger's table of
    answers, by name. Both are None for a question that got no answer.
    """

    number: int
    cause: str
    outcome: str
    reason: str | None
    detail: Mapping[str, Any]
    request: str | None
    answer: Mapping[str, Any] | None


_ANSWER = (
    "text", "finish_reason", "reasoning", "served_model", "input_tokens", "output_tokens", "cached_tokens", "cost_usd",
    "latency", "attempts", "answered_at",
)  # fmt: skip
_NUMBERS = frozenset(("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "latency", "attempts"))


def positions_of_groups(ledger: ReadableLedger, run: int) -> dict[str, int]:
    """Return the position of every group of a ledger's run by its id, in input order; of equal ids the first."""
    positions: dict[str, int] = {}
    for group_id, position in ledger.rows(
        "SELECT group_id, position FROM groups WHERE run = ? ORDER BY position", (run,)
    ):
        if not isinstance(position, int) or not isinstance(group_id, str):
            raise ledger.damaged()
        positions.setdefault(group_id, position)
    return positions


def recorded_groups(
    ledger: ReadableLedger, run: int, column: Literal["source", "result"]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the position and the ``column`` of every group of a ledger's run, in input order.

    Groups that a running run records meanwhile are included.
    """
    query = f"SELECT position, {column} FROM groups WHERE run = ? AND position > ? ORDER BY position LIMIT 1"  # noqa: S608 - our columns
    position = -1
    while rows := ledger.rows(query, (run, position)):
        position, recorded = rows[0]
        if not isinstance(position, int):
            raise ledger.damaged()
        yield position, ledger.decoded(recorded, require_object)


def recorded_group(ledger: ReadableLedger, run: int, position: int) -> dict[str, Any]:
    """Return the group at ``position`` of a ledger's run, an object of a groups file."""
    rows = ledger.rows("SELECT source FROM groups WHERE run = ? AND position = ?", (run, position))
    if not rows:
        raise ledger.damaged()
    return ledger.decoded(rows[0][0], require_object)


def recorded_questions(ledger: ReadableLedger, run: int, position: int) -> Iterator[RecordedQuestion]:
    """Yield the questions about the group at ``position`` of a ledger's run, in the order in which they were asked."""
    query = (
        "SELECT number, cause, outcome, reason, detail, key FROM asks WHERE run = ? AND position = ? ORDER BY number"
    )
    for number, cause, outcome, reason, detail, key in ledger.rows(query, (run, position)):
        if not isinstance(number, int):
            raise ledger.damaged()
        rows = ledger.rows(f"SELECT request, {', '.join(_ANSWER)} FROM answers WHERE key = ?", (key,))  # noqa: S608 - our columns
        request, *values = rows[0] if rows else (None,)
        yield RecordedQuestion(
            number=number,
            cause=str(cause),
            outcome=str(outcome),
            reason=None if reason is None else str(reason),
            detail=ledger.decoded(detail, require_object),
            request=None if request is None else ledger.text(request),
            answer=_checked(ledger, dict(zip(_ANSWER, values, strict=True))) if rows else None,
        )


def _checked(ledger: ReadableLedger, answer: dict[str, Any]) -> dict[str, Any]:
    for name, value in answer.items():
        right = finite_number(value) is not None if name in _NUMBERS else isinstance(value, str)
        if value is not None and not right:
            raise ledger.damaged()
    return answer


_COLUMNS: Final = {
    "run": "int64", "position": "int64", "number": "int64", "group_id": "string", "key": "string",
    "cause": "string", "outcome": "string", "endpoint": "string", "model": "string",
    "served_model": "string", "finish_reason": "string", "input_tokens": "int64", "output_tokens": "int64",
    "cached_tokens": "int64", "cost_usd": "float64", "latency": "float64", "attempts": "int64",
    "answered_at": "string", "reason": "string", "judgments": "string", "text": "string", "reasoning": "string",
    "request": "string", "source": "string", "result": "string",
}  # fmt: skip
_ROWS_AT_ONCE: Final = 200
"""Rows that are written to Parquet, or verified, together: a ledger may be larger than memory."""
_QUERY: Final = """SELECT asks.run, asks.position, asks.number, groups.group_id, asks.key, asks.cause, asks.outcome,
answers.endpoint, answers.model, answers.served_model, answers.finish_reason, answers.input_tokens,
answers.output_tokens, answers.cached_tokens, answers.cost_usd, answers.latency, answers.attempts,
answers.answered_at, asks.reason, asks.detail, answers.text, answers.reasoning, answers.request, groups.source,
groups.result FROM asks LEFT JOIN answers USING (key)
LEFT JOIN groups ON groups.run = asks.run AND groups.position = asks.position
WHERE asks.run = ? AND asks.position = ? ORDER BY asks.number"""


def exported_rows(ledger: ReadableLedger, run: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for each question of a ledger's ``run``, or of all runs, with its answer and its group.

    ``judgments`` is the ``detail`` of the table of questions, as JSON, and holds failures as well. ``source`` and
    ``result`` are in the row of each group's first question only.
    """
    runs = [find_run(ledger, run).id] if run is not None else [row[0] for row in ledger.rows("SELECT id FROM runs")]
    for number in sorted(runs):
        positions = "SELECT DISTINCT position FROM asks WHERE run = ? ORDER BY position"
        for (position,) in ledger.rows(positions, (number,)):
            for index, values in enumerate(ledger.rows(_QUERY, (number, position))):
                row = dict(zip(_COLUMNS, values, strict=True))
                for name in ("request", "source", "judgments", "result"):
                    shown = row[name] is not None and (index == 0 or name not in {"source", "result"})
                    row[name] = ledger.text(row[name]) if shown else None
                yield row


def write_parquet(ledger: ReadableLedger, path: Path, run: int | None = None) -> int:
    """Write a ledger's questions and answers to a Parquet file; return the number of rows.

    ``path`` is replaced when all is written, so a failure leaves it as it was.
    Raises ConfigError, with the install command, if pyarrow is missing, and for a file that cannot be written.
    """
    remedy = "writing Parquet needs pyarrow: pip install 'calipers[parquet]'"
    pa, pq = (import_library(name, remedy=remedy) for name in ("pyarrow", "pyarrow.parquet"))
    schema = pa.schema(list(_COLUMNS.items()))
    count = 0
    rows: list[dict[str, Any]] = []
    part = path.with_name(f"{path.name}.part")
    try:
        with pq.ParquetWriter(part, schema, compression="zstd") as writer:
            for row in exported_rows(ledger, run):
                count += 1
                rows.append(row)
                if len(rows) == _ROWS_AT_ONCE:
                    writer.write_table(pa.Table.from_pylist(rows, schema))
                    rows = []
            writer.write_table(pa.Table.from_pylist(rows, schema))
        part.replace(path)
    except pa.ArrowException as error:  # a value of another type than its column has
        raise ledger.damaged() from error
    except OSError as error:
        raise ConfigError(f"--out {path}: cannot be written ({error.strerror or error})") from error
    finally:
        part.unlink(missing_ok=True)
    return count


async def prune_ledger(ledger: WritableLedger, *, keep: int, dry_run: bool = False) -> tuple[tuple[int, ...], int]:
    """Remove all but the newest ``keep`` runs from a ledger, and the answers that no remaining run used.

    Return the numbers of those runs, and of answers. Answers that a running run has not finished with are kept.
    """
    runs = ledger.rows("SELECT id, started_at FROM runs ORDER BY id DESC")
    since = min((began for _, began in runs[:keep]), default="9")
    old = sorted(number for number, _ in runs[keep:])
    if not old:
        return (), 0
    numbers = ", ".join(map(str, old))
    unused = f"answered_at < ? AND key NOT IN (SELECT key FROM asks WHERE run NOT IN ({numbers}))"  # noqa: S608 - numbers
    [(answers,)] = ledger.rows(f"SELECT count(*) FROM answers WHERE {unused}", (since,))  # noqa: S608 - numbers
    if not dry_run:
        for name, column in (("groups", "run"), ("asks", "run"), ("failed_calls", "run"), ("runs", "id")):
            ledger.put(f"DELETE FROM {name} WHERE {column} IN ({numbers})", ())  # noqa: S608 - numbers
        ledger.put(f"DELETE FROM answers WHERE {unused}", (since,))  # noqa: S608 - numbers
        await ledger.commit()
        ledger.compact()
    return tuple(old), int(answers)


_MISSING: Final = """SELECT run, position, number FROM asks WHERE key <> '' AND key NOT IN (SELECT key FROM answers)
AND outcome IN ('strict', 'repaired', 'text', 'partial', 'rejected') ORDER BY run, position, number"""


def verify_ledger(ledger: ReadableLedger) -> list[str]:
    """Return what in a ledger is damaged: rows that are not as they were written, runs and answers that are missing.

    Who changes a row on purpose can change its checksum, too.
    """
    problems = []
    for table in TABLES:
        keys = table.columns[: table.keys]
        every = ledger.rows(f"SELECT {', '.join(keys)} FROM {table.name} ORDER BY {', '.join(keys)}")  # noqa: S608 - our columns
        for start in range(0, len(every), _ROWS_AT_ONCE):
            part = every[start : start + _ROWS_AT_ONCE]
            sound = _sound_rows(ledger, table, part)
            for key in (key for key in part if key not in sound):
                place = ", ".join(f"{name} {value}" for name, value in zip(keys, key, strict=True))
                problems.append(f"{table.name}, {place}: the row is not as it was written")
    for (run,) in ledger.rows("SELECT DISTINCT run FROM groups WHERE run NOT IN (SELECT id FROM runs) ORDER BY run"):
        problems.append(f"runs, id {run}: the row is missing")
    for run, position, number in ledger.rows(_MISSING):
        problems.append(f"run {run}, group {position}: the answer to question {number} is missing")
    return problems


def _sound_rows(ledger: ReadableLedger, table: Table, keys: Sequence[Row]) -> set[Row]:
    """Return which of the rows with ``keys``, which are sorted, are as they were written.

    One row that cannot be read fails the whole query, so each half is then read by itself.
    """
    names = ", ".join(table.columns[: table.keys])
    values = ", ".join("?" * table.keys)
    query = (
        f"SELECT {', '.join(table.columns)}, checksum FROM {table.name} "  # noqa: S608 - our columns
        f"WHERE ({names}) >= ({values}) AND ({names}) <= ({values})"
    )
    try:
        if any(None in key for key in keys):  # it is in no range
            raise ledger.damaged()
        rows = ledger.rows(query, (*keys[0], *keys[-1]))
    except LedgerError:
        half = len(keys) // 2
        halves = (keys[:half], keys[half:]) if half else ()
        return {key for part in halves for key in _sound_rows(ledger, table, part)}
    # A run's number is not in its checksum, because the database gives it.
    return {row[: table.keys] for row in rows if checksum(row[table is RUNS : -1]) == row[-1]}
