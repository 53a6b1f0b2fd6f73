"""Decode text that is hidden from a search but readable for a model: spaced out, in digits, backwards, encoded.

The decoded text is searched like any other text. Text that is hidden twice is not decoded twice. ``normalised`` removes
invisible characters, and ``prefilter`` selects the texts worth decoding.
"""

from __future__ import annotations

import codecs
import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from itertools import islice, product
from string import ascii_letters, digits, hexdigits
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from calipers.guard.normalised import LOOK_ALIKES, MIXED, NormalisedText
from calipers.guard.vocabulary import word_list

if TYPE_CHECKING:  # importing numpy takes a tenth of a second
    from calipers.guard.prefilter import Hints

_DIGITS: Final = {"a": "4", "b": "8", "e": "3", "g": "9", "i": "1", "l": "1", "o": "0", "s": "5", "t": "7"}
_FROM_DIGITS: Final = str.maketrans("48391057@$!", "abegiostasi")
_WITH_DIGIT = re.compile(r"(?<![\w@$!])(?=[\d@$!]*[a-z])(?=[a-z@$!]*[\d@$!])[a-z\d@$!]{2,}(?![\w@$])")
_MOST_REPLACED: Final = 5
"""The known spellings of a word replace up to this many of its letters by digits, or all of its letters that can be."""
_SPACED_OUT = re.compile(r"(?<!\w)\w([ ._*|\-])\w(?:\1\w)+(?!\w)")
_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\u\{([0-9A-Fa-f]{1,5})\}")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
"""Text in Unicode's tag characters, which are invisible."""
_TAG_BYTES: Final = b"\xf3\xa0"
"""The first two bytes of each of them in UTF-8."""
_LETTERS: Final = len(ascii_letters) // 2
_UPSIDE_DOWN: Final = str.maketrans("ɐɔǝɟƃɥᴉɾʞʃɯʌʍʎʇɹ", "acefghijklmvwytr")
TURNED_LETTERS: Final = frozenset("ɐǝɥʇɹ")
_AT_MOST: Final = 256
"""At most this many encoded parts of a text are decoded."""


def _in_digits(word: str) -> Iterator[str]:
    """Yield the spellings of ``word`` with at least one letter replaced by a digit."""
    places = [place for place, letter in enumerate(word) if letter in _DIGITS]
    for replaced in product((False, True), repeat=min(len(places), _MOST_REPLACED)):
        if any(replaced):
            written = list(word)
            for place, is_digit in zip(places, replaced, strict=False):
                if is_digit:
                    written[place] = _DIGITS[word[place]]
            yield "".join(written)
    everywhere = "".join(_DIGITS.get(letter, letter) for letter in word)
    if everywhere != word:
        yield everywhere


@cache
def _disguised_words() -> tuple[frozenset[str], ...]:
    """Return the words that reveal disguised text, in three spellings: with digits, backwards, and in ROT13."""
    plain = word_list("disguised")
    digits = frozenset(written for word in plain for written in _in_digits(word))
    return digits, frozenset(word[::-1] for word in plain), frozenset(codecs.encode(word, "rot13") for word in plain)


@cache
def respelled_words() -> frozenset[str]:
    """Return the words that reveal a prompt injection written with digits, backwards, or in ROT13."""
    return frozenset().union(*_disguised_words())


def deobfuscated(raw: str, text: NormalisedText, hints: Hints) -> Iterator[str]:
    """Yield the texts hidden in ``text``, so that disguised attacks on the judge are found. ``raw`` is the text before
    normalisation.
    """
    yield from _unescaped(raw, text)
    if text.letters and MIXED.search(text.plain):
        yield text.plain.translate(LOOK_ALIKES)
    if not text.letters.isdisjoint(TURNED_LETTERS):
        yield text.plain.translate(_UPSIDE_DOWN)[::-1]
    if hints.respelled:
        found = set(re.split(r"[^a-z0-9]+", text.plain))
        in_digits, backwards, turned = _disguised_words()
        if not found.isdisjoint(in_digits):
            yield _WITH_DIGIT.sub(lambda match: match[0].translate(_FROM_DIGITS), text.plain)
        if not found.isdisjoint(backwards):
            yield text.plain[::-1]
        if not found.isdisjoint(turned):
            yield codecs.encode(text.plain, "rot13")
    if hints.spaced_out:
        yield _SPACED_OUT.sub(lambda match: match[0].replace(match[1], ""), text.shown)
    if hints.spaced_out or hints.unbroken:
        yield from _decoded(text.shown)
    if hints.unbroken and (split := _split_names(text.shown)) is not None:
        yield split


