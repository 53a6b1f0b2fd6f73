"""Read a file of recorded verdicts about the rows of a meta-evaluation: each line is an answer of a judge.

Reading files is the only I/O.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from calipers.errors import ConfigError, InputError
from calipers.inputs import records
from calipers.replies import VerdictReading, extract_verdict

_SHAPE: Final = '{"judge": "...", "line": 1, "met": true} (or "raw_text" instead of "met", "item" instead of "line")'


@dataclass(frozen=True, slots=True)
class Recorded:
    """The verdict of ``judge`` about a row, which is identified by its ``item`` or, if that is None, by its ``line``.

    ``met`` None is a missing verdict, with a ``reason``.
    """

    judge: str
    met: bool | None
    reason: str = ""
    line: int | None = None
    item: str | None = None


def read_verdicts(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - what people call it
    on_error: Callable[[InputError], None],
) -> Iterator[Recorded]:
    """Yield verdicts to calibrate from a ``.jsonl`` or ``.jsonl.gz`` file.

    Bad lines are passed to ``on_error`` and skipped.

    ``format`` is the reply format of lines that name none.
    """
    yield from records.convert_rows(
        records.read_json_lines(path),
        lambda value, _: as_recorded(value, format=format),
        source=os.fspath(path),
        on_error=on_error,
    )


def recorded_verdicts(verdicts: object, *, on_error: Callable[[InputError], None]) -> Iterator[Recorded]:
    """Yield recorded verdicts to calibrate.

    They come from a path, or from an iterable of objects of a verdicts file or of Recorded.
    """
    if isinstance(verdicts, str | os.PathLike):
        yield from read_verdicts(verdicts, on_error=on_error)
        return
    for place, value in enumerate(cast("Iterable[Any]", verdicts), start=1):
        try:
            yield value if isinstance(value, Recorded) else as_recorded(value)
        except InputError as error:
            on_error(InputError(f"verdict {place}: {error}"))


def as_recorded(value: object, *, format: str | None = None) -> Recorded:  # noqa: A002 - likewise
    """Return an object of a verdicts file, checked for calibration.

    ``raw_text`` is read if there is no ``met``. Raises InputError.
    """
    if isinstance(value, str):
        raise InputError(value)
    if not isinstance(value, Mapping):
        raise InputError(f"is not an object; expected {_SHAPE}")
    judge, line, item = (value.get(name) for name in ("judge", "line", "item"))
    if not isinstance(judge, str) or not judge:
        raise InputError(f"'judge' must be its name; expected {_SHAPE}")
    if item is not None and not isinstance(item, str):
        raise InputError("'item' must be text")
    if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line < 1):
        raise InputError(f"'line' is {line!r}: it must be a row's line, counted from 1")
    if line is None and item is None:
        raise InputError(f"has no row: add 'line' or 'item'; expected {_SHAPE}")
    met, reason = _verdict_and_reason(value, format)
    return Recorded(judge, met, reason, line, item)


def _verdict_and_reason(value: Mapping[str, Any], form: str | None) -> tuple[bool | None, str]:
    reason = value.get("reason")
    given = reason if isinstance(reason, str) else ""
    if "met" in value:
        met = value["met"]
        if met not in (True, False, None) or isinstance(met, float | int) is not isinstance(met, bool):
            raise InputError(f"'met' must be true, false or null, not {met!r:.40}")
        return met, given or ("" if met is not None else "no verdict was recorded")
    raw = value.get("raw_text")
    if not isinstance(raw, str):
        raise InputError(f"has neither 'met' nor 'raw_text'; expected {_SHAPE}")
    reading = _verdict(raw, value.get("format", form))
    return reading.met, reading.reason or given


def _verdict(raw: str, form: object) -> VerdictReading:
    try:
        return extract_verdict(raw, format=None if form is None else str(form))
    except ConfigError as error:
        raise InputError(str(error)) from None
