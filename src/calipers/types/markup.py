"""Small HTML for notebooks: tables and lines of text, in which everything is escaped and nothing can run.

No script, no address, no colour of its own, so that it fits a light and a dark notebook. Not responsible for what is
shown: each result's ``_repr_html_`` chooses that.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

_INVISIBLE: Final = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))
_SPACE: Final = re.compile(r"\s+")
_MOST_CHARACTERS: Final = 300
_MOST_ROWS: Final = 64
_BAR: Final = 160
"""Width of an error bar in pixels."""
_CELL: Final = "text-align:left;padding:2px 10px 2px 0;vertical-align:top"
_NUMBER: Final = "text-align:right;padding:2px 10px 2px 0;vertical-align:top;white-space:nowrap"


class Markup(str):
    """Text that is HTML already: only this module makes it, from escaped text and numbers."""

    __slots__ = ()


def escaped(text: object, *, most: int = _MOST_CHARACTERS) -> Markup:
    """Return data such as a judge's words as HTML text of at most ``most`` characters.

    Characters that are invisible, or change the direction of writing, are shown as labels such as ``U+202E``.
    """
    given = str(text)
    line = _SPACE.sub(" ", given[: 4 * most]).strip()
    cut = line if len(line) <= most and len(given) <= 4 * most else f"{line[:most]}…"
    return Markup(html.escape("".join(_visible(one) for one in cut)))


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """Return an HTML table for data such as results.

    Cells are text, which is escaped; numbers, with three decimals if they are no whole numbers; None, which is "–"; or
    Markup. At most 64 rows are shown, and the number of the others.
    """
    kept = list(rows)
    head = "".join(f'<th style="{_CELL}">{escaped(one)}</th>' for one in headings)
    body = "".join(f"<tr>{''.join(_cell(one) for one in row)}</tr>" for row in kept[:_MOST_ROWS])
    more = f"<p>and {len(kept) - _MOST_ROWS:,} more</p>" if len(kept) > _MOST_ROWS else ""
    return Markup(
        f'<table style="border-collapse:collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'
    )


def lines(texts: Iterable[object]) -> Markup:
    """Return data such as warnings as an HTML list; the first 64 are shown, and the number of the others."""
    kept = list(texts)
    if not kept:
        return Markup()
    more = f"<li>and {len(kept) - _MOST_ROWS:,} more</li>" if len(kept) > _MOST_ROWS else ""
    return Markup(f"<ul>{''.join(f'<li>{escaped(one)}</li>' for one in kept[:_MOST_ROWS])}{more}</ul>")


def heading(title: object, text: object = "") -> Markup:
    """Return a line of HTML with the title of data such as a result in bold, and further text."""
    return Markup(f"<p><strong>{escaped(title)}</strong> {escaped(text)}</p>")


def code(text: object) -> Markup:
    """Return data such as settings as HTML that keeps its lines."""
    shown = "\n".join(escaped(line) for line in str(text).splitlines()[:_MOST_ROWS])
    return Markup(f'<pre style="white-space:pre-wrap">{shown}</pre>')


def error_bar(value: float, half: float | None, *, low: float, high: float) -> Markup:
    """Return data such as a score with its interval, ``value`` ± ``half``, as an SVG image from ``low`` to ``high``."""
    span = high - low if high > low else 1.0

    def at(number: float) -> float:
        return round(4 + (_BAR - 8) * min(1.0, max(0.0, (number - low) / span)), 1)

    line = "" if half is None else f'<line x1="{at(value - half)}" x2="{at(value + half)}" y1="7" y2="7"/>'
    return Markup(
        f'<svg width="{_BAR}" height="14" role="presentation" stroke="currentColor" fill="currentColor">'
        f'<line x1="4" x2="{_BAR - 4}" y1="7" y2="7" opacity="0.2"/>{line}<circle cx="{at(value)}" cy="7" r="3"/></svg>'
    )


def _cell(value: object) -> str:
    if isinstance(value, Markup):
        return f'<td style="{_CELL}">{value}</td>'
    if value is None:
        return f'<td style="{_NUMBER}">–</td>'
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="{_NUMBER}">{value if isinstance(value, int) else format(value, ".3f")}</td>'
    return f'<td style="{_CELL}">{escaped(value)}</td>'


def _visible(character: str) -> str:
    if character.isascii() and character.isprintable():
        return character
    return f"[U+{ord(character):04X}]" if unicodedata.category(character) in _INVISIBLE else character
