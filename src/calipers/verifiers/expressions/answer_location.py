"""Find the final answer in a text: in a box, after ``The answer is``, in the last formula, or as the last number.

``answers`` decides what the answer means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from calipers.verifiers.expressions.answer_context import (
    context_words,
    is_continued,
    is_denied,
    is_retracted,
    is_wrong_or_hypothetical,
    unit_after,
)

LONGEST_TEXT: Final = 65_536
"""At most this many characters, from the end of a text, are searched for the answer."""
_BOX: Final = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=\{|[^\s{])")
_BETWEEN_BOXES: Final = re.compile(
    r"(?:\s|\$|\\[()\[\],;:!]|\\q?quad|\\ |[,;]|\band\b|\bor\b|\\text\s*\{\s*,?\s*(?:and|or)?\s*\})*"
)
_JOINT: Final = re.compile(r"\bor\b")
_MARKERS, _ = context_words("markers")
_SAYS, _UNSPACED_SAYS = context_words("says")
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
class LocatedAnswer:
    """The final answer found in a text.

    ``candidates`` are the texts that may be the answer, the most certain first. ``boxed`` is True if they come from a
    box, ``marked`` if they follow words such as ``the answer is``. ``formulas`` are all formulas of a text without a
    box, and ``later`` are the answers stated after the last box. ``cut`` is True if the text ends within a box,
    ``doubted`` if the words around the answer deny or retract it.
    """

    candidates: tuple[str, ...] = ()
    boxed: bool = False
    marked: bool = False
    formulas: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    cut: bool = False
    doubted: bool = False


def locate_answer(text: str) -> LocatedAnswer:
    """Return the parts of ``text`` that may be the final answer to verify, and whether words around them deny it."""
    text = text[-LONGEST_TEXT:]
    if (boxes := _last_boxes(text)) is not None:
        return boxes
    formulas = tuple(inside for _, _, inside in _formulas(text))
    marked = _after_marker(text)
    if marked.candidates:
        return replace(marked, formulas=formulas)
    whole = text.strip()
    said = [whole] if whole and len(whole) <= _LONGEST_LINE and "\n" not in whole else []
    said += _last_formula(text)
    said += _BOLD.findall(text)[-1:]
    number = None if formulas else _last_number(text)
    said += [number[0] + unit_after(text[number.end() :])] if number else []
    last = _formulas(text)[-1:] or ([(number.start(), number.end(), "")] if number else [])
    doubted = any(is_denied(text[:start]) or is_retracted(text[end:]) for start, end, _ in last)
    return LocatedAnswer(tuple(dict.fromkeys(said)), formulas=formulas, doubted=doubted)


def _formulas(text: str) -> list[tuple[int, int, str]]:
    """Return the start, end and content of each formula in a text. Takes time linear in the text's length."""
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
    """Return the last formula of an answer and its unit. Empty if it is an alternative or part of a
    longer expression.
    """
    found = _formulas(text)
    if not found or is_continued(text[found[-1][1] :]):
        return []
    start, end, inside = found[-1]
    between = text[found[-2][1] : start] if len(found) > 1 else "."
    return [] if _LISTED.fullmatch(between) else [inside + unit_after(text[end:])]


def _last_number(text: str) -> re.Match[str] | None:
    """Return the last number in an answer. None if it is one of several alternatives or part of a longer expression."""
    last = None
    for found in _NUMBER.finditer(text):
        last = found if any(map(str.isdigit, found[0])) else last
    if last is None or _OFFERED.search(text[max(0, last.start() - 40) : last.start()]):
        return None
    return None if is_continued(text[last.end() :]) else last


def _last_boxes(text: str) -> LocatedAnswer | None:
    """Return the content of the last box, joined with the boxes directly before it. None if the text has no box."""
    starts = list(_BOX.finditer(text))[-20:]
    if not starts:
        return None
    contents: list[str] = []
    until = len(text)
    ended = None
    joint = ","
    for found in reversed(starts):
        end = _argument_end(text, found.end())
        if end is None:
            return LocatedAnswer((f" {joint} ".join(contents),) if contents else (), boxed=True, cut=not contents)
        if contents and end > until:
            continue  # a box inside the one already read
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
    return LocatedAnswer(
        (f" {joint} ".join(contents),),
        boxed=True,
        later=() if later.doubted else later.candidates,
        doubted=is_denied(text[:until]),
    )


def _argument_end(text: str, start: int) -> int | None:
    """Return the position after the argument at ``start``: after its closing brace, or after a single character.

    Returns None if no brace closes the argument.
    """
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


def _after_marker(text: str) -> LocatedAnswer:
    """Return the text after the last ``the answer is``, both as a whole and up to where its clause may end."""
    markers = list(_MARKER.finditer(text))
    if not markers:
        return LocatedAnswer()
    marker = markers[-1]
    tail = text[marker.end() :].strip()
    line = tail.split("\n")[0].strip() or tail[:_LONGEST_LINE].strip()
    if tail.startswith(("$$", "\\[")):
        line = tail
    said = []
    if (formulas := _formulas(line)) and formulas[0][0] == 0:
        _, end, inside = formulas[0]
        after = line[end:].strip(" .*")
        alone = [] if is_continued(line[end:]) else [inside + unit_after(line[end:])]
        said += alone if not after or (alone and (len(after) > 40 or _CLAUSE.match(line[end:]))) else [line, *alone]
        rest = tail[end:]
    else:
        line = line[:_LONGEST_LINE]
        cut = _CLAUSE.search(line)
        said += [line[: cut.start()]] if cut else []
        said.append(line)
        number = _NUMBER.match(line)
        number = number if number and any(map(str.isdigit, number[0])) else None
        said += (
            [number[0] + unit_after(line[number.end() :])] if number and not is_continued(line[number.end() :]) else []
        )
        rest = tail[number.end() if number else cut.start() if cut else len(line) :]
    doubted = is_wrong_or_hypothetical(text[: marker.start()]) or is_retracted(rest)
    said = [one.strip().strip("*`").strip() for one in said]
    return LocatedAnswer(tuple(dict.fromkeys(one for one in said if one)), marked=True, doubted=doubted)
