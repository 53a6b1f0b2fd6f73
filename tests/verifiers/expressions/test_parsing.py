"""LaTeX and plain text to one tree."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.verifiers.expressions.evaluation import Assignment, value_of
from calipers.verifiers.expressions.latex import normalised_latex
from calipers.verifiers.expressions.nodes import (
    Group,
    Listed,
    Node,
    Number,
    Relation,
    Sum,
    Symbol,
    UnreadableError,
    Words,
)
from calipers.verifiers.expressions.parsing import parse_expression
from calipers.verifiers.expressions.tokens import Choices

DEEPEST_BRACKETS = 19


def tree(text: str, **choices: bool) -> Node:
    return parse_expression(normalised_latex(text), Choices(**choices))


def value(text: str) -> Any:
    return value_of(tree(text), Assignment({"x": Fraction(3), "y": Fraction(5)}))


@pytest.mark.parametrize(("text", "expected"), [
    ("2+3*4", 14), ("2 - 3 - 4", -5), ("2/3/4", Fraction(1, 6)), ("-2^2", -4), ("(-2)^2", 4), ("2x^2y", 90),
    ("2(x+1)", 8), (r"\frac12", Fraction(1, 2)),
    (r"\frac 34", Fraction(3, 4)), (r"\frac9{19}", Fraction(9, 19)), (r"\frac{270}7", Fraction(270, 7)),
    (r"1\frac{4}{5}", Fraction(9, 5)), ("1 4/5", Fraction(9, 5)),
    (r"-1\frac45", Fraction(-9, 5)), (r"x\frac12", Fraction(3, 2)), (r"2\frac{x}{5}", Fraction(6, 5)),
    ("2^{-3}", Fraction(1, 8)), ("2^-3", Fraction(1, 8)), ("2**10", 1024),
    ("x^10", 3**10), ("10^{2}", 100), ("4!", 24), (r"\binom{5}{2}", 10), (r"\sqrt{49}", 7), (r"\sqrt49", 7),
    ("sqrt(49)", 7), (r"|2-5|", 3), (r"2|x-5|", 4), (r"\lfloor 7/2 \rfloor", 3),
    (r"\lceil \frac72 \rceil", 4), ("0.25", Fraction(1, 4)), (".5", Fraction(1, 2)),
    (r"0.\overline{3}", Fraction(1, 3)), (r"1.2\overline{36}", Fraction(68, 55)), (r"50\%", Fraction(1, 2)),
    (r"10{,}080", 10080), (r"10,\!080", 10080), (r"8\,192", 8192), ("½", Fraction(1, 2)), ("3²", 9), ("6÷2×5", 15),
    ("2·3−1", 5), (r"2 \cdot -3", -6), (r"\dfrac{1}{2}", Fraction(1, 2)),
    (r"\left( x+1 \right)^{2}", 16), (r"\displaystyle 5", 5), ("x y", 15), ("{5}", 5),
    (r"\\frac{1}{2}", Fraction(1, 2)), ("[2(x+1)]", 8), ("+".join(["(1)"] * 200), 200),
    ("(" * DEEPEST_BRACKETS + "1" + ")" * DEEPEST_BRACKETS, 1),
])  # fmt: skip
def test_precedence_is_mathematics_own(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("(1,2]", Group("(", (Number(Fraction(1)), Number(Fraction(2))), "]")), (r"\{x\}", Group("{", (Symbol("x"),), "}")),
    (r"\{\}", Symbol("emptyset")),
    ("1, 2", Listed((Number(Fraction(1)), Number(Fraction(2))))),
    (r"1 \text{ or } 2", Listed((Number(Fraction(1)), Number(Fraction(2))), "or")),
    ("x=1", Relation((Symbol("x"), Number(Fraction(1))), ("=",))),
    (r"x \leqslant 1", Relation((Symbol("x"), Number(Fraction(1))), ("le",))),
    ("x<=1", Relation((Symbol("x"), Number(Fraction(1))), ("le",))), ("x_1", Symbol("x_1")), ("x'", Symbol("x'")),
    (r"\vec{a}", Symbol("vec(a)")), (r"\text{east}", Words("east")),
    ("Monday", Words("Monday")), ("odd", Words("odd")), (r"\mathrm{e}", Symbol("e")),
])  # fmt: skip
def test_what_has_parts_is_told_by_them(text: str, expected: Node) -> None:
    assert tree(text) == expected


def test_what_may_be_read_in_two_ways_is_read_as_chosen() -> None:
    assert isinstance(tree("1,234"), Listed)
    assert tree("1,234", thousands=True) == Number(Fraction(1234))
    assert tree(r"\text{m}") == Words("m")
    assert tree(r"\text{m}", single_letters=True) == Symbol("m")
    world = Assignment({"x": Fraction(3)})
    assert value_of(tree("1/2x"), world) == Fraction(3, 2)
    assert value_of(tree("1/2x", greedy_slash=True), world) == Fraction(1, 6)
    assert isinstance(tree("abc + 1"), Sum)


@pytest.mark.parametrize("text", [
    "", "(", "1 2", "2 +", r"\frac{1}", r"\foo{2}", "x^2^3", "x2", r"\frac{3}{4}1", r"\int_0^1 x", r"\sum_{n} n",
    "1, 2, \\ldots", "(1,2", "1]", "?", r"\begin{cases} 1 \end{cases}",
    r"5^\circ + 2^3^2", r"x' + 2^3^2",
    "(" * (DEEPEST_BRACKETS + 1) + "1" + ")" * (DEEPEST_BRACKETS + 1),
    "5!!", "9" * 3000, "(" * 60 + "1" + ")" * 60, "1" + "/2" * 60, "日", "5_{99}", r"\sqrt",
    r"\begin{pmatrix} 1 & 2 \\ 3 \end{pmatrix}",
])  # fmt: skip
def test_what_is_not_understood_is_said_and_never_passed_over(text: str) -> None:
    with pytest.raises(UnreadableError):
        tree(text)


@given(st.text(alphabet="0123456789xyabc+-*/^_=<>()[]{}|!,;:'%&$\\ \nfrcsqtpimbogel", max_size=40))
def test_any_text_is_a_tree_or_unreadable(text: str) -> None:
    try:
        assert tree(text) == tree(text)
    except UnreadableError as error:
        assert str(error)  # noqa: PT017 - either is right
