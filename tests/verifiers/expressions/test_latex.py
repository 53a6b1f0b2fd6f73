"""One notation for what LaTeX can write in many ways."""

import pytest

from calipers.verifiers.expressions.latex import normalised_latex
from calipers.verifiers.expressions.nodes import UnreadableError
from calipers.verifiers.expressions.parsing import parse_expression
from calipers.verifiers.expressions.tokens import Choices


@pytest.mark.parametrize("command", ["quad", "qquad", "left", "displaystyle", "limits"])
def test_a_command_without_meaning_separates_what_is_around_it(command: str) -> None:
    assert normalised_latex(rf"2\{command}3").split() == ["2", "3"]
    with pytest.raises(UnreadableError):
        parse_expression(normalised_latex(rf"2\{command}3"), Choices())
