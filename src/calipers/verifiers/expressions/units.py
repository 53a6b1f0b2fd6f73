"""Units of measure, as words after a number: which units are equal, and how a unit converts into another.

The units are data (``units.toml``). A word that is not in that file is a unit of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from calipers.types.packaged import read_packaged_toml

_TABLES: Final = read_packaged_toml("calipers.verifiers.expressions", "units.toml")
_KNOWN: Final[Mapping[str, tuple[str, int]]] = {
    word: (what, int(scale))
    for what, rows in _TABLES["measures"].items()
    for scale, words in rows.items()
    for word in words
}
"""Each unit's dimension, and its size in the smallest unit of that dimension."""
_FILLERS: Final = frozenset(_TABLES["fillers"].split())
UNIT_LETTERS: Final = frozenset(_TABLES["letters"].split())
r"""Units that may be written as letters without ``\text``."""
ANY: Final = "unit"
"""The word ``unit``, which may mean any unit."""
_WORD: Final = re.compile(r"([^\W\d_]+\.?|[$¢€£₹¥])(?:\^?\{?(-?\d)\}?)?")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: ``parts`` are its dimensions with their powers, ``scale`` is its size in the smallest units.

    ``count`` is the product of number words (``million``). ``known`` is True if every word is in ``units.toml``.
    """

    parts: Mapping[str, int] = field(default_factory=dict)
    scale: Fraction = Fraction(1)
    count: int = 1
    known: bool = True

    def __bool__(self) -> bool:
        return bool(self.parts)

    def times(self, other: Unit, power: int = 1) -> Unit:
        """Return this unit of an answer to verify times ``other`` to a power."""
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


def parse_unit(text: str) -> Unit:
    """Return the unit that words of an answer to verify name.

    For example ``square centimeters``, ``km/h``, ``miles per hour``, ``million dollars``.
    """
    above, *below = re.split(r"/|\bper\b", text)
    made = _product(above)
    for part in below:
        made = made.times(_product(part), -1)
    return made


def _product(text: str) -> Unit:
    words = [(found[1].strip(".") or found[1], int(found[2] or 1)) for found in _WORD.finditer(text)]
    made, last, power = NONE, NONE, 1
    for word, own in words:
        name = _TABLES["short_forms"].get(word.lower(), word.lower())
        if name in _TABLES["powers_before"]:
            power = _TABLES["powers_before"][name]
        elif name in _TABLES["powers_after"]:
            made = made.times(last, _TABLES["powers_after"][name] - 1)
        elif name in _TABLES["counts"]:
            made = made.times(Unit(count=_TABLES["counts"][name]))
        elif "/" in name or "^" in name:
            made = made.times(parse_unit(name), power * own)
        elif name not in _FILLERS or len(words) == 1:
            last = NONE.times(_one(name), power * own)
            made, power = made.times(last), 1
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
