"""The smallest parts of an expression."""

import pytest

from calipers.verifiers.expressions.latex import normalised_latex
from calipers.verifiers.expressions.nodes import Builder, Node
from calipers.verifiers.expressions.parsing import parse_expression
from calipers.verifiers.expressions.tokens import Choices


def tree(text: str) -> Node:
    return parse_expression(normalised_latex(text), Choices())


@pytest.mark.parametrize("mark", [":", "|", r"\mid"])
def test_a_set_of_what_meets_a_condition_is_told_by_any_of_its_marks(mark: str) -> None:
    assert isinstance(tree(rf"\{{x {mark} x > 0\}}"), Builder)
    assert tree(rf"\{{x {mark} x > 0\}}") == tree(r"\{x \mid x > 0\}")
    assert tree(rf"\{{x {mark} 0 < x < 1\}}") == tree(r"\{x \mid 0 < x < 1\}")
