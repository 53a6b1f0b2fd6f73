"""A ledger as a table: a row for each question of a run, with its answer. pyarrow is imported only to write it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.ledger.answers import find_run
from calipers.ledger.compression import Damaged, decompress_text
from calipers.ledger.database import ReadableLedger

_COLUMNS: Final = {
    "run": "int64", "position": "int64", "number": "int64", "group_id": "string", "group_status": "string",
    "key": "string", "cause": "string", "outcome": "string", "endpoint": "string", "model": "string",
    "served_model": "string", "finish_reason": "string", "input_tokens": "int64", "output_tokens": "int64",
    "cached_tokens": "int64", "cost_usd": "float64", "latency": "float64", "attempts": "int64",
    "answered_at": "string", "reason": "string", "judgments": "string", "text": "string", "reasoning": "string",
    "request": "string", "source": "string", "result": "string",
}  # fmt: skip
_TEXT_COLUMNS: Final = frozenset(
    ("group_id", "reason", "judgments", "text", "reasoning", "request", "source", "result")
)
"""The columns that hold what a policy, a user or a judge wrote."""
_ROWS_AT_ONCE: Final = 500
_QUERY: Final = """SELECT asks.run, asks.position, asks.number, groups.group_id, asks.key, asks.cause, asks.outcome,
answers.endpoint, answers.model, answers.served_model, answers.finish_reason, answers.input_tokens,
answers.output_tokens, answers.cached_tokens, answers.cost_usd, answers.latency, answers.attempts,
answers.answered_at, asks.reason, asks.detail, answers.text, answers.reasoning, answers.request, groups.source,
groups.result FROM asks LEFT JOIN answers USING (key)
LEFT JOIN groups ON groups.run = asks.run AND groups.position = asks.position
WHERE asks.run = ? AND asks.position = ? ORDER BY asks.number"""


def exported_columns(*, redact: bool) -> dict[str, str]:
    """Return the columns of an exported ledger with their types; with ``redact``, those without texts."""
    return {name: kind for name, kind in _COLUMNS.items() if not (redact and name in _TEXT_COLUMNS)}


def exported_rows(ledger: ReadableLedger, run: int | None = None, *, redact: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a row for each question of a ledger's ``run``, or of all runs, with its answer and its group.

    ``group_status`` is of the finished group; ``judgments`` is the ``detail`` of the table of questions, as JSON, and
    holds failures as well. ``source`` and ``result`` are in the row of each group's first question only.
    """
    runs = [find_run(ledger, run).id] if run is not None else [row[0] for row in ledger.rows("SELECT id FROM runs")]
    columns = exported_columns(redact=redact)
    for number in sorted(runs):
        positions = "SELECT DISTINCT position FROM asks WHERE run = ? ORDER BY position"
        for (position,) in ledger.rows(positions, (number,)):
            for index, found in enumerate(ledger.rows(_QUERY, (number, position))):
                row = _row(ledger, found, first=index == 0)
                yield {name: row[name] for name in columns}


def _row(ledger: ReadableLedger, found: tuple[Any, ...], *, first: bool) -> dict[str, Any]:
    names = [name for name in _COLUMNS if name != "group_status"]
    row = dict(zip(names, found, strict=True))
    result = row["result"]
    row["group_status"] = None if result is None else ledger.decoded(result, lambda value: str(value["status"]))
    for name in ("request", "source", "judgments", "result"):
        row[name] = None if row[name] is None else _text(ledger, row[name])
    if not first:
        row["source"] = row["result"] = None
    return row


def _text(ledger: ReadableLedger, stored: str | bytes) -> str:
    try:
        text = decompress_text(stored)
    except Damaged as error:
        raise ledger.damaged() from error
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def write_parquet(ledger: ReadableLedger, path: Path, run: int | None = None, *, redact: bool = False) -> int:
    """Write a ledger's questions and answers to a Parquet file; return the number of rows.

    Raises ConfigError, with the install command, if pyarrow is missing, and for a file that cannot be written.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415 - likewise
    except ImportError:
        raise ConfigError("writing Parquet needs pyarrow: pip install 'calipers[parquet]'") from None
    schema = pa.schema(list(exported_columns(redact=redact).items()))
    count = 0
    rows: list[dict[str, Any]] = []
    try:
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for row in exported_rows(ledger, run, redact=redact):
                count += 1
                rows.append(row)
                if len(rows) == _ROWS_AT_ONCE:
                    writer.write_table(pa.Table.from_pylist(rows, schema))
                    rows = []
            writer.write_table(pa.Table.from_pylist(rows, schema))
    except OSError as error:
        raise ConfigError(f"--out {path}: cannot be written ({error.strerror or error})") from error
    return count
