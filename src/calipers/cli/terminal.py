"""The console that commands print tables and progress to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from calipers.types.encoding import printable


class Terminal(Console):
    """A console that shows control characters as visible escapes, because ids, reasons and names are untrusted text.

    Rich itself removes only a few control characters, and passes escape sequences through.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield a command's output, the segments of ``renderable``, with control characters as visible escapes."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


def table_console(*, width: int, **options: Any) -> Terminal:
    """Return a console on stdout for a command's tables, as wide as the terminal.

    In a file or a pipe, it is ``width`` columns wide.
    """
    console = Terminal(highlight=False, **options)
    return console if console.is_terminal else Terminal(highlight=False, width=width, **options)
