"""Units of measure, as words behind a number: which are the same, and how many of one make another.

The units are data (``units.toml``); a word that is not among them is a unit of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from calipers.types.packaged import packaged

_TABLES: Final = packaged("calipers.verifiers.expressions", "units.toml")
_KNOWN: Final[Mapping[str, tuple[str, int]]] = {
    word: (what, int(scale))
    for what, rows in _TABLES["measures"].items()
    for scale, words in rows.items()
    for word in words
}
"""What each unit measures, and how many of the smallest unit it is."""
_FILLERS: Final = frozenset(_TABLES["fillers"].split())
UNIT_LETTERS: Final = frozenset(_TABLES["letters"].split())
"""Units that letters without ``\\text`` may be."""
ANY: Final = "unit"
"""The word that stands for whichever unit is meant."""
_WORD: Final = re.compile(r"([^\W\d_]+\.?|[$¢€£₹¥])(?:\^?\{?(-?\d)\}?)?")
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Unit:
    """``parts`` are what is measured, each with its power; ``scale`` is how many of the smallest unit this unit is.

    ``count`` is what number words multiply by (``million``); ``known`` if every word is in the tables.
    """

    parts: Mapping[str, int] = field(default_factory=dict)
    scale: Fraction = Fraction(1)
    count: int = 1
    known: bool = True

    def __bool__(self) -> bool:
        return bool(self.parts)

    def times(self, other: Unit, power: int = 1) -> Unit:
        """This unit times ``other`` to a power."""
        parts = dict(self.parts)
        for name, number in other.parts.items():
            parts[name] = parts.get(name, 0) + number * power
        scale = self.scale * (other.scale**power if other.parts else 1)
        return Unit(
            {name: number for name, number in parts.items() if number},
            scale,
            self.count * other.count,
            self.known and other.known,
        )


NONE: Final = Unit()


def unit_of(text: str) -> Unit:
    """The unit that words name: ``square centimeters``, ``km/h``, ``miles per hour``, ``million dollars``."""
    text = text[:_LONGEST]
    above, *below = re.split(r"/|\bper\b", text)
    made = _product(above)
    for part in below:
        made = made.times(_product(part), -1)
    return made


def _product(text: str) -> Unit:
    words = [(found[1].strip(".") or found[1], int(found[2] or 1)) for found in _WORD.finditer(text)]
    made, power = NONE, 1
    for word, own in words:
        name = _TABLES["short_forms"].get(word.lower(), word.lower())
        if name in _TABLES["powers_before"]:
            power = _TABLES["powers_before"][name]
        elif name in _TABLES["powers_after"]:
            made = made.times(made, _TABLES["powers_after"][name] - 1)
        elif name in _TABLES["counts"]:
            made = made.times(Unit(count=_TABLES["counts"][name]))
        elif "/" in name or "^" in name:
            made = made.times(unit_of(name), power * own)
        elif name not in _FILLERS or len(words) == 1:
            made, power = made.times(_one(name), power * own), 1
    return made


def _one(word: str) -> Unit:
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        if form in _KNOWN:
            what, scale = _KNOWN[form]
            if what == "volume":
                return Unit({"length": 3}, Fraction(scale) * 10**12)
            return Unit({what: 1}, Fraction(scale))
        if form == ANY:
            return Unit({ANY: 1})
    return Unit({word.removesuffix("s"): 1}, known=False)
