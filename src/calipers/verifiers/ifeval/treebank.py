r"""Split a sentence into words as the Penn Treebank does, with the rules of nltk 3.9.1's ``word_tokenize``.

Marks are words, and ``don't`` is ``do`` and ``n't``. The order of the steps is part of the rules: a later step sees the
blanks that an earlier one has set. Newer versions of nltk may split differently, so the
rules are written out here; time grows only linearly with the length of the text.
"""

from __future__ import annotations

import re
from typing import Final

from calipers.verifiers.ifeval.punkt import parameters
from calipers.verifiers.ifeval.sentences import split_sentences

_ALL: Final = r" \g<0> "
_OPENING: Final = (
    (re.compile("[«“‘„]|`+"), _ALL),
    (re.compile('^"'), "``"),
    (re.compile("``"), _ALL),
    (re.compile(r"(?<=[ (\[{<])(?:\"|'')"), " `` "),
    (re.compile(r"'(?!re|ve|ll|[mtsdn])(?=\w\b)", re.IGNORECASE), "' "),
)
_BEFORE_LAST_PERIOD: Final = (
    (re.compile(r"([:,])(\D)"), r" \1 \2"),
    (re.compile("[:,]$"), _ALL),
    (re.compile(r"\.{2,}"), _ALL),
    (re.compile("[;@#$%&]"), _ALL),
)
_MARKS: Final = (
    (re.compile("[?!]"), _ALL),
    (re.compile("(?<=[^'])' "), " ' "),
    (re.compile(r"[*\]\[(){}<>]"), _ALL),
    (re.compile("--"), _ALL),
)
_CLOSING: Final = (
    (re.compile("[»”’]"), _ALL),
    (re.compile("''|\""), " '' "),
    (re.compile(r"\s+"), " "),
    (re.compile("([^' ])('[sSmMdD]|') "), r"\1 \2 "),
    (re.compile("([^' ])('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) "), r"\1 \2 "),
)
_JOINED: Final = re.compile(
    r"\b(?:(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n))\b|\b(wan)(na)(?=\s)", re.IGNORECASE
)
_IT: Final = re.compile(r" ('t)(is|was)\b", re.IGNORECASE)
_CLOSERS: Final = frozenset("])}>\"'»”’ ")
_PLAIN_CLOSERS: Final = frozenset("])}>\"'")


def treebank_words(text: str) -> list[str]:
    """Return the words and marks of a text of several sentences, which Punkt splits first, for IFEvalG and IFBench."""
    return [word for sentence in split_sentences(text, parameters()) for word in sentence_words(sentence)]


def sentence_words(sentence: str) -> list[str]:
    """Return the words and marks of one sentence, for IFEvalG and IFBench."""
    text = _replaced(sentence, _OPENING)
    text = _last_period_apart(text, _CLOSERS, between=" ")
    text = _replaced(text, _BEFORE_LAST_PERIOD)
    text = _last_period_apart(text, _PLAIN_CLOSERS, between="")
    text = _replaced(f" {_replaced(text, _MARKS)} ", _CLOSING)
    text = _JOINED.sub(lambda found: f" {' '.join(filter(None, found.groups()))} ", text)
    return _IT.sub(r" \1 \2 ", text).split()


def _replaced(text: str, steps: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, by in steps:
        text = pattern.sub(by, text)
    return text


def _last_period_apart(text: str, closers: frozenset[str], *, between: str) -> str:
    """Set a period apart that ends the text, but for ``closers``, unless it is one of several."""
    place = text.rfind(".")
    if place < 1 or text[place - 1] == ".":
        return text
    after = text[place + 1 :]
    kept = next((number for number, char in enumerate(after) if char not in closers), len(after))
    if after[kept:].strip():
        return text
    return f"{text[:place]} .{between}{after[:kept]} "
