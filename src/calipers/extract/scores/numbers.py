"""Numbers in prose as they are written: what belongs to one, what makes it another thing, and words for score before it.

Whose number it is, is for ``statements``; what it says, for ``values``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from calipers.extract.caveats.phrases import folded, hits
from calipers.extract.caveats.quotations import hands_over
from calipers.extract.scores import scale_words as words
from calipers.extract.scores.found import Statement
from calipers.extract.scores.stated import ATTACHED, BEFORE

MAX_PAIRS = 400

WORD = (
    r"(?:scores?|scored|rating|rated|grade|得分|分数|评分|評分|打分|スコア|点数|점수|puntuaci[óo]n|puntaje|note|nota|bewertung|punktzahl"
    r"|punteggio|voto|оценка|оцінка|балл|бал|pontuaç[ãa]o|wertung|ocena|puan|điểm|skor|الدرجة|अंक|स्कोर|poäng|betyg|cijfer|評価|평점)"
)
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
TRAILING = ".,:;-–—*+ "
_LABELLED = re.compile(
    rf"(?P<kind>(?:final|overall|total|最终|总)\s{{0,2}})?{WORD}[\"')\]]{{0,3}}\s{{0,3}}(?:(?:is|of|为|是|は)\s|[:=→]|->|\s(?=[\d\[(])|为|是){{1,2}}[\s\"]{{0,3}}{VALUE}",
    re.IGNORECASE,
)
KEYWORD = re.compile(rf"{WORD}(?![^\W_])", re.IGNORECASE)
_SUB = re.compile(r"[A-Za-z][A-Za-z_-]{2,}\s{1,2}$")
_NOT_SUB = re.compile(
    r"\b(?:final|overall|total|its?|the|my|a|an|and|with|gets?|assigned|given|give|numerical|numeric|get|so)\s{1,2}$",
    re.IGNORECASE,
)
_IN_BRACES = re.compile(r"\{[^{}]{0,80}$")
DOUBTFUL = re.compile(
    r"\b(?:if|unless|could|might|should|not|never|n't|versus|vs|example|e\.g|claims?|claimed|says|said|instead|initial(?:ly)?"
    r"|draft|first|tentative(?:ly)?|preliminary|previous(?:ly)?|before|was|were|hypothetical(?:ly)?|otherwise)\b|草稿|初步",
    re.IGNORECASE,
)


def written_in(found: re.Match[str], rest: str) -> str:
    """The number as written, or something unreadable where what follows in ``rest`` makes it another thing."""
    written = found["value"].rstrip(TRAILING)
    if _STATES.match(rest):
        return f"{written}{_COUNTED}"
    if _OTHERWISE.match(rest):
        return f"{written} or other"
    unit = MEANT.match(rest)
    if unit is not None:
        rest = rest[unit.end() :]
    elif found["bad"] is not None:
        aside = "." in written and _DASHED_COUNT.match(rest)
        return written if aside else f"{written} {found['bad']}?"
    return f"{written}{_COUNTED}" if _NOUN.match(rest) or _is_conditional(rest) else written


def _is_conditional(rest: str) -> bool:
    """Whether a condition follows a number: ``90, if it had finished``."""
    start = folded(rest[:40]) if rest.lstrip()[:1] in {",", "(", "，", "（"} else ""
    return bool(start.strip()) and any(at == 1 for at, _ in hits(start).get("CONDITION", ()))


_COUNTED = " and more"
_MARK = re.compile(r"[:=→]|->")


_STATES = re.compile(
    rf"(?:\s?{words.UNIT})?[\s,;]{{0,3}}(?:[(\[]\s?(?:{words.OF}|/)|{words.OUT_OF}|[(\[]?\s?(?:{words.MAXIMUM}|{words.TOP_SCORE}"
    rf"|{words.FULL_MARKS}|(?:on\sa\s)?{words.SCALE}))|\s?{words.UNIT}\s{words.OF}",
    re.IGNORECASE,
)
"""Behind a number: a scale that was not understood, or is cut off."""
_OTHERWISE = re.compile(
    r"[\s,;(–—-]{0,4}(?:or|rather|no,|actually|make\sthat|i\smean|oder|eher|nein|ou|plutôt|non|o\smás\sbien|mejor\sdicho"
    r"|ou\smelhor|anzi|или|вернее|нет|或者|或|不|いや|または|아니)(?![^\W\d_])[^.;\n]{0,24}?\d",
    re.IGNORECASE,
)
"""Behind a number: another one instead."""
MEANT = re.compile(rf"\s?{words.UNIT}(?:です|でした|だ(?![^\W\d_])|입니다|이다)?", re.IGNORECASE)
_DASHED_COUNT = re.compile(r"\s{1,3}[-–—]\s{1,3}\d{1,4}\s{1,2}[A-Za-z]{3}")
_NOUN = re.compile(
    r"[\"')\]*]{0,4}(?:\s{0,3}(?!(?:because|since|as|for|due|and|but|while|with|overall|out|given)\b)[^\W\d]|\s{0,3}[,;]\s{0,3}\d)",
    re.IGNORECASE,
)
"""What makes a number a count or a list: ``3 steps``, ``80% of tests``, ``3, 5 and 7``."""


def is_end(rest: str) -> bool:
    """Whether nothing is said in what follows a number."""
    return not any(char.isalnum() for char in rest)


def labelled(line: str, *, last: bool) -> Iterator[Statement]:
    """Numbers after a word for score; those of a named aspect (``style score: 0.8``) only where nothing else is."""
    for one in islice(_LABELLED.finditer(line), MAX_PAIRS):
        before = line[max(0, one.start() - 200) : one.start()]
        if _SUB.search(before) and not _NOT_SUB.search(before):
            continue
        if (before[-1:].isalnum() and before[-1:].isascii()) or _IN_BRACES.search(before):
            continue
        clause = re.split(r"[.;,。]\s", before)[-1]
        if DOUBTFUL.search(clause) or (clause.rstrip(" \"'*_").endswith((":", "：")) and hands_over(clause)):
            continue
        end = one.start("value") + len(one["value"].rstrip(TRAILING))
        rest = line[end:] if last else line[end : end + 40]
        written = written_in(one, rest)
        if written.endswith(_COUNTED) and not _MARK.search(line, one.start(), one.start("value")):
            continue  # ``it scored 5/7 goals``
        yield Statement("", written, last and is_end(rest), bool(one["kind"]), rest.startswith("."), end=end)


def read_nameless(lines: list[str], id_: str) -> Iterator[Statement]:
    """For a question about one candidate: the labelled score, what the judge gives it, or nothing but a number."""
    spoken = [number for number, line in enumerate(lines) if line.strip()]
    heard = False
    for number in spoken:
        for one in labelled(lines[number], last=number == len(lines) - 1):
            heard = True
            yield replace(one, id_=id_, line=number)
    if not heard:
        yield from _given(lines, id_)
    if not heard and len(spoken) == 1:
        line = lines[spoken[0]].strip()
        alone = NUMBERISH.fullmatch(line) or NUMBERISH.fullmatch(line.rstrip("].)\"' "))
        if alone:
            yield Statement(id_, written_in(alone, ""), spoken[0] == len(lines) - 1, line=spoken[0])


def _given(lines: list[str], id_: str) -> Iterator[Statement]:
    """``I would give it 8 out of 10.``: one number, and no word of what for."""
    found = [(number, one) for number, line in enumerate(lines) for one in islice(_GIVEN.finditer(line), MAX_PAIRS)]
    if len(found) != 1:
        return
    number, one = found[0]
    line = lines[number]
    end = one.start("value") + len(one["value"].rstrip(TRAILING))
    if _SAID_ALL.match(line, end) and not DOUBTFUL.search(line[: one.start()]):
        yield Statement(
            id_, written_in(one, line[end:]), number == len(lines) - 1 and is_end(line[end:]), line=number, end=end
        )


_GIVEN = re.compile(rf"{words.I_GIVE}[^.\d\n]{{0,60}}?{VALUE}", re.IGNORECASE)
_SAID_ALL = re.compile(
    r"[\s*_\"')\]]{0,4}(?:[.!。]|\Z|,?\s(?:because|since|as|weil|da|car|porque|perché|потому)\b)", re.IGNORECASE
)
