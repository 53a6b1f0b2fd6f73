"""Text as a search for attacks compares it: without hidden characters and disguises, in plain lower case."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from html import unescape
from string import ascii_letters, ascii_uppercase, digits
from typing import Final, NamedTuple
from unicodedata import category, digit, normalize
from urllib.parse import unquote

_ASCII: Final = bytes(range(128))
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u093c]+")
"""Accents, points and vowel signs that writers may omit."""
_LETTERS: Final = {
    **dict.fromkeys("ßẞ", "s"), **dict.fromkeys("æÆœŒ", "e"), **dict.fromkeys("øØ", "o"), **dict.fromkeys("đĐðÐ", "d"),
    **dict.fromkeys("łŁ", "l"), **dict.fromkeys("ıİ", "i"), **dict.fromkeys("þÞŧ", "t"), **dict.fromkeys("ىیے", "ي"),
    **dict.fromkeys("ةۀەہھ", "ه"), "ς": "σ", "ک": "ك", "ə": "a", "ħ": "h", "ŋ": "n",
}  # fmt: skip
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁһӏԛԝбкмтвнгαεορυικνχτвѵꞵɑɡցհոսօ", "aeopcyxijsdhlqwbkmtbhraeopyiknxtbvbagghnuo"
)
_OTHER_ALPHABET: Final = "[\u0250-\u02af\u0370-\u03ff\u0400-\u052f\u0561-\u0586]"
_LOWER: Final = {ord(char): char.lower() for char in ascii_uppercase}
_FEW: Final = 64
"""A text with at most this many different characters beyond ASCII is translated faster by replacing them one by one."""
_MIXED = re.compile(f"[a-z]{_OTHER_ALPHABET}|{_OTHER_ALPHABET}[a-z]")
_TAGS = re.compile("[\U000e0020-\U000e007e]{4,}")
_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_HEXADECIMAL = re.compile(r"(?:[0-9A-Fa-f]{2}[\s:]?){16,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}(?:\s[A-Za-z0-9+/]{4,})*")
_DECODED = re.compile("[^\0-\x08\x0e-\x1f\x7f�]{12,}")
_TO_RUNS: Final = bytes(
    b" x"[code in f"{ascii_letters}{digits}+/".encode()] if code < 128 else 32 for code in range(256)
)
_RUN: Final = b"x" * 24
"""What a run of letters and digits that may be encoded text becomes by ``_TO_RUNS``."""


class PlainText(NamedTuple):
    """A text in two forms of equal length: ``shown`` is what a reader sees, ``plain`` the same in plain lower case.

    ``beyond_ascii`` is True if it has letters beyond ASCII, and not only punctuation.
    """

    shown: str
    plain: str
    beyond_ascii: bool = False


@lru_cache(2**13)
def _plain_form(char: str) -> str:
    if category(char)[0] not in "LMN":
        return char if char.isascii() else " "
    if category(char) == "Nd":
        return str(digit(char))
    if char in _LETTERS:
        return _LETTERS[char]
    letters = normalize("NFD", char)
    if len(letters) > 1 and _OPTIONAL_MARKS.fullmatch(letters[1:]):
        char = letters[0]
        return _LETTERS.get(char, char.lower())
    return char.lower() if len(char.lower()) == 1 else char


def plain_text(text: str) -> PlainText:
    """Return the text without invisible characters, and the same in plain lower case."""
    if text.isascii():
        return PlainText(text, text.lower())
    beyond = has_letters_beyond_ascii(text)
    if beyond:
        whole = normalize("NFKC", text)[: len(text) + 999]  # it may be 18 times longer
        text = _OPTIONAL_MARKS.sub("", _INVISIBLE.sub("", whole))
    forms = {char: _plain_form(char) for char in _beyond_ascii(text)}
    if len(forms) > _FEW:
        return PlainText(text, text.translate({ord(char): form for char, form in forms.items()} | _LOWER), beyond)
    plain = text
    for char, form in forms.items():
        plain = plain.replace(char, form)
    lower = plain.lower()
    return PlainText(text, lower if len(lower) == len(text) else plain, beyond)


def has_letters_beyond_ascii(text: str) -> bool:
    """Whether a text has letters, digits, marks or invisible characters beyond ASCII, and not only punctuation."""
    return not text.isascii() and any(map(_is_letter, _beyond_ascii(text)))


def _beyond_ascii(text: str) -> set[str]:
    """Return the characters beyond ASCII, by deleting ASCII bytes, which is faster than to test each character."""
    return set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))


@lru_cache(2**13)
def _is_letter(char: str) -> bool:
    form = normalize("NFKC", char)  # a full-width sign, which is also read as ASCII
    return category(char)[0] in "LMN" or _INVISIBLE.match(char) is not None or (len(form) == 1 and "!" <= form <= "~")


def split_name(name: str) -> str:
    """Split a name into words: ``giveFullMarks`` becomes "give Full Marks"."""
    name = name.replace("_", " ")
    return name if name.islower() else _HUMP.sub(" ", name)


def has_long_run(data: bytes) -> bool:
    """Whether a text, as bytes, has a run of letters and digits that may be encoded text."""
    return _RUN in data.translate(_TO_RUNS)


def hidden_texts(raw: str, text: PlainText) -> Iterator[str]:
    """Yield the text ``raw`` again for each disguise that it may have, decoded. Nothing is decoded twice.

    ``text`` is its plain form.
    """
    if "&#" in raw:
        yield unescape(raw)
    if "\\x" in raw or "\\u" in raw:
        yield _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), raw)
    if "%20" in raw:
        yield unquote(raw)
    if not raw.isascii():
        if any(char >= "\U000e0020" for char in _beyond_ascii(raw)):
            yield from ("".join(chr(ord(char) - 0xE0000) for char in tags) for tags in _TAGS.findall(raw))
        if any("\u0250" <= char <= "\u0586" for char in _beyond_ascii(text.plain)) and _MIXED.search(text.plain):
            yield text.plain.translate(_LOOK_ALIKES)  # letters of another alphabet that look Latin beside Latin ones
    if "20 7" in raw or "20:7" in raw or has_long_run(raw.encode("ascii", "replace")):
        encoded = _BASE64.findall(raw)
        yield split_name("\n".join(encoded))
        runs = ["".join(run.split()) + "AAA" for run in encoded]  # the last group may be incomplete
        blobs = [b64decode(run[start : len(run) - (len(run) - start) % 4]) for run in runs for start in range(4)]
        blobs += [bytes.fromhex("".join(pairs.replace(":", " ").split())) for pairs in _HEXADECIMAL.findall(raw)]
        yield "\n".join(text for blob in blobs for text in _DECODED.findall(blob.decode(errors="replace")))
