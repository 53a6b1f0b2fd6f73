"""Reads numbers in prose: where a number ends, which words show that it is no score, and words for score before it.

Scores in two parallel lists are read here too: ``1 and 2 receive 71 and 87 respectively``. ``statements`` decides to
which id any other number belongs. ``values`` converts the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise

from calipers.replies.caveats.asides import Number, Sentence, sentences_beside
from calipers.replies.caveats.phrases import find_phrases, fold_words
from calipers.replies.caveats.quotations import introduces_others_words
from calipers.replies.scores import scale_words as words
from calipers.replies.scores.found import Statement
from calipers.replies.scores.names import Names
from calipers.replies.scores.stated import ATTACHED, BEFORE
from calipers.replies.wordlists import regex_of_list

MAX_PAIRS = 400

WORD = f"(?:{regex_of_list('scales', 'LABEL')})"
_CORE = r"[-+~≈<>≤≥±]{0,2}\s?(?:\d|\.\d)[\d.,/%+\-–—:×*^]*(?:[eE][-+]?\d+)?"
_PERCENT = rf"{words.PERCENT}(?![^\W\d_])"
VALUE = (
    rf"\[{{0,2}}\(?[\"']?(?P<value>{BEFORE}|(?:{words.PER_HUNDRED})?{_CORE}(?:{ATTACHED})?(?:\s{{0,3}}{_PERCENT})?"
    rf"(?:\s{{0,2}}[(\[=]\s?[~≈]?{words.NUM}\s?{_PERCENT}\s?[)\]]?)?)"
    r"(?:(?=(?P<bad>\s{0,3}(?:(?:to|or)\b|[-–—+*×±])\s{0,3}[\d.]|(?<=\d)[A-Za-z_]|\s?[=^]\s?\d|\s?(?:→|->|=>|⇒)))|)"
)
NUMBERISH = re.compile(VALUE)
VALUE_HERE = re.compile(VALUE, re.IGNORECASE)
BEFORE_VALUE = r"(?=[\[(\"']{0,4}(?:[-+~≈<>≤≥±]{0,2}\s?\.?\d|满|滿|[%٪]|百|yüzde))"
_TRAILING = ".,:;-–—*+ "
_LABELLED = re.compile(
    rf"(?P<kind>(?:final|overall|total|最终|总)\s{{0,2}})?{WORD}[\"')\]]{{0,3}}\s{{0,3}}"
    rf"(?:(?:is|of|为|是|は)\s|[:=→]|->|\s(?=[\d\[(])|为|是){{1,2}}[\s\"]{{0,3}}{VALUE}",
    re.IGNORECASE,
)
KEYWORD = re.compile(rf"{WORD}(?![^\W_])", re.IGNORECASE)
_OF_ASPECT = re.compile(r"[A-Za-z][A-Za-z_-]{2,}\s{1,2}$")
_NO_ASPECT = re.compile(
    r"\b(?:final|overall|total|its?|the|my|a|an|and|with|gets?|assigned|given|give|numerical|numeric|get|so)\s{1,2}$",
    re.IGNORECASE,
)
_IN_BRACES = re.compile(r"\{[^{}]{0,80}$")
DOUBTFUL = re.compile(rf"\b(?:{regex_of_list('scales', 'DOUBTFUL')})\b|草稿|初步", re.IGNORECASE)
_COUNTED = " and more"
_MARK = re.compile(r"[:=→]|->")
_STATES = re.compile(
    rf"(?:\s?{words.UNIT})?[\s,;]{{0,3}}(?:[(\[]\s?(?:{words.OF}|/)|{words.OUT_OF}|[(\[]?\s?(?:{words.MAXIMUM}|{words.TOP_SCORE}"
    rf"|{words.FULL_MARKS}|(?:on\sa\s)?{words.SCALE}))|\s?{words.UNIT}\s{words.OF}",
    re.IGNORECASE,
)
"""Words after a number that state a scale which cannot be read or is cut off."""
_RATHER = re.compile(
    rf"[\s,;(–—-]{{0,4}}(?:{regex_of_list('scales', 'RATHER')})(?![^\W\d_])[^.;\n]{{0,24}}?\d", re.IGNORECASE
)
POINTS = re.compile(rf"\s?{words.UNIT}(?:です|でした|だ(?![^\W\d_])|입니다|이다)?", re.IGNORECASE)
_DASHED_COUNT = re.compile(r"\s{1,3}[-–—]\s{1,3}\d{1,4}\s{1,2}[A-Za-z]{3}")
_NOUN = re.compile(
    r"[\"')\]*]{0,4}(?:\s{0,3}(?!(?:because|since|as|for|due|and|but|while|with|overall|out|given)\b)[^\W\d]"
    r"|\s{0,3}[,;]\s{0,3}\d)",
    re.IGNORECASE,
)
"""Words after a number that show that it is a count or part of a list: ``3 steps``, ``80% of tests``, ``3, 5 and 7``.
"""
_GIVEN = re.compile(rf"{words.I_GIVE}[^.\d\n]{{0,60}}?{VALUE}", re.IGNORECASE)
_IS_ALL = re.compile(
    r"[\s*_\"')\]]{0,4}(?:[.!。]|\Z|,?\s(?:because|since|as|weil|da|car|porque|perché|потому)\b)", re.IGNORECASE
)


def end_of_number(value: re.Match[str]) -> int:
    """Return the position where an extracted score ends, without the punctuation after it."""
    return value.start("value") + len(value["value"].rstrip(_TRAILING))


def written_score(found: re.Match[str], rest: str) -> str:
    """Extract a score as written, or an unreadable text if the words after it (``rest``) show that it is no score."""
    written = found["value"].rstrip(_TRAILING)
    if _STATES.match(rest):
        return f"{written}{_COUNTED}"
    if _RATHER.match(rest):
        return f"{written} or other"
    unit = POINTS.match(rest)
    if unit is None and found["bad"] is not None:
        return written if "." in written and _DASHED_COUNT.match(rest) else f"{written} {found['bad']}?"
    rest = rest[unit.end() if unit else 0 :]
    return f"{written}{_COUNTED}" if _NOUN.match(rest) or _is_conditional(rest) else written


def _is_conditional(rest: str) -> bool:
    """Whether a condition follows a number: ``90, if it had finished``."""
    start = fold_words(rest[:40]) if rest.lstrip()[:1] in {",", "(", "，", "（"} else ""
    return any(at == 1 for at, _ in find_phrases(start).get("CONDITION", ()))


def has_no_words(rest: str) -> bool:
    """Whether the text after an extracted score has no letters or digits."""
    return not any(char.isalnum() for char in rest)


def labelled_scores(line: str, *, last: bool) -> Iterator[Statement]:
    """Extract the numbers after a word for score; those of a named aspect (``style score: 0.8``) are omitted."""
    for found in islice(_LABELLED.finditer(line), MAX_PAIRS):
        before = line[max(0, found.start() - 200) : found.start()]
        if _OF_ASPECT.search(before) and not _NO_ASPECT.search(before):
            continue
        if (before[-1:].isalnum() and before[-1:].isascii()) or _IN_BRACES.search(before):
            continue
        clause = re.split(r"[.;,。]\s", before)[-1]
        if DOUBTFUL.search(clause) or (
            clause.rstrip(" \"'*_").endswith((":", "：")) and introduces_others_words(clause)
        ):
            continue
        end = end_of_number(found)
        rest = line[end:] if last else line[end : end + 40]
        written = written_score(found, rest)
        if written.endswith(_COUNTED) and not _MARK.search(line, found.start(), found.start("value")):
            continue  # ``it scored 5/7 goals`` is a count
        yield Statement("", written, last and has_no_words(rest), bool(found["kind"]), rest.startswith("."), end=end)


def read_single_score(lines: list[str], id_: str) -> list[Statement]:
    """Extract one candidate's score from prose: a labelled score, the judge's own number, or the only number."""
    spoken = [number for number, line in enumerate(lines) if line.strip()]
    last = len(lines) - 1
    said = [
        replace(one, id_=id_, line=number)
        for number in spoken
        for one in labelled_scores(lines[number], last=number == last)
    ]
    if said:
        return said
    given = [(number, one) for number in spoken for one in islice(_GIVEN.finditer(lines[number]), MAX_PAIRS)]
    if len(given) == 1:  # ``I would give it 8 out of 10.``
        number, found = given[0]
        line, end = lines[number], end_of_number(found)
        if _IS_ALL.match(line, end) and not DOUBTFUL.search(line[: found.start()]):
            rest = line[end:]
            said.append(
                Statement(id_, written_score(found, rest), number == last and has_no_words(rest), line=number, end=end)
            )
    if len(spoken) == 1:
        line = lines[spoken[0]].strip()
        alone = NUMBERISH.fullmatch(line) or NUMBERISH.fullmatch(line.rstrip("].)\"' "))
        if alone:
            said.append(Statement(id_, written_score(alone, ""), spoken[0] == last, line=spoken[0]))
    return said


# --- parallel lists of ids and scores --- -----------------------------------------------------------------------------

_LIST = re.compile(
    r"(?P<name>[\w-]{1,60})[\"')\]*]{0,3}(?:\s{0,2}[,&、，]\s{0,2}(?:and\s)?"
    r"|\s(?:and|und|y|et|e|и|і|en|i|ve|va|và|och|og|a|dan)\s|\s?[和与及]\s?)(?:(?:the\s)?[^\W\d]{3,20}\s)?\Z",
    re.IGNORECASE,
)
_NEAR = 16
"""At most this many characters separate two numbers of one list."""


def is_last_of_list(before: str, names: Names) -> bool:
    """Whether a candidate's id ends a list of ids, so that the score extracted after it may be another candidate's.

    An example is ``1 and 2 receive 71``.
    """
    found = _LIST.search(before[-100:])
    if found is None or names.match(found["name"]) is None:
        return False
    lead = before[-100:][: found.start()].rstrip()
    return not lead.endswith((":", "=", ">", "→", "："))  # in ``1: 2, 2: 1`` the number before is a score and no name


def read_respective_scores(line: str, names: Names) -> list[Statement]:
    """Extract several candidates' scores from a sentence with *respectively*, or none if the lists are unclear."""
    if not any(map(str.isdecimal, line)) or sum(id_ in line for id_ in names.ids) < 2:  # a list needs two ids
        return []
    said = (
        _in_turn(sentence, names)
        for sentence in sentences_beside(line, names.ids)
        if sentence.has_phrase("RESPECTIVELY") and not sentence.has_phrase("CONDITION")
    )
    return next(filter(None, said), [])


