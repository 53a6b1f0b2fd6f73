"""Whether two expressions have the same value: True, False, or None if that cannot be told.

Expressions with variables are compared at fixed points: two that agree to 80 digits there are the same expression. Not
responsible for units (``quantities``), nor for points, intervals, sets and relations (``equality``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import DecimalException, localcontext
from fractions import Fraction
from typing import Final

from calipers.verifiers.expressions.complex_numbers import CONTEXT, Complex, UndefinedError, close, complex_of
from calipers.verifiers.expressions.evaluation import Value, World, value_of, variables
from calipers.verifiers.expressions.nodes import (
    Call,
    Node,
    Number,
    Power,
    Product,
    Symbol,
    UnreadableError,
    walk,
)

_MOST_VARIABLES: Final = 30
_FEWEST_DIGITS: Final = 3
_LONGEST_DECIMAL: Final = 300
_POSITIVE: Final = ((17, 13), (23, 29), (31, 19), (41, 37), (53, 59), (47, 43), (67, 61), (71, 83), (97, 89))
_SIGNS: Final = ((1, 1), (1, 1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_FAR: Final = (37, 10**6 + 3)
"""Scales of a point beyond which most bends of an absolute value lie."""
_WHOLE: Final = ((9, 5, 4, 3, 2), (5, 9, 2, 7, 3), (12, 7, 5, 3, 4))


def all_met(verdicts: Iterable[bool | None]) -> bool | None:
    """True if all are, False if one is False."""
    found = set(verdicts)
    return False if False in found else None if None in found else True


def any_met(verdicts: Iterable[bool | None]) -> bool | None:
    """True if one is, False if all are False."""
    found = set(verdicts)
    return True if True in found else None if None in found else False


def same_value(expected: Node, found: Node) -> bool | None:
    """Whether two numbers or expressions in variables are the same. None if they agree in some cases only."""
    if expected == found:
        return True
    ends = (real_of(expected), real_of(found))
    if any(end is not None and abs(end) == math.inf for end in ends):
        return None if None in ends else ends[0] == ends[1]
    with localcontext(CONTEXT):
        by_base = {_agree(expected, found, worlds) for worlds in _worlds(expected, found)}
        if by_base == {False} and _is_rounded(expected, found):
            return None
    return by_base.pop() if len(by_base) == 1 else None


def real_of(node: Node) -> Fraction | float | None:
    """The real number that ``node`` is, perhaps infinite; None if it is none."""
    match node:
        case Symbol("infty"):
            return math.inf
        case Product((Number(value), Symbol("infty"))) if value == -1:
            return -math.inf
    with localcontext(CONTEXT):
        found = _tried(node, World())
        if found is None or isinstance(found, Fraction):
            return found
        found = found.real()
    return None if found.im else Fraction(found.re)


def ratio(one: Node, other: Node) -> list[Complex | None]:
    """``one`` over ``other`` at each point; None if ``other`` is zero there, or one of them has no value."""
    found: list[Complex | None] = []
    with localcontext(CONTEXT):
        for world in _points(sorted(variables(one, other)), base=10):
            try:
                above, below = complex_of(value_of(one, world)), complex_of(value_of(other, world))
                found.append((above / below).real())
            except (UndefinedError, UnreadableError, DecimalException):
                found.append(None)
    return found


def _agree(expected: Node, found: Node, worlds: Sequence[Sequence[World]]) -> bool | None:
    """``worlds`` are points with positive numbers, then others: if only these differ, the two may be branches."""
    agreed: list[bool] = []
    for points in worlds:
        equal = [met for world in points if (met := _equal_in(expected, found, world)) is not None]
        if not equal:
            return None
        agreed.append(all(equal))
    return all(agreed) or (False if not agreed[0] else None)


def _equal_in(expected: Node, found: Node, world: World) -> bool | None:
    wanted, given = _tried(expected, world), _tried(found, world)
    if wanted is None or given is None:
        return None
    if isinstance(wanted, Fraction) and isinstance(given, Fraction):
        return wanted == given
    one, other = complex_of(wanted), complex_of(given)
    try:
        met = close(one, other)
    except UndefinedError:
        return None
    if not met and world.symbols and one.real().im and other.real().im:
        # Roots and logarithms of one real expression may differ as they are written, where they are not real.
        return None if Symbol("i") not in walk(expected, found) else False
    return met


def _tried(node: Node, world: World) -> Value | None:
    try:
        return value_of(node, world)
    except (UndefinedError, UnreadableError, DecimalException):
        return None


def _worlds(expected: Node, found: Node) -> Iterator[list[list[World]]]:
    """Points to compare at, positive ones and others; for two bases if a ``log`` does not name its own."""
    names = sorted(variables(expected, found))
    if len(names) > _MOST_VARIABLES:
        return
    calls = [node for node in walk(expected, found) if isinstance(node, Call)]
    called = {call.name for call in calls}
    has_open_log = any(call.name == "log" and len(call.arguments) == 1 for call in calls)
    for base in (10, None) if has_open_log else (10,):
        whole = [_world(names, [Fraction(one) for one in values], base) for values in _WHOLE]
        if not names:
            yield [[World(base=base)]]
        elif called & {"factorial", "binomial"}:
            yield [whole]
        else:
            points = list(_points(names, base=base))
            far = [World({name: scale * at for name, at in points[0].symbols.items()}, base) for scale in _FAR]
            bends = bool(called & {"abs", "sqrt", "root"})
            steps = any(map(_has_steps, walk(expected, found)))
            yield [whole, points + far] if steps else [points[:3] + far * bends, points[3:]]


def _has_steps(node: Node) -> bool:
    """Whether it is about whole numbers: a floor, or a negative number to the power of a variable."""
    match node:
        case Call("floor" | "ceil"):
            return True
        case Power(base, exponent):
            value = None if variables(base) else real_of(base)
            return value is not None and value < 0 and bool(variables(exponent))
    return False


def _points(names: Sequence[str], *, base: int | None) -> Iterator[World]:
    for turn, signs in enumerate(_SIGNS):
        values = [
            (Fraction(*_POSITIVE[(place * 2 + turn) % len(_POSITIVE)]) + place // 4) * signs[place % 2]
            for place in range(len(names))
        ]
        yield _world(names, values, base)


def _world(names: Sequence[str], values: Sequence[Fraction], base: int | None) -> World:
    return World({name: values[place % len(values)] for place, name in enumerate(names)}, base)


def _is_rounded(expected: Node, found: Node) -> bool:
    """Whether the one is a decimal number that the other, which is none, rounds to: how exact it must be is unknown."""
    for short, exact in ((found, expected), (expected, found)):
        short = short.factors[1] if isinstance(short, Product) and len(short.factors) == 2 else short  # noqa: PLW2901
        if not isinstance(short, Number) or short.places is None:
            continue
        value = real_of(exact)
        if len(str(abs(short.value.numerator))) < _FEWEST_DIGITS or value is None or abs(value) == math.inf:
            continue
        off = abs(abs(Fraction(value)) - abs(short.value)) * Fraction(10) ** short.places
        if off <= 1 and not _is_decimal(_tried(exact, World())):
            return True
    return False


def _is_decimal(value: Value | None) -> bool:
    """Whether it is a decimal number of moderate length."""
    return isinstance(value, Fraction) and 10**_LONGEST_DECIMAL % value.denominator == 0
