"""Compare two numbers with units: equal, not equal, or None if that is uncertain.

``comparison`` compares the numbers, and ``equality`` points, intervals, sets and relations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from calipers.types.packaged import read_packaged_toml
from calipers.verifiers.expressions.comparison import equal_values, real_value
from calipers.verifiers.expressions.nodes import (
    MINUS_ONE,
    ONE,
    Marked,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    UnreadableError,
    Words,
    contains_kind,
    walk_nodes,
)
from calipers.verifiers.expressions.units import ANY, NONE, Unit, parse_unit

_NUMBER_WORDS: Final = read_packaged_toml("calipers.verifiers.expressions", "words.toml")["numbers"]
_SMALL: Final = {word: number for number, word in enumerate(_NUMBER_WORDS["small"].split())}
_TENS: Final[list[str]] = _NUMBER_WORDS["tens"].split()
_HEDGE: Final = re.compile(
    r"(?<!\^)(?<!\^\{)(?<!\^-)[\d=]|\b(?:or|and|not|negative|minus|plus|half|twice|double|triple|roots?|times|nor|no|non"
    r"|until|to|through|between|multiples?|if|when|where|for|but|unless|either|than|less|more|least|most|about"
    r"|approximately|approx|roughly|around|maybe|possibly|mod|modulo)\b",
    re.IGNORECASE,
)
_LAST_PART: Final = re.compile(r"(.+?)(\s*/\s*|\s+per\s+|\s+)([^\s/]+)", re.DOTALL)
_DEGREES, _RADIANS = {"degrees": 1}, {"radians": 1}
_DEGREE: Final = Quotient(Symbol("pi"), Number(Fraction(180)))


def equal_quantities(expected: Node, found: Node) -> bool | None:  # noqa: PLR0911 - one line a case
    """Whether two numbers with units, in answers to compare, are equal.

    If only one of them has a unit, the other is assumed to omit it.
    """
    try:
        (wanted, unit), (given, other) = split_unit(expected), split_unit(found)
    except UnreadableError:
        return None
    wanted, given = _scaled(unit.count, wanted), _scaled(other.count, given)
    if not unit and not other:
        return equal_values(wanted, given)
    if [dict(unit.parts), dict(other.parts)] in ([_DEGREES, _RADIANS], [_RADIANS, _DEGREES]):
        in_degrees = wanted if "degrees" in unit.parts else given
        return equal_values(Product((in_degrees, _DEGREE)), given if in_degrees is wanted else wanted)
    unit, other = _without_radians(unit, other), _without_radians(other, unit)
    if unit.parts == other.parts:
        return equal_values(_scaled(unit.scale, wanted), _scaled(other.scale, given))
    met = equal_values(wanted, given)
    if not unit or not other:
        return _one_without(wanted, given, unit or other, met, omitted=bool(unit))
    unknown = ANY in unit.parts or ANY in other.parts or not (unit.known and other.known)
    if unknown and sum(unit.parts.values()) == sum(other.parts.values()):
        return None if met else met
    return False if met is not None else None


def _without_radians(unit: Unit, other: Unit) -> Unit:
    """Return ``unit`` without radians if ``other`` is a unit without an angle, because rad/s equals 1/s."""
    if unit.parts == other.parts or not other.parts or {"radians", "degrees"} & {*other.parts}:
        return unit
    return replace(unit, parts={name: power for name, power in unit.parts.items() if name != "radians"})


def split_unit(node: Node) -> tuple[Node, Unit]:  # noqa: C901, PLR0911 - one line a kind of node
    """Split an expression to verify into its number and its unit.

    Raises UnreadableError if words separate two numbers.
    """
    if not contains_kind(node, Words, Marked):
        return node, NONE
    match node:
        case Words(text):
            if (number := _number_word(text)) is not None:
                return Number(Fraction(number)), NONE
            if _HEDGE.search(text) or text.strip(" .,").lower() in ("squared", "cubed"):
                raise UnreadableError("words that are not a unit")
            return ONE, parse_unit(text)
        case Marked(operand, mark):
            return operand, parse_unit(mark)
        case Product(factors):
            return _product(factors)
        case Quotient(above, below):
            (one, unit), (other, per) = split_unit(above), split_unit(below)
            return (one if other == ONE else Quotient(one, other)), NONE.times(unit).times(per, -1)
        case Power(Words() as base, Number(value, None)) if value.denominator == 1 and 0 < abs(value) < 10:
            return ONE, _raised(base.text, value.numerator)
        case Sum(terms):
            parts = [split_unit(term) for term in terms]
            unit = parts[0][1]
            if unit and all(other.parts == unit.parts for _, other in parts):
                return _summed(parts), Unit(unit.parts, known=unit.known)
    return node, NONE


def _raised(text: str, power: int) -> Unit:
    """Return a unit in text with its last part raised to a power: in ``m/s`` and ``m s`` the last part is ``s``."""
    parts = _LAST_PART.fullmatch(text.strip())
    unit = parse_unit(parts[3] if parts else text)
    unit = unit.times(unit, power - 1)
    return parse_unit(parts[1]).times(unit, 1 if parts[2].isspace() else -1) if parts else unit


def is_number_word(text: str) -> bool:
    """Whether a text in a mathematical answer to verify is a number in words, such as ``twenty-one``."""
    return _number_word(text) is not None


def _number_word(text: str) -> int | None:
    text = text.strip(" .").lower()
    tens, _, ones = text.partition("-")
    if tens in _TENS and (not ones or 0 < _SMALL.get(ones, 0) < 10):
        return 20 + 10 * _TENS.index(tens) + _SMALL.get(ones, 0)
    return _SMALL.get(text)


def _product(factors: Sequence[Node]) -> tuple[Node, Unit]:
    """Split a product that contains words into number and unit: ``10 cm``, ``$ 5``, ``2 hours 30 minutes``."""
    if factors[0] == MINUS_ONE:
        value, unit = split_unit(Product(tuple(factors[1:])))
        return Product((MINUS_ONE, value)), unit
    pairs: list[tuple[list[Node], Unit]] = [([], NONE)]
    for factor in factors:
        value, unit = split_unit(factor)
        is_unit = bool(unit) or unit.count != 1
        if not is_unit and pairs[-1][1] and pairs[-1][0]:
            pairs.append(([], NONE))  # a number after a unit begins the next quantity
        numbers, before = pairs[-1]
        if value != ONE or not is_unit:
            numbers.append(value)
        pairs[-1] = (numbers, before.times(unit))
    values = [
        (ONE if not numbers else numbers[0] if len(numbers) == 1 else Product(tuple(numbers)), unit)
        for numbers, unit in pairs
    ]
    if len(values) == 1:
        return values[0]
    if all(unit.parts == values[0][1].parts for _, unit in values):
        return _summed(values), Unit(values[0][1].parts)
    raise UnreadableError("words between numbers")


def _summed(values: Sequence[tuple[Node, Unit]]) -> Sum:
    """Return the sum of quantities whose units measure the same, in the smallest unit."""
    return Sum(tuple(_scaled(unit.scale, _scaled(unit.count, one)) for one, unit in values))


def _scaled(scale: Fraction | int, node: Node) -> Node:
    return node if scale == 1 else Product((Number(Fraction(scale)), node))


def _one_without(wanted: Node, given: Node, unit: Unit, met: bool | None, *, omitted: bool) -> bool | None:  # noqa: FBT001 - three values
    """Compare a number that has a unit with a number that has none.

    The unit is taken to be omitted, unless the numbers show a conversion.
    """
    bare, other = (given, wanted) if omitted else (wanted, given)
    match dict(unit.parts):
        case {"percent": 1, **rest} if not rest:
            if equal_values(Quotient(other, Number(Fraction(100))), bare):
                return True
            size = real_value(wanted)
            if met and not omitted and (isinstance(wanted, Quotient) or size is None or -1 <= size <= 1):
                return None  # 0.5 is not 0.5 %, 3/2 is not 1.5 %, and it is unknown which the question asked for
        case {"degrees": 1, **rest} if not rest:
            if met is False:
                return None if equal_values(Product((other, _DEGREE)), bare) else False
            if met and Symbol("pi") in walk_nodes(given):
                return None  # the number is in radians but marked as degrees
    return met
