"""The console that commands print tables and progress to: foreign text in it never commands the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

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


def print_figures(
    console: Console,
    title: str,
    names: Sequence[str],
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    together: int = 1,
) -> None:
    """Print a command's table of ``rows``: a cell for each of ``names``, then a figure for each of ``heads``.

    A head that is empty belongs to the figure before it; or so many columns ``together`` are a figure with its
    details. In a narrow terminal, each row's name stands above its figures. Figures are never wrapped.
    """
    table = Table(box=None, padding=(0, 1))
    for name in names:
        table.add_column(name, overflow="fold")
    for head in heads:
        table.add_column(head, justify="right", vertical="bottom", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(title, style="table.title", markup=False)
    if table.__rich_measure__(console, console.options.update(width=10_000)).maximum <= console.width:
        console.print(table)
        return
    starts = [at for at, head in enumerate(heads) if (head or not at if together == 1 else at % together == 0)]
    places = list(zip(starts, [*starts[1:], len(heads)], strict=True))
    lines = [[(heads[at], *row[len(names) + at : len(names) + end]) for at, end in places] for row in rows]
    shared = ("", "", *heads[1:together])
    columns = zip_longest(shared, *(line for figures in lines for line in figures), fillvalue="")
    widths = [max(map(len, column)) for column in columns]

    def show(cells: Sequence[str], style: str | None = None) -> None:
        padded = [cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]
        console.print("  ".join(["", *padded]).rstrip(), style=style, markup=False, soft_wrap=True)

    if any(shared):
        show(shared, "table.header")
    for row, figures in zip(rows, lines, strict=True):
        console.print(": ".join(filter(None, row[: len(names)])), markup=False, soft_wrap=True)
        for cells in figures:
            show(cells)
