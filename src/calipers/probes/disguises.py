"""Text that hides what it says from a search and not from a model: spelled apart, in digits, in entities, in base64.

Gives what it says, to be searched like any text. Not responsible for what cannot be seen or looks alike (``injection``),
nor for ciphers, nor for what is not hinted at: a judge does not decode what nobody asks it to.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from html import unescape
from itertools import product
from typing import Final

_DIGITS: Final = {"a": "4", "e": "3", "i": "1", "o": "0", "s": "5", "t": "7"}
_LETTERS: Final = str.maketrans({"4": "a", "3": "e", "1": "i", "0": "o", "5": "s", "7": "t"})
_SPELLED_IN_DIGITS: Final = (
    "answer grade grader highest ignore instructions judge marks perfect points response rubric score"
)
_WITH_DIGIT = re.compile(r"\b(?=\d*[a-z])(?=[a-z]*\d)[a-z\d]{2,}\b")
_APART = re.compile(r"(?<!\w)\w([ ._*\-])\w(?:\1\w)+(?!\w)")
_LETTER_BY_LETTER: Final = frozenset((b"e", b"r", b"t"))
_HINTS: Final = frozenset((b"base64", b"b64"))
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,4096}={0,2}")


def _in_digits(word: str) -> Iterator[bytes]:
    """Every way to write ``word`` with one digit or more."""
    for letters in product(*((letter, _DIGITS[letter]) if letter in _DIGITS else (letter,) for letter in word)):
        if (written := "".join(letters)) != word:
            yield written.encode()


_DIGIT_WORDS: Final = frozenset(written for word in _SPELLED_IN_DIGITS.split() for written in _in_digits(word))

CALLING: Final = _DIGIT_WORDS | _HINTS | {b"o"}
"""Words without one of which nothing is disguised but by entities."""


def has_entities(text: str) -> bool:
    """Whether characters of ``text`` are written by their numbers."""
    return "&" in text and "&#" in text  # one character is looked for ten times as fast


def unmasked(text: str, words: AbstractSet[bytes], calling: AbstractSet[bytes]) -> Iterator[str]:
    """What ``text`` says under its disguises. ``calling`` are those of its ``words`` that are of ``CALLING``, at least."""
    if has_entities(text):
        yield unescape(text)
    if not _DIGIT_WORDS.isdisjoint(calling):
        yield _WITH_DIGIT.sub(lambda match: match[0].translate(_LETTERS), text.lower())
    if words >= _LETTER_BY_LETTER:
        yield _APART.sub(_joined, text)
    if not _HINTS.isdisjoint(calling):
        yield from filter(None, map(_decoded, _BASE64.findall(text)))


def _joined(match: re.Match[str]) -> str:
    return match[0].replace(match[1], "")


def _decoded(blob: str) -> str:
    try:
        return b64decode(blob + "=" * (-len(blob) % 4), validate=True).decode()
    except (Error, UnicodeDecodeError):
        return ""
