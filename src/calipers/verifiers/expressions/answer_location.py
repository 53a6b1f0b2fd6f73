r"""Where in a text the final answer stands: in a box, behind ``The answer is``, in the last formula or the last number.

Not responsible for what it means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from calipers.verifiers.expressions.answer_context import (
    entries,
    goes_on,
    is_anothers,
    is_denied,
    taken_back,
    unit_behind,
)

LONGEST_TEXT: Final = 65_536
"""Characters at the end of a text that are looked at."""
_BOX: Final = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=\{|[^\s{])")
_BETWEEN_BOXES: Final = re.compile(
    r"(?:\s|\$|\\[()\[\],;:!]|\\q?quad|\\ |[,;]|\band\b|\bor\b|\\text\s*\{\s*,?\s*(?:and|or)?\s*\})*"
)
_JOINT: Final = re.compile(r"\bor\b")
_MARKERS, _ = entries("markers")
_SAYS, _UNSPACED_SAYS = entries("says")
_SAYING: Final = rf"(?:(?:{'|'.join(map(re.escape, _SAYS))})(?![^\W\d_])|{'|'.join(_UNSPACED_SAYS)}|[:=：])"
_MARKER: Final = re.compile(
    rf"(?:####|(?:{'|'.join(map(re.escape, _MARKERS))})(?:e?s)?\**\s*{_SAYING}\**\s*[:：]?)[\s*]*", re.IGNORECASE
)
_DOLLARS: Final = re.compile(r"(?<!\\)\$\$?")
_ENCLOSED: Final = ((r"\[", r"\]"), (r"\(", r"\)"))
_BOLD: Final = re.compile(r"\*\*([^*\n]+)\*\*")
_NUMBER: Final = re.compile(
    r"(?<![\w.^_{\\])[-+−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+)?(?:/\d+)?(?![\d])(?:\s?\\?%)?"
)
_OFFERED: Final = re.compile(
    r"\d\W{0,5}(?:\b(?:or|and|to|oder|und|bis|ou|et|à|o|y|e|a|или|и|до)\s+|[或和与及到至、])\W{0,3}$"
)
_LISTED: Final = re.compile(r"\s*,?\s*(?:and|or|to|und|oder|bis|y|o|et|ou|e|и|или|和|或|、)?\s*")
_CLAUSE: Final = re.compile(
    r"(?:[.;!](?=\s|$)|[。；！]|です|,(?=\s+(?!and\b|or\b)[A-Za-z]{2})|\s(?:because|since|as|which|where|so|when|for)\s|\n)"
)
_LONGEST_LINE: Final = 300


@dataclass(frozen=True, slots=True)
class Located:
    """``said`` are the texts that may be the answer, the most certain first; ``boxed`` or ``marked`` if that is stated.

    ``before`` are formulas elsewhere in the text, ``later`` what is said to be the answer behind the last box. ``cut``
    if the text ends within a box, ``doubted`` if the words around the answer deny it or take it back.
    """

    said: tuple[str, ...] = ()
    boxed: bool = False
    marked: bool = False
    before: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    cut: bool = False
    doubted: bool = False


def located(text: str) -> Located:
    """Where the answer stands in ``text``."""
    text = text[-LONGEST_TEXT:]
    if (boxes := _boxes(text)) is not None:
        return boxes
    formulas = tuple(inside for _, _, inside in _formulas(text))
    marked = _after_marker(text)
    if marked.said:
        return replace(marked, before=formulas)
    whole = text.strip()
    said = [whole] if whole and len(whole) <= _LONGEST_LINE and "\n" not in whole else []
    said += _last_formula(text)
    said += _BOLD.findall(text)[-1:]
    number = None if formulas else _last_number(text)
    said += [number[0] + unit_behind(text[number.end() :])] if number else []
    last = _formulas(text)[-1:] or ([(number.start(), number.end(), "")] if number else [])
    doubted = any(is_denied(text[:start]) or taken_back(text[end:]) for start, end, _ in last)
    return Located(tuple(dict.fromkeys(said)), before=formulas, doubted=doubted)


def _formulas(text: str) -> list[tuple[int, int, str]]:
    """Formulas in a text: where each begins and ends, and its content. Takes time linear in the text's length."""
    found = []
    for left, right in _ENCLOSED:
        start = text.find(left)
        while start >= 0 and (end := text.find(right, start + 2)) >= 0:
            found.append((start, end + 2, text[start + 2 : end]))
            start = text.find(left, end)
    opened: re.Match[str] | None = None
    for mark in _DOLLARS.finditer(text):
        if opened is None or opened[0] != mark[0]:
            opened = mark
            continue
        inside = text[opened.end() : mark.start()]
        if inside.strip() and (mark[0] == "$$" or "\n" not in inside):
            found.append((opened.start(), mark.end(), inside))
            opened = None
        else:
            opened = mark
    return sorted(found)


