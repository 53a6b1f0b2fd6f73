"""Compare the values of two expressions: True, False, or None if the comparison is not certain.

Expressions with variables are compared at fixed points: two expressions that agree to 80 digits there are the same.
``quantities`` compares units, and ``equality`` points, intervals, sets and relations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import DecimalException, localcontext
from fractions import Fraction
from typing import Final

from calipers.verifiers.expressions.complex_numbers import CONTEXT, Complex, UndefinedError, close, complex_of
from calipers.verifiers.expressions.evaluation import Assignment, Value, value_of, variable_names
from calipers.verifiers.expressions.nodes import (
    Call,
    Node,
    Number,
    Power,
    Product,
    Symbol,
    UnreadableError,
    walk_nodes,
)

_MOST_VARIABLES: Final = 30
_FEWEST_DIGITS: Final = 3
_LONGEST_DECIMAL: Final = 300
_POSITIVE: Final = ((17, 13), (23, 29), (31, 19), (41, 37), (53, 59), (47, 43), (67, 61), (71, 83), (97, 89))
_SIGNS: Final = ((1, 1), (1, 1), (1, 1), (-1, 1), (1, -1), (-1, -1))
_FAR: Final = (37, 10**6 + 3)
"""Factors that move a point beyond most values at which an absolute value changes its sign."""
_WHOLE: Final = ((9, 5, 4, 3, 2), (5, 9, 2, 7, 3), (12, 7, 5, 3, 4))


def all_met(verdicts: Iterable[bool | None]) -> bool | None:
    """Combine verdicts on answers to verify by "and": True if all are True, False if any is False, else None."""
    found = set(verdicts)
    return False if False in found else None if None in found else True


def any_met(verdicts: Iterable[bool | None]) -> bool | None:
    """Combine verdicts on answers to verify by "or": True if any is True, False if all are False, else None."""
    found = set(verdicts)
    return True if True in found else None if None in found else False


def equal_values(expected: Node, found: Node) -> bool | None:
    """Whether two mathematical answers to compare have the same value.

    None if they have the same value in some cases only.
    """
    if expected == found:
        return True
    ends = (real_value(expected), real_value(found))
    if any(end is not None and abs(end) == math.inf for end in ends):
        return None if None in ends else ends[0] == ends[1]
    with localcontext(CONTEXT):
        by_base = {_agree_at(expected, found, assignments) for assignments in _test_points(expected, found)}
        if by_base == {False} and _is_rounded(expected, found):
            return None
    return by_base.pop() if len(by_base) == 1 else None


def real_value(node: Node) -> Fraction | float | None:
    """Return the real number, finite or infinite, that a mathematical expression to verify equals, or None."""
    match node:
        case Symbol("infty"):
            return math.inf
        case Product((Number(value), Symbol("infty"))) if value == -1:
            return -math.inf
    with localcontext(CONTEXT):
        found = _value_or_none(node, Assignment())
        if found is None or isinstance(found, Fraction):
            return found
        found = found.real()
    return None if found.im else Fraction(found.re)


def ratios(above: Node, below: Node) -> list[Complex | None]:
    """Return one mathematical expression to verify divided by another, at each test point.

    None stands where it has no value.
    """
    found: list[Complex | None] = []
    with localcontext(CONTEXT):
        for assignment in _points(sorted(variable_names(above, below)), base=10):
            try:
                numerator = complex_of(value_of(above, assignment))
                denominator = complex_of(value_of(below, assignment))
                found.append((numerator / denominator).real())
            except (UndefinedError, UnreadableError, DecimalException):
                found.append(None)
    return found


def _agree_at(expected: Node, found: Node, assignments: Sequence[Sequence[Assignment]]) -> bool | None:
    """Compare two expressions at points with positive values, then at other points.

    If they differ only at the other points, the verdict is None: they may be branches of the same function.
    """
    agreed: list[bool] = []
    for points in assignments:
        equal = [met for assignment in points if (met := _equal_in(expected, found, assignment)) is not None]
        if not equal:
            return None
        agreed.append(all(equal))
    return all(agreed) or (False if not agreed[0] else None)


def _equal_in(expected: Node, found: Node, assignment: Assignment) -> bool | None:
    wanted, given = _value_or_none(expected, assignment), _value_or_none(found, assignment)
    if wanted is None or given is None:
        return None
    if isinstance(wanted, Fraction) and isinstance(given, Fraction):
        return wanted == given
    one, other = complex_of(wanted), complex_of(given)
    try:
        met = close(one, other)
    except UndefinedError:
        return None
    if not met and assignment.symbols and one.real().im and other.real().im:
        # Two spellings of the same real expression may differ where their roots and logarithms are not real.
        return None if Symbol("i") not in walk_nodes(expected, found) else False
    return met


def _value_or_none(node: Node, assignment: Assignment) -> Value | None:
    try:
        return value_of(node, assignment)
    except (UndefinedError, UnreadableError, DecimalException):
        return None


def _test_points(expected: Node, found: Node) -> Iterator[list[list[Assignment]]]:
    """Yield points at which to compare, positive points first, and for two bases if a ``log`` has no base."""
    names = sorted(variable_names(expected, found))
    if len(names) > _MOST_VARIABLES:
        return
    calls = [node for node in walk_nodes(expected, found) if isinstance(node, Call)]
    called = {call.name for call in calls}
    has_open_log = any(call.name == "log" and len(call.arguments) == 1 for call in calls)
    for base in (10, None) if has_open_log else (10,):
        whole = [_assignment(names, [Fraction(one) for one in values], base) for values in _WHOLE]
        if not names:
            yield [[Assignment(base=base)]]
        elif called & {"factorial", "binomial"}:
            yield [whole]
        else:
            points = list(_points(names, base=base))
            far = [Assignment({name: scale * at for name, at in points[0].symbols.items()}, base) for scale in _FAR]
            bends = bool(called & {"abs", "sqrt", "root"})
            steps = any(map(_needs_integers, walk_nodes(expected, found)))
            yield [whole, points + far] if steps else [points[:3] + far * bends, points[3:]]


def _needs_integers(node: Node) -> bool:
    """Whether an expression makes sense for integers only: it has a floor, or a negative number to a variable power."""
    match node:
        case Call("floor" | "ceil"):
            return True
        case Power(base, exponent):
            value = None if variable_names(base) else real_value(base)
            return value is not None and value < 0 and bool(variable_names(exponent))
    return False


def _points(names: Sequence[str], *, base: int | None) -> Iterator[Assignment]:
    for turn, signs in enumerate(_SIGNS):
        values = [
            (Fraction(*_POSITIVE[(place * 2 + turn) % len(_POSITIVE)]) + place // 4) * signs[place % 2]
            for place in range(len(names))
        ]
        yield _assignment(names, values, base)


def _assignment(names: Sequence[str], values: Sequence[Fraction], base: int | None) -> Assignment:
    return Assignment({name: values[place % len(values)] for place, name in enumerate(names)}, base)


def _is_rounded(expected: Node, found: Node) -> bool:
    """Whether one of two expressions is a decimal number and the rounded value of the other.

    The required precision is unknown then.
    """
    for short, exact in ((found, expected), (expected, found)):
        short = short.factors[1] if isinstance(short, Product) and len(short.factors) == 2 else short  # noqa: PLW2901
        if not isinstance(short, Number) or short.places is None:
            continue
        value = real_value(exact)
        if len(str(abs(short.value.numerator))) < _FEWEST_DIGITS or value is None or abs(value) == math.inf:
            continue
        off = abs(abs(Fraction(value)) - abs(short.value)) * Fraction(10) ** short.places
        if off <= 1 and not _is_decimal(_value_or_none(exact, Assignment())):
            return True
    return False


def _is_decimal(value: Value | None) -> bool:
    """Whether a value is a decimal number of at most 300 places."""
    return isinstance(value, Fraction) and 10**_LONGEST_DECIMAL % value.denominator == 0
