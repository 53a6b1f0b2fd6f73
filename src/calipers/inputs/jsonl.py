"""Read JSON lines as plain objects, one at a time: encoding, compression, line length, syntax.

A problem of a line becomes a row with the problem's text, so that reading continues.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias, TypeVar, cast

from calipers.errors import ConfigError, InputError
from calipers.inputs.plain import type_in_words, without_surrogates

MAX_LINE = 64 * 1024 * 1024
"""The length of the longest line accepted, in bytes: parsing a line needs a multiple of its size in memory."""

T = TypeVar("T")
V = TypeVar("V")
Row: TypeAlias = tuple[int, dict[str, Any] | str]
"""A 1-based line number, with the line's object or its problem as text."""

_SPREAD = (
    "one JSON object is spread over several lines; write one group a line: `jq -c . FILE` (a list: `jq -c '.[]' FILE`)"
)

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_GZIP = b"\x1f\x8b"
_SQLITE = b"SQLite format 3\0"
_COMPRESSED = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ": "xz", b"BZh": "bzip2", b"PK\x03\x04": "zip"}
"""How files begin that are compressed otherwise than by gzip."""


def read_json_lines(path: str | os.PathLike[str]) -> Iterator[Row]:
    """Yield the rows of a groups file or other JSON lines file, compressed or not. Raises InputError if unreadable."""
    with open_binary(Path(path)) as stream:
        yield from json_line_rows(decompressed_stream(stream))


def read_json_file(path: Path) -> Iterator[Row]:
    """Yield the groups of a groups file in ``.json``: an array of groups (numbered from 1), one group over many lines,
    or JSON lines.
    """
    with open_binary(path) as stream:
        try:
            data = decompressed_stream(stream).read().removeprefix(b"\xef\xbb\xbf")
        except (EOFError, zlib.error, OSError) as error:
            raise InputError(f"is damaged ({error}); copy it again", source=str(path)) from None
    if not data.strip():
        return
    if data.lstrip()[:1] == b"[":
        yield from _array(data, path)
        return
    first, _, rest = data.strip().partition(b"\n")
    whole = parse_json_line(data) if isinstance(parse_json_line(first), str) or not rest else None
    # A file of JSON lines with a damaged first line loses that line only; an object spread over lines begins with {.
    if whole is None or (isinstance(whole, str) and rest and first.strip() != b"{"):
        yield from json_line_rows(io.BytesIO(data))
    else:
        yield 1, whole


def _array(data: bytes, path: Path) -> Iterator[Row]:
    try:
        listed = json.loads(data)
    except RecursionError:
        raise InputError("is not readable: nested too deeply", source=str(path)) from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", source=str(path)) from None
    scrubbed = without_surrogates(listed) if _SURROGATE.search(data.decode("utf-8", "replace")) else listed
    for number, value in enumerate(scrubbed, start=1):
        yield number, value if isinstance(value, dict) else _no_object(value, "the entry")


def open_binary(path: Path) -> IO[bytes]:
    """Open an input file, such as a groups file, for reading bytes. Raises InputError if it cannot be opened."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise InputError("there is no such file", source=str(path)) from None
    except IsADirectoryError:
        raise InputError("is a directory; name a file in it", source=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    except ValueError as error:  # of a path that no system has, with a character 0 in it
        raise InputError(f"cannot be read: {error}", source=str(path)) from error


def decompressed_stream(stream: IO[bytes]) -> IO[bytes]:
    """Return the ``stream`` of a groups file, decompressed if its first bytes are gzip's, whatever the file's name."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", stream))
    if buffered.peek(2)[:2] == _GZIP:
        return cast("IO[bytes]", gzip.GzipFile(fileobj=buffered, mode="rb"))
    return buffered


