"""Sets of real numbers: intervals, points, unions, differences, and inequalities in one variable.

Two sets are compared by the ends of their intervals. ``equality`` compares lists and points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

from calipers.verifiers.expressions.comparison import real_value
from calipers.verifiers.expressions.nodes import Builder, Group, Listed, Node, Relation, SetOperation, Symbol

Real: TypeAlias = Fraction | float
_INFINITE: Final = math.inf
_MOST: Final = 60
_CLOSE: Final = Fraction(1, 10**60)
TURNED: Final = {"<": ">", ">": "<", "le": "ge", "ge": "le"}


class Piece(NamedTuple):
    """An interval from ``low`` to ``high``. ``low_in`` and ``high_in`` say whether the ends belong to it."""

    low: Real
    low_in: bool
    high: Real
    high_in: bool


Pieces: TypeAlias = tuple[Piece, ...]
_ALL: Final = (Piece(-_INFINITE, False, _INFINITE, False),)


def real_set(node: Node) -> Pieces | None:
    """Return the set of real numbers that an answer to verify describes, as sorted intervals, or None."""
    pieces = _pieces(node)
    return None if pieces is None or len(pieces) > _MOST else _united(pieces)


def is_real_set(node: Node) -> bool:
    """Whether a mathematical answer to verify can only be a set of real numbers, and not a point or a list."""
    match node:
        case SetOperation() | Builder():
            return True
        case Relation(_, signs):
            return any(sign in ("<", ">", "le", "ge", "in", "ne") for sign in signs)
        case Listed(members, "or"):
            return all(is_real_set(member) for member in members)
        case Group(left, (low, high), right):
            ends = (real_value(low), real_value(high))
            return left + right in ("[)", "(]") or any(end is not None and abs(end) == _INFINITE for end in ends)
        case Symbol(name):
            return name in ("mathbb(R)", "emptyset")
    return False


def equal_real_sets(one: Pieces, other: Pieces) -> bool:
    """Whether two answers to compare that are sets of real numbers have the same intervals."""
    return len(one) == len(other) and all(
        (a.low_in, a.high_in) == (b.low_in, b.high_in) and _equal(a.low, b.low) and _equal(a.high, b.high)
        for a, b in zip(one, other, strict=True)
    )


def _pieces(node: Node) -> Pieces | None:  # noqa: C901, PLR0911 - one line a kind of node
    match node:
        case Symbol("mathbb(R)"):
            return _ALL
        case Symbol("emptyset"):
            return ()
        case Group("{", members, "}"):
            points = [real_value(member) for member in members]
            return None if None in points else tuple(Piece(at, True, at, True) for at in points if at is not None)
        case Group(left, (low, high), right) if left in "([" and right in ")]":
            return _interval(real_value(low), left == "[", real_value(high), right == "]")
        case SetOperation("setminus", left, Group("{", members, "}")):
            return _without(_pieces(left), [real_value(member) for member in members])
        case SetOperation("cup" | "cap" as sign, left, right):
            one, other = _pieces(left), _pieces(right)
            if one is None or other is None:
                return None
            return (
                (*one, *other) if sign == "cup" else tuple(part for a in one for b in other for part in _common(a, b))
            )
        case Builder(Symbol(name), condition):
            return _pieces(condition) if only_variable(condition) == name else None
        case Listed(members, "or") if only_variable(node) is not None:
            parts = [_pieces(member) for member in members]
            return None if None in parts else tuple(piece for part in parts if part for piece in part)
        case Relation((Symbol(), of), ("in",)):
            return _pieces(of)
        case Relation():
            return _bounded(node)
    return None


def _interval(low: Real | None, low_in: bool, high: Real | None, high_in: bool) -> Pieces | None:  # noqa: FBT001 - as in Piece
    if low is None or high is None:
        return None
    return (Piece(low, low_in, high, high_in),) if low < high else ()


def _bounded(node: Relation) -> Pieces | None:
    """Return the interval in which an inequality in one variable holds, or None."""
    match node:
        case Relation((Symbol(), bound), (sign,)):
            value = real_value(bound)
        case Relation((bound, Symbol()), (sign,)):
            value, sign = real_value(bound), TURNED.get(sign, sign)
        case Relation((low, Symbol(), high), (first, second)):
            if first in (">", "ge") and second in (">", "ge"):
                low, high, first, second = high, low, TURNED[second], TURNED[first]
            known = {first, second} <= {"<", "le"}
            return _interval(real_value(low), first == "le", real_value(high), second == "le") if known else None
        case _:
            return None
    match sign:
        case "<" | "le":
            return _interval(-_INFINITE, False, value, sign == "le")
        case ">" | "ge":
            return _interval(value, sign == "ge", _INFINITE, False)
        case "ne":
            return _without(_ALL, [value])
    return None


def only_variable(node: Node) -> str | None:
    """Return the only variable in an answer to verify that is a relation or a list of relations, or None."""
    if isinstance(node, Listed):
        names = {only_variable(member) for member in node.members}
        return names.pop() if len(names) == 1 else None
    if not isinstance(node, Relation):
        return None
    sides = node.sides[:1] if node.signs == ("in",) else node.sides
    symbols = {side.name for side in sides if isinstance(side, Symbol)} - {"infty", "pi", "e"}
    return symbols.pop() if len(symbols) == 1 else None


def _without(pieces: Pieces | None, points: Sequence[Real | None]) -> Pieces | None:
    if pieces is None or None in points:
        return None
    for point in points:
        assert point is not None  # noqa: S101 - looked at above
        pieces = tuple(part for piece in pieces for part in _split(piece, point))
    return pieces


def _split(piece: Piece, point: Real) -> Pieces:
    if not piece.low <= point <= piece.high:
        return (piece,)
    parts = (Piece(piece.low, piece.low_in, point, False), Piece(point, False, piece.high, piece.high_in))
    return tuple(part for part in parts if part.low < part.high)


def _common(one: Piece, other: Piece) -> Pieces:
    low, low_out = max((one.low, not one.low_in), (other.low, not other.low_in))
    high, high_in = min((one.high, one.high_in), (other.high, other.high_in))
    closed = not low_out and high_in
    return (Piece(low, not low_out, high, high_in),) if low < high or (low == high and closed) else ()


def _united(pieces: Pieces) -> Pieces:
    """Return intervals in order, with touching intervals joined."""
    made: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: (one.low, not one.low_in)):
        last = made[-1] if made else None
        if (
            last is None
            or piece.low > last.high
            or (_equal(piece.low, last.high) and not (piece.low_in or last.high_in))
        ):
            made.append(piece)
            continue
        high, high_in = max((last.high, last.high_in), (piece.high, piece.high_in))
        made[-1] = Piece(last.low, last.low_in or (_equal(last.low, piece.low) and piece.low_in), high, high_in)
    return tuple(made)


def _equal(one: Real, other: Real) -> bool:
    if one == other:
        return True
    if abs(one) == _INFINITE or abs(other) == _INFINITE:
        return False
    one, other = Fraction(one), Fraction(other)
    return abs(one - other) <= _CLOSE * max(abs(one), abs(other))