def texts_in_tags(raw: str) -> list[str]:
    """Return the parts of a text in invisible tag characters, which may hide an attack on the judge."""
    # A search for bytes takes a twentieth of the time of the pattern, and most texts have none.
    return _TAGS.findall(raw) if _TAG_BYTES in raw.encode("utf-8", "surrogatepass") else []


def split_name(name: str) -> str:
    """Split a name that may be an attack on the judge into words: ``giveFullMarks`` becomes "give Full Marks"."""
    return _HUMP.sub(" ", name.replace("_", " "))


def _split_names(text: str) -> str | None:
    """Split all names in a long text as ``split_name`` does, in a fifth of the time; None if no name has a hump."""
    import numpy as np  # noqa: PLC0415 - it takes a tenth of a second, and split_name does without it

    codes = np.frombuffer(text.replace("_", " ").encode("utf-32-le", "surrogatepass"), np.dtype("<u4"))
    small = codes - np.uint32(ord("a")) < _LETTERS
    capital = codes - np.uint32(ord("A")) < _LETTERS
    humps = (small[:-1] & capital[1:]).nonzero()[0] + 1
    if not len(humps):
        return None
    return np.insert(codes, humps, ord(" ")).tobytes().decode("utf-32-le", "surrogatepass")


def _unescaped(raw: str, text: NormalisedText) -> Iterator[str]:
    if "&" in raw and "&#" in raw:  # the search for a single character is ten times faster
        yield unescape(raw)
    if "\\" in raw and ("\\x" in raw or "\\u" in raw):
        yield _ESCAPE.sub(lambda match: chr(int(match[1] or match[2] or match[3], 16)), raw)
    if "%" in raw and "%20" in raw:
        yield unquote(raw)
    if text.shown is not raw:
        yield from ("".join(chr(ord(char) - 0xE0000) for char in tags) for tags in texts_in_tags(raw))


class _Encoding(NamedTuple):
    """Text that ``pattern`` matches consists of ``characters``, at least ``shortest`` of them, and is decoded by
    ``decode``.
    """

    pattern: re.Pattern[str]
    characters: bytes
    shortest: int
    decode: Callable[[str], bytes]

    def matches(self, text: str, data: bytes) -> Iterator[re.Match[str]]:
        """Yield the matches in ``text``, which may be an encoded attack. ``data`` is the same text in ASCII.

        The pattern is tried only inside runs of its characters: a search of the whole text takes ten times longer.
        """
        marked = data.translate(_marks(self.characters))
        run = b"x" * self.shortest
        begin = marked.find(run)
        while begin >= 0:
            end = marked.find(b" ", begin)
            end = len(marked) if end < 0 else end
            yield from self.pattern.finditer(text, begin, end)
            begin = marked.find(run, end)


@cache
def _marks(characters: bytes) -> bytes:
    """Return a table for ``bytes.translate`` that replaces ``characters`` by "x" and all others by spaces."""
    return bytes(b"x "[code not in characters] for code in range(256))


def _decoded(text: str) -> Iterator[str]:
    """Yield the texts that are encoded in base64, in hexadecimal or in binary digits."""
    data = text.encode("ascii", "replace")
    for encoding in _ENCODINGS:
        for match in islice(encoding.matches(text, data), _AT_MOST):
            if found := _readable(encoding.decode(match[0])):
                yield found


def _from_base64(blob: str) -> bytes:
    blob = blob.replace("-", "+").replace("_", "/")
    try:
        return b64decode(blob + "=" * (-len(blob) % 4), validate=True)
    except Error:  # the encoded text has one character too many
        return b""


def _from_hex(blob: str) -> bytes:
    return bytes.fromhex(re.sub("[ :]", "", blob))


def _from_binary(blob: str) -> bytes:
    return bytes(int(digits, 2) for digits in re.findall("[01]{8}", blob))


def _readable(data: bytes) -> str:
    """Decode bytes as text; empty if they are not printable text."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ""
    return text if all(char.isprintable() or char.isspace() for char in text) else ""


_ENCODINGS: Final = (
    _Encoding(
        re.compile(r"[A-Za-z0-9+/_-]{24,}"), ascii_letters.encode() + digits.encode() + b"+/_-", 24, _from_base64
    ),
    _Encoding(re.compile(r"(?:[0-9A-Fa-f]{2}[ :]?){16,}"), hexdigits.encode() + b" :", 32, _from_hex),
    _Encoding(re.compile(r"(?:[01]{8} ?){8,}"), b"01 ", 64, _from_binary),
)
