"""Select the places where a text may contain an attack, for all candidates at once and without a loop over words.

Most texts contain no such place. Every word is looked up by its first bytes, and the concepts in each stretch of words
are compared with those that a rule needs. Scripts other than Latin are looked up word by word. The selection may
contain harmless places, but misses no attack. ``sentence_attacks``, ``forged_layout``, ``forged_verdicts`` and
``obfuscation`` examine the places.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import accumulate
from operator import itemgetter, or_
from typing import Final

import numpy as np

from calipers.guard.attack_rules import may_be_attack, possible_coarse_concepts
from calipers.guard.forged_layout import LABELS, MARKERS, verdict_phrases
from calipers.guard.normalised import MIXED, JoinedTexts, NormalisedText, join_normalised, normalise
from calipers.guard.obfuscation import TURNED_LETTERS, respelled_words, texts_in_tags
from calipers.guard.possible_sentences import may_contain_attack, whole_sentences
from calipers.guard.prefilter_index import RESPELLED, TO_PLAIN_BYTES, VERDICT, WORD_BYTES, Places, lexicon_index
from calipers.guard.sentence_attacks import unspaced_languages_of
from calipers.guard.stretches import FoundWords
from calipers.guard.vocabulary import (
    BITS,
    WORD,
    Language,
    Mask,
    alphabets,
    find_entry,
    unspaced_languages,
    unspaced_pattern,
)
from calipers.types.steps import Steps

_LITTLE_ENDIAN: Final = np.dtype("<u8")
_HEAD: Final = np.dtype("<u4")
_SPACE: Final = np.uint8(32)
_PADDING: Final = b" " * (WORD_BYTES + 1)
_LONG: Final = 24
"""At least this many letters without a space may be encoded text."""
_SPACED_OUT: Final = ((2, 6), (3, 12), (9, 8))
"""For each kind of spaced-out text, the distance of the spaces and how many in a row are suspicious.