def _in_turn(sentence: Sentence, names: Names) -> list[Statement]:
    """Pair the ids of a list with the numbers of the list after it, and read nothing if the two differ in length."""
    ids, numbers = _lists(sentence, names)
    values, more = numbers[: len(ids)], numbers[len(ids) : len(ids) + 1]
    if len(ids) < 2 or len(values) < len(ids) or len(set(ids)) < len(ids):  # not two parallel lists
        return []
    near = [0 < later.start - one.end <= _NEAR for one, later in pairwise(values)]
    if not all(near) or any(one.start - values[-1].end <= _NEAR for one in more):
        return []
    after = Sentence(sentence.text[values[-1].end :], ())
    ended = any(start == 1 for start, _ in after.hits.get("RESPECTIVELY", ()))
    if sentence.counts_something(values[-1]) and not ended:
        return []
    return [Statement(id_, sentence.text[value.start : value.end]) for id_, value in zip(ids, values, strict=True)]


def _lists(sentence: Sentence, names: Names) -> tuple[list[str], list[Number]]:
    """Return the ids that a sentence names, in order, and the numbers after the last id. Ids may be numbers too."""
    if not all(map(str.isdecimal, names.ids)):
        mentions = sentence.mentions
        after = [number for number in sentence.numbers if mentions and number.start >= mentions[-1].end]
        return [mention.id_ for mention in mentions], after
    ids: list[str] = []
    every = Sentence(sentence.text, ()).numbers
    for number in every:
        id_ = names.match(sentence.text[number.start : number.end])
        if id_ is None or id_ in ids:
            break
        ids.append(id_)
    return ids, every[len(ids) :]
