"""Compute the value of an expression: exactly if it is rational, else to a hundred digits.

A number with too many digits raises UndefinedError, which bounds the time. So does a division by zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Final, TypeAlias

from calipers.verifiers.expressions import complex_numbers as numbers
from calipers.verifiers.expressions.complex_numbers import ONE, TWO, Complex, UndefinedError, complex_of
from calipers.verifiers.expressions.nodes import (
    Call,
    Marked,
    Matrix,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    UnreadableError,
    walk_nodes,
)

Value: TypeAlias = Fraction | Complex
_ZERO: Value = Fraction(0)
_ONE: Value = Fraction(1)
_MOST_BITS: Final = 200_000
_ENOUGH_BITS: Final = 2_000
_MOST_FACTORIAL: Final = 5_000
_CONSTANTS: Final = frozenset({"pi", "e", "i", "infty"})
_FUNCTIONS: Final[Mapping[str, Callable[[Complex], Complex]]] = {
    "sin": numbers.sine,
    "cos": numbers.cosine,
    "tan": lambda x: numbers.sine(x) / numbers.cosine(x),
    "cot": lambda x: numbers.cosine(x) / numbers.sine(x),
    "sec": lambda x: ONE / numbers.cosine(x),
    "csc": lambda x: ONE / numbers.sine(x),
    "arcsin": numbers.arcsine,
    "arccos": lambda x: Complex(numbers.PI / 2) - numbers.arcsine(x),
    "arctan": numbers.arctangent,
    "exp": numbers.exp,
    "ln": numbers.ln,
    "sinh": lambda x: (numbers.exp(x) - numbers.exp(-x)) / TWO,
    "cosh": lambda x: (numbers.exp(x) + numbers.exp(-x)) / TWO,
    "lg": lambda x: numbers.ln(x) / Complex(Decimal(10).ln()),
}


@dataclass(frozen=True, slots=True)
class Assignment:
    """A test point: the values of an expression's variables, and the base of a ``log`` without a base (None for e)."""

    symbols: Mapping[str, Fraction] = field(default_factory=dict)
    base: int | None = 10


def variable_names(*nodes: Node) -> set[str]:
    """Return the names of the variables in mathematical expressions to verify.

    Constants such as ``pi`` are no variables.
    """
    return {node.name for node in walk_nodes(*nodes) if isinstance(node, Symbol) and node.name not in _CONSTANTS}


def value_of(node: Node, assignment: Assignment) -> Value:  # noqa: PLR0911 - one line a kind of node
    """Return the value of a mathematical expression to verify at a test point.

    Raises UndefinedError if the expression has no value there, UnreadableError if it can have none, such as a set.
    """
    match node:
        case Number(value):
            return value
        case Symbol(name):
            return _symbol(name, assignment)
        case Sum(terms):
            return reduce(_added, (value_of(term, assignment) for term in terms), _ZERO)
        case Product(factors):
            return reduce(_multiplied, (value_of(factor, assignment) for factor in factors), _ONE)
        case Quotient(above, below):
            return _divided(value_of(above, assignment), value_of(below, assignment))
        case Power(base, exponent):
            return _power(base, value_of(exponent, assignment), assignment)
        case Marked(operand, "percent"):
            return _divided(value_of(operand, assignment), Fraction(100))
        case Marked(operand):
            return _multiplied(value_of(operand, assignment), Complex(numbers.PI / 180))
        case Call(name, arguments):
            return _called(name, [value_of(one, assignment) for one in arguments], assignment)
    raise UnreadableError(f"a {type(node).__name__.lower()} is no number")


def as_matrix(node: Node) -> Matrix | None:
    """Return a mathematical expression to verify as a matrix if it is a matrix or a multiple of a matrix, else None."""
    match node:
        case Matrix():
            return node
        case Product(factors):
            found = [factor for factor in factors if isinstance(factor, Matrix)]
            if len(found) == 1:
                others = tuple(factor for factor in factors if factor is not found[0])
                return Matrix(tuple(tuple(Product((*others, cell)) for cell in row) for row in found[0].rows))
        case Quotient(Matrix(rows), below):
            return Matrix(tuple(tuple(Quotient(cell, below) for cell in row) for row in rows))
    return None


def _symbol(name: str, assignment: Assignment) -> Value:
    if name in assignment.symbols:
        return assignment.symbols[name]
    match name:
        case "pi":
            return Complex(+numbers.PI)
        case "e":
            return Complex(Decimal(1).exp())
        case "i":
            return Complex(Decimal(0), Decimal(1))
    raise UndefinedError(f"{name} is no number")