The kinds are single letters, pairs of digits, and groups of eight digits.
"""
_FOREIGN = re.compile(
    r"(?:\w{0,5}[ ,:]{0,2})?[^\x00-\x7f]+(?:[^\n\x80-\U0010ffff]{0,8}[^\x00-\x7f]+)*[^\n\x80-\U0010ffff]{0,8}"
)
"""Text in other scripts than Latin, together with the numbers and ASCII characters next to it."""


@dataclass(frozen=True, slots=True)
class Hints:
    """The places where a text may contain an attack: ``spans`` of sentences, and positions of other suspicious text.

    ``verdicts`` are words of verdicts and of questions to a judge. ``respelled`` are words in digits, backwards or in
    ROT13. ``unbroken`` are runs of letters longer than any word. ``spaced_out`` are letters or digits with spaces
    between them.
    """

    spans: tuple[tuple[int, int], ...] = ()
    verdicts: tuple[int, ...] = ()
    respelled: tuple[int, ...] = ()
    unbroken: tuple[int, ...] = ()
    spaced_out: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.spans or self.verdicts or self.respelled or self.unbroken or self.spaced_out)


def worth_searching(texts: Sequence[str]) -> Steps[list[tuple[str, NormalisedText, Hints]]]:
    """Return each of ``texts`` that may contain a prompt injection: its raw form, its normalised form and the
    suspicious places. The texts are filtered in steps.
    """
    joined = join_normalised(texts)
    yield
    hints = yield from _possible_attacks(_hints(joined.ascii, joined.foreign), joined)
    own_hints = split_hints(hints, joined.lengths)
    tagged = (number for number in joined.changed if texts_in_tags(texts[number]))
    chosen = {*own_hints, *_marked_texts(joined), *tagged}
    disguised = joined.foreign is not None and _has_disguised_letters(joined.foreign)
    found = []
    for number in range(len(texts)) if disguised else sorted(chosen):
        yield
        text = joined.changed.get(number) or normalise(texts[number])
        if number in chosen or _has_disguised_letters(text):
            found.append((texts[number], text, own_hints.get(number) or Hints()))
    return found


def _possible_attacks(hints: Hints, texts: JoinedTexts) -> Steps[Hints]:
    """Return ``hints`` without the spans whose sentences cannot be an attack."""
    foreign = texts.foreign
    if not hints.spans or (foreign is not None and unspaced_languages_of(foreign.letters)):
        return hints
    plain = texts.ascii.lower().decode("ascii") if foreign is None else foreign.plain
    yield
    spans: list[tuple[int, int]] = []
    first = 0
    for begin, end in whole_sentences(texts.shown, hints.spans):
        last = bisect_right(hints.spans, end, first, key=itemgetter(0))
        if (yield from may_contain_attack(texts.shown, plain, begin, end)):
            spans += hints.spans[first:last]
        first = last
    return replace(hints, spans=tuple(spans))


def _marked_texts(texts: JoinedTexts) -> Iterator[int]:
    """Yield the numbers of the texts with a marker of forged text."""
    markers = _markers_in(texts)
    ends = [*accumulate(length + 2 for length in texts.lengths)] if markers else []
    for marker in markers:
        place = texts.shown.find(marker)
        while place >= 0:
            number = bisect_right(ends, place)
            yield number
            place = texts.shown.find(marker, ends[number])


def _markers_in(texts: JoinedTexts) -> set[str]:
    """Return the markers of forged text that occur in ``texts``.

    Two characters of a marker are looked up first, because a search for a long text takes longer.
    """
    found: set[str] = set()
    data = np.frombuffer(texts.ascii, np.uint8)
    for first, seconds in _marker_beginnings().items():
        if first in texts.ascii:
            places = (data[:-1] == first).nonzero()[0]
            present = set(data[1:].take(places).tobytes())
            found.update(marker for second in present for marker in seconds.get(second, ()) if marker in texts.shown)
    if "@" in texts.shown:
        found.update(match[0] for match in LABELS.finditer(texts.shown))
    return found


@cache
def _marker_beginnings() -> Mapping[int, Mapping[int, tuple[str, ...]]]:
    """Return the markers of forged text by their first and second byte."""
    found: dict[int, dict[int, tuple[str, ...]]] = {}
    for first, markers in MARKERS.items():
        seconds = found.setdefault(ord(first), {})
        for marker in markers:
            second = marker[1:2].encode("ascii", "replace")[0]
            seconds[second] = (*seconds.get(second, ()), marker)
    return found


def _has_disguised_letters(text: NormalisedText) -> bool:
    """Whether a text has a word with letters of two alphabets, or has letters turned upside down."""
    return bool(text.letters) and (MIXED.search(text.plain) is not None or not text.letters.isdisjoint(TURNED_LETTERS))


def hints_in(text: NormalisedText) -> Hints:
    """Return the places in ``text`` that may contain a prompt injection."""
    return _hints(text.plain.encode("ascii", "replace"), text if text.letters else None)


def _hints(data: bytes, foreign: NormalisedText | None) -> Hints:
    """Return the suspicious places of a text from its ASCII characters, and from ``foreign`` if it has other letters.

    Each character of the text has one byte in ``data``.
    """
    padded = b" %b%b" % (data.translate(TO_PLAIN_BYTES), _PADDING)
    count = len(padded) - WORD_BYTES
    spaces = (np.frombuffer(padded, np.uint8, count) == _SPACE).nonzero()[0]
    gaps = spaces[1:] - spaces[:-1]
    begins = spaces.take((gaps > 1).nonzero()[0])
    spans = [] if foreign is None else list(_in_other_scripts(foreign))
    if not len(begins):
        return Hints(tuple(spans))
    words = _found_words(padded, count, begins)
    spans += _spans(words, begins, len(data))
    return Hints(
        _merged(spans) if spans else (),
        _exact_matches(padded, begins, words, VERDICT, verdict_phrases),
        _exact_matches(padded, begins, words, RESPELLED, respelled_words),
        tuple(spaces.take((gaps > _LONG).nonzero()[0]).tolist()),
        tuple(sorted(place for gap, length in _SPACED_OUT for place in _runs(gaps, gap, spaces, length))),
    )


def _found_words(padded: bytes, count: int, begins: Places) -> FoundWords:
    """Look up the words after the spaces at ``begins``. The lexicon has few of the words of most texts."""
    index = lexicon_index()
    # This reads the bytes after every position, deliberately unaligned. ``take`` is faster than an index.
    heads = np.ndarray((count,), _HEAD, padded, 1, (1,)).take(begins)
    tables = index.tables_of(heads)
    places = (tables != 0).nonzero()[0]
    words = np.ndarray((count,), _LITTLE_ENDIAN, padded, 1, (1,)).take(begins.take(places))
    masks = index.meanings_of(words, tables.take(places))
    found = masks.nonzero()[0]
    masks = masks.take(found)
    return FoundWords(
        len(begins), places.take(found), words.take(found), masks, int(np.bitwise_or.reduce(masks, initial=0))
    )


def _spans(words: FoundWords, begins: Places, length: int) -> Iterator[tuple[int, int]]:
    firsts, lasts = words.stretches()
    if not len(firsts):
        return
    starts, ends = np.maximum(begins.take(firsts) - 1, 0), np.minimum(begins.take(lasts), length)
    order = starts.argsort(kind="stable")
    starts, ends = starts.take(order), np.maximum.accumulate(ends.take(order))
    apart = starts[1:] > ends[:-1]  # a text may have thousands of stretches, of which most touch
    yield from zip(starts[np.append(True, apart)].tolist(), ends[np.append(apart, True)].tolist(), strict=True)


def _exact_matches(
    padded: bytes, begins: Places, words: FoundWords, kind: int, texts: Callable[[], frozenset[str]]
) -> tuple[int, ...]:
    """Return the positions of words that may be of a ``kind`` and really are, alone or together with the next word."""
    if not words.whole & kind:
        return ()
    wanted = _encoded(texts)
    found = []
    for begin in begins.take(words.places[words.masks & np.uint64(kind) != 0]).tolist():
        end = padded.index(b" ", begin + 1)
        if padded[begin + 1 : end] in wanted or padded[begin + 1 : padded.index(b" ", end + 1)] in wanted:
            found.append(begin)
    return tuple(found)


@cache
def _encoded(texts: Callable[[], frozenset[str]]) -> frozenset[bytes]:
    """Return words of the lexicon in ASCII; a word with other letters is not found by its bytes."""
    return frozenset(text.encode() for text in texts())


def _runs(gaps: Places, gap: int, spaces: Places, length: int) -> list[int]:
    """Return where each run of at least ``length`` consecutive spaces with the distance ``gap`` to the next begins."""
    marked = (gaps == gap).nonzero()[0]
    first, last = marked[: 1 - length], marked[length - 1 :]
    inside = first[last - first == length - 1]
    if not len(inside):
        return []
    begins: list[int] = spaces.take(np.append(inside[:1], inside[1:][inside[1:] - inside[:-1] != 1])).tolist()
    return begins


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return tuple(merged)


def _in_other_scripts(text: NormalisedText) -> Iterator[tuple[int, int]]:
    """Yield the whole text if its words in a language of another script may be an attack together."""
    languages = [language for language, letters in alphabets().items() if len(text.letters & letters) > 3]
    foreign = "\n".join(dict.fromkeys(_FOREIGN.findall(text.plain))) if languages else ""
    letters = set(foreign)
    is_numbered = any(map(str.isdigit, letters)) or any(digit in text.plain for digit in "0123456789")
    numbers = BITS["highest_score"] | BITS["lowest"] if is_numbered else 0
    whole: dict[Language, Mask] = {}
    if any(language not in unspaced_languages() for language in languages):
        for entry in map(find_entry, set(WORD.findall(foreign))):
            for language, mask in entry.possible_meanings():
                whole[language] = whole.get(language, 0) | mask
    for language in languages:
        if language in unspaced_languages():
            pattern, masks = unspaced_pattern(language)
            mask = whole.get(language, 0) | numbers
            # This is faster than the pattern. It also finds words inside others, which the pattern passes over.
            contained = (masks[word] for word in masks if letters.issuperset(word) and word in foreign)
            if may_be_attack(possible_coarse_concepts(reduce(or_, contained, mask))):
                whole[language] = reduce(or_, (masks.get(word, 0) for word in set(pattern.findall(foreign))), mask)
    if any(may_be_attack(possible_coarse_concepts(mask | numbers)) for mask in whole.values()):
        yield 0, len(text.plain)


def split_hints(hints: Hints, lengths: Sequence[int]) -> dict[int, Hints]:
    """Split the places of possible prompt injection in the joined texts into the places of each text.

    Of respelled, unbroken and spaced-out text, only the first place in each text is kept.
    """
    begins = [0, *accumulate(length + 2 for length in lengths)]
    spans: dict[int, list[tuple[int, int]]] = {}
    for first, last in hints.spans:
        for text in range(_text_at(begins, first), min(bisect_left(begins, last), len(lengths))):
            clipped = max(0, first - begins[text]), min(lengths[text], last - begins[text])
            if clipped[0] < clipped[1]:
                spans.setdefault(text, []).append(clipped)
    places: dict[int, tuple[list[int], ...]] = {}
    for kind, some in enumerate((hints.verdicts, hints.respelled, hints.unbroken, hints.spaced_out)):
        at = 0
        while at < len(some):
            text = _text_at(begins, some[at])
            following = bisect_left(some, begins[text + 1], at)
            own = some[at:following] if some is hints.verdicts else some[at : at + 1]
            places.setdefault(text, ([], [], [], []))[kind].extend(place - begins[text] for place in own)
            at = following
    found = spans.keys() | places.keys()
    return {text: Hints(tuple(spans.get(text, ())), *map(tuple, places.get(text, ()))) for text in found}


def _text_at(begins: Sequence[int], place: int) -> int:
    """Return the number of the text that contains a position of the joined texts."""
    return bisect_right(begins, place) - 1
