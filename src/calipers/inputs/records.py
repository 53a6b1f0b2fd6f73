"""Read files and tables as numbered rows: JSON lines, JSON, Parquet, data frames, Hugging Face datasets, lists.

A row is an object. A row that cannot be read is its problem as text, so that reading continues. No library is imported
except pyarrow, when a Parquet file is read.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar, cast

from calipers import registry
from calipers.errors import ConfigError, InputError
from calipers.inputs.plain import plain_data, type_in_words, without_surrogates

MAX_LINE = 64 * 1024 * 1024
"""The length of the longest line accepted, in bytes: parsing a line needs a multiple of its size in memory."""

T = TypeVar("T")
V = TypeVar("V")
Row: TypeAlias = tuple[int, dict[str, Any] | str]
"""A 1-based number, with the row's object or its problem as text."""

_SPREAD = (
    "one JSON object is spread over several lines; write one object a line: `jq -c . FILE` (a list: `jq -c '.[]' FILE`)"
)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_OTHER_KINDS = {
    b"SQLite format 3\0": "a SQLite database, such as a ledger, and no JSON lines; name the file with the lines",
    b"\xff\xfe": "not UTF-8 but UTF-16; save the file as UTF-8",
    b"\xfe\xff": "not UTF-8 but UTF-16; save the file as UTF-8",
} | {
    head: f"compressed with {name}, which is not read; decompress the file, or compress it with gzip"
    for head, name in ((b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ", "xz"), (b"BZh", "bzip2"), (b"PK\x03\x04", "zip"))
}
"""How files begin that are no JSON lines, and the problem."""


def file_rows(path: Path, reader: str | None = None) -> Iterable[tuple[int, object]]:
    """Return the rows of a file, by the registered reader of that name, or of the file's first bytes or suffix."""
    suffix = path.suffix.removeprefix(".")
    if reader is None:
        reader = suffix if suffix in registry.READERS else "jsonl"
        try:
            is_file = path.is_file()
        except OSError:  # such as a name that is too long, which opening it reports
            is_file = False
        if is_file:  # only for files: bytes read here from a pipe would be lost
            with open_binary(path) as stream:
                head = stream.read(4)
            if head == b"PAR1":
                reader = "parquet"
            elif suffix == "gz" and head[:2] != b"\x1f\x8b" and head:
                raise InputError("is named .gz but is not gzip; rename it, or compress it", source=str(path))
    rows: Iterable[tuple[int, object]] = registry.READERS.find(reader)(path)
    return rows


def open_binary(path: Path) -> IO[bytes]:
    """Open an input file for reading bytes. Raises InputError if it cannot be opened."""
    try:
        stream = path.open("rb")
        if path.suffix not in {".csv", ".tsv"} or path.suffix[1:] in registry.READERS:
            return stream
        stream.close()
        problem = "is not JSON; convert it: pandas.read_csv(FILE).to_json(OUT, orient='records', lines=True)"
    except FileNotFoundError:
        problem = "there is no such file"
    except IsADirectoryError:
        problem = "is a directory; name a file in it"
    except (OSError, ValueError) as error:  # ValueError: a path that no system has, with a character 0 in it
        problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    raise InputError(problem, source=str(path))


def decompressed_stream(stream: IO[bytes]) -> IO[bytes]:
    """Return ``stream``, decompressed if its first bytes are gzip's, whatever the file's name."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", stream))
    if buffered.peek(2)[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=buffered, mode="rb"))
    return buffered


def convert_rows(
    rows: Iterable[tuple[int, V | str]],
    convert: Callable[[V, int], T],
    *,
    source: str,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[T]:
    """Yield ``convert(row, number)`` for each row in ``rows`` of a groups file or other ``source``, in order.

    A row's problem, or an error that ``convert`` raises, goes to ``on_error`` as an InputError with file and line, and
    the row is skipped; without ``on_error`` it is raised.
    """
    for number, value in rows:
        try:
            yield convert(known_row(value), number)
        except (InputError, ConfigError) as error:
            placed = InputError(str(error), source=source, line=number)
            if on_error is None:
                raise placed from None
            on_error(placed)


def known_row(value: V | str) -> V:
    """Return a row that could be read. Raises InputError for the text of its problem."""
    if isinstance(value, str):
        raise InputError(value)
    return value


def read_json_lines(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a JSON lines file, compressed or not. Raises InputError if unreadable."""
    with open_binary(Path(path)) as stream:
        yield from json_line_rows(decompressed_stream(stream))


def read_json_file(path: Path) -> Iterator[Row]:
    """Yield the rows of a ``.json`` file: an array's entries, numbered from 1, one object over many lines, or JSON
    lines.
    """
    with open_binary(path) as stream:
        try:
            data = decompressed_stream(stream).read().removeprefix(b"\xef\xbb\xbf").strip()
        except (EOFError, zlib.error, OSError) as error:
            raise InputError(f"is damaged ({error}); copy it again", source=str(path)) from None
    try:
        value = json_value(data) if data else []
    except InputError as error:
        # A file of JSON lines with a damaged line loses that line only.
        if data[:1] == b"[" or data.partition(b"\n")[0].strip() == b"{":
            raise InputError(f"is {error}", source=str(path)) from None
        yield from json_line_rows(io.BytesIO(data))
        return
    for number, entry in enumerate(value if isinstance(value, list) else [value], start=1):
        yield number, entry if isinstance(entry, dict) else _no_object(entry, "the entry")


def json_line_rows(stream: IO[bytes], *, max_line: int = MAX_LINE) -> Iterator[Row]:
    """Yield a row for every line of ``stream`` that is not blank, in order.

    The last row of a damaged stream reports the damage. An object spread over several lines yields one row that reports
    that problem, instead of an error for each line; so does a file of another kind, such as a ledger.
    """
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline(max_line + 1)
            if len(line) > max_line and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = stream.readline(2**20)
                problem = f"the line is longer than {max_line // 2**20} MB; split the group, or link images instead"
                yield number, problem
                continue
        except (EOFError, zlib.error, OSError) as error:
            yield (
                number,
                f"the file breaks off or is damaged here ({error}); the lines before are intact, copy it again",
            )
            return
        if not line:
            return
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
            problem = _SPREAD if line.strip() in {b"{", b"["} and line.endswith(b"\n") else _other_kind(line)
            if problem:
                yield 1, problem
                return
        if line.strip():
            yield number, parse_json_line(line)


def _other_kind(line: bytes) -> str:
    """Return the problem of a file of another kind that begins with ``line``; "" if it may be JSON."""
    return next((problem for head, problem in _OTHER_KINDS.items() if line.startswith(head)), "")


def json_value(line: bytes) -> Any:
    """Return the JSON value in a line of a JSON lines file. Raises InputError, in words, if there is none."""
    try:
        text = line.decode()
        value = json.loads(text)
        # Only JSON escapes can produce lone surrogates, which cannot be hashed, sent or written.
        return without_surrogates(value) if _SURROGATE.search(line) else value
    except UnicodeDecodeError as error:
        problem = _other_kind(line) or f"not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8"
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            problem = "not complete JSON: the line ends too early (cut off, or spread over lines); one object a line"
        else:
            near = text[max(0, error.pos - 10) : error.pos + 20].strip()
            why = f"{error.msg.removesuffix(' at')} at column {error.pos + 1}, near {near!r}"
            problem = _other_kind(line) or f"not JSON: {why}"
    except RecursionError:
        problem = "not readable: nested too deeply"
    except ValueError as error:  # raised for an integer of thousands of digits
        problem = f"not readable JSON: {error}"
    raise InputError(problem)


def parse_json_line(line: bytes) -> dict[str, Any] | str:
    """Return the JSON object in a line of a JSON lines file, or the line's problem as text."""
    try:
        value = json_value(line)
    except InputError as error:
        return str(error)
    return value if isinstance(value, dict) else _no_object(value, "the line")


def _no_object(value: Any, place: str) -> str:
    """Return the problem of an entry of a file that is no object, with the remedy for a list, as of messages."""
    kind = type_in_words(value)
    hint = '; a groups file has {"trajectories": [{"messages": [...]}, ...]}' if kind == "a list" else ""
    return f"{place} is {kind}, not an object{hint}"


# Tables: their columns may be nested or JSON text.
_BATCH = 64
"""Rows of Parquet in memory at once. Groups have tens of kilobytes, so a batch is a few megabytes of objects."""
_MESSAGES = {"tool_calls": dict[str, Any]()}
_TRAJECTORIES = {"messages": _MESSAGES, "tools": {}, "metadata": {}, "artifacts": {}}
COLUMNS: Mapping[str, Any] = {
    "trajectories": _TRAJECTORIES, "context": _MESSAGES, "messages": _MESSAGES, "conversations": {}, "tools": {},
    "metadata": {}, "artifacts": {}, "traj": _MESSAGES,
}  # fmt: skip
"""Columns that may be JSON text, each with the fields inside it that may again be JSON text."""


def parquet_group_rows(path: Path) -> Iterator[Row]:
    """Yield every row of a Parquet file of groups or rollouts with its 1-based number.

    Raises ConfigError if pyarrow is missing, InputError if the file is not Parquet.
    """
    for number, row in parquet_rows(path):
        yield number, row if isinstance(row, str) else row_as_object(row)


def parquet_rows(path: Path) -> Iterator[Row]:
    """Yield every row of a Parquet file, numbered from 1."""
    remedy = "reading Parquet needs pyarrow: pip install 'calipers[parquet]'"
    pa, pq = (registry.import_library(name, remedy=remedy) for name in ("pyarrow", "pyarrow.parquet"))
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


def row_as_object(row: Mapping[str, Any], columns: Mapping[str, Any] = COLUMNS) -> dict[str, Any] | str:
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
    rubric = value.get("rubric")
    if isinstance(rubric, str) and rubric.lstrip().startswith("{"):  # criteria as JSON text; other text is a rubric
        try:
            criteria = json.loads(rubric)
        except (ValueError, RecursionError):
            criteria = {}
        value["rubric"] = criteria if "criteria" in criteria else rubric
    return cast("dict[str, Any]", without_surrogates(value))


def _unpacked(value: dict[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Parse JSON text wherever a groups file requires a list or an object; message content stays text."""
    return {key: _column(item, inner[key]) if key in inner else item for key, item in value.items()}


def _column(value: Any, inner: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        value = json.loads(value) if value.strip() else None
    if not isinstance(value, list):
        return value
    parsed = [json.loads(item) if isinstance(item, str) else item for item in value]
    return [_unpacked(item, inner) if isinstance(item, dict) else item for item in parsed]


def without_empty_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's row as plain data, without fields that are empty.

    Parquet gives every struct the union of all keys. A struct whose fields are all None represents an absent value.
    """
    return _fields(row.items())


def _fields(items: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    is_empty = False
    for key, item in items:
        value = _value(item)
        if value is not None and not (value == {} and item):
            kept[str(key)] = value
        elif key == "content":
            is_empty = True
    # A message without content is another than one whose content is empty, such as a tool's that returned null.
    return kept | {"content": None} if is_empty and "role" in kept else kept


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _fields(value.items())
    if isinstance(value, list):
        is_map = value and all(isinstance(item, tuple) for item in value)  # as Parquet has them
        return _fields(value) if is_map else [_value(item) for item in value]
    return plain_data(value)


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
        if any(isinstance(col, list | tuple) and col and not isinstance(col[0], Mapping) for col in source.values()):
            raise InputError(
                f"it has the columns {names}, and no rows: give a list of rows, or datasets.Dataset.from_dict(...)"
            )
        raise InputError(f"it has the splits {names}: read one of them, as in read_groups(dataset['train'])")
    if not isinstance(source, Iterable) or isinstance(source, bytes | bytearray):
        raise InputError("read_groups() takes a path, a list of groups, a data frame or a dataset")
    if not is_table(source):
        problem = "is text where a group is needed; parse lines of JSON with json.loads, or give the path of their file"
        listed = [source] if isinstance(source, Mapping) else source
        yield from ((number, problem if isinstance(row, str) else row) for number, row in enumerate(listed, start=1))
        return
    rows = source.with_format(None) if hasattr(source, "with_format") else source  # not tensors or data frames
    if hasattr(source, "itertuples") and hasattr(source, "columns"):
        names_of_columns = list(map(str, source.columns))
        values = ([_cell(value) for value in row] for row in source.itertuples(index=False, name=None))
        rows = (dict(zip(names_of_columns, row, strict=True)) for row in values)
    yield from ((number, row_as_object(dict(row), columns)) for number, row in enumerate(rows, start=1))


def _cell(value: Any) -> Any:
    """Return a data frame's value as plain data: no arrays and numbers of NumPy; a missing value (NaN) is None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_cell(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _cell(item) for key, item in value.items()}
    # NaN and NaT differ from themselves; whether pandas' NA does is NA again, which is neither True nor False.
    return value if (value == value) is True else None  # noqa: PLR0124 - see above
