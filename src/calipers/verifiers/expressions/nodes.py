"""The nodes of an expression's tree, which ``parsing`` builds and ``evaluation`` and ``equality`` read.

Plain data. A negative is a product with -1, a difference a sum with such a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, get_args


class UnreadableError(Exception):
    """Not an expression that can be read here; the text says why."""


@dataclass(frozen=True, slots=True)
class Number:
    """A literal. ``places`` are its decimal places, None for a whole number."""

    value: Fraction
    places: int | None = None


@dataclass(frozen=True, slots=True)
class Based:
    """Digits with the base as a subscript, ``2516_8``."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable or a constant (``pi``, ``e``, ``i``, ``infty``), by name with its decoration or subscript."""

    name: str


@dataclass(frozen=True, slots=True)
class Words:
    r"""The text of ``\text{...}``, or what is plainly a word."""

    text: str


@dataclass(frozen=True, slots=True)
class Sum:
    """Terms added."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """Factors multiplied."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    """A fraction, or the two sides of a slash."""

    above: Node
    below: Node


@dataclass(frozen=True, slots=True)
class Power:
    """A base and its exponent."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function of its arguments: ``sqrt``, ``root``, ``sin``, ``log`` (with its base), ``abs``, ``factorial`` ..."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class PlusMinus:
    """Both signs at once; ``opposite`` for minus or plus."""

    operand: Node
    opposite: bool = False


@dataclass(frozen=True, slots=True)
class Marked:
    """With a degree sign or a percent sign after it."""

    operand: Node
    mark: Literal["degree", "percent"]


@dataclass(frozen=True, slots=True)
class Group:
    """Members in brackets: a point, an interval, a vector, or with ``{`` a set."""

    left: str
    members: tuple[Node, ...]
    right: str


@dataclass(frozen=True, slots=True)
class Builder:
    """A set by its condition, ``{x | x > 0}``."""

    member: Node
    condition: Node


@dataclass(frozen=True, slots=True)
class Listed:
    """Members without brackets, and what joins them."""

    members: tuple[Node, ...]
    joint: Literal[",", "and", "or"] = ","


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of cells, each row as long as the others."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """Two sets with ``cup``, ``cap`` or ``setminus`` between them."""

    sign: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Relation:
    """``sides`` with ``signs`` between them: ``=``, ``<``, ``>``, ``le``, ``ge``, ``ne``, ``approx``, ``in``, ``:``."""

    sides: tuple[Node, ...]
    signs: tuple[str, ...]


Node: TypeAlias = (
    Number
    | Based
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
    | Joined
    | Relation
)

MINUS_ONE = Number(Fraction(-1))
ONE = Number(Fraction(1))


_PARTS: Final[Mapping[type, tuple[str, ...]]] = {
    kind: tuple(one.name for one in fields(kind) if "Node" in str(one.type)) for kind in get_args(Node)
}
"""The fields of each kind of node that hold nodes."""


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below ``node``."""
    if isinstance(node, Matrix):
        return tuple(cell for row in node.rows for cell in row)
    found: list[Node] = []
    for name in _PARTS[type(node)]:
        part = getattr(node, name)
        found += part if isinstance(part, tuple) else (part,)
    return tuple(found)


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """``node`` with each of its children changed, from left to right."""

    def changed(part: Any) -> Any:
        return tuple(map(changed, part)) if isinstance(part, tuple) else change(part)

    return replace(node, **{name: changed(getattr(node, name)) for name in _PARTS[type(node)]})


def walk(*nodes: Node) -> Iterator[Node]:
    """``nodes`` and all nodes below them, in any order."""
    left = list(nodes)
    while left:
        node = left.pop()
        yield node
        left += children(node)


def holds(node: Node, *kinds: type) -> bool:
    """Whether ``node`` or any node below it is of one of ``kinds``."""
    return any(isinstance(one, kinds) for one in walk(node))


def times(one: Node, other: Node) -> Node:
    """A product, flat."""
    first = one.factors if isinstance(one, Product) else (one,)
    return Product((*first, *(other.factors if isinstance(other, Product) else (other,))))
