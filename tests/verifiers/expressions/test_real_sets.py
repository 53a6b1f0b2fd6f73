"""Sets of real numbers in one form."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.expressions.latex import normalised_latex
from calipers.verifiers.expressions.parsing import parse_expression
from calipers.verifiers.expressions.real_sets import Piece, equal_real_sets, real_set
from calipers.verifiers.expressions.tokens import Choices


def pieces(text: str) -> Any:
    return real_set(parse_expression(normalised_latex(text), Choices()))


@pytest.mark.parametrize(("one", "other"), [
    (r"[0,1) \cup (2,3]", r"(2,3]\cup[0,1)"), (r"(0,1]\cup[1,2)", "(0,2)"), (r"(0,2) \cup (1,3)", "(0,3)"),
    (r"\mathbb{R}\setminus\{0\}", r"(-\infty,0)\cup(0,\infty)"),
    (r"x > 5", r"(5,\infty)"), (r"5 < x", r"(5,+\infty)"), (r"-2 \le x < 7", "[-2,7)"), (r"7 > x \ge -2", "[-2,7)"),
    (r"x \ne 3", r"(-\infty,3)\cup(3,\infty)"), (r"x<2 \text{ or } x>3", r"(-\infty,2)\cup(3,\infty)"),
    (r"\{x \mid x \ge 0\}", r"[0,\infty)"), (r"x \in [-2,7]", "[-2,7]"), (r"[1,5] \cap (3,9)", "(3,5]"),
    (r"(0,36)\setminus\{9\}", r"(0,9)\cup(9,36)"), (r"[\sqrt{4},3)", "[2,3)"), (r"(0,1)\cup\{1\}", "(0,1]"),
])  # fmt: skip
def test_a_set_is_itself_however_it_is_written(one: str, other: str) -> None:
    assert equal_real_sets(pieces(one), pieces(other))


@pytest.mark.parametrize(("one", "other"), [
    ("[0,1)", "[0,1]"), (r"(0,1)\cup(1,2)", "(0,2)"), ("x > 5", r"x \ge 5"), ("x > 5", "x < 5"),
    (r"(-\infty,0)", r"(-\infty,1)"), (r"\{1,2\}", "[1,2]"), (r"(0,9)\cup(9,36)", r"(0,9)\cup(9,35)"),
])  # fmt: skip
def test_an_end_that_differs_makes_another_set(one: str, other: str) -> None:
    assert not equal_real_sets(pieces(one), pieces(other))


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "x+1",
        "x > y",
        r"\{x \mid x = 3k\}",
        "(x, 2)",
        r"x > 1 \text{ and } x < 2",
        r"x<2 \text{ or } y>3",
        "(1,2,3)",
    ],
)
def test_what_is_no_set_of_numbers_is_none(text: str) -> None:
    assert pieces(text) is None


@pytest.mark.parametrize("end", [Fraction(1), Fraction(-1), Fraction(10**6), Fraction(1, 10**6)])
def test_ends_are_one_number_if_they_agree_to_60_digits_of_the_larger(end: Fraction) -> None:
    def up_to(high: Fraction) -> tuple[Piece, ...]:
        return (Piece(Fraction(-(10**9)), False, high, True),)

    assert equal_real_sets(up_to(end), up_to(end + abs(end) / 10**60))
    assert not equal_real_sets(up_to(end), up_to(end + abs(end) * Fraction(11, 10**61)))


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 5), st.booleans(), st.booleans()), min_size=1, max_size=5))
def test_a_union_holds_what_one_of_its_parts_holds(parts: list[tuple[int, int, bool, bool]]) -> None:
    text = r"\cup".join(
        f"{'[' if low_in else '('}{low},{low + length}{']' if high_in else ')'}"
        for low, length, low_in, high_in in parts
    )
    found = pieces(text)
    for doubled in range(-20, 32):
        point = doubled / 2
        inside = any(
            low < point < low + length or (point == low and low_in) or (point == low + length and high_in)
            for low, length, low_in, high_in in parts
        )
        assert inside == any(
            one.low < point < one.high or (point == one.low and one.low_in) or (point == one.high and one.high_in)
            for one in found
        )
