"""Reads a judge's scores from tables with a header and from YAML lists of rows.

Every score must be under a word for score. A table without such a column or row is not read.
"""

from __future__ import annotations

import re
from dataclasses import replace

from calipers.replies.caveats.phrases import find_phrases, fold_words
from calipers.replies.caveats.quotations import announces_other_numbers, introduces_others_words
from calipers.replies.scores.fields import STATING, Role, Row, is_remark_or_score, role_of_key, scale_of_row
from calipers.replies.scores.found import UNCLEAR, UPSIDE_DOWN, Scale, Statement
from calipers.replies.scores.names import Names
from calipers.replies.scores.numbers import KEYWORD
from calipers.replies.scores.stated import scale_of_key

Rows = list[tuple[list[str], bool]]
"""The cells of each row, and whether the reply may end inside the row."""

_MAX_HEADERS = 4
_LONG_HEAD = 12
"""A header that only names its column has at most this many characters."""
_MAX_HEADER = 200
_SUMMARY = frozenset({"average", "mean", "total", ""})
_LOOSE_WORD = re.compile(r"value|points|total|overall|mark|reward|quality|final", re.IGNORECASE)
_GAP = re.compile(r" {2,}")
_YAML_LINE = re.compile(
    r"^(?P<indent>\s*)(?P<dash>-\s+)?[\"']?(?P<key>[\w #-]{1,40}?)[\"']?\s?:(?:\s+(?P<value>.{0,400}))?$"
)


def read_score_tables(lines: list[str], names: Names) -> list[Statement]:
    """Extract the scores of all tables with a header: from a column with ids in the rows, or a row with ids above."""
    lines = _columns(lines)
    for mark in ("|", "\t", ",", ";"):
        tried, until = 0, 0
        said: list[Statement] = []
        for number, line in enumerate(lines[:-1]):
            if number < until or mark not in line or len(line) > 2_000 or tried >= _MAX_HEADERS:
                continue
            if not _LOOSE_WORD.search(line) and not any(map(KEYWORD.search, lines[number : number + 12])):
                continue
            tried += 1
            rows, end = _rows(lines, number + 1, mark)
            above = next((other for other in reversed(lines[:number]) if other.strip()), "")
            found = _of_table(_cells(line, mark), rows, names, mark)
            claimed = {one.id_ for one in found}
            if (
                found
                and not announces_other_numbers(above, names.ids)
                and not introduces_others_words(above, names.ids, claimed)
            ):
                until = end
                said.extend(replace(one, line=until - 1, begin=number) for one in found)
        if said:
            return said
    return []


def _columns(lines: list[str]) -> list[str]:
    """Replace blanks by tabs where two or more blanks separate the columns of a table."""
    for number, line in enumerate(lines[:-1]):
        if "  " not in line.strip() or "|" in line or "\t" in line or len(line) > _MAX_HEADER:
            continue
        roles = {role_of_key(cell) for cell in _GAP.split(line.strip())}
        if "score" in roles and not roles.isdisjoint({"id", "weak id"}):
            return [*lines[:number], *(_GAP.sub("\t", other.strip()) for other in lines[number:])]
    return lines


def _cells(line: str, mark: str) -> list[str]:
    line = line.strip().strip("|") if mark == "|" else line
    return [cell.strip(" \t*_\"'`") for cell in line.split(mark)]


def _rows(lines: list[str], start: int, mark: str) -> tuple[Rows, int]:
    """Return the rows of a table from a line on, and the number of the line after the last row."""
    rows: Rows = []
    for number in range(start, len(lines)):
        line = lines[number]
        if not line.strip() or mark not in line:
            return rows, number
        if mark != "|" or line.strip(" |:-"):
            open_end = number == len(lines) - 1 and not (mark == "|" and line.rstrip().endswith("|"))
            rows.append((_cells(line, mark), open_end))
    return rows, len(lines)


def _of_table(header: list[str], rows: Rows, names: Names, mark: str) -> list[Statement]:
    roles = [role_of_key(cell) for cell in header]
    if "score" not in roles and "loose score" not in roles:  # a column headed *Note* may be scores
        for place, cell in enumerate(header):
            if (
                is_remark_or_score(cell)
                and rows
                and all(len(row) > place and row[place][:1].isdecimal() for row, _ in rows)
            ):
                roles[place] = "score"
    score_at = _score_column(header, roles)
    if "score" in roles or roles.count("loose score") == 1:
        return [] if score_at is None else _down(header, roles, rows, names, mark, score_at)
    if mark in "|\t" and sum(names.match(cell) is not None for cell in header) >= 2:
        return _across(header, rows, names)
    return []


