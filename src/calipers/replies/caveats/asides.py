"""Reads one sentence beside a verdict: the candidates it names, its numbers, and which of these numbers could be
scores.

``retractions`` decides what the sentence does to the verdict. A number counts as a candidate's score only if no word
says that it counts, numbers or measures something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from calipers.replies.caveats.phrases import Span, find_phrases, fold_words, reaches_last_word
from calipers.replies.sentences import both_ends

_SOMEBODY = "qxq"
"""The placeholder for a candidate's name, a word that no language has."""
_LONGEST = 600
_MOST_AT_AN_END = 20
_MOST_CLAUSES = 30
_MOST_NUMBERS = 12
"""At most this many numbers, and mentions of one id, are read in a sentence."""
_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+|(?<=[。！？；])|[\r\n]+")
_QUOTE = re.compile(
    r"\"[^\"\n]{2,400}\"|“[^”\n]{2,400}”|„[^“”\n]{2,400}[“”]|«[^»\n]{2,400}»|「[^」\n]{2,400}」|(?<!\w)'[^'\n]{6,400}'(?!\w)"
)
_OUT_OF = r"(?:/|\bout of\b|\bof\b|\bvon\b|\bsur\b|\bde\b|из)"
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.])(?<!\d,)[-−+]?(?P<part>\d{1,7}(?:[.,٫]\d{1,6})?|\.\d{1,6})"
    rf"(?:\s{{0,2}}{_OUT_OF}\s{{0,2}}(?P<whole>\d{{1,4}}(?:[.,]\d{{1,4}})?)|\s?(?P<percent>[%％]))?"
    r"(?![0-9_])(?![.,]\d)"
)
_STOPS = frozenset(".,;:!?…。、，；：！？।)]}）】」\"'*`_~|")
_GAP = re.compile(r"[\s\"'*_`~)\]】」(\[|:：=→⇒➔>\-–—＝]{0,12}")
_COPULA = re.compile(
    r"(?:['’]s\s|\s(?:is|are|was|ist|est|es|è|é|jest)\s)(?:(?:now|only|really|an?|eine?|un|une|uma?|een)\s)*|是|为|は|が|는|은|가|이"
)
_SPELLED = {
    "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90, "zero": 0, "hundred": 100,
}  # fmt: skip
_SPELLED_WORD = re.compile(rf"\b(?:{'|'.join(_SPELLED)})(?![\w-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GivenScores:
    """The scores that a verdict gives to the candidates: a score by id, on ``scale``."""

    scores: Mapping[str, float]
    ids: tuple[str, ...]
    scale: tuple[float, float]

    def equals_score_of(self, number: Number, id_: str) -> bool:
        """Whether a number in a sentence equals the extracted score of the candidate ``id_``, in any possible unit."""
        score = self.scores.get(id_)
        return score is not None and any(abs(value - score) < 1e-9 for value in self.possible_scores(number))

    def could_be_score(self, number: Number) -> bool:
        """Whether a number in a sentence lies on the scale of the extracted scores, in any possible unit."""
        low, high = self.scale
        return any(low <= value <= high for value in self.possible_scores(number))

    def possible_scores(self, number: Number) -> tuple[float, ...]:
        """Return the scores that a number could mean on an extracted verdict's scale: ``8/10`` on 0-100 is 80."""
        low, high = self.scale
        if number.whole is not None:
            share = low + number.part / (number.whole or 1) * (high - low)
            return (number.part, share) if number.whole == high else (share,)
        if number.percent:
            return (low + number.part / 100 * (high - low),)
        return (number.part,)


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a sentence of a judge's reply, with its position."""

    part: float
    start: int
    end: int
    whole: float | None = None
    percent: bool = False
    counted: bool = False
    """Whether the number is written like *3 of 4*, which is a score only if 4 is the top of the scale."""


@dataclass(frozen=True, slots=True)
class Mention:
    """The name of a candidate in a sentence, with its position."""

    id_: str
    start: int
    end: int


class Sentence:
    """One sentence of the words beside a verdict. Its phrases, names and numbers are found on first use."""

    def __init__(self, text: str, ids: Sequence[str], *, first: bool = False) -> None:
        self.text = text
        self.ids = ids
        self.first = first
        """Whether the sentence directly follows the verdict. If it does, the word *this* in it means the verdict."""
        self._counts: dict[Number, bool] = {}

    @cached_property
    def folded(self) -> str:
        """The sentence as folded words, with a placeholder for each candidate's name because names may be words."""
        return fold_words(self._nameless)

    @cached_property
    def _nameless(self) -> str:
        text = self.text
        for mention in reversed(self.mentions):
            if not mention.id_.isdecimal():
                text = f"{text[: mention.start]}{_SOMEBODY}{text[mention.end :]}"
        return text

    @cached_property
    def hits(self) -> dict[str, list[Span]]:
        """The phrases of the word lists that a sentence of the reply contains, by kind."""
        return find_phrases(self.folded)

    def has_phrase(self, *kinds: str) -> bool:
        """Whether a sentence beside an extracted verdict contains a phrase of any of the kinds."""
        return any(kind in self.hits for kind in kinds)

    @cached_property
    def clauses(self) -> list[tuple[str, str]]:
        """The clauses of a sentence of the reply in folded words, each with the punctuation mark that ends it."""
        return split_clauses(self._nameless)

    @cached_property
    def mentions(self) -> list[Mention]:
        """The places where the sentence names a candidate, in order."""
        found = [mention for id_ in self.ids for mention in _mentions(self.text, id_)]
        return sorted(found, key=lambda one: one.start)

    @cached_property
    def named_ids(self) -> set[str]:
        """The ids of the candidates that the sentence names."""
        return {mention.id_ for mention in self.mentions}

    @cached_property
    def numbers(self) -> list[Number]:
        """The numbers in the sentence that are not part of a candidate's name."""
        taken = [range(mention.start, mention.end) for mention in self.mentions]
        return [
            number for number in _numbers(self.text) if not any(number.start in span for span in taken)
        ]  # fmt: skip

    def counts_something(self, number: Number) -> bool:
        """Whether a number counts, numbers or measures, so it is no score to extract: ``3 steps``, ``step 3``."""
        if number not in self._counts:
            self._counts[number] = self._counts_something(number)
        return self._counts[number]

    def _counts_something(self, number: Number) -> bool:
        before = self.text[: number.start].rstrip(" *_`\"'(#[")
        if before.endswith(("+", "×", "*", "^", "<", "≤", "≥", "$", "€", "£", "¥", "第", "±", "~")):
            return not before.endswith("~")
        if before[-1:] not in _STOPS and _ends_with(before[-24:], "BEFORE_COUNT"):
            return True
        return not self._ends_a_score(self.text[number.end :])

    def is_given_up(self, number: Number) -> bool:
        """Whether a number after words such as *instead of* is an abandoned score, which is not extracted."""
        return _ends_with(self.text[max(0, number.start - 24) : number.start], "INSTEAD")

    @cached_property
    def counted(self) -> int:
        """The position of the first number that counts something. A bare number after it is no score either."""
        return min((number.start for number in self.numbers if self.counts_something(number)), default=len(self.text))

    def _ends_a_score(self, rest: str) -> bool:
        """Whether the text after a number may follow a score: punctuation, a word for points, or the end of text."""
        if rest[:1] == "-" and rest[1:2].isalnum():
            return False
        rest = rest.lstrip(" *_`\"')]」】~}|")
        if not rest or rest[0] in _STOPS or rest[0] in "-–—→⇒<":
            return True
        if rest[0].isdigit() or rest[0] in "+×/^=%#$€":
            return False
        words = fold_words(rest[:60])
        found = find_phrases(words)
        unit = max((end for start, end in found.get("POINTS", ()) if start == 1), default=0)
        if unit:
            after = words[unit:].strip()
            return not after or self._ends_a_score(after) or rest[unit - 1 : unit + 1].strip(" ")[:1] in _STOPS
        if any(start == 1 for start, _ in found.get("INSTEAD", ())) and (other := _NUMBER.search(rest)):
            return self._ends_a_score(rest[other.end() :])
        return any(start == 1 for kind in ("AFTER_NUMBER", "AWARDS") for start, _ in found.get(kind, ()))

    def has_unit(self, number: Number) -> bool:
        """Whether a word for points follows a number, so that the number is a score to extract."""
        words = find_phrases(fold_words(self.text[number.end : number.end + 24]))
        return any(start == 1 for start, _ in words.get("POINTS", ()))

    def id_beside(self, number: Number) -> str | None:
        """Extract the id of the candidate named right beside a number: ``KB: 50``, ``KB is 50``, ``50 for KB``."""
        for mention in self.mentions:
            gap = self.text[mention.end : number.start]
            if mention.end <= number.start and (_GAP.fullmatch(gap) or _is_copula(gap) or _is_short_word(gap)):
                return mention.id_
            gap = self.text[number.end : mention.start]
            if (
                number.end <= mention.start <= number.end + 24
                and len(_NAME.sub(" ", gap).split()) <= 1
                and not _BREAK.search(gap)
            ):
                return mention.id_
        return None

    def ids_nearest(self, number: Number) -> list[str]:
        """Extract the ids of the candidates named last before a number and first after it."""
        before = [mention.id_ for mention in self.mentions if mention.end <= number.start]
        after = [mention.id_ for mention in self.mentions if mention.start >= number.end]
        return [*before[-1:], *after[:1]]


_NAME = re.compile(r"\b(?:candidate|trajectory|response|answer|kandidat\w*|candidat\w*|кандидат\w*|#)\b", re.IGNORECASE)
_BREAK = re.compile(r"[.,;:!?。，；：]")
_BULLET = re.compile(r"[ *_\-•>|\"'(\[]*")
_AFTER_KEY = re.compile(r"[\s\"'*_`\])|]{0,4}(?:[:：=→⇒]|->|=>|\|)")


def _is_short_word(gap: str) -> bool:
    """Whether the text between a name and a number is only one short word, such as *at*, *to*, *auf*, *на*."""
    return re.fullmatch(r"\s[^\W\d_]{1,4}\s", gap) is not None and "CONTENT" not in find_phrases(fold_words(gap))


def _is_copula(gap: str) -> bool:
    found = _COPULA.search(f" {gap.strip()} ")
    return found is not None and len(gap) <= 12 and not re.search(r"\w", _COPULA.sub("", f" {gap.strip()} "))


def split_clauses(text: str) -> list[tuple[str, str]]:
    """Split a sentence beside an extracted verdict into clauses of folded words, each with the mark that ends it."""
    pieces = _MARK.split(text[:_LONGEST], maxsplit=_MOST_CLAUSES)[: 2 * _MOST_CLAUSES]
    pairs = zip(pieces[::2], [*pieces[1::2], ""], strict=False)
    return [(fold_words(piece).strip(), mark.strip()) for piece, mark in pairs if any(map(str.isalnum, piece))]


_MARK = re.compile(r"([:：,，、。.!！?？…;；—–（）()\"“”]+|\s-+\s|\s?->\s?|→|~~|\n)")


def sentences_beside(text: str, ids: Sequence[str]) -> Iterator[Sentence]:
    """Extract the sentences beside a verdict, with ASCII digits. Of more than 40, yield 20 at each end."""
    text = unicodedata.normalize("NFKC", text)
    pieces = [
        piece[at : at + _LONGEST]
        for whole in _END.split(text)
        if any(map(str.isalnum, piece := whole.strip()))
        for at in range(0, len(piece), _LONGEST)
    ]
    for place, piece in enumerate(both_ends(pieces, _MOST_AT_AN_END)):
        yield Sentence(piece, ids, first=place == 0)


def without_quotations(text: str) -> str:
    """Return a sentence without quotations, so that only the judge's own words are extracted."""
    # A quotation of at most 8 characters is a name or a number.
    return _QUOTE.sub(lambda found: found[0] if len(found[0]) <= 8 else '""', text)


def _mentions(text: str, id_: str) -> Iterator[Mention]:
    """Yield the places where a sentence names the candidate ``id_``.

    An id that is a number or a single letter counts only after a word for candidate, or before a colon.
    """
    bare = id_.isdecimal() or len(id_) == 1
    at = -1
    for _ in range(_MOST_NUMBERS):
        at = text.find(id_, at + 1) if id_ else -1
        if at < 0:
            return
        end = at + len(id_)
        if _joined(text[at - 1 : at], id_[0]) or _joined(text[end : end + 1], id_[-1]):
            continue
        if id_.isdecimal() and re.match(r"[.,]\d", text[end : end + 2]):
            continue
        if bare and not _is_named(text, at, end):
            continue
        yield Mention(id_, at, end)


def _ends_with(text: str, kind: str) -> bool:
    words = fold_words(text)
    return any(reaches_last_word(words, end) for _, end in find_phrases(words).get(kind, ()))


def _joined(other: str, own: str) -> bool:
    """Whether two adjacent characters belong to the same word."""
    if not other:
        return False
    return (other.isascii() and (other.isalnum() or other == "_")) or (other.isalnum() and not own.isascii())


def _is_named(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - 40) : start]
    if before.rstrip(" \"'*_`([").endswith(("#", "№")):
        return True
    if _ends_with(before, "CANDIDATES"):
        return True
    return _BULLET.fullmatch(before) is not None and _AFTER_KEY.match(text, end) is not None


def _numbers(text: str) -> Iterator[Number]:
    for count, found in enumerate(_NUMBER.finditer(text)):
        if count >= _MOST_NUMBERS:
            return
        whole = found["whole"]
        yield Number(
            _float(found["part"]),
            found.start(),
            found.end(),
            _float(whole) if whole else None,
            bool(found["percent"]),
            bool(whole) and "/" not in found[0] and "out" not in found[0].casefold(),
        )
    for found in _SPELLED_WORD.finditer(text):
        yield Number(float(_SPELLED[found[0].casefold()]), found.start(), found.end())


def _float(written: str) -> float:
    return float(written.replace(",", ".").replace("٫", "."))