def _exact(operation: Callable[[Any, Any], Any], one: Value, other: Value) -> Value:
    """Apply an operation, exactly to fractions. Raises UndefinedError for a result with too many digits."""
    if not isinstance(one, Fraction) or not isinstance(other, Fraction):
        complex_result: Complex = operation(complex_of(one), complex_of(other))
        return complex_result
    result: Fraction = operation(one, other)
    if result.numerator.bit_length() + result.denominator.bit_length() > _MOST_BITS:
        raise UndefinedError("a number too large to compute")
    return result


_added = partial(_exact, operator.add)
_multiplied = partial(_exact, operator.mul)


def _divided(above: Value, below: Value) -> Value:
    if below == 0:
        raise UndefinedError("a division by zero")
    return _exact(operator.truediv, above, below)


def _power(base: Node, exponent: Value, assignment: Assignment) -> Value:  # noqa: PLR0911 - one line a kind of power
    if base == Symbol("e") and "e" not in assignment.symbols:
        return numbers.exp(complex_of(exponent))
    value = value_of(base, assignment)
    if not isinstance(exponent, Fraction):
        return numbers.power(complex_of(value), complex_of(exponent))
    if exponent.denominator != 1:
        return _rational_power(complex_of(value), exponent)
    whole = exponent.numerator
    if isinstance(value, Fraction):
        if not value and whole <= 0:
            raise UndefinedError("zero to a power of zero or less")
        if value in (0, 1, -1):
            return value if value >= 0 else Fraction(-1 if whole % 2 else 1)
        bits = (value.numerator.bit_length() + value.denominator.bit_length()) * abs(whole)
        if assignment.symbols and bits > _ENOUGH_BITS:
            return _whole_power(complex_of(value), whole)  # a hundred digits suffice at a test point
        if bits > _MOST_BITS:
            raise UndefinedError("a number too large to compute")
        return value**whole
    return _whole_power(value, whole)


def _whole_power(value: Complex, whole: int) -> Complex:
    if abs(whole) > 10**6:
        raise UndefinedError("a power too large to compute")
    made, left = ONE, abs(whole)
    while left:
        if left & 1:
            made = made * value
        value, left = value * value, left >> 1
    return made if whole >= 0 else ONE / made


def _rational_power(value: Complex, exponent: Fraction) -> Complex:
    if exponent.denominator > 10**4 or abs(exponent.numerator) > 10**6 or not value.size():
        return numbers.power(value, complex_of(exponent))
    return _whole_power(numbers.root(value, exponent.denominator), exponent.numerator)


def _called(name: str, given: list[Value], assignment: Assignment) -> Value:  # noqa: PLR0911 - one line a function
    first = given[0]
    match name:
        case "sqrt":
            return _root(first, 2)
        case "root":
            return _root(first, _whole(given[1]))
        case "abs":
            return abs(first) if isinstance(first, Fraction) else Complex(first.size())
        case "floor" | "ceil":
            exact = _real(first)
            return Fraction(math.floor(exact) if name == "floor" else math.ceil(exact))
        case "factorial":
            return Fraction(math.factorial(_whole(first, most=_MOST_FACTORIAL)))
        case "binomial":
            return Fraction(math.comb(_whole(first, most=_MOST_FACTORIAL), _whole(given[1], most=_MOST_FACTORIAL)))
        case "log":
            base = given[1] if len(given) > 1 else None if assignment.base is None else Fraction(assignment.base)
            above = numbers.ln(complex_of(first))
            return above if base is None else above / numbers.ln(complex_of(base))
    return _FUNCTIONS[name](complex_of(first))


def _root(value: Value, index: int) -> Value:
    if isinstance(value, Fraction) and index == 2 and value >= 0:
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above * above == value.numerator and below * below == value.denominator:
            return Fraction(above, below)
    return numbers.root(complex_of(value), index)


def _whole(value: Value, *, most: int = 10**4) -> int:
    if not isinstance(value, Fraction) or value.denominator != 1 or not 0 <= value <= most:
        raise UndefinedError("an argument that must be a whole number and is not")
    return value.numerator


def _real(value: Value) -> Fraction | Decimal:
    if isinstance(value, Fraction):
        return value
    value = value.real()
    if value.im:
        raise UndefinedError("the floor of a complex number")
    return value.re
