"""Quantities: numbers in words, and units."""

import pytest

from calipers.verifiers.expressions import compare_answers


@pytest.mark.parametrize(("expected", "said", "met"), [
    ("29", r"\text{twenty-nine}", True), ("20", r"\text{twenty}", True), ("30", r"\text{twenty-ten}", False),
    ("21", r"\text{Twenty-One.}", True), ("93", r"\text{ninety-three}", True), ("90", r"\text{ninety-zero}", False),
    ("30", r"\text{thirty}", True), ("90", r"\text{ninety}", True),
    ("11", r"\text{eleven}", True), ("20", r"\text{twenty-}", True), ("1", r"\text{-one}", False),
])  # fmt: skip
def test_a_number_in_words_is_its_number(expected: str, said: str, *, met: bool | None) -> None:
    assert compare_answers(expected, f"\\boxed{{{said}}}").met is met


@pytest.mark.parametrize(("expected", "said", "met"), [
    (r"5\text{ cm}", f"5\\text{{ cm{' cubed' * 300}}}", False), (r"5\text{ cm}^3", r"5\text{ cm cubed}", True),
])  # fmt: skip
def test_a_unit_that_is_absurd_is_another_unit_and_takes_no_time(expected: str, said: str, *, met: bool | None) -> None:
    assert compare_answers(expected, f"\\boxed{{{said}}}").met is met
