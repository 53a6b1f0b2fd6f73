"""Plus-minus signs written out, and which expressions name what they equal. On trees alone, without computing."""

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
    holds,
    rebuilt,
    walk,
)

_MOST_SIGNS: Final = 3


def is_name(node: Node) -> bool:
    """Whether ``node`` names what it equals: ``x``, ``f(2)``, ``AB``, ``a + b``, ``(x, y)``; not ``2x``."""
    match node:
        case Symbol() | Words():
            return True
        case Product(factors):
            rest = factors[1:] if factors[0] == MINUS_ONE else factors
            return isinstance(rest[0], Symbol | Words | Call | Group | Power) and is_name(rest[0])
        case Sum() | Group() | Call() | Quotient():
            return all(map(is_name, children(node)))
        case Power(base, _):
            return is_name(base)
    return False


def signed(node: Node) -> list[Node]:
    """What ``node`` can be with both signs, as lists; if it has several signs, first in step and then independently."""
    if not holds(node, PlusMinus):
        return [node]
    match node:
        case Relation((left, *right), ("=",)) if is_name(left):
            return signed(right[0])
        case Listed(members):
            return [Listed(_spread(members))]
        case Group("{", members, "}"):
            return [Group("{", _spread(members), "}")]
    together = Listed(_both(node))
    signs = sum(isinstance(one, PlusMinus) for one in walk(node))
    if signs == 1:
        return [together]
    return [together, Listed(tuple(_each_sign(node)) if signs <= _MOST_SIGNS else (node,))]


def _spread(members: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(one for member in members for one in (_both(member) if holds(member, PlusMinus) else (member,)))


def _both(node: Node) -> tuple[Node, Node]:
    """Every plus-minus with its first sign, and every plus-minus with its second."""
    return _with_sign(node, opposite=False), _with_sign(node, opposite=True)


def _with_sign(node: Node, *, opposite: bool) -> Node:
    if isinstance(node, PlusMinus):
        inside = _with_sign(node.operand, opposite=opposite)
        return Product((MINUS_ONE, inside)) if node.opposite != opposite else inside
    return rebuilt(node, lambda child: _with_sign(child, opposite=opposite))


def _each_sign(node: Node) -> list[Node]:
    """All choices of signs, independent of each other."""
    if isinstance(node, PlusMinus):
        return [made for inside in _each_sign(node.operand) for made in (inside, Product((MINUS_ONE, inside)))]
    return [_with_children(node, parts) for parts in product(*map(_each_sign, children(node)))]


def _with_children(node: Node, parts: Sequence[Node]) -> Node:
    left = iter(parts)
    return rebuilt(node, lambda _: next(left))
