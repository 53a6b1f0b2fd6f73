"""Small HTML for notebooks: each result's ``_repr_html_`` chooses what to show; here everything is escaped.

No script, no address, no colour of its own, so that it fits a light and a dark notebook.
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

_INVISIBLE: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))
_MOST_CHARACTERS: Final = 300
_MOST_ROWS: Final = 64
_CELL: Final = "padding:2px 10px 2px 0;vertical-align:top;text-align:"


def escaped(text: object) -> str:
    """Return data such as a judge's words as HTML text of one line, of at most 300 characters.

    Characters that are invisible, or change the direction of writing, are shown as labels such as ``U+202E``.
    """
    given = str(text)
    line = " ".join(given[: 4 * _MOST_CHARACTERS].split())
    cut = given if len(given) > 4 * _MOST_CHARACTERS else line
    line = f"{line[:_MOST_CHARACTERS]}…" if len(cut) > _MOST_CHARACTERS else line
    return html.escape("".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _INVISIBLE else c for c in line))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table for data such as results: text, numbers (with three decimals if not whole), None as "–".

    At most 64 rows are shown, and the number of the others.
    """
    kept = list(rows)
    head = "".join(f'<th style="{_CELL}left">{escaped(one)}</th>' for one in headings)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in kept[:_MOST_ROWS])
    more = f"<p>and {len(kept) - _MOST_ROWS:,} more</p>" if len(kept) > _MOST_ROWS else ""
    return f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def lines(texts: Iterable[object]) -> str:
    """Return data such as warnings as an HTML list; the first 64 are shown, and the number of the others."""
    kept = [escaped(one) for one in texts]
    shown = kept[:_MOST_ROWS] + [f"and {len(kept) - _MOST_ROWS:,} more"] * (len(kept) > _MOST_ROWS)
    return f"<ul>{''.join(f'<li>{one}</li>' for one in shown)}</ul>" if kept else ""


def heading(title: object, text: object = "") -> str:
    """Return a line of HTML with the title of data such as a result in bold, and further text."""
    return f"<p><strong>{escaped(title)}</strong> {escaped(text)}</p>"


def code(text: object) -> str:
    """Return data such as settings as HTML that keeps its lines."""
    shown = "\n".join(escaped(line) for line in str(text).splitlines()[:_MOST_ROWS])
    return f'<pre style="white-space:pre-wrap">{shown}</pre>'


def _cell(value: object) -> str:
    if value is None:
        return f'<td style="{_CELL}right">–</td>'
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="{_CELL}right">{value if isinstance(value, int) else format(value, ".3f")}</td>'
    return f'<td style="{_CELL}left">{escaped(value)}</td>'
