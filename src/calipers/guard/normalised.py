"""Normalise text for the search for attacks: without invisible characters, and in plain lower case.

Both forms of a text have the same length, so a position is valid in both. ``obfuscation`` decodes text that has to be
decoded first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from unicodedata import category, digit, normalize

_ASCII: Final = bytes(range(128))
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u093c]+")
"""Accents, points and vowel signs that writers may omit."""
_LETTERS: Final = {
    "ß": "s", "ẞ": "s", "æ": "e", "Æ": "e", "œ": "e", "Œ": "e", "ø": "o", "Ø": "o", "đ": "d", "Đ": "d", "ð": "d",
    "Ð": "d", "ł": "l", "Ł": "l", "ı": "i", "İ": "i", "þ": "t", "Þ": "t", "ς": "σ", "ى": "ي", "ی": "ي", "ک": "ك",
    "ة": "ه", "ۀ": "ه",
    "ە": "ه", "ہ": "ه", "ھ": "ه", "ے": "ي", "ə": "a", "ħ": "h", "ŋ": "n", "ŧ": "t",
}  # fmt: skip
_SEPARATORS: Final = frozenset("…\u00a0™\u2003\u2002\u2009\u202f\u3000·")
"""Characters between words that the NFKC normal form would replace by other characters."""
_FEW: Final = 64
"""A text with at most this many different characters is translated faster by replacing them one by one."""
LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁһӏԛԝбкмтвнгαεορυικνχτвѵꞵɑɡցհոսօ", "aeopcyxijsdhlqwbkmtbhraeopyiknxtbvbagghnuo"
)
MIXED = re.compile(
    r"[a-z][\u0250-\u02af\u0370-\u03ff\u0400-\u052f\u0561-\u0586]|[\u0250-\u02af\u0370-\u03ff\u0400-\u052f\u0561-\u0586][a-z]"
)


@dataclass(frozen=True, slots=True)
class NormalisedText:
    """A text in two forms of equal length: ``shown`` is what a reader sees, ``plain`` the same in plain lower case.

    ``letters`` are the characters of ``plain`` that are neither ASCII nor separators.
    """

    shown: str
    plain: str
    letters: frozenset[str] = frozenset()

    def part(self, begin: int, end: int) -> NormalisedText:
        """Return the part between two positions of a text normalised for the search for attacks, in both forms."""
        return NormalisedText(self.shown[begin:end], self.plain[begin:end], self.letters)


def normalise(text: str) -> NormalisedText:
    """Normalise ``text`` for the search for prompt injection. A text in ASCII is only changed to lower case."""
    if text.isascii():
        return NormalisedText(text, text.lower())
    foreign = _non_ascii(text)
    if any(_kind(char) == "odd" for char in foreign):
        text = _OPTIONAL_MARKS.sub("", _INVISIBLE.sub("", normalize("NFKC", text)))
        foreign = _non_ascii(text)
    plain = _replaced(text, {char: _plain(char) for char in foreign if _plain(char) != char}).lower()
    if len(plain) != len(text):  # a letter whose lower case is two characters
        plain = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    return NormalisedText(
        text, plain, frozenset(char for char in foreign if _kind(char) == "letter" and not _plain(char).isascii())
    )


def normalise_word(word: str) -> str:
    """Normalise a word from the lexicon of prompt injection as ``NormalisedText.plain`` is, so that the two compare."""
    return normalise(normalize("NFC", word)).plain


def _non_ascii(text: str) -> set[str]:
    """Return the characters of ``text`` beyond ASCII, by deleting ASCII bytes, which is faster than testing each."""
    return set(text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass"))


def _replaced(text: str, others: dict[str, str]) -> str:
    if len(others) > _FEW:
        return text.translate({ord(char): other for char, other in others.items()})
    for char, other in others.items():
        text = text.replace(char, other)
    return text


@lru_cache(2**13)
def _kind(char: str) -> str:
    """Classify a character as ``odd`` if it is invisible or changes under NFKC, else as ``letter`` or ``separator``."""
    if char in _SEPARATORS:
        return "separator"
    if _INVISIBLE.match(char) or _OPTIONAL_MARKS.match(char) or normalize("NFKC", char) != char:
        return "odd"
    return "letter" if category(char)[0] in "LMN" else "separator"


@lru_cache(2**13)
def _plain(char: str) -> str:
    """Return the plain form of a character, which is a space for a separator."""
    if _kind(char) != "letter":
        return " "
    if category(char) == "Nd":
        return str(digit(char))
    if char in _LETTERS:
        return _LETTERS[char]
    letters = normalize("NFD", char)
    if len(letters) > 1 and _OPTIONAL_MARKS.fullmatch(letters[1:]):
        return _LETTERS.get(letters[0], letters[0])
    return char.lower() if len(char.lower()) == 1 else char
