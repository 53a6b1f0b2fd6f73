"""Prints messages for people: wrapped between words in a terminal, unchanged elsewhere."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.errors import InputError
from calipers.types.encoding import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

_BAD_LINES_SHOWN = 10
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
    others = merged.most_common()[most:]
    if others:
        why = counted(len(others), "other reason")
        lines.append(f"+{sum(count for _, count in others):,} more for {why}")
    return lines


def _common_text(alike: Sequence[str]) -> str:
    """Return the text of reasons that differ only in figures, with an ellipsis where they do."""
    figures = zip(*(_FIGURES.findall(text) for text in alike), strict=True)
    kept = iter([found[0] if len(set(found)) == 1 else "…" for found in figures])
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
    """Reports the first lines that cannot be read, and counts the others: a wrong file may have thousands."""

    tell: Callable[[str], None] = print_message
    count: int = 0

    def __call__(self, error: InputError) -> None:
        self.count += 1
        if self.count <= _BAD_LINES_SHOWN:
            self.tell(f"Error: {error}")
        elif self.count == _BAD_LINES_SHOWN + 1:
            self.tell("Error: further lines cannot be read either; they are only counted")

    @property
    def told(self) -> str:
        """How many lines could not be read, as text for the summary."""
        if self.count > _BAD_LINES_SHOWN:
            return f"{self.count:,} (the first {_BAD_LINES_SHOWN} reported above; not scored)"
        return f"{self.count:,} (reported above, not scored)"


@dataclass(slots=True)
class Notes:
    """Prints the first notes on what was read, and says when there are more."""

    tell: Callable[[str], None] = print_message
    count: int = 0

    def __call__(self, note: InputError) -> None:
        self.count += 1
        if self.count <= _BAD_LINES_SHOWN:
            self.tell(f"Note: {note}")
        elif self.count == _BAD_LINES_SHOWN + 1:
            self.tell("Note: there are further notes of this kind, which are not shown")
