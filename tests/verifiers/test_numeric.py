"""Numbers in answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import answered
from calipers.errors import ConfigError
from calipers.verifiers import Numeric


@pytest.mark.parametrize(("expected", "options", "answer", "met"), [
    (42, {}, "The answer is 42.", True),
    (42, {}, "First 41, then 42", True),
    (42, {}, "42 or 41", False),
    (1234.5, {}, "That makes 1,234.50 euros", True),
    (1234567, {}, "1,234,567", True),
    (-3, {}, "It is −3", True),
    (50, {}, "50%", True),
    (0.1, {}, ".1", True),
    (1e-3, {}, "1e-3", True),
    (3.14159, {"tolerance": 0.01}, "3.14", True),
    (3.14159, {"tolerance": 0.001}, "3.14", False),
    (200, {"relative": 0.05}, "209.9", True),
    (200, {"relative": 0.05}, "211", False),
    (42, {"after": "####"}, "7 + 35\n#### 42 (checked twice)", True),
    (42, {"after": "####"}, "42", False),
    (42, {"after": "####"}, "#### 41\n#### 42", True),
    (42, {}, "no idea", False),
    (42, {}, "<think>42", None),
    (42, {}, None, None),
    (2, {}, "version 1.2.3", False),
    (0.1 + 0.2, {"tolerance": 1e-9}, "0.3", True),
    (0, {}, "1e9999", False),
    (5, {}, "9" * 5000, False),
])  # fmt: skip
def test_a_number_is_found_and_compared(expected: Any, options: Any, answer: str | None, met: Any) -> None:
    found = Numeric(expected, **options)(answered(answer))
    assert found.met is met, found


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6))
def test_a_number_equals_itself_however_it_is_written(number: int) -> None:
    check = Numeric(float(number), relative=1e-12)
    assert check(answered(f"So: {number}")).met
    assert check(answered(f"So: {number:,} in all")).met


@given(st.text())
def test_whatever_is_written_is_a_verdict(text: str) -> None:
    assert Numeric(1)(answered(text)).met in {True, False, None}


@pytest.mark.parametrize(
    "wrong", [{"expected": float("nan")}, {"expected": "42"}, {"expected": 1, "tolerance": -1}, {"expected": True}]
)
def test_what_is_no_number_is_a_mistake(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        Numeric(**wrong)


@pytest.mark.parametrize(("answer", "met"), [
    ("#### 42, up from 7", True),  # the first number after the mark,
    ("#### 7, not 42", False),  # not the last one
    ("#### 42\n#### 41", False),  # after the last mark, not the first
    ("42 ####", False),
])  # fmt: skip
def test_with_a_mark_the_first_number_after_the_last_mark_counts(answer: str, met: Any) -> None:
    assert Numeric(42, after="####")(answered(answer)).met is met


@pytest.mark.parametrize("options", [{"tolerance": 0.5}, {"relative": 0.05}, {"tolerance": 0.5, "relative": 0.01}])
def test_a_difference_of_exactly_the_tolerance_is_met_and_any_more_is_not(options: Any) -> None:
    check = Numeric(10, **options)
    assert check(answered("10.5")).met
    assert check(answered("9.5")).met
    assert not check(answered("10.500001")).met
    assert not check(answered("9.499999")).met
