"""The tokens of an expression."""

from fractions import Fraction

import pytest

from calipers.verifiers.expressions.latex import normalised_latex
from calipers.verifiers.expressions.nodes import Node, Number, Quotient, Sum, UnreadableError
from calipers.verifiers.expressions.parsing import parse_expression
from calipers.verifiers.expressions.tokens import Choices


def tree(text: str) -> Node:
    return parse_expression(normalised_latex(text), Choices())


THREE_QUARTERS = Quotient(Number(Fraction(3)), Number(Fraction(4)))


def test_a_number_before_a_fraction_is_a_mixed_number_if_a_space_is_between_them() -> None:
    assert tree("1 3/4") == Sum((Number(Fraction(1)), THREE_QUARTERS))
    assert tree(r"0.\overline{3} 3/4") == Sum((Number(Fraction(1, 3)), THREE_QUARTERS))
    assert tree(r"5 \cdot 1 3/4") == tree(r"5 \cdot (1 3/4)")
    with pytest.raises(UnreadableError, match="without a sign between them"):
        tree(r"0.\overline{3}3/4")
