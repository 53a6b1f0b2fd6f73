"""A hundred digits, held against Python's own floats and against what is known."""

import cmath
import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.expressions import complex_numbers as numbers
from calipers.verifiers.expressions.complex_numbers import CONTEXT, Complex, UndefinedError


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    with localcontext(CONTEXT):
        yield


small = st.floats(-20, 20).filter(lambda x: x == 0 or abs(x) > 1e-3)


def near(found: Complex, expected: complex) -> bool:
    return cmath.isclose(complex(found.re, found.im), expected, rel_tol=1e-9, abs_tol=1e-9)


def made(value: complex) -> Complex:
    return Complex(Decimal(value.real), Decimal(value.imag))


@pytest.mark.parametrize(
    ("ours", "pythons"), [(numbers.exp, cmath.exp), (numbers.sine, cmath.sin), (numbers.cosine, cmath.cos)]
)
def test_entire_functions_are_pythons(
    ours: Callable[[Complex], Complex], pythons: Callable[[complex], complex]
) -> None:
    @given(small, st.floats(-5, 5))
    def check(re: float, im: float) -> None:
        with localcontext(CONTEXT):
            expected = pythons(complex(re, im))
            assert cmath.isclose(
                complex(ours(made(complex(re, im))).re, ours(made(complex(re, im))).im),
                expected,
                rel_tol=1e-9,
                abs_tol=1e-6,
            )

    check()


@given(small, small)
def test_logarithms_and_powers_are_pythons(re: float, im: float) -> None:
    with localcontext(CONTEXT):
        value = complex(re + 0.0, im + 0.0)  # decimals have one zero there
        if not value:
            with pytest.raises(UndefinedError):
                numbers.ln(made(value))
            return
        assert near(numbers.ln(made(value)), cmath.log(value))
        assert near(numbers.power(made(value), made(0.5 + 0.25j)), value ** (0.5 + 0.25j))


@pytest.mark.parametrize("size", ["1", "1e50", "1e-60"])
def test_numbers_are_one_if_they_agree_to_80_digits_of_the_larger(size: str) -> None:
    one = Decimal(size)
    assert numbers.close(Complex(one), Complex(one, one * Decimal("1e-80")))
    assert not numbers.close(Complex(one), Complex(one, one * Decimal("1.1e-80")))


@pytest.mark.parametrize("angle", [10**15, -(10**15)])
def test_an_angle_is_too_large_where_its_digits_no_longer_say_enough(angle: int) -> None:
    assert near(numbers.sine(Complex(Decimal(angle))), complex(math.sin(angle)))
    with pytest.raises(UndefinedError, match="too large"):
        numbers.sine(Complex(Decimal(angle + angle // 10**15)))


def test_numbers_so_small_that_they_may_be_rounding_errors_are_not_compared() -> None:
    assert not numbers.close(numbers.ZERO, Complex(Decimal("1e-85")))
    assert numbers.close(numbers.ZERO, numbers.ZERO)
    with pytest.raises(UndefinedError):
        numbers.close(numbers.ZERO, Complex(Decimal("9.9e-86")))


@given(st.floats(-1, 1))
def test_arcs_are_pythons(value: float) -> None:
    with localcontext(CONTEXT):
        assert near(numbers.arcsine(made(value)), math.asin(value))
        assert near(numbers.arctangent(made(value * 1e6)), math.atan(value * 1e6))


@given(st.floats(0, 1e6), st.integers(2, 9))
def test_roots_are_pythons_and_odd_ones_of_negative_numbers_are_real(value: float, index: int) -> None:
    with localcontext(CONTEXT):
        assert near(numbers.root(made(value), index), value ** (1 / index))
        if index % 2:
            assert near(numbers.root(made(-value), index), -(value ** (1 / index)))


def test_a_hundred_digits_are_right() -> None:
    assert str(numbers.PI)[:52] == "3.14159265358979323846264338327950288419716939937510"
    angle = Complex(numbers.PI / 6)
    assert numbers.close(numbers.sine(angle), Complex(Decimal("0.5")))
    assert not numbers.close(Complex(Decimal(10) ** 70 + 1), Complex(Decimal(10) ** 70))


@pytest.mark.parametrize("broken", [
    lambda: Complex(Decimal(1)) / Complex(Decimal(0)), lambda: numbers.power(Complex(Decimal(0)), Complex(Decimal(-1))),
    lambda: numbers.root(Complex(Decimal(2)), 0), lambda: numbers.arcsine(Complex(Decimal(2))),
    lambda: numbers.sine(Complex(Decimal(10) ** 40)),
    lambda: numbers.arctangent(Complex(Decimal(0), Decimal(1))),
    lambda: numbers.close(Complex(Decimal(10) ** -90), Complex(Decimal(0))),
])  # fmt: skip
def test_what_is_no_number_is_said(broken: Callable[[], object]) -> None:
    with pytest.raises(UndefinedError):
        broken()
