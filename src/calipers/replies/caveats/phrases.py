"""Finds the phrases of the word lists in ``words`` in one sentence of a judge's reply, all kinds in one pass.

The time grows with the length of the sentence and not with the number of phrases, because phrases are looked up by
their first word, stem or character. The index is built for the first reply that has words beside its verdict.
``retractions`` and ``quotations`` decide what a phrase means for the verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from calipers.replies.wordlists import word_lists

FILES: Final = ("retractions", "validity", "speakers", "numbers")
_SPACELESS: Final = frozenset({"zh", "ja", "ko", "th"})
_GAP: Final = 48
_STEM: Final = 3
"""Stems are looked up by this many first characters, so that none is shorter."""
_MOST: Final = 1_000
"""At most this many characters of one sentence are searched."""
_SIGN = r"\u0e00-\u0e7f\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_VOICED = "\u3099\u309a"
"""Combining marks that change the syllable of a kana, so that they are not removed like accents."""
_BORDER = re.compile(rf"(?<=[a-z0-9])(?=[{_SIGN}])|(?<=[{_SIGN}])(?=[a-z0-9])")
_WORD = re.compile(r"\S+")
_NO_WORD = re.compile(r"[\W_]+")

Span = tuple[int, int]


def fold_words(text: str) -> str:
    """Return a reply, for extraction, as words without case, accents or punctuation, with one space around each."""
    text = text.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in text if char in _VOICED or unicodedata.category(char)[0] != "M")
        text = _BORDER.sub(" ", unicodedata.normalize("NFC", text))
    return f" {_NO_WORD.sub(' ', text).strip()} "


@dataclass(frozen=True, slots=True)
class _Phrase:
    kind: str
    parts: tuple[str, ...]
    """The parts of the phrase in folded text; later parts begin with a space if the language has spaces."""


@dataclass(slots=True)
class _Index:
    words: dict[str, list[_Phrase]] = field(default_factory=dict)
    stems: dict[str, list[_Phrase]] = field(default_factory=dict)
    signs: dict[str, list[_Phrase]] = field(default_factory=dict)

    def add(self, kind: str, language: str, written: str) -> None:
        parts = [part.strip() for part in written.split("…") if part.strip()]
        spaced = language not in _SPACELESS or written.isascii()
        shown = []
        for place, part in enumerate(parts):
            words = fold_words(part).strip()
            if not words:
                return
            lead = " " if spaced and place else ""
            shown.append(lead + words + ("" if part.endswith("*") or not spaced else " "))
        phrase = _Phrase(kind, tuple(shown))
        first = shown[0]
        if not spaced:
            self.signs.setdefault(first[0], []).append(phrase)
        elif first.endswith(" ") or " " in first:
            self.words.setdefault(first.split(" ", 1)[0], []).append(phrase)
        else:
            self.stems.setdefault(first[:_STEM], []).append(phrase)


@cache
def _index() -> _Index:
    index = _Index()
    for file in FILES:
        for kind, table in word_lists(file).items():
            for language, phrases in table.items():
                for written in phrases:
                    index.add(kind, language, written)
    return index


def find_phrases(text: str) -> dict[str, list[Span]]:
    """Extract where phrases of each kind occur in the folded ``text`` of a reply. Only kinds that occur are keys."""
    index = _index()
    found: dict[str, list[Span]] = {}
    text = text[:_MOST]
    for word in _WORD.finditer(text):
        start, written = word.span()[0], word[0]
        for phrase in _starting(index, written):
            _note(phrase, text, start, found)
        if not written.isascii():
            for place, sign in enumerate(written):
                for phrase in index.signs.get(sign, ()):
                    _note(phrase, text, start + place, found)
    return found


def kinds_of_clause(clause: str) -> set[str]:
    """Return the kinds of a phrase, such as a correction, that makes up a whole clause beside an extracted verdict."""
    if len(clause) > 40:  # no such phrase is longer
        return set()
    found = find_phrases(f" {clause} ")
    return {kind for kind, spans in found.items() if any(start == 1 and end == len(clause) + 1 for start, end in spans)}


def reaches_last_word(words: str, end: int) -> bool:
    """Whether a phrase that ends at ``end`` in folded ``words`` beside an extracted verdict reaches the last word."""
    return " " not in words[end:].rstrip()


def _starting(index: _Index, word: str) -> Iterator[_Phrase]:
    yield from index.words.get(word, ())
    yield from index.stems.get(word[:_STEM], ())


def _note(phrase: _Phrase, text: str, start: int, found: dict[str, list[Span]]) -> None:
    first, *others = phrase.parts
    if not text.startswith(first, start):
        return
    end = start + len(first.rstrip())
    for part in others:
        at = text.find(part, end, end + _GAP + len(part))
        if at < 0:
            return
        end = at + len(part.rstrip())
    found.setdefault(phrase.kind, []).append((start, end))
