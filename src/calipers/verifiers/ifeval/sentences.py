"""Sentences and words in capitals, counted as IFEval's checker counts them with nltk's Punkt and word tokenizer.

A small reading of both: Punkt's rules for marks, and in place of its trained tables a list of abbreviations and one of
words that open sentences. docs/verifiers.md#ifeval says how often the counts differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

_ABBREVIATED = """
mr mrs ms dr prof jr sr messrs ph.d st ft ct ave sen rep reps col maj adm co corp inc ltd bros vs ok a.m p.m u.s
u.s.a u.k u.n d.c n.y n.c n.j s.c l.a jan feb aug sept oct nov dec gen lt yr a.d c d e f g h k l m n p r s t v w
"""
_ABBREVIATIONS: Final = frozenset(_ABBREVIATED.split())
"""Without their last period. Punkt's tables know no "e.g", "i.e" or "etc"."""
_OPENING = """
according after all also although among an and another are as at because before both but by can despite do does
don during each even every finally first for from further furthermore given has have he her here his how however
if in indeed instead is it its just let many may meanwhile more moreover most my nevertheless no nor not now of on
once one only or other our out over please remember she should since so some such than thank that the their then
there therefore these they this those though through thus to too under unfortunately until up use we what when
where whether which while who whose why will with within without would yes yet you your
"""
_OPENERS: Final = frozenset(_OPENING.split())
"""Words that open a sentence where they have a capital after a period that may belong to an abbreviation."""

_NOT_IN_WORD: Final = r"[)\";}\]*:@'({\[?!]"
_RUN: Final = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_MARK: Final = re.compile(rf"[.?!](?={_NOT_IN_WORD}|\s+(\S+))")
_WORD_END: Final = rf"\s|$|{_NOT_IN_WORD}|{_RUN}"
_TOKEN: Final = re.compile(rf"{_RUN}|[^\s(\"`{{\[:;&#*@)}}\]\-,]\S*?(?={_WORD_END}|,(?:{_WORD_END}))|\S")
_BLANKS: Final = " \t\n\r\x0b\x0c"
_CLOSERS: Final = re.compile(r"^[\"')\]}]+")
_INITIAL: Final = re.compile(r"[^\W\d]\.")
_NUMBER: Final = re.compile(r"-?[.,]?\d[\d,.\-]*\.")

_MARKS: Final = re.compile(r"[:,](?!\d)|\.{2,}|--|''|[;@#$%&?!*\[\](){}<>«»“”‘’„`\"]")
_PARTS: Final = re.compile(r"(?<=[^'\s])('(?:s|m|d|ll|re|ve)|n't)(?=[\s.]|$)", re.IGNORECASE)
_PAIRS: Final = re.compile(
    r"\b(can)(not)\b|\b(gim|lem)(me)\b|\b(gon)(na)\b|\b(got)(ta)\b|\b(wan)(na)(?=\s)", re.IGNORECASE
)


def count_sentences(text: str) -> int:
    """Return the number of sentences. A list number such as ``1.`` is one, and so is the text after a last mark."""
    ends = [end for end, context, opens_line in _candidates(text) if _is_sentence_break(context, opens_line=opens_line)]
    rest = text[ends[-1] :] if ends else text
    return len(ends) + bool(_CLOSERS.sub("", rest).strip())


def count_capital_words(text: str) -> int:
    """Return the number of words in capitals. ``IT'S`` and ``CANNOT`` are two each."""
    text = _PARTS.sub(r" \1", _MARKS.sub(" ", text))
    return sum(map(str.isupper, _PAIRS.sub(lambda pair: " ".join(filter(None, pair.groups())), text).split()))


def _candidates(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield each possible end of a sentence, which is the last mark of a word: its place, the word and the next one,
    and whether the word opens a line.
    """
    word, mark, waiting = 0, 0, None
    for match in _MARK.finditer(text):
        blank = max(text.rfind(char, mark + 1, match.start()) for char in _BLANKS)
        start = word if blank < 0 else blank + 1
        if waiting is not None and mark <= start:
            yield waiting
        word, mark = start, match.start()
        context = text[start : match.end(1) if match[1] else match.end() + 1]
        waiting = match.end(), context, text[:start].rstrip(" \t")[-1:] in ("", "\n")
    if waiting is not None:
        yield waiting


def _is_sentence_break(context: str, *, opens_line: bool) -> bool:
    tokens = [token for line in context.split("\n") for token in _TOKEN.findall(line)]
    return any(_ends_sentence(token, following, opens_line=opens_line) for token, following in pairwise(tokens))


def _ends_sentence(token: str, following: str, *, opens_line: bool) -> bool:
    if not token.endswith("."):
        return token in {"?", "!"}
    opens = following[0].isupper() and following.lower().rstrip(".") in _OPENERS
    initial = _INITIAL.fullmatch(token) is not None
    stem = token[:-1].lower()
    continues = following[0].islower() or following in {";", ":", ",", ".", "!", "?"}
    if continues and (initial or _NUMBER.fullmatch(token)):
        return False
    if initial and following[0].isupper():
        return stem not in _ABBREVIATIONS and (opens or opens_line)  # a name, but for the letter of a list
    if token.startswith("..") or stem in _ABBREVIATIONS or stem.rpartition("-")[2] in _ABBREVIATIONS:
        return opens
    return len(token) == 1 or not token.endswith("..")
