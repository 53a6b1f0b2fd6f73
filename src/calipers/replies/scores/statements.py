"""Reads statements in prose that give an id a score: ``Trajectory 1: 0.9``, or a heading and a labelled number.

A number belongs to an id if it directly follows the id, or follows a word for score in the section of that id. Counts,
ranges, conditions and other candidates' numbers are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from calipers.replies.caveats.quotations import announces_other_numbers, introduces_others_words
from calipers.replies.rejected import Rejected
from calipers.replies.scores import scale_words as words
from calipers.replies.scores.found import Found, Statement, Value
from calipers.replies.scores.names import PREFIX, Names
from calipers.replies.scores.numbers import (
    BEFORE_VALUE,
    DOUBTFUL,
    KEYWORD,
    MAX_PAIRS,
    POINTS,
    VALUE,
    VALUE_HERE,
    WORD,
    end_of_number,
    has_no_words,
    is_last_of_list,
    labelled_scores,
    read_respective_scores,
    written_score,
)
from calipers.replies.scores.stated import attached_scale
from calipers.replies.scores.values import read_score_value

_FILLER = re.compile(
    r"(?:[\s\W\d]|\b(?:and|while|then|so|scores?|final|finally|ratings?|verdict|results?|my|are|is|the|overall|here|whereas"
    r"|d|as|follows|evaluation|scoring|for|i|give|would|rate|assign|summary|answer|total|judg(?:e)?ment|ranking|thus"
    r"|therefore)\b)*",
    re.IGNORECASE,
)
_VERB_HERE = re.compile(
    r"[\"')\]}]{0,4}\s{0,3}(?:\([^()\n]{0,60}\)\s{0,2})?(?:[:=→>]{1,2}|->|=>|\s[-–—]\s|(?<=\w)\sis\b"
    rf"|\.(?=\s)|\)(?=\s)|\san?\s(?=[\d.\[])|{words.GETS}|为|是)\s{{0,3}}"
    rf"(?:an?\s)?(?:(?:final\s|overall\s|total\s)?{WORD}\s?(?:of|is|[:=])?\s{{0,3}})?{BEFORE_VALUE}",
    re.IGNORECASE,
)
_RATIO_TOPS = frozenset({5, 10, 20, 100})
_DASH = re.compile(r"[^:=]{0,12}[-–—]\s{0,3}")
_IS = re.compile(r"\W{0,4}\sis\b", re.IGNORECASE)
_LISTED = re.compile(r"(?:[,;|(\[{]|\band)\s*$")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_HEAD = re.compile(rf"{_HEADING.pattern}|[\s*_]{{0,6}}[^:\d]{{1,60}}:[\s*_]{{0,6}}\Z")
_STRANGER = re.compile(
    rf"[\s>*•·\-–\"'(\[+]{{0,12}}(?:{PREFIX}[\s_\-#№]{{1,3}}(?P<named>\d{{1,6}}|[A-Za-z]{{1,2}})"
    r"|#?(?P<bare>\d{1,4}|[A-Z]{1,3}))"
    rf"[\"')\]]{{0,3}}\s{{0,3}}(?:[:=→]|->|[.)](?=\s))\s{{0,3}}(?:{WORD}\s{{0,2}}[:=]?\s{{0,2}})?{VALUE}(?P<rest>.{{0,20}})",
    re.IGNORECASE,
)


def read_statements(lines: list[str], names: Names, found: Found) -> list[Statement]:
    """Extract the scores that lines and sections of a reply state, in order. Doubts are added to ``found``."""
    reader = _LineReader(names)
    runs: list[tuple[str, list[Statement]]] = [("", [])]
    """Runs of statements, each with the line of words above the run."""
    aside = begun = False
    lead = ""
    for number, line in enumerate(lines):
        aside = aside and (bool(line.strip()) or not begun)
        if not line.strip() or line.lstrip()[:1] == ">" or line.count("|") > 1:
            continue
        begun = True
        if announces_other_numbers(line, names.ids):
            aside, begun = True, False
        elif aside and _HEAD.match(line):
            aside = False
        if aside:
            continue
        try:
            read = reader.read(line, last=number == len(lines) - 1)
        except Rejected as doubt:
            found.doubts.append(doubt.reason)
            break
        if read and lead:
            runs.append((lead, []))
        lead = "" if read else line
        runs[-1][1].extend(replace(one, line=number) for one in read)
    own = [
        run
        for lead, run in runs
        if not lead or not introduces_others_words(lead, names.ids, {one.id_ for one in run if one.written})
    ]
    return [one for run in own for one in run]


class _LineReader:
    """Reads scores line by line and remembers the candidate whose section the line is in."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.section: str | None = None
        self.scored = False
        # These patterns are compiled for each set of ids, so they are small.
        visible = sorted(filter(str.strip, set(names.ids)), key=len, reverse=True)
        written = "|".join(map(re.escape, visible)) or r"(?!)"  # without ids, nothing is one
        id_ = rf"(?P<id>{written})(?:(?=[はの得的获为是는은의])|(?!\w|[.,]\d))"
        prefix = (
            rf"(?P<prefix>(?:the\s)?\b{PREFIX}[\s_\-#№\"'(\[]{{0,4}}(?:(?:id|no\.?|number)\b[\s:#\"'=]{{1,4}})?|#|第)"
        )
        self.pair = re.compile(rf"(?:{prefix}|(?:^|(?<=[,;(\[|{{\s]))[\"'(\[]{{0,3}}){id_}", re.IGNORECASE)
        self.head = re.compile(
            rf"^[\s>*•·\-–#|\"'(\[+]{{0,12}}(?:\d{{1,3}}[.)]\s{{1,4}})?(?:{prefix})?{id_}(?P<after>.{{0,3}})",
            re.IGNORECASE,
        )
        self.bracket = re.compile(rf"(?:{prefix}|(?<![\w(])){id_}\s?[(\[](?=\d)", re.IGNORECASE)
        self.mention = re.compile(rf"{prefix}{id_}", re.IGNORECASE)

    def read(self, line: str, *, last: bool) -> list[Statement]:
        """Extract the scores that a line states; raise Rejected if the line makes all lines doubtful."""
        if self._scores_stranger(line):
            raise Rejected("an unknown id")
        pairs = read_respective_scores(line, self.names) or list(self._pairs(line, last=last))
        pairs = pairs or list(self._bracketed(line))
        if pairs:
            self.section = pairs[0].id_ if len(pairs) == 1 else None
            self.scored = True
            return pairs
        head = self.head.match(line)
        id_ = self.names.match(head["id"]) if head else None
        if head and id_ is not None and (head["prefix"] or not line[head.end("id") :].strip(" .:)]*_-\t|\"'")):
            self.section, self.scored = id_, False
            offset = head.start("after")
            shared = self.mention.search(line[offset:]) is not None  # two candidates share the line
            scored = [] if shared else self._of_section(line[offset:], last=last)
            return [Statement(id_, ""), *(replace(one, end=one.end + offset) for one in scored)]
        if _HEADING.match(line):
            self.section = None
        return [] if self.mention.search(line) else self._of_section(line, last=last)

    def _bracketed(self, line: str) -> Iterator[Statement]:
        """Yield a name and a ratio in brackets (``Response A (8/10): clear``), if the line has no other score."""
        found = list(islice(self.bracket.finditer(line), 2))
        id_ = self.names.match(found[0]["id"]) if len(found) == 1 else None
        value = attached_scale(line[found[0].end() :]) if id_ is not None else None
        if id_ is None or value is None or not _FILLER.fullmatch(line[: found[0].start()]):
            return
        _, scale, length = value
        end = found[0].end() + length
        # ``Response A (1/3)`` means the first of three candidates.
        ratio = scale.high in _RATIO_TOPS and scale.high != len(self.names.ids) and line[end : end + 1] in (")", "]")
        if ratio and not any(labelled_scores(line[end:], last=False)):
            yield Statement(id_, line[found[0].end() : end], end=end + 1)

    def _of_section(self, line: str, *, last: bool) -> list[Statement]:
        """Return the labelled score of the candidate whose section the line is in. A final score takes precedence."""
        said = list(labelled_scores(line, last=last))
        if len({one.written for one in said}) > 1:
            said = [one for one in said if one.final]
            if len({one.written for one in said}) != 1:
                raise Rejected("several scores in one line")
        if said and self.section is None and not self.scored and len(self.names.ids) > 1:
            raise Rejected("a score before any id")
        return [replace(one, id_=self.section) for one in said[:1] if self.section is not None]

    def _pairs(self, line: str, *, last: bool) -> Iterator[Statement]:
        """Yield each id with the number right after it: ``Trajectory 1: 0.9``, ``1 = 0.9, 2 = 0.4``, ``RB gets 83``."""
        matches = list(islice(self._found(line), MAX_PAIRS))
        at = 0
        for place, (one, value) in enumerate(matches):
            before = line[max(at, one.start() - 400) : one.start()]
            if (place == 0 and not _may_begin(before, one)) or (place and DOUBTFUL.search(before)):
                return
            if is_last_of_list(before, self.names):
                continue  # the number belongs to several names
            at = end_of_number(value)
            id_ = self.names.match(one["id"])
            unlisted = place and not one["prefix"] and not _LISTED.search(before)
            if id_ is None or unlisted or (_IS.match(line, one.end("id")) and not KEYWORD.search(before)):
                continue
            rest = line[at : matches[place + 1][0].start() if place + 1 < len(matches) else len(line)]
            deducted = _is_deduction(line[one.end("id") : value.start("value")], rest)
            written = f"{value['value']} off?" if deducted else written_score(value, rest)
            conflicting = {other.written for other in labelled_scores(rest, last=False)} - {written}
            if conflicting and not self.mention.search(rest):
                yield Statement(id_, f"{written} or other", end=at)
                continue
            at_end = last and place + 1 == len(matches) and has_no_words(rest)
            yield Statement(id_, written, at_end, stopped=rest.lstrip("\"')]} ").startswith("."), end=at)

    def _found(self, line: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
        """Yield matches of ids with the match of the number right after each."""
        at = 0
        while (one := self.pair.search(line, at)) is not None:
            verb = _VERB_HERE.match(line, one.end())
            value = None if verb is None else VALUE_HERE.match(line, verb.end())
            if value is not None:
                yield one, value
            at = max(one.start() + 1, one.end() if value is None else value.end())

    def _scores_stranger(self, line: str) -> bool:
        """Whether a line scores an unknown id. If it does, all ids may be off by one."""
        found = _STRANGER.match(line)
        if found is None:
            return False
        who, ids = found["named"] or found["bare"], self.names.ids
        # An unknown id can belong to the same series as the ids only if all are numbers, or all are codes.
        alike = any(id_.isdecimal() for id_ in ids)
        if not who.isdecimal():
            alike = who.isupper() and any(id_.isupper() and len(id_) == len(who) for id_ in ids)
        if self.names.match(who) is not None or (found["bare"] and not alike):
            return False
        return type(read_score_value(written_score(found, line[end_of_number(found) :]), (0, 1))) is Value


def _is_deduction(verb: str, rest: str) -> bool:
    """Whether a dash before points may be a minus: ``KB - 20 points for tone``."""
    unit = POINTS.match(rest) if _DASH.fullmatch(verb) else None
    return unit is not None and any(map(str.isalnum, rest[unit.end() :]))


def _may_begin(before: str, first: re.Match[str]) -> bool:
    """Whether a statement on a line can be the judge's own, given the words before the first id."""
    if re.fullmatch(r"\s*\d{1,3}[.)]\s*", before) or _FILLER.fullmatch(before):
        return True
    return bool(first["prefix"]) and re.search(r"[.;,]\s*$", before) is not None and not DOUBTFUL.search(before)
