"""Equal expressions, by math-verify in the sandbox."""

import importlib.util
import sys
from typing import Any

import pytest

from answers import answered
from calipers.errors import ConfigError
from calipers.verifiers import MathsEquivalence

INSTALLED = importlib.util.find_spec("math_verify") is not None


def test_without_the_package_the_remedy_is_named() -> None:
    if INSTALLED:
        pytest.skip("math-verify is installed")
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[verifiers\]'"):
        MathsEquivalence("1")


def test_an_expression_is_needed() -> None:
    with pytest.raises(ConfigError, match="must be an expression"):
        MathsEquivalence(" ")


@pytest.mark.skipif(not INSTALLED, reason="math-verify is not installed: pip install 'calipers[verifiers]'")
@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")
@pytest.mark.parametrize(("expected", "answer", "met"), [
    ("$\\frac{1}{2}$", "so it is $0.5$", True), ("42", "\\boxed{42}", True), ("42", "\\boxed{41}", False),
    ("$x^2+2x+1$", "$(x+1)^2$", True), ("$\\{1,2\\}$", "$\\{2,1\\}$", True), ("$(1,2]$", "$[1,2]$", False),
    ("$\\sqrt{8}$", "$2\\sqrt{2}$", True), ("3", "I do not know", False), ("3", "<think>3", None),
    ("1", "$9^{9^{9^{9}}}$", None),
])  # fmt: skip
def test_expressions_are_compared(expected: Any, answer: str | None, met: Any) -> None:
    found = MathsEquivalence(expected)(answered(answer))
    assert found.met is met, found