def convert_rows(
    lines: Iterable[tuple[int, V]],
    convert: Callable[[V, int], T],
    *,
    source: str,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[T]:
    """Yield ``convert(row, line number)`` for each row in ``lines`` of a groups file or other ``source``, in order.

    An error that ``convert`` raises goes to ``on_error`` as an InputError with file and line, and the row is skipped;
    without ``on_error`` it is raised.
    """
    for line, value in lines:
        try:
            yield convert(value, line)
        except (InputError, ConfigError) as error:
            placed = InputError(str(error), source=source, line=line)
            if on_error is None:
                raise placed from None
            on_error(placed)


def json_line_rows(
    stream: IO[bytes],
    *,
    max_line: int = MAX_LINE,
    parse: Callable[[bytes], dict[str, Any] | str] | None = None,
) -> Iterator[Row]:
    """Yield a row for every line of a groups file's ``stream`` that is not blank, in order.

    The last row of a damaged stream reports the damage. An object spread over several lines yields one row that reports
    that problem, instead of an error for each line; so does a file of another kind, such as a ledger. ``parse`` reads a
    line, or returns its problem as text; by default, lines are those of a groups file.
    """
    read = parse or parse_json_line
    lines = _lines(stream, max_line)
    for number, line in lines:
        if number == 1 and isinstance(line, bytes) and (problem := _other_kind(line)) is not None:
            yield 1, problem
            return
        if number == 1 and isinstance(line, bytes) and line.strip() in {b"{", b"["}:
            after = next(lines, None)
            if after is not None and not isinstance(_row(*after, read)[1], dict):
                yield 1, _SPREAD
                return
            yield from (_row(*numbered, read) for numbered in ((number, line), after) if numbered is not None)
        else:
            yield _row(number, line, read)


def _row(number: int, line: bytes | str, read: Callable[[bytes], dict[str, Any] | str]) -> Row:
    return number, read(line) if isinstance(line, bytes) else line


def _lines(stream: IO[bytes], max_line: int) -> Iterator[tuple[int, bytes | str]]:
    """Yield the number of every line of a JSON lines file that is not blank, with the line or its problem as text."""
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline(max_line + 1)
            if len(line) > max_line and not line.endswith(b"\n"):
                _skip_line(stream)
                yield number, f"the line is longer than {max_line // 2**20} MB; split the group, or link images instead"
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
        if line.strip():
            yield number, line


def _other_kind(line: bytes) -> str | None:
    """Return which kind of file begins with ``line``, as the problem of the whole file; None if it may be JSON."""
    if line.startswith(_SQLITE):
        return "a SQLite database, such as a ledger, and no JSON lines; name the file with the lines instead"
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not UTF-8 but UTF-16; save the file as UTF-8"
    kind = next((name for head, name in _COMPRESSED.items() if line.startswith(head)), None)
    if kind is not None:
        return f"compressed with {kind}, which is not read; decompress the file, or compress it with gzip"
    return None


def json_value(line: bytes) -> Any:
    """Return the JSON value in a line of a JSON lines file. Raises InputError, in words, if there is none."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        problem = _other_kind(line) or f"not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8"
        raise InputError(problem) from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(_other_kind(line) or _syntax(text, error)) from None
    except RecursionError:
        raise InputError("not readable: nested too deeply") from None
    except ValueError as error:  # raised for an integer of thousands of digits
        raise InputError(f"not readable JSON: {error}") from None


def parse_json_line(line: bytes) -> dict[str, Any] | str:
    """Return the JSON object in a line of a groups file, or the line's problem as text."""
    try:
        value = json_value(line)
    except InputError as error:
        return str(error)
    # Only JSON escapes can produce lone surrogates, which cannot be hashed, sent or written.
    try:
        value = without_surrogates(value) if _SURROGATE.search(line.decode()) else value
    except RecursionError:
        return "not readable: nested too deeply"
    return value if isinstance(value, dict) else _no_object(value, "the line")


def _no_object(value: Any, place: str) -> str:
    """Return the problem of an entry of a file that is no object, with the remedy for a list, as of messages."""
    what = type_in_words(value)
    hint = '; wrap the message lists as {"trajectories": [{"messages": [...]}, ...]}' if what == "a list" else ""
    return f"{place} is {what}, not an object with 'trajectories'{hint}"


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    if error.pos >= len(text.rstrip()):
        return "not complete JSON: the line ends inside the object (cut off, or spread over lines); one group a line"
    near = text[max(0, error.pos - 10) : error.pos + 20].strip()
    return f"not JSON: {error.msg} at column {error.pos + 1}, near {near!r}"


def _skip_line(stream: IO[bytes]) -> None:
    while True:
        rest = stream.readline(2**20)
        if not rest or rest.endswith(b"\n"):
            return
