"""The values of expressions, and which take too long to compute."""

import pytest

from calipers.verifiers.expressions import compare_answers


@pytest.mark.parametrize(("expected", "said", "met"), [
    ("1", "i^{1000000}", True), ("1", "i^{1000004}", None), ("1", "i^{-1000000}", True), ("1", "i^{-1000004}", None),
    ("5000", r"\frac{5000!}{4999!}", True), ("5001", r"\frac{5001!}{5000!}", None),
    ("5000", r"\binom{5000}{1}", True), ("5001", r"\binom{5001}{1}", None),
])  # fmt: skip
def test_a_large_power_or_factorial_is_computed_up_to_its_limit(expected: str, said: str, *, met: bool | None) -> None:
    assert compare_answers(expected, f"\\boxed{{{said}}}").met is met
