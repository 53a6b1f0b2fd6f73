"""Reads scores from replies that are not JSON: lines, headed sections, tables, YAML, tags.

A number counts only if it plainly belongs to an id: right after the id, after a word for score, or in a score column.
All other numbers are content. ``scales`` checks the scale, and ``scores`` reports the missing ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from calipers.replies.scores.announced import Announced, announced_scales, blank_announcements, scale_of_bare_numbers
from calipers.replies.scores.found import UNCLEAR, Found, StatedScale, Statement, Unread, Value, convert_score
from calipers.replies.scores.names import PREFIX, Names
from calipers.replies.scores.numbers import NUMBERISH, read_single_score
from calipers.replies.scores.statements import read_statements
from calipers.replies.scores.tables import read_score_tables, read_yaml_scores
from calipers.replies.scores.values import FRACTION, ONES, TENS, han_digits, read_score_value

End: TypeAlias = Literal["whole", "unknown", "cut"]

_MAX_IDS = 200
_MAX_LINES = 1_500

_PLAIN: dict[int, Any] = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_PLAIN |= str.maketrans({"\u3000": " ", "\xa0": " ", "。": ". ", "，": ", ", "、": ",", "【": "[", "】": "]"})
_PLAIN |= str.maketrans("“”「」", '""""', "\u200b\u200c\u200d\u2060\ufeff")
_MARKUP = re.compile(r"\*{1,3}|`{1,2}(?!`)|__|\\boxed\s?(?=\{)|\\\[|\\\]|\$(?=\\boxed|\d)|(?<=\d)\$")
_BOXED = re.compile(r"\{(\s?[\d./%, ]{1,20})\}")
_BRACKETED = re.compile(r"\[\[(\s?[\d./%, ]{1,20})\]\]")
_HAN_SCORE = re.compile(
    r"(?:(?<=满分)|(?<=满分为)|(?<=百分之))[零〇一二两三四五六七八九十百]{1,5}"
    r"|[零〇一二两三四五六七八九十百]{1,5}(?=分\s{0,3}(?:$|[^\w]))",
    re.MULTILINE,
)
_SPELLED = re.compile(r"\b([a-z]{3,9})\sout\sof\s(?:a\s)?([a-z]{3,9})\b", re.IGNORECASE)
_TOP_ATTRIBUTE = re.compile(
    r"\b(?:max(?:imum)?(?:_?(?:score|points))?|out_?of|possible)\s?=\s?[\"']?(\d{1,7}(?:\.\d{1,4})?)[\"'\s/>]",
    re.IGNORECASE,
)
_TAG_ID = re.compile(
    r"<\s?([A-Za-z_][\w-]{0,40})\s[^<>]{0,60}?\b(?:id|key|name|label)\s?=\s?[\"']?([^\"'<>\n]{1,60}?)[\"']?"
    r"(?:\s[^<>]{0,60})?>\s{0,20}([^<\n]{0,200})"
)
_TAG_BOTH = re.compile(
    r"<\s?[A-Za-z_][\w-]{0,40}\s[^<>]{0,60}?\b(?:id|key|name)\s?=\s?[\"']([^\"'<>\n]{1,60})[\"'][^<>]{0,60}?"
    r"\b(?:score|value|rating)\s?=\s?[\"']([^\"'<>\n]{1,40})[\"'][^<>]{0,60}>"
)
_HTML_CELL = re.compile(r"</t[dh]\s?>\s{0,20}(?:<t[dh]\b[^<>]{0,80}>|(?=</tr))", re.IGNORECASE)
_HTML_ROW = re.compile(r"<tr\b[^<>]{0,80}>\s{0,20}<t[dh]\b[^<>]{0,80}>", re.IGNORECASE)
_HTML_OTHER = re.compile(r"</?(?:table|thead|tbody|tr|td|th)\b[^<>]{0,80}>", re.IGNORECASE)
_TAG_NAMED = re.compile(rf"<\s?({PREFIX}[ _-]?\w{{1,40}})\s?>", re.IGNORECASE)
_TAG_SCORE = re.compile(
    r"<\s?(?:final_?|overall_?|total_?)?(?:score|rating|grade)\s?>\s{0,20}([^<>\n]{1,40}?)\s{0,20}</", re.IGNORECASE
)
_FINAL_HEAD = re.compile(
    r"^[\s#>*_-]{0,8}(?:my\s|the\s)?(?:final|最终)\s?(?:scores?|verdicts?|answers?|evaluations?|ratings?|results?|评分|得分)?"
    r"[\s:*_#.：]{0,8}(?:scores?)?[\s:*_#]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER = re.compile(r"<(answer|result|verdict|output|final_answer)>(.*?)(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)


def read_scores_in_text(text: str, names: Names, scale: tuple[float, float], *, end: End = "whole") -> Found:
    """Extract the scores that lines, sections and tables of a reply state.

    ``end`` says whether the text is known to be whole or cut. A number at the very end of a cut text is not read. If
    ``end`` is unknown, a number there is not read if ids are missing after it or if it is shorter than all other
    scores.
    """
    found = Found()
    if not names.ids or len(names.ids) > _MAX_IDS or sum(map(len, names.ids)) > 10_000:
        return found
    clean = _cleaned(text, keep=names.wide)
    for part, after in _parts(clean):
        found = Found()
        stated = announced_scales(part, names)
        if end == "cut" and stated and part[-1:].isdecimal() and stated[-1].end == len(part):
            stated[-1] = replace(stated[-1], scale=UNCLEAR)  # further digits may be missing
        lines, others = part.split("\n"), blank_announcements(part, stated).split("\n")
        if len(lines) > _MAX_LINES:
            return found
        said = (
            read_score_tables(lines, names) or read_yaml_scores(lines, names) or read_statements(others, names, found)
        )
        said = _each_its_scale(said, stated, part)
        _take(said, found, names, scale, end=end)
        if not found.values and len(names.ids) == 1 and not found.doubts:
            said = read_single_score(others, names.ids[0])
            _take(said, found, names, scale, end=end)
        numbers = found.bare_numbers()
        if numbers:
            around = stated or (announced_scales(clean, names) if len(part) < len(clean) else [])
            found.apply_scale(scale_of_bare_numbers(around, numbers, scale), scale)
        if found.readable or found.doubts:
            _place(said, others, found)
            found.tail += after
            return found
    return found


def _place(said: list[Statement], lines: list[str], found: Found) -> None:
    """Record in ``found`` the words of a reply that are before, between and after the statements of scores."""
    spans = sorted((one.line, one.end, one.begin) for one in said if one.written and one.line >= 0)
    if not spans:
        return
    last = min(begin if begin >= 0 else line for line, _, begin in spans)
    column = len(lines[last]) if spans[0][2] >= 0 else 0
    found.head = "\n".join(lines[:last])
    between = []
    for line, end, begin in spans:
        start = begin if begin >= 0 else line
        if start > last:
            between.append("\n".join([lines[last][column:], *lines[last + 1 : start]]))
        if begin < 0:
            between.append(lines[line][column if last == line else 0 : end])
        last, column = line, end
    found.between = tuple(filter(str.strip, between))
    found.tail = "\n".join([lines[last][column:], *lines[last + 1 :]])


def _each_its_scale(said: list[Statement], stated: list[Announced], text: str) -> list[Statement]:
    """Assign to each statement the scale that the reply states after it, if each statement has one and the scales
    differ.
    """
    scales = [one for one in stated if one.sure and isinstance(one.scale, StatedScale)]
    scored = [place for place, one in enumerate(said) if one.written]
    if len(scored) < 2 or len(scales) != len(scored) or len({one.scale for one in scales}) == 1:
        return said
    lines = [text.count("\n", 0, one.start) for one in scales]
    bounds = [*(said[place].line for place in scored), lines[-1] + 1]
    if not all(begin < line < end for (begin, end), line in zip(pairwise(bounds), lines, strict=True)):
        return said
    own = dict(zip(scored, scales, strict=True))
    return [replace(one, scale=own[place].scale) if place in own else one for place, one in enumerate(said)]


def _cleaned(text: str, *, keep: str) -> str:
    """Return a reply in plain punctuation and digits, without markup, with each tagged score on its own line."""
    text = text.translate({code: to for code, to in _PLAIN.items() if chr(code) not in keep} if keep else _PLAIN)
    if not text.isascii():
        text = _HAN_SCORE.sub(lambda found: han_digits(found[0]), text)
    if "out of" in text:
        text = _SPELLED.sub(_in_digits, text)
    if "frac" in text:
        text = FRACTION.sub(r"\1/\2", text)
    if "<" in text and ">" in text:
        if "<td" in text.lower():
            text = _HTML_OTHER.sub("", _HTML_ROW.sub("\n| ", _HTML_CELL.sub(" | ", text)))
        text = _TAG_BOTH.sub(lambda found: f"\nTrajectory {found[1]}: {found[2]}{_top_of(found[0])}\n", text)
        text = _TAG_NAMED.sub(r"\n\1: ", _TAG_ID.sub(_tagged, text))
        text = _TAG_SCORE.sub(r"\nScore: \1\n", text)
    return _BRACKETED.sub(r"\1", _BOXED.sub(r"\1", _MARKUP.sub("", text)))


def _in_digits(found: re.Match[str]) -> str:
    """Write a score in words with digits: ``nine out of ten``."""
    numbers = [ONES.get(word, TENS.get(word, 100 if word == "hundred" else None)) for word in found.group(1, 2)]
    return found[0] if None in numbers else f"{numbers[0]} out of {numbers[1]}"


def _top_of(tag: str) -> str:
    """Return the top of the scale in a tag's attributes as the second half of a ratio: ``/10``."""
    top = _TOP_ATTRIBUTE.search(tag)
    return "" if top is None else f"/{top[1]}"


def _tagged(found: re.Match[str]) -> str:
    tag, id_, content = found[1], found[2], found[3].strip()
    name = id_ if re.match(PREFIX, id_, re.IGNORECASE) else f"Trajectory {id_}"
    if content.replace(".", "", 1).isdecimal():
        content += _top_of(found[0][: found[0].index(">") + 1])
    if tag.casefold() not in ("score", "rating", "grade") and not NUMBERISH.fullmatch(content):
        return f"\n{name}:\n{content}"
    # Without a line end, a score at the end of the text still counts as possibly cut.
    return f"\n{name}: {content}" + ("" if found.end() == len(found.string) else "\n")


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a reply that may be its verdict, most likely part first, each with the text after it.

    The parts are an answer tag, the text after a ``final`` heading, and the whole text.
    """
    answers = list(_ANSWER.finditer(text))
    if answers:
        yield answers[-1][2], f"\n{text[answers[-1].end() :]}"
    heads = list(_FINAL_HEAD.finditer(text))
    if heads and heads[-1].end() > 0:
        yield text[heads[-1].end() :], ""
    yield text, ""


def _take(said: list[Statement], found: Found, names: Names, scale: tuple[float, float], *, end: End) -> None:
    for one in said:
        value = convert_score(read_score_value(one.written, scale), one.scale, scale)
        if one.id_ in names.known:
            cut = one.at_end and (end == "cut" or (end == "unknown" and _may_be_cut(one, said, names)))
            found.add(one.id_, Unread("the score may be cut off", cut=True) if cut else value)
        elif type(value) is Value:
            found.doubts.append(f"an unknown id: {one.id_[:40]!r}")


def _may_be_cut(last: Statement, said: list[Statement], names: Names) -> bool:
    """Whether the score at the very end may lack digits: ids are missing after it, or it is shorter than all others."""
    written = last.written
    others = [one.written for one in said if not one.at_end and one.written]
    if len({one.id_ for one in said}) < len(names.ids):
        return True
    if written.endswith("%") or (last.stopped and not any("." in other or "," in other for other in others)):
        return False
    if any("/" in other for other in others):
        return not any(other.partition("/")[2] == written.partition("/")[2] for other in others)
    return len(written) < min(map(len, others), default=0)
