"""The nodes of an expression's tree. ``parsing`` builds the tree, and ``evaluation`` and ``equality`` read it.

Nodes are plain data. A negative is a product with -1, and a difference is a sum with such a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args


class UnreadableError(Exception):
    """Raised for an expression that cannot be parsed. The message says why."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written. ``places`` is the number of its decimal places, or None for a whole number."""

    value: Fraction
    places: int | None = None


@dataclass(frozen=True, slots=True)
class NumberInBase:
    """A number with its base as a subscript, ``2516_8``."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable or a constant (``pi``, ``e``, ``i``, ``infty``). ``name`` includes its decoration and subscript."""

    name: str


@dataclass(frozen=True, slots=True)
class Words:
    r"""The text in ``\text{...}``, or letters that are clearly a word."""

    text: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of ``terms``."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """The product of ``factors``."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """A fraction, or a division by a slash."""

    above: Node
    below: Node


@dataclass(frozen=True, slots=True)
class Power:
    """``base`` to the power of ``exponent``."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to arguments: ``sqrt``, ``root``, ``sin``, ``log`` (with its base), ``abs`` ..."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class PlusMinus:
    """The sign plus-minus and its ``operand``. With ``opposite`` the sign is minus-plus."""

    operand: Node
    opposite: bool = False


@dataclass(frozen=True, slots=True)
class Marked:
    """An expression followed by a degree sign or a percent sign."""

    operand: Node
    mark: Literal["degree", "percent"]


@dataclass(frozen=True, slots=True)
class Group:
    """Members in brackets: a point, an interval or a vector. In braces the members are a set."""

    left: str
    members: tuple[Node, ...]
    right: str


@dataclass(frozen=True, slots=True)
class Builder:
    """A set defined by a condition, ``{x | x > 0}``."""

    member: Node
    condition: Node


@dataclass(frozen=True, slots=True)
class Listed:
    """Several members without brackets, joined by commas, ``and`` or ``or``."""

    members: tuple[Node, ...]
    joint: Literal[",", "and", "or"] = ","


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix as rows of cells. All rows have the same length."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class SetOperation:
    """Two sets joined by ``cup``, ``cap`` or ``setminus``."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Relation:
    """``sides`` separated by ``signs``: ``=``, ``<``, ``>``, ``le``, ``ge``, ``ne``, ``approx``, ``in``, ``:``."""

    sides: tuple[Node, ...]
    signs: tuple[str, ...]


Node: TypeAlias = (
    Number
    | NumberInBase
    | Symbol
    | Words
    | Sum
    | Product
    | Quotient
    | Power
    | Call
    | PlusMinus
    | Marked
    | Group
    | Builder
    | Listed
    | Matrix
    | SetOperation
    | Relation
)

MINUS_ONE = Number(Fraction(-1))
ONE = Number(Fraction(1))


_PARTS: Final[Mapping[type, tuple[str, ...]]] = {
    kind: tuple(one.name for one in fields(kind) if "Node" in str(one.type)) for kind in get_args(Node)
}
"""The fields of each kind of node that contain nodes."""


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct children of a node in the tree of a mathematical expression to verify."""
    if isinstance(node, Matrix):
        return tuple(cell for row in node.rows for cell in row)
    found: list[Node] = []
    for name in _PARTS[type(node)]:
        part = getattr(node, name)
        found += part if isinstance(part, tuple) else (part,)
    return tuple(found)


def map_children(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a copy of a mathematical expression with ``change`` applied to each child, from left to right."""

    def changed(part: Any) -> Any:
        return tuple(map(changed, part)) if isinstance(part, tuple) else change(part)

    return replace(node, **{name: changed(getattr(node, name)) for name in _PARTS[type(node)]})


def walk_nodes(*nodes: Node) -> Iterator[Node]:
    """Yield the ``nodes`` of mathematical expressions to verify and all their descendants, in any order."""
    left = list(nodes)
    while left:
        node = left.pop()
        yield node
        left += children(node)


def contains_kind(node: Node, *kinds: type) -> bool:
    """Whether a mathematical expression to verify or any part of it is of one of ``kinds``."""
    return any(isinstance(one, kinds) for one in walk_nodes(node))


def product_of(one: Node, other: Node) -> Node:
    """Return the product of two mathematical expressions to verify, without nesting products."""
    first = one.factors if isinstance(one, Product) else (one,)
    return Product((*first, *(other.factors if isinstance(other, Product) else (other,))))
