"""Complex numbers of a hundred digits, and the functions of school mathematics on them.

``decimal`` has no sine and no complex numbers, and Python's floats would treat two large numbers as equal that differ
in the last digit. Every operation is bounded: a number beyond the allowed exponents raises, and no argument makes a
function slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Clamped, Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction
from typing import Final

DIGITS: Final = 100
CONTEXT: Final = Context(
    prec=DIGITS, Emax=100_000, Emin=-100_000, traps=[InvalidOperation, Overflow, DivisionByZero], flags=[Clamped]
)
PI: Final = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328"
    "23066470938446095505822317253594"
)
_CLOSE: Final = Decimal(10) ** -80
_NOTHING: Final = Decimal(10) ** -85
_LARGEST_ANGLE: Final = Decimal(10) ** 15
_MOST_TERMS: Final = 400


class UndefinedError(Exception):
    """Raised for a number that does not exist or cannot be computed in bounded time, such as 1/0."""


@dataclass(frozen=True, slots=True)
class Complex:
    """The complex number ``re + im i`` in decimal arithmetic."""

    re: Decimal
    im: Decimal = Decimal(0)

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __sub__(self, other: Complex) -> Complex:
        return Complex(self.re - other.re, self.im - other.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __truediv__(self, other: Complex) -> Complex:
        size = other.re * other.re + other.im * other.im
        if not size:
            raise UndefinedError("a division by zero")
        return Complex(
            (self.re * other.re + self.im * other.im) / size, (self.im * other.re - self.re * other.im) / size
        )

    def size(self) -> Decimal:
        """Return the absolute value of this complex number in an answer to verify."""
        return abs(self.re) if not self.im else (self.re * self.re + self.im * self.im).sqrt()

    def real(self) -> Complex:
        """Return this complex number of an answer to verify without an imaginary part that is only a rounding error."""
        return Complex(self.re) if abs(self.im) <= _CLOSE * max(abs(self.re), _CLOSE) else self


ZERO: Final = Complex(Decimal(0))
ONE: Final = Complex(Decimal(1))
TWO: Final = Complex(Decimal(2))


def complex_of(value: Fraction | Complex) -> Complex:
    """Convert a fraction in a mathematical answer into a complex number, in the precision of the context."""
    return value if isinstance(value, Complex) else Complex(Decimal(value.numerator) / Decimal(value.denominator))


def close(one: Complex, other: Complex) -> bool:
    """Whether the values of two mathematical answers to compare agree to 80 digits of the larger value.

    Raises UndefinedError if both values are so small that they may be rounding errors.
    """
    apart, size = (one - other).size(), max(one.size(), other.size())
    if apart > _CLOSE * size and size < _NOTHING:
        raise UndefinedError("too small to be distinguished from zero")
    return apart <= _CLOSE * size


def exp(value: Complex) -> Complex:
    """Return the exponential of a complex number in a mathematical answer to verify."""
    size = value.re.exp()
    return Complex(size) if not value.im else Complex(size * _cosine(value.im), size * _sine(value.im))


def ln(value: Complex) -> Complex:
    """Return the principal logarithm of a complex number in a mathematical answer to verify."""
    if not value.size():
        raise UndefinedError("the logarithm of zero")
    return Complex(value.size().ln(), _angle(value))


def power(base: Complex, exponent: Complex) -> Complex:
    """Return the principal value of a power in a mathematical answer to verify."""
    if not base.size():
        if exponent.re > 0:
            return ZERO
        raise UndefinedError("zero to a power of zero or less")
    return exp(exponent * ln(base))


def root(value: Complex, index: int) -> Complex:
    """Return a root in a mathematical answer to verify.

    For a negative number it is the real root if one exists, else the principal root.
    """
    if index < 1:
        raise UndefinedError("a root of an order below one")
    value = value.real()
    if not value.im and value.re < 0 and index % 2:
        return Complex(-root(Complex(-value.re), index).re)
    if not value.im and index == 2:
        far = abs(value.re).sqrt()
        return Complex(far) if value.re >= 0 else Complex(Decimal(0), far)
    return power(value, Complex(Decimal(1) / index))


def sine(value: Complex) -> Complex:
    """Return the sine of an angle in a mathematical answer to verify, in radians."""
    if not value.im:
        return Complex(_sine(value.re))
    turned = Complex(-value.im, value.re)
    return (exp(turned) - exp(-turned)) / Complex(Decimal(0), Decimal(2))


def cosine(value: Complex) -> Complex:
    """Return the cosine of an angle in a mathematical answer to verify, in radians."""
    if not value.im:
        return Complex(_cosine(value.re))
    turned = Complex(-value.im, value.re)
    return (exp(turned) + exp(-turned)) / TWO


def arcsine(value: Complex) -> Complex:
    """Return the principal arcsine of a real number from -1 to 1 in a mathematical answer to verify."""
    value = value.real()
    if value.im or abs(value.re) > 1:
        raise UndefinedError("the arcsine of a number outside -1 to 1")
    return Complex(_arctan2(value.re, (1 - value.re * value.re).sqrt()))


def arctangent(value: Complex) -> Complex:
    """Return the principal arctangent of a real number in a mathematical answer to verify."""
    value = value.real()
    if value.im:
        raise UndefinedError("the arc tangent of a complex number")
    return Complex(_arctan(value.re))


def _angle(value: Complex) -> Decimal:
    return _arctan2(value.im, value.re)


def _arctan2(y: Decimal, x: Decimal) -> Decimal:
    half = PI / 2
    if not x:
        return half.copy_sign(y) if y else Decimal(0)
    within = _arctan(y / x)
    if x > 0:
        return +within
    return within + PI if y >= 0 else within - PI


def _arctan(value: Decimal) -> Decimal:
    for _ in range(4):  # each turn halves the angle, so that the series converges fast
        value = value / (1 + (1 + value * value).sqrt())
    term = total = value
    square, number = value * value, 1
    while term and number < _MOST_TERMS and abs(term) > abs(total) * _CLOSE * _CLOSE:
        term = -term * square
        number += 2
        total += term / number
    return total * 16


def _sine(value: Decimal) -> Decimal:
    value = _within_a_turn(value)
    return _series(value, value * value, 1)


def _cosine(value: Decimal) -> Decimal:
    value = _within_a_turn(value)
    return _series(Decimal(1), value * value, 0)


def _series(term: Decimal, square: Decimal, number: int) -> Decimal:
    """Return the sum of the Taylor series of sine or cosine, beginning with ``term``."""
    total = term
    for _ in range(_MOST_TERMS):
        if abs(term) <= _CLOSE * _CLOSE:
            break
        term = -term * square / ((number + 1) * (number + 2))
        number += 2
        total += term
    return total


def _within_a_turn(value: Decimal) -> Decimal:
    """Return the equivalent of an angle between -pi and pi."""
    if abs(value) > _LARGEST_ANGLE:
        raise UndefinedError("an angle too large for the precision")
    with localcontext() as context:
        context.prec = DIGITS + 20
        return value - (value / (2 * PI)).to_integral_value() * 2 * PI
