"""Split text into sentences by Punkt (Kiss and Strunk, Computational Linguistics 32, 2006), like nltk 3.8.1.

IFEval counts sentences with nltk's Punkt. Newer versions of nltk split differently (3.10 also at curly quotes), so the
algorithm is implemented here. ``punkt`` has its parameters for English. ``capitals`` splits sentences into words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

UPPER_INSIDE = 4
UPPER = 2 | UPPER_INSIDE | 8
LOWER_OPENING = 16
LOWER = LOWER_OPENING | 32 | 64
"""Bits that say how a word was capitalised in Punkt's training text, and at which position in a sentence."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Punkt's parameters for a language: words in lower case, abbreviations without their last period.

    ``collocations`` are pairs of words that a period does not separate. ``starters`` are words that often begin a
    sentence. ``written`` has the bits defined above for each word. ``##number##`` replaces all numbers.
    """

    name: str
    abbreviations: frozenset[str]
    collocations: frozenset[tuple[str, str]]
    starters: frozenset[str]
    written: Mapping[str, int]


_NOT_IN_WORD = r"[)\";}\]*:@'({\[?!]"
_RUN = r"(?:-{2,}|\.{2,}|(?:\.\s){2,}\.)"
_MARK = re.compile(rf"[.?!](?={_NOT_IN_WORD}|\s+(\S+))")
_WORD_END = rf"\s|$|{_NOT_IN_WORD}|{_RUN}"
_TOKEN = re.compile(rf"{_RUN}|[^\s(\"`{{\[:;&#*@)}}\]\-,]\S*?(?={_WORD_END}|,(?:{_WORD_END}))|\S")
_BLANKS = " \t\n\r\x0b\x0c"
_CLOSERS = re.compile(r"[\"')\]}]+(?:\s+|(?=--)|$)", re.MULTILINE)
_ELLIPSIS = re.compile(r"\.\.+$")
_INITIAL = re.compile(r"[^\W\d]\.$")
_NUMBER = re.compile(r"^-?[.,]?\d[\d,.\-]*\.?$")
_NUMBER_TYPE = "##number##"


def split_sentences(text: str, parameters: Parameters) -> list[str]:
    """Split ``text`` into sentences for IFEval by Punkt.

    Sentences include their closing quotes, but not the spaces between sentences.
    """
    pieces = list(_pieces(text, parameters))
    found = []
    shift = 0  # the length of closing marks that belong to the sentence before this piece
    for (start, stop), following in zip(pieces, [*pieces[1:], None], strict=True):
        opening = start + shift
        shift = 0
        if following is not None and (closers := _CLOSERS.match(text[slice(*following)])):
            found.append(text[opening : following[0] + len(closers[0].rstrip())])
            shift = closers.end()
        elif text[opening:stop]:
            found.append(text[opening:stop])
    return found


def _pieces(text: str, parameters: Parameters) -> Iterator[tuple[int, int]]:
    start = 0
    for mark, following, context in _candidates(text):
        if _is_sentence_break(context, parameters):
            yield start, mark
            start = following
    yield start, len(text.rstrip())


def _candidates(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each possible end of a sentence with the beginning of the next sentence and the words on both sides.

    If a word has several marks, only the last mark is a possible end. As in nltk, only ASCII spaces separate words
    here, and a space at the beginning of the text does not.
    """
    word, mark = 0, 0
    waiting = None
    for match in _MARK.finditer(text):
        blank = max(text.rfind(char, mark + 1, match.start()) for char in _BLANKS)
        start = word if blank < 0 else blank + 1
        if waiting is not None and mark <= start:
            yield waiting
        word, mark = start, match.start()
        following = match.start(1) if match[1] else match.end()
        context_end = match.end(1) if match[1] else match.end() + 1
        waiting = match.end(), following, text[start:context_end]
    if waiting is not None:
        yield waiting


def _is_sentence_break(context: str, parameters: Parameters) -> bool:
    """Whether a sentence ends within this context, and another token follows."""
    tokens = [token for line in context.split("\n") for token in _TOKEN.findall(line)]
    return any(_ends_sentence(token, following, parameters) for token, following in pairwise(tokens))


def _ends_sentence(token: str, following: str, parameters: Parameters) -> bool:
    """Whether a sentence ends after ``token``: Punkt's token-based pass, which also considers the next word."""
    if not token.endswith("."):
        return token in {"?", "!"}
    ending = _classify_token(token, parameters)
    word, next_word = _type(token), _type(following)
    if len(word) > 1:
        word = word.removesuffix(".")
    if _classify_token(following, parameters) and len(next_word) > 1:
        next_word = next_word.removesuffix(".")
    if (word, next_word) in parameters.collocations:
        return False
    initial = _INITIAL.match(token) is not None
    opens = _opens_sentence(following, next_word, parameters)
    if ending is False and not initial:  # an abbreviation or an ellipsis
        return opens is True or (following[0].isupper() and next_word in parameters.starters)
    if initial or word == _NUMBER_TYPE:
        if opens is False:
            return False
        named = following[0].isupper() and not parameters.written.get(next_word, 0) & LOWER
        if initial and opens is None and named:
            return False
    return ending is True


def _classify_token(token: str, parameters: Parameters) -> bool | None:
    """Classify a token: True if it ends a sentence, False for an abbreviation or ellipsis, None for any other word."""
    if token in {".", "?", "!"}:
        return True
    if _ELLIPSIS.match(token):
        return False
    if not token.endswith(".") or token.endswith(".."):
        return None
    stem = token[:-1].lower()
    known = parameters.abbreviations
    return not (stem in known or stem.rpartition("-")[2] in known)


def _opens_sentence(token: str, word: str, parameters: Parameters) -> bool | None:
    """Whether a word's capitalisation shows that it begins a sentence. None if the capitalisation shows nothing."""
    if token in {";", ":", ",", ".", "!", "?"}:
        return False
    seen = parameters.written.get(word, 0)
    if token[0].isupper() and seen & LOWER and not seen & UPPER_INSIDE:
        return True
    if token[0].islower() and (seen & UPPER or not seen & LOWER_OPENING):
        return False
    return None


def _type(token: str) -> str:
    return _NUMBER.sub(_NUMBER_TYPE, token.lower())
