"""Lines of JSON to plain objects, one at a time: encoding, compression, line length, syntax.

A problem of a line becomes a row like the others, so that reading goes on. Not responsible for what the objects mean
(``groups``).
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
from calipers.readers.plain import kind_of, without_surrogates

MAX_LINE = 64 * 1024 * 1024
"""Bytes. A longer line is refused, for parsing needs a multiple of its size in memory."""

T = TypeVar("T")
V = TypeVar("V")
Row: TypeAlias = tuple[int, dict[str, Any] | str]
"""A 1-based line number with its object, or with the problem as text."""

_SPREAD = (
    "JSON spread over lines, and not one group a line; `jq -c . FILE` writes it so (`jq -c '.[]' FILE` for a list)"
)

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_GZIP = b"\x1f\x8b"


def read_lines(path: str | os.PathLike[str]) -> Iterator[Row]:
    """The rows of a file of JSON lines, compressed or not. Raises InputError if it cannot be read."""
    with opened(Path(path)) as stream:
        yield from rows(uncompressed(stream))


def read_whole(path: Path) -> Iterator[Row]:
    """A ``.json`` file: an array of groups (numbered from 1), one group over many lines, or JSON lines after all."""
    with opened(path) as stream:
        data = uncompressed(stream).read().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return
    if data.lstrip()[:1] == b"[":
        try:
            listed = json.loads(data)
        except ValueError as error:
            raise InputError(f"is not JSON: {error}", source=str(path)) from None
        for number, value in enumerate(listed, start=1):
            yield number, value if isinstance(value, dict) else "not an object with 'trajectories'"
        return
    first = data.lstrip().partition(b"\n")[0]
    if isinstance(parsed(first), str):
        yield 1, parsed(data)
    else:
        yield from rows(io.BytesIO(data))


def opened(path: Path) -> IO[bytes]:
    """The file, opened. Raises InputError if it cannot be."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise InputError("there is no such file", source=str(path)) from None
    except IsADirectoryError:
        raise InputError("is a directory; name a file in it", source=str(path)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error


def uncompressed(stream: IO[bytes]) -> IO[bytes]:
    """``stream``, decompressed if its first bytes are gzip's, whatever its name."""
    buffered = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", stream))
    if buffered.peek(2)[:2] == _GZIP:
        return cast("IO[bytes]", gzip.GzipFile(fileobj=buffered, mode="rb"))
    return buffered


def read_each(
    lines: Iterable[tuple[int, V]],
    as_one: Callable[[V, int], T],
    *,
    source: str,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[T]:
    """``as_one(row, line number)`` for each of ``lines`` of the file ``source``, in order.

    An error of ``as_one`` goes to ``on_error`` as an InputError with file and line, and the row is skipped; without
    ``on_error`` it is raised.
    """
    for line, value in lines:
        try:
            yield as_one(value, line)
        except (InputError, ConfigError) as error:
            placed = InputError(str(error), source=source, line=line)
            if on_error is None:
                raise placed from None
            on_error(placed)


def rows(stream: IO[bytes], *, max_line: int = MAX_LINE) -> Iterator[Row]:
    """Every line that is not blank, in order. The last row of a stream that breaks off reports that.

    An object spread over several lines is one row that reports that, not an error for each line.
    """
    lines = _lines(stream, max_line)
    for number, line in lines:
        if number == 1 and isinstance(line, bytes) and line.strip() in {b"{", b"["}:
            after = next(lines, None)
            if after is not None and not isinstance(_row(*after)[1], dict):
                yield 1, _SPREAD
                return
            yield from (_row(*numbered) for numbered in ((number, line), after) if numbered is not None)
        else:
            yield _row(number, line)


def _row(number: int, line: bytes | str) -> Row:
    return number, parsed(line) if isinstance(line, bytes) else line


def _lines(stream: IO[bytes], max_line: int) -> Iterator[tuple[int, bytes | str]]:
    """The number of every line that is not blank, and the line or its problem."""
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


def parsed(line: bytes) -> dict[str, Any] | str:  # noqa: PLR0911 - one return for each thing that can be wrong
    """The JSON object in ``line``, or its problem as text."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        if line.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "not UTF-8 but UTF-16; save the file as UTF-8"
        return f"not UTF-8 at byte {error.start + 1} of the line; save the file as UTF-8"
    try:
        value = json.loads(text)
        # Only escapes can bring in lone surrogates, which cannot be hashed, sent or written.
        value = without_surrogates(value) if _SURROGATE.search(text) else value
    except json.JSONDecodeError as error:
        return _syntax(text, error)
    except RecursionError:
        return "not readable: nested too deeply"
    except ValueError as error:  # an integer of thousands of digits
        return f"not readable JSON: {error}"
    if not isinstance(value, dict):
        what = kind_of(value)
        hint = '; wrap the message lists as {"trajectories": [{"messages": [...]}, ...]}' if what == "a list" else ""
        return f"the line is {what}, not an object with 'trajectories'{hint}"
    return value


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
