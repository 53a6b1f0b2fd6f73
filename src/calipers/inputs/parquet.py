"""Read tables as plain objects: Parquet files one batch at a time, data frames, Hugging Face datasets, lists.

Columns may be nested or JSON text. Parquet gives every struct the union of all keys, so empty fields are dropped. No
library is imported except pyarrow, when a file is read.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Iterable, Iterator, Mapping
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
COLUMNS: Mapping[str, Any] = {
    "trajectories": _TRAJECTORIES, "context": _MESSAGES, "messages": _MESSAGES, "conversations": {}, "tools": {},
    "metadata": {}, "artifacts": {}, "traj": _MESSAGES,
}  # fmt: skip


def parquet_group_rows(path: Path) -> Iterator[Row]:
    """Yield every row of a Parquet file of groups or rollouts with its 1-based number.

    Raises ConfigError if pyarrow is missing, InputError if the file is not Parquet.
    """
    for number, row in parquet_rows(path):
        yield number, row if isinstance(row, str) else row_as_object(row)


def parquet_rows(path: Path) -> Iterator[Row]:
    """Yield every row of a groups file or other Parquet file, numbered from 1."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415 - likewise
    except ImportError:
        raise ConfigError("reading Parquet needs pyarrow: pip install 'calipers[parquet]'") from None
    number = 0
    try:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        if number == 0:
            raise InputError(f"is not a readable Parquet file: {reason}", source=str(path)) from error
        yield number + 1, f"the file is damaged here ({reason}); the rows before are intact, copy it again"


def without_empty_fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return a Parquet file's row as plain data, without struct fields that are empty because other rows have them."""
    return _fields(row.items())


def row_as_object(row: dict[str, Any], columns: Mapping[str, Any] = COLUMNS) -> dict[str, Any] | str:
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
        value = json.loads(value) if value.strip() else None
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


_NO_OBJECT = "is text where a group is needed; parse lines of JSON with json.loads, or give the path of their file"


def is_table(source: object) -> bool:
    """Return whether ``source`` is a data frame, or a dataset of groups or of anything else."""
    columns = ("itertuples", "columns"), ("column_names", "features")
    return any(all(hasattr(source, name) for name in names) for names in columns)


def table_rows(source: object, columns: Mapping[str, Any] = COLUMNS) -> Iterator[tuple[int, Any]]:
    """Yield every row of ``source`` with its number from 1: an object of a groups file, or text on what is wrong.

    Raises InputError for a dataset with splits, and for what is no table.
    """
    if isinstance(source, Mapping) and "trajectories" not in source and "responses" not in source:
        names = ", ".join(map(str, source))
        if any(isinstance(one, list | tuple) and one and not isinstance(one[0], Mapping) for one in source.values()):
            raise InputError(
                f"it has the columns {names}, and no rows: give a list of rows, or datasets.Dataset.from_dict(...)"
            )
        raise InputError(f"it has the splits {names}: read one of them, as in read_groups(dataset['train'])")
    if not isinstance(source, Iterable) or isinstance(source, bytes | bytearray):
        raise InputError("read_groups() takes a path, a list of groups, a data frame or a dataset")
    if hasattr(source, "itertuples") and hasattr(source, "columns"):
        yield from _rows_of_frame(source, columns)
    elif hasattr(source, "column_names") and hasattr(source, "features"):
        plain = source.with_format(None) if hasattr(source, "with_format") else source  # not tensors or data frames
        yield from ((number, row_as_object(dict(row), columns)) for number, row in enumerate(plain, start=1))
    else:
        listed = [source] if isinstance(source, Mapping) else source
        yield from ((number, _NO_OBJECT if isinstance(row, str) else row) for number, row in enumerate(listed, start=1))


def _rows_of_frame(frame: Any, columns: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    names = [str(name) for name in frame.columns]
    for number, values in enumerate(frame.itertuples(index=False, name=None), start=1):
        row = {name: _plain_value(value) for name, value in zip(names, values, strict=True)}
        yield number, row_as_object({name: value for name, value in row.items() if value is not None}, columns)


def _plain_value(value: Any) -> Any:
    """Return a data frame's value as plain data: no arrays and numbers of NumPy; a missing value (NaN) is None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_value(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain_value(one) for key, one in value.items()}
    # NaN and NaT differ from themselves; whether pandas' NA does is NA again, which is neither True nor False.
    return value if (value == value) is True else None  # noqa: PLR0124 - see above
