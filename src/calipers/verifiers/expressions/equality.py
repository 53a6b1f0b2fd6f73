"""Compare two expressions as answers: by their parts if they have parts, otherwise by their values.

A verdict is True or False only if the comparison is certain. None means that the two may or may not be the same answer.
For points and intervals, the brackets and the order of the members count. Lists and sets may have their members in any
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from decimal import localcontext
from fractions import Fraction
from typing import Final

from calipers.verifiers.expressions.comparison import all_met, any_met, equal_values, ratios, real_value
from calipers.verifiers.expressions.complex_numbers import CONTEXT, Complex, UndefinedError, close
from calipers.verifiers.expressions.evaluation import as_matrix, variable_names
from calipers.verifiers.expressions.nodes import (
    MINUS_ONE,
    Builder,
    Call,
    Group,
    Listed,
    Matrix,
    Node,
    Number,
    NumberInBase,
    PlusMinus,
    Power,
    Product,
    Quotient,
    Relation,
    SetOperation,
    Sum,
    Symbol,
    Words,
    children,
    contains_kind,
    walk_nodes,
)
from calipers.verifiers.expressions.plus_minus import expand_signs, is_label
from calipers.verifiers.expressions.quantities import equal_quantities, is_number_word
from calipers.verifiers.expressions.real_sets import TURNED, equal_real_sets, is_real_set, only_variable, real_set

_MOST_MEMBERS: Final = 30
_LEAST: Final = (">", "ge")
"""The signs of those inequalities that are reversed before two inequalities are compared."""


def equal_answers(expected: Node, found: Node) -> bool | None:  # noqa: C901, PLR0911 - one line a kind of answer
    """Whether the answer to verify, ``found``, equals the answer ``expected``, or None if that is uncertain."""
    if expected == found:
        return True
    unlabelled = expected if _asks_for_all(expected) else _unlabelled(expected, found)
    expected, found = unlabelled, _unlabelled(found, expected)
    if contains_kind(expected, PlusMinus) or contains_kind(found, PlusMinus):
        return _either_sign(expected, found)
    if is_real_set(expected) or is_real_set(found):
        return _as_sets(expected, found)
    match expected, found:
        case Relation(), Relation():
            return _relations(expected, found)
        case Relation(), _:
            return _without_label(expected, found)
        case _, Relation():
            return _last_of(expected, found)
        case (Listed() | Group(left="{"), Listed() | Group(left="{")):
            return _collections(children(expected), children(found))
        case Group(), Group():
            return _groups(expected, found)
        case (Listed(), Group()) | (Group(), Listed()):
            return _bracketed_list(children(expected), children(found))
        case (Listed() | Group(), _) | (_, Listed() | Group()):
            return _one_and_several(expected, found)
        case NumberInBase(), _:
            return _based(expected, found)
        case _, NumberInBase(digits, base):
            return None if base == 10 or equal_values(expected, _unbased(digits)) else False
    return _matrices(expected, found) if as_matrix(expected) or as_matrix(found) else _leaves(expected, found)


def _leaves(expected: Node, found: Node) -> bool | None:
    if isinstance(found, Words) and not isinstance(expected, Words) and not is_number_word(found.text):
        return False
    return equal_quantities(expected, found)


def _either_sign(expected: Node, found: Node) -> bool | None:
    met = any_met(equal_answers(one, other) for one in expand_signs(expected) for other in expand_signs(found))
    return None if met and _are_called_differently(expected, found) else met


# --- labels: x = 5 equals 5, and f(x) = 2x equals 2x


def _unlabelled(node: Node, other: Node) -> Node:
    """Remove the label from an answer such as ``x = 5`` if the answer ``other``, with which it is
    compared, has none.
    """
    match node:
        case Relation((left, *right), ("=", *signs)) if not isinstance(other, Relation) and is_label(left):
            return right[0] if not signs else Relation(tuple(right), tuple(signs))
        case Relation((left, right), ("in",)) if (
            not isinstance(other, Relation)
            and is_label(left)
            and not (isinstance(right, Symbol) and right.name.startswith("mathbb"))
        ):
            return right
        case Listed(members, joint) if not _has_relations(other):
            names = [member.sides[0] for member in members if isinstance(member, Relation) and member.signs[0] == "="]
            if names and all(name == names[0] for name in names) and isinstance(members[0], Relation):
                return Listed(tuple(_unlabelled(member, Symbol("")) for member in members), joint)
    return node


def _asks_for_all(expected: Node) -> bool:
    """Whether the expected equation is an answer only as a whole, as ``x^2 + y^2 = 25`` is."""
    return isinstance(expected, Relation) and isinstance(expected.sides[0], Sum | Power)


def _are_called_differently(expected: Node, found: Node) -> bool:
    sides = [one.sides[0] for one in (expected, found) if isinstance(one, Relation) and one.signs == ("=",)]
    return len(sides) == 2 and is_label(sides[0]) and is_label(sides[1]) and sides[0] != sides[1]


def _has_relations(node: Node) -> bool:
    return isinstance(node, Listed) and any(isinstance(member, Relation) for member in node.members)


def _without_label(expected: Relation, found: Node) -> bool | None:
    """Compare an expected equation with a bare value. The value suffices if the left side of the
    equation is a label.
    """
    if expected.signs == ("=",) and is_label(expected.sides[0]):
        met = equal_answers(expected.sides[1], found)
        return None if met and _asks_for_all(expected) else met
    if set(expected.signs) == {":"}:
        value = Quotient(*expected.sides) if len(expected.sides) == 2 else None
        return None if value is not None and equal_answers(value, found) is not False else False
    if set(expected.signs) == {"="} and not variable_names(found):
        return _unlike(expected, found)
    return None


def _last_of(expected: Node, found: Relation) -> bool | None:
    """Compare an expected value with a chain of equations such as ``x = 2 + 3 = 5``, whose sides must all be equal."""
    sides, signs = list(found.sides), list(found.signs)
    while signs and signs[-1] == "approx":
        signs.pop()
        sides.pop()
    if set(signs) - {"="}:
        return None
    if is_label(sides[0]) and len(sides) > 1 and not (isinstance(expected, Symbol) and len(sides) == 1):
        sides = sides[1:]
    met = [equal_answers(expected, side) for side in sides]
    if all(met):
        return True
    if len(sides) == len(found.sides) and variable_names(found):
        return None  # a comparison would require solving the equation
    return False if set(met) == {False} else None


# --- equations and inequalities


def _relations(expected: Relation, found: Relation) -> bool | None:
    if set(expected.signs) == {":"} and set(found.signs) == {":"}:
        return _proportions(expected.sides, found.sides)
    if expected.signs == found.signs and _in_order(expected.sides, found.sides):
        return True
    if len(expected.signs) != 1 or len(found.signs) != 1:
        return _chains(expected, found)
    signs = {*expected.signs, *found.signs}
    if signs == {"="}:
        return _equations(expected, found)
    return _inequalities(expected, found) if signs <= TURNED.keys() else None


def _chains(expected: Relation, found: Relation) -> bool | None:
    """Compare two chains of equations by the first and last side of each: ``x = 2 + 3 = 5`` equals ``x = 5``."""
    ends = [Relation((one.sides[0], one.sides[-1]), ("=",)) for one in (expected, found) if set(one.signs) == {"="}]
    if len(ends) == 2 and len(found.sides) > 2 and all(equal_answers(one, found.sides[-1]) for one in found.sides[1:]):
        return equal_answers(*ends)
    return None


def _equations(expected: Relation, found: Relation) -> bool | None:
    """Compare two equations. They are equal if one is a multiple of the other.

    The verdict is None if the equations give the same value different labels.
    """
    if _multiple(_difference(expected), _difference(found)) is not None:
        return True
    if _is_label(expected.sides[0]) and _is_label(found.sides[0]) and expected.sides[0] != found.sides[0]:
        return None if equal_answers(expected.sides[1], found.sides[1]) is not False else False
    return False if _are_polynomials(expected, found) else None


def _is_label(node: Node) -> bool:
    """Whether a side of an equation is a label that could be named differently: ``y``, ``f(x)``, ``Area``."""
    return isinstance(node, Symbol | Words) or (isinstance(node, Product) and is_label(node))


def _are_polynomials(*nodes: Node) -> bool:
    """Whether expressions are polynomials. Two equal polynomial equations are always multiples of each other."""
    if any(isinstance(node, Call | PlusMinus | Group | Words) for node in walk_nodes(*nodes)):
        return False
    below = [node.below for node in walk_nodes(*nodes) if isinstance(node, Quotient)]
    return not variable_names(*below, *(node.exponent for node in walk_nodes(*nodes) if isinstance(node, Power)))


def _inequalities(expected: Relation, found: Relation) -> bool | None:
    signs = [TURNED[one.signs[0]] if one.signs[0] in _LEAST else one.signs[0] for one in (expected, found)]
    if signs[0] == signs[1]:
        factor = _multiple(_difference(expected), _difference(found))
        if factor is not None and not factor.im and factor.re > 0:
            return True
    return False if _are_polynomials(expected, found) else None


def _difference(relation: Relation) -> Node:
    """Return the left side minus the right side of an equation or a ``<``, and the negative of that for a ``>``."""
    left, right = reversed(relation.sides) if relation.signs[0] in _LEAST else relation.sides
    return Sum((left, Product((MINUS_ONE, right))))


def _multiple(above: Node, below: Node) -> Complex | None:
    """Return ``above`` divided by ``below`` if the ratio is the same number at every test point, else None."""
    factors = ratios(above, below)
    first = factors[0]
    with localcontext(CONTEXT), suppress(UndefinedError):
        if first is not None and first.size() and all(factor and close(factor, first) for factor in factors):
            return first
    return None


def _proportions(expected: Sequence[Node], found: Sequence[Node]) -> bool | None:
    if len(expected) != len(found):
        return False
    if _in_order(expected, found):
        return True
    if any(real_value(side) == 0 for side in (*expected, *found)):
        return False  # 5:00 is a time, not a ratio
    met = all_met(
        equal_values(Product((one, found[0])), Product((other, expected[0])))
        for one, other in zip(expected, found, strict=True)
    )
    likely_times = any(isinstance(side, Number) and 10 <= side.value < 60 for side in (expected[1], found[1]))
    return None if met and likely_times else met


# --- several answers


def _collections(expected: Sequence[Node], found: Sequence[Node]) -> bool | None:
    """Compare two lists or sets by their members in any order. None if the order of names may be part of the answer."""
    if len(expected) > _MOST_MEMBERS or len(found) > _MOST_MEMBERS:
        return True if _in_order(expected, found) else None
    left, unclear = list(found), False
    for one in expected:
        met = [equal_answers(one, other) for other in left]
        if True in met:
            del left[met.index(True)]
        elif None in met:
            unclear = True
        else:
            return False
    are_names = variable_names(*expected) or any(contains_kind(member, Words) for member in expected)
    in_doubt = are_names and not all(map(_is_named, expected))
    if unclear or (len(expected) == len(found) and in_doubt and not _in_order(expected, found)):
        return None
    return not left


def _bracketed_list(expected: Sequence[Node], found: Sequence[Node]) -> bool | None:
    """Compare a list in brackets with a list without brackets.

    Two members in brackets may be an interval, so that equal members prove nothing. With more than two members, the
    brackets make no difference.
    """
    if len(expected) > 2 and _in_order(expected, found):
        return True
    return False if _collections(expected, found) is False else None


def _is_named(member: Node) -> bool:
    """Whether a member of a list carries a label, as in ``x = 2``, so that the order of the list is irrelevant."""
    return isinstance(member, Relation) and member.signs == ("=",) and is_label(member.sides[0])


def _in_order(expected: Sequence[Node], found: Sequence[Node]) -> bool:
    return len(expected) == len(found) and all(
        equal_answers(one, other) for one, other in zip(expected, found, strict=True)
    )


def _groups(expected: Group, found: Group) -> bool | None:
    if len(expected.members) != len(found.members):
        return False
    met = all_met(equal_answers(one, other) for one, other in zip(expected.members, found.members, strict=True))
    if met is not False and (expected.left, expected.right) != (found.left, found.right):
        return False if len(expected.members) == 2 else None  # (1, 2] is not (1, 2), but [1, 2, 3] may be (1, 2, 3)
    return met


def _one_and_several(expected: Node, found: Node) -> bool | None:
    """Compare a single answer with a list or set, which can be equal to it only with a single member, as in ``{5}``."""
    several, one = (expected, found) if isinstance(expected, Listed | Group) else (found, expected)
    members = children(several)
    if len(members) == 1 and isinstance(several, Group) and several.left == "{":
        return (
            None if equal_answers(members[0], one) is not False else False
        )  # it is unknown whether the question asked for {5} or 5
    vector = as_matrix(one)
    return None if vector is not None and len(children(vector)) == len(members) else False


def _as_sets(expected: Node, found: Node) -> bool | None:  # noqa: PLR0911 - one line a case
    one, other = real_set(expected), real_set(found)
    if one is not None and other is not None:
        if not equal_real_sets(one, other):
            return False
        if not one:
            return None  # both are empty, but neither is written as the empty set
        return True if len({name for name in (only_variable(expected), only_variable(found)) if name}) < 2 else None
    if isinstance(expected, Relation) and isinstance(found, Relation):
        return _relations(expected, found)
    if isinstance(expected, Group) and isinstance(found, Group):
        return _groups(expected, found)
    if isinstance(expected, SetOperation | Builder) and type(expected) is type(found):
        parts = zip(children(expected), children(found), strict=True)
        signs = {one.sign for one in (expected, found) if isinstance(one, SetOperation)}
        return True if len(signs) < 2 and all(equal_answers(a, b) for a, b in parts) else None
    return None if one is not None and not one else _unlike(expected, found)


def _unlike(expected: Node, found: Node) -> bool | None:
    """Compare answers of different kinds: None if both have parts or bounds, else False."""
    both = all(
        isinstance(node, SetOperation | Builder | Relation | Group | Listed | Matrix) for node in (expected, found)
    )
    return None if both else False


# --- bases, matrices


def _based(expected: NumberInBase, found: Node) -> bool | None:
    """Compare a number in a base other than ten with another number. Digits and base must be the same."""
    if isinstance(found, NumberInBase):
        return (found.digits, found.base) == (expected.digits, expected.base)
    return None if equal_values(_unbased(expected.digits), found) else False


def _unbased(digits: str) -> Number:
    """Return the number that the digits of an answer mean in base ten."""
    return Number(Fraction(digits))


def _matrices(expected: Node, found: Node) -> bool | None:
    one, other = as_matrix(expected), as_matrix(found)
    if one is None or other is None:
        return _unlike(one or expected, other or found)
    if [len(row) for row in one.rows] != [len(row) for row in other.rows]:
        return False
    return all_met(equal_answers(a, b) for a, b in zip(children(one), children(other), strict=True))
