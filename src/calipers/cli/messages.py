"""Prints messages for people, and what calipers logs: wrapped between words in a terminal, unchanged elsewhere."""

from __future__ import annotations

import logging
import re
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from calipers.errors import InputError
from calipers.types.encoding import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

_BAD_LINES_SHOWN, _OF_ONE_REASON = 10, 3
_FIGURES = re.compile(r"\d[\d,.]*(?<=\d)")
"""A number in a reason."""


def wrap_words(text: str, width: int) -> str:
    """Wrap a command's ``text`` between words at ``width`` columns; continued lines keep their indent."""
    return "\n".join(line if len(line) <= width else _wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    # Users copy names of files and models, and URLs, so these are not broken.
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def wrap_for_console(console: Console, text: str) -> str:
    """Wrap a command's ``text`` after a table, if ``console`` is a terminal; a file or a pipe gets it unchanged."""
    return wrap_words(text, console.width) if console.is_terminal else text


def print_message(text: str) -> None:
    """Print a command's ``text`` to stderr, wrapped if stderr is a terminal."""
    from calipers.judging.describe import terminal_width  # noqa: PLC0415 - --help stays quick

    width, text = terminal_width(), printable(text)
    click.echo(text if width is None else wrap_words(text, width), err=True)


def reason_lines(reasons: Mapping[str, int], most: int) -> list[str]:
    """Return the ``most`` frequent reasons with their counts, and a line that counts all others.

    Reasons that differ only in figures are one reason, with an ellipsis in place of the figures that differ.
    """
    alike: dict[str, Counter[str]] = {}
    for reason, count in reasons.items():
        alike.setdefault(_FIGURES.sub("…", reason), Counter())[reason] += count
    merged = Counter({_common_text(list(texts)): texts.total() for texts in alike.values()})
    lines = [f"{count:,} × {reason}" for reason, count in merged.most_common(most)]
    unshown = merged.most_common()[most:]
    if unshown:
        why = counted(len(unshown), "other reason")
        lines.append(f"+{sum(count for _, count in unshown):,} more for {why}")
    return lines


def _common_text(alike: Sequence[str]) -> str:
    """Return the text of reasons that differ only in figures, with an ellipsis where they do."""
    figures = zip(*(_FIGURES.findall(text) for text in alike), strict=True)
    kept = iter([figure[0] if len(set(figure)) == 1 else "…" for figure in figures])
    return _FIGURES.sub(lambda _: next(kept), alike[0])


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a command; its text says what is true then."""


@contextmanager
def tells_if_interrupted(text: str) -> Iterator[None]:
    """Around a command's work: if it is interrupted, say what has been kept, or that nothing has."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(text) from None


@dataclass(slots=True)
class BadLines:
    """Reports the first lines that cannot be read, three for each reason, and counts the others: a wrong file may have
    thousands.

    ``kind`` is "Note" for lines that are read, but perhaps not as they are meant.
    """

    tell: Callable[[str], None] = print_message
    kind: str = "Error"
    count: int = 0
    shown: int = 0
    _reasons: Counter[str] = field(default_factory=Counter)

    def __call__(self, error: InputError) -> None:
        reason = str(error).removeprefix(f"{error.source}:{error.line}: ")
        if self.shown < _BAD_LINES_SHOWN and self._reasons[reason] < _OF_ONE_REASON:
            self._reasons[reason] += 1
            self.shown += 1
            self.tell(f"{self.kind}: {error}")
        elif self.shown == self.count:
            self.tell(f"{self.kind}: further lines like these are only counted")
        self.count += 1

    @property
    def told(self) -> str:
        """How many lines could not be read, as text for the summary."""
        shown = f"{self.shown} of them reported" if self.count > self.shown else "reported"
        return f"{self.count:,} ({shown} above; not scored)"


class _Printing(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.levelno >= logging.WARNING:
            self._say(f"{'Warning' if record.levelno < logging.ERROR else 'Error'}: {text}")
        else:
            when = time.strftime("%H:%M:%S", time.localtime(record.created))
            self._say(f"{when} {record.levelname.lower()} {record.name}: {text}")


@contextmanager
def print_log_with(say: Callable[[str], None], *, level: str | None = None) -> Iterator[None]:
    """Print on the command line what calipers logs with ``say``, instead of the usual handlers.

    ``level`` ("debug", "info", "warning", "error") is the least that is printed. None leaves it as it is, which is
    warnings at first.
    """
    with only_handler(_Printing(say), level=None if level is None else logging.getLevelNamesMapping()[level.upper()]):
        yield


@contextmanager
def only_handler(handler: logging.Handler, *, level: int | None = None) -> Iterator[None]:
    """Hand what calipers logs to ``handler`` alone, from ``level`` on; None leaves the level as it is."""
    logger = logging.getLogger("calipers")
    before = logger.handlers[:], logger.propagate, logger.level
    logger.handlers[:], logger.propagate = [handler], False
    if level is not None:
        logger.setLevel(level)
    try:
        yield
    finally:
        logger.handlers[:], logger.propagate = before[:2]
        logger.setLevel(before[2])
