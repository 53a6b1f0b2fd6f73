"""What an expression with plus-minus signs means."""

import pytest

from calipers.verifiers.expressions import compare_answers


@pytest.mark.parametrize(("expected", "said", "met"), [
    ("1, -1", r"\pm 1", True), ("1, 1", r"\pm 1", False), ("1, -1", r"\pm 1 \mp 2", True),
    ("3, -3", r"\pm 1 \pm 2", True), ("3, 1, -1, -3", r"\pm 1 \pm 2", True), ("3, 1", r"\pm 1 \pm 2", False),
    ("7, 5, 3, 1, -1, -3, -5, -7", r"\pm 1 \pm 2 \pm 4", True), ("7, -7", r"\pm 1 \pm 2 \pm 4", True),
])  # fmt: skip
def test_two_signs_vary_together_or_each_on_its_own(expected: str, said: str, *, met: bool | None) -> None:
    assert compare_answers(expected, f"\\boxed{{{said}}}").met is met
