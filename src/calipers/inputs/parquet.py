"""Read Parquet rows as plain objects, one batch at a time; pyarrow is imported only when a file is read.

Columns may be nested or JSON text. Parquet gives every struct the union of all keys, so empty fields are dropped. Not
responsible for the meaning of the objects (``groups``).
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from calipers.errors import ConfigError, InputError
from calipers.inputs.jsonl import Row
from calipers.inputs.plain import without_surrogates

# Rows in memory at once. Groups have tens of kilobytes, so a batch is a few megabytes of Python objects.
_BATCH = 64
# Columns that may be JSON text, each with the fields inside it that may again be JSON text.
_MESSAGES = {"tool_calls": dict[str, Any]()}
_TRAJECTORIES = {"messages": _MESSAGES, "tools": {}, "metadata": {}, "artifacts": {}}
GROUP_COLUMNS: Mapping[str, Any] = {
    "trajectories": _TRAJECTORIES, "context": _MESSAGES, "tools": {}, "metadata": {}, "artifacts": {},
}  # fmt: skip
_ROLLOUT: Mapping[str, Any] = {"messages": _MESSAGES, "conversations": {}, "tools": {}}
_FOREIGN = frozenset({
    "chosen", "completion", "contents", "conversations", "history", "responses_create_params", "samples", "simulations",
    "steps", "traces", "trajectory",
})  # fmt: skip
"""Columns that rows of other libraries have: whether they are rollouts is found by their rows."""


def parquet_group_rows(path: Path) -> Iterator[Row]:
    """Yield every row of a Parquet groups file with its 1-based number.

    Raises ConfigError if pyarrow is missing, InputError if the file is not Parquet or has no groups.
    """
    for number, row in parquet_rows(path, _check_columns):
        yield number, row if isinstance(row, str) else row_as_object(row)


def parquet_rollout_rows(path: Path) -> Iterator[Row]:
    """Yield every row of a Parquet file of rollouts with its 1-based number."""
    for number, row in parquet_rows(path):
        yield number, row if isinstance(row, str) else row_as_object(row, _ROLLOUT)


def parquet_rows(path: Path, check: Callable[[list[str], str], None] | None = None) -> Iterator[Row]:
    """Yield every row of a groups file or other Parquet file, from 1, after ``check(column names, path)`` has run."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415 - likewise
    except ImportError:
        raise ConfigError("reading Parquet needs pyarrow: pip install 'calipers[parquet]'") from None
    number = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            if check is not None:
                check(file.schema_arrow.names, str(path))
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        if number == 0:
            raise InputError(f"is not a readable Parquet file: {reason}", source=str(path)) from error
        yield number + 1, f"the file is damaged here ({reason}); the rows before are intact, copy it again"


def _check_columns(names: list[str], source: str) -> None:
    if _FOREIGN.isdisjoint(names) and "trajectories" not in names and "responses" not in names:
        rows = "; rows with one rollout each are read by calipers convert, or with reader='rollouts'"
        raise InputError(
            f"has no column 'trajectories', but {', '.join(names[:12]) or 'no columns'}; a row is a group: "
            "group_id, context, trajectories (a list of structs with id and messages, or its JSON text)"
            f"{rows if 'messages' in names else ''}",
            source=source,
        )


def without_empty_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return a Parquet file's row as plain data, without struct fields that are empty because other rows have them."""
    return _fields(row.items())


def row_as_object(row: dict[str, Any], columns: Mapping[str, Any] = GROUP_COLUMNS) -> dict[str, Any] | str:
    """Return a row of a Parquet groups file, or of a table like it, as a groups-file object, or what is wrong.

    ``columns`` are those that may be JSON text.
    """
    try:
        value = _unpacked(without_empty_fields(row), columns)
    except json.JSONDecodeError as error:
        return f"a column of JSON text is not JSON: {error.msg} at column {error.pos + 1}"
    except ValueError as error:  # raised for an integer of thousands of digits
        return f"a column of JSON text is not readable JSON: {error}"
    except RecursionError:
        return "not readable: nested too deeply"
    if isinstance(rubric := value.get("rubric"), str):
        value["rubric"] = _criteria(rubric)
    return cast("dict[str, Any]", without_surrogates(value))


def _criteria(rubric: str) -> Any:
    """Return a rubric with criteria that is JSON text as an object, and any other rubric as the text it is."""
    if not rubric.lstrip().startswith("{"):
        return rubric
    try:
        found = json.loads(rubric)
    except (ValueError, RecursionError):
        return rubric
    return found if isinstance(found, dict) and "criteria" in found else rubric


def _unpacked(value: dict[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Parse JSON text wherever a groups file requires a list or an object; message content stays text."""
    return {key: _column(item, inner[key]) if key in inner else item for key, item in value.items()}


def _column(value: Any, inner: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, list):
        return value
    texts_parsed = [json.loads(item) if isinstance(item, str) else item for item in value]
    return [_unpacked(item, inner) if isinstance(item, dict) else item for item in texts_parsed]


def _value(value: Any) -> Any:  # noqa: PLR0911 - one return per kind
    """Return a Parquet value as plain data without None."""
    match value:
        case dict():
            return _fields(value.items())
        case list() if value and all(isinstance(item, tuple) for item in value):  # a Parquet map
            return _fields(value)
        case list():
            return [_value(item) for item in value]
        case decimal.Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            return value.total_seconds()
        case bytes():
            return value.decode("utf-8", "replace")
        case _:
            return value


def _fields(items: Any) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    is_empty = False
    for key, item in items:
        read = _value(item)
        # A struct whose fields are all None represents an absent value.
        if read is not None and not (read == {} and item):
            kept[str(key)] = read
        elif key == "content":
            is_empty = True
    # A message without content is another than one whose content is empty, such as a tool's that returned null.
    return kept | {"content": None} if is_empty and "role" in kept else kept
