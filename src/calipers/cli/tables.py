"""Tables of figures with long names: side by side if the terminal is wide enough, else each name above its figures.

Figures with what belongs to them, such as a difference and its interval, stand below one another if even that is too
wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


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

    So many columns ``together`` are a figure and what belongs to it; the heads of the others are the same for all
    figures. Figures are never wrapped.
    """
    beside = _table(heads, rows, names)
    if beside.__rich_measure__(console, console.options.update(width=10_000)).maximum <= console.width:
        console.print(title, style="table.title", markup=False)
        console.print(beside)
        return
    if together > 1:
        _print_lists(console, title, len(names), heads, rows, together=together)
        return
    figures = _table(_narrow(heads), [row[len(names) :] for row in rows])
    rendered = console.render_lines(figures, console.options.update(width=10_000), pad=False)
    lines = ["".join(segment.text for segment in line).rstrip() for line in rendered]
    above = len(lines) - len(rows)
    console.print(title, style="table.title", markup=False)
    console.print("\n".join(lines[:above]), style="table.header", markup=False, soft_wrap=True)
    for row, line in zip(rows, lines[above:], strict=True):
        console.print(": ".join(filter(None, row[: len(names)])), markup=False, soft_wrap=True)
        console.print(line, markup=False, soft_wrap=True)


def _print_lists(
    console: Console, title: str, names: int, heads: Sequence[str], rows: Sequence[Sequence[str]], *, together: int
) -> None:
    """Print each row's name, and below it a line for each figure with what belongs to it."""
    starts = range(0, len(heads), together)
    lines = [[(heads[at], *row[names + at : names + at + together]) for at in starts] for row in rows]
    shared = ("", "", *heads[1:together])
    widths = [max(map(len, column)) for column in zip(shared, *(line for own in lines for line in own), strict=True)]

    def shown(cells: Sequence[str]) -> str:
        first, *others = cells
        return "  ".join(["", first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip()

    console.print(title, style="table.title", markup=False)
    if any(shared):
        console.print(shown(shared), style="table.header", markup=False, soft_wrap=True)
    for row, own in zip(rows, lines, strict=True):
        console.print(": ".join(filter(None, row[:names])), markup=False, soft_wrap=True)
        for line in own:
            console.print(shown(line), markup=False, soft_wrap=True)


def _narrow(heads: Sequence[str]) -> list[str]:
    """Print the table with narrow columns: headings have one word per line, and each figure is above its interval."""
    narrow = [head.replace(" ", "\n") for head in heads]
    for place, head in enumerate(heads[1:], 1):
        if not head:
            narrow[place - 1 : place + 1] = ["", narrow[place - 1]]
    return narrow


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], names: Sequence[str] = ()) -> Table:
    from rich.table import Table  # noqa: PLC0415 - --help stays quick
    from rich.text import Text  # noqa: PLC0415 - likewise

    table = Table(box=None, padding=(0, 1) if names else (0, 1, 0, 0))
    for name in names:
        table.add_column(name, overflow="fold")
    for head in heads:
        table.add_column(head, justify="right", vertical="bottom", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table
