"""Tables of figures with long names: side by side if the terminal is wide enough, else each name above its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_figures(
    console: Console, title: str, names: Sequence[str], heads: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print a command's table of ``rows``: a cell for each of ``names``, then a figure for each of ``heads``.

    Figures are never wrapped.
    """
    beside = _table(heads, rows, names)
    if beside.__rich_measure__(console, console.options.update(width=10_000)).maximum <= console.width:
        console.print(title, style="table.title", markup=False)
        console.print(beside)
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