def _down(
    header: list[str], roles: list[Role | None], rows: Rows, names: Names, mark: str, score_at: int
) -> list[Statement]:
    others = (place for place, role in enumerate(roles) if role in ("weak id", None) and place != score_at)
    id_at = roles.index("id") if "id" in roles else next(others, 0)
    turned = len(header[score_at]) > _LONG_HEAD and "LOWER_IS_BETTER" in find_phrases(fold_words(header[score_at]))
    said = []
    for cells, open_end in rows:
        row = cells
        if mark in ",;" and len(cells) > len(header):  # a text cell contains separators, so the row has too many cells
            row = [*cells[:score_at], cells[-1]] if score_at == len(header) - 1 else []
        if len(row) <= max(id_at, score_at):
            continue
        id_ = names.match(row[id_at])
        at_end = open_end and score_at == len(row) - 1 and id_ is not None
        scale = UPSIDE_DOWN if turned else _scale(header, roles, row, score_at)
        if id_ is not None or row[id_at].casefold() not in _SUMMARY:
            said.append(Statement(row[id_at] if id_ is None else id_, row[score_at], at_end, scale=scale))
    return said if any(one.id_ in names.known for one in said) else []


def _scale(header: list[str], roles: list[Role | None], row: list[str], score_at: int) -> Scale | None:
    """Return the scale of a row's score, which the header of the column or a column of its own states."""
    stated = scale_of_key(header[score_at])[1]
    if stated is not None or STATING.isdisjoint(roles):
        return stated
    if len(row) != len(header) or any(role in STATING and not cell for cell, role in zip(row, roles, strict=True)):
        return UNCLEAR
    return scale_of_row(Row(zip(header, row, roles, strict=True)))


def _score_column(header: list[str], roles: list[Role | None]) -> int | None:
    """Return the only column of scores. Of several, return the column called total, or the one called simply score."""
    columns = [place for place, role in enumerate(roles) if role == "score"]
    if len(columns) > 1:
        plain = [place for place in columns if scale_of_key(header[place])[0].strip().casefold() == "score"]
        total = [place for place in columns if re.match(r"final|overall|total", header[place], re.IGNORECASE)]
        columns = plain or total
    columns = columns or [place for place, role in enumerate(roles) if role == "loose score"]
    match columns:
        case [only]:
            return only
    return None


def _across(header: list[str], rows: Rows, names: Names) -> list[Statement]:
    for cells, open_end in rows:
        if role_of_key(cells[0]) == "score" and len(cells) == len(header):
            return [
                Statement(id_, cell, open_end and place == len(cells) - 1, scale=scale_of_key(cells[0])[1])
                for place, (name, cell) in enumerate(zip(header, cells, strict=True))
                if (id_ := names.match(name)) is not None
            ]
    return []


def read_yaml_scores(lines: list[str], names: Names) -> list[Statement]:
    """Extract the scores of a YAML list of rows (``- trajectory_id: 1``), with fields in any order."""
    items: list[dict[Role, tuple[str, int]]] = []
    first_line = last_line = 0
    for number, line in enumerate(lines):
        found = _YAML_LINE.match(line)
        if found is None:
            continue
        if found["dash"]:
            first_line = first_line if items else number
            items.append({})
        role = role_of_key(found["key"])
        if not items or not found["value"] or (role not in ("id", "score") and role not in STATING):
            continue
        value = re.sub(r"\s#.*$", "", found["value"]).strip()
        if items[-1].setdefault(role, (value, number))[0] != value:
            return []
        last_line = number
    said = []
    for item in items:
        if "id" in item and "score" in item:
            name, (score, line_of_score) = item["id"][0], item["score"]
            id_ = names.match(name.strip("\"' "))
            stating = Row(("out_of" if role == "top" else role, value, role) for role, (value, _) in item.items())
            at_end = line_of_score == len(lines) - 1
            named = name if id_ is None else id_
            said.append(Statement(named, score, at_end, line=last_line, begin=first_line, scale=scale_of_row(stating)))
    return said if any(one.id_ in names.ids for one in said) else []
