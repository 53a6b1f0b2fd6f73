"""Expand plus-minus signs in a mathematical expression, and recognise expressions that label a value.

This module works on trees only and computes no values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

from calipers.verifiers.expressions.nodes import (
    MINUS_ONE,
    Call,
    Group,
    Listed,
    Node,
    PlusMinus,
    Power,
    Product,
    Quotient,
    Relation,
    Sum,
    Symbol,
    Words,
    children,
    contains_kind,
    map_children,
    walk_nodes,
)

_MOST_SIGNS: Final = 3


def is_label(node: Node) -> bool:
    """Whether an expression can label an answer to verify: ``x``, ``f(2)``, ``AB``, ``a + b`` can, ``2x`` cannot."""
    match node:
        case Symbol() | Words():
            return True
        case Product(factors):
            rest = factors[1:] if factors[0] == MINUS_ONE else factors
            return isinstance(rest[0], Symbol | Words | Call | Group | Power) and is_label(rest[0])
        case Sum() | Group() | Call() | Quotient():
            return all(map(is_label, children(node)))
        case Power(base, _):
            return is_label(base)
    return False


def expand_signs(node: Node) -> list[Node]:
    """Return the lists of values that a mathematical answer to verify can mean by its plus-minus signs.

    If there are several signs, they vary together in the first list and independently of each other in the second.
    """
    if not contains_kind(node, PlusMinus):
        return [node]
    match node:
        case Relation((left, *right), ("=",)) if is_label(left):
            return expand_signs(right[0])
        case Listed(members):
            return [Listed(_spread(members))]
        case Group("{", members, "}"):
            return [Group("{", _spread(members), "}")]
    together = Listed(_both(node))
    signs = sum(isinstance(one, PlusMinus) for one in walk_nodes(node))
    if signs == 1:
        return [together]
    return [together, Listed(tuple(_each_sign(node)) if signs <= _MOST_SIGNS else (node,))]


def _spread(members: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(
        one for member in members for one in (_both(member) if contains_kind(member, PlusMinus) else (member,))
    )


def _both(node: Node) -> tuple[Node, Node]:
    """Return two variants of ``node``: with the upper sign of every plus-minus, and with the lower sign."""
    return _with_sign(node, opposite=False), _with_sign(node, opposite=True)


def _with_sign(node: Node, *, opposite: bool) -> Node:
    if isinstance(node, PlusMinus):
        inside = _with_sign(node.operand, opposite=opposite)
        return Product((MINUS_ONE, inside)) if node.opposite != opposite else inside
    return map_children(node, lambda child: _with_sign(child, opposite=opposite))


def _each_sign(node: Node) -> list[Node]:
    """Return all variants of ``node``, one for each combination of the signs of its plus-minus."""
    if isinstance(node, PlusMinus):
        return [made for inside in _each_sign(node.operand) for made in (inside, Product((MINUS_ONE, inside)))]
    return [_with_children(node, parts) for parts in product(*map(_each_sign, children(node)))]


def _with_children(node: Node, parts: Sequence[Node]) -> Node:
    left = iter(parts)
    return map_children(node, lambda _: next(left))
