"""Sentences by Punkt (Kiss and Strunk, Computational Linguistics 32, 2006), with the decisions of nltk 3.8.1.

IFEval counts sentences with nltk's Punkt, and newer nltk splits elsewhere (3.10 also at curly quotes), so the algorithm
is written out here; ``punkt`` has its parameters for English. Only the ends of whole sentences are decided here; words
are in ``capitals``.
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
"""How a word was seen written, as bits: upper or lower case, at the opening of a sentence, inside one, or unclear
where."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What Punkt knows about a language; words in lower case, abbreviations without their last period.

    ``collocations`` are pairs of words that a period between them does not separate, ``starters`` words that often open
    a sentence, and ``written`` how words were seen written (bits as above). Numbers are ``##number##``.
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


def sentences(text: str, parameters: Parameters) -> list[str]:
    """The sentences of ``text`` in order, with their closing quotes and brackets, without the blanks between them."""
    pieces = list(_pieces(text, parameters))
    found = []
    shift = 0  # how far closers moved the opening of this piece on, into the sentence before
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
        if _breaks(context, parameters):
            yield start, mark
            start = following
    yield start, len(text.rstrip())


def _candidates(text: str) -> Iterator[tuple[int, int, str]]:
    """Where a mark may end a sentence: its end, where the next would begin, and the words on both sides of it.

    Marks of one word are one candidate, the last of them. Only ASCII blanks part words here, and one that opens the
    text does not: both as in nltk.
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


def _breaks(context: str, parameters: Parameters) -> bool:
    """Whether a sentence ends in this context, and something follows in it."""
    tokens = [token for line in context.split("\n") for token in _TOKEN.findall(line)]
    return any(_ends_sentence(token, following, parameters) for token, following in pairwise(tokens))


def _ends_sentence(token: str, following: str, parameters: Parameters) -> bool:
    """Punkt's token-based pass: what the next word looks like can overrule what the token says by itself."""
    if not token.endswith("."):
        return token in {"?", "!"}
    ending = _by_itself(token, parameters)
    word, next_word = _type(token), _type(following)
    if len(word) > 1:
        word = word.removesuffix(".")
    if _by_itself(following, parameters) and len(next_word) > 1:
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


def _by_itself(token: str, parameters: Parameters) -> bool | None:
    """True for a token that ends a sentence, False for an abbreviation or an ellipsis, None for an ordinary word."""
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
    """Whether the way a word is written says that it opens a sentence; None where that says nothing."""
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