def _last_formula(text: str) -> list[str]:
    """The last formula with the unit behind it, unless it is one of several alternatives, or part of more."""
    found = _formulas(text)
    if not found or goes_on(text[found[-1][1] :]):
        return []
    start, end, inside = found[-1]
    between = text[found[-2][1] : start] if len(found) > 1 else "."
    return [] if _LISTED.fullmatch(between) else [inside + unit_behind(text[end:])]


def _last_number(text: str) -> re.Match[str] | None:
    """The last number, unless it is one of several alternatives, or part of more."""
    last = None
    for found in _NUMBER.finditer(text):
        last = found if any(map(str.isdigit, found[0])) else last
    if last is None or _OFFERED.search(text[max(0, last.start() - 40) : last.start()]):
        return None
    return None if goes_on(text[last.end() :]) else last


def _boxes(text: str) -> Located | None:
    """The last box and the boxes just before it, joined as they are; None without a box."""
    starts = list(_BOX.finditer(text))[-20:]
    if not starts:
        return None
    contents: list[str] = []
    until = len(text)
    ended = None
    joint = ","
    for found in reversed(starts):
        end = _end_of(text, found.end())
        if end is None:
            return Located((f" {joint} ".join(contents),) if contents else (), boxed=True, cut=not contents)
        if contents and end > until:
            continue  # a box within this one, which was not the answer
        if contents:
            between = text[end:until]
            if not _BETWEEN_BOXES.fullmatch(between):
                break
            joint = r"\text{ or }" if _JOINT.search(between) else joint
        ended = end if ended is None else ended
        inside = text[found.end() : end]
        content = inside[1:-1] if inside.startswith("{") else inside
        if content.strip() not in (one.strip() for one in contents):
            contents.insert(0, content)
        until = found.start()
    later = _after_marker(text[ended:])
    return Located(
        (f" {joint} ".join(contents),),
        boxed=True,
        later=() if later.doubted else later.said,
        doubted=is_denied(text[:until]),
    )


def _end_of(text: str, start: int) -> int | None:
    """The place after the brace that closes the one at ``start``, or after a single character; None if none closes."""
    if text[start] != "{":
        return start + 1
    depth, place = 0, start
    while place < len(text):
        if text[place] == "\\":
            place += 2
            continue
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        place += 1
        if not depth:
            return place
    return None


def _after_marker(text: str) -> Located:
    """The text behind the last ``the answer is``, whole and up to where its clause may end."""
    markers = list(_MARKER.finditer(text))
    if not markers:
        return Located()
    marker = markers[-1]
    tail = text[marker.end() :].strip()
    line = tail.split("\n")[0].strip() or tail[:_LONGEST_LINE].strip()
    if tail.startswith(("$$", "\\[")):
        line = tail
    said = []
    if (formulas := _formulas(line)) and formulas[0][0] == 0:
        _, end, inside = formulas[0]
        after = line[end:].strip(" .*")
        alone = [] if goes_on(line[end:]) else [inside + unit_behind(line[end:])]
        said += alone if not after or (alone and (len(after) > 40 or _CLAUSE.match(line[end:]))) else [line, *alone]
        rest = tail[end:]
    else:
        line = line[:_LONGEST_LINE]
        cut = _CLAUSE.search(line)
        said += [line[: cut.start()]] if cut else []
        said.append(line)
        number = _NUMBER.match(line)
        number = number if number and any(map(str.isdigit, number[0])) else None
        said += [number[0] + unit_behind(line[number.end() :])] if number and not goes_on(line[number.end() :]) else []
        rest = tail[number.end() if number else cut.start() if cut else len(line) :]
    doubted = is_anothers(text[: marker.start()]) or taken_back(rest)
    said = [one.strip().strip("*`").strip() for one in said]
    return Located(tuple(dict.fromkeys(one for one in said if one)), marked=True, doubted=doubted)
