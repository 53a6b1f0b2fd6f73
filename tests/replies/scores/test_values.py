"""One written score to one number: conversions, and refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.scores.found import ABSURD, Unread, Value
from calipers.replies.scores.values import read_score_value

UNIT = (0.0, 1.0)


@given(st.floats(-1e5, 1e5, allow_nan=False))
def test_a_plain_number_is_itself_as_number_and_as_text(number: float) -> None:
    read = read_score_value(number, UNIT)
    assert read == Value(number + 0.0)
    assert read_score_value(f"{number:.6f}", UNIT) == Value(float(f"{number:.6f}") + 0.0)


@given(st.integers(0, 100), st.sampled_from([(0, 1), (0, 10), (0, 100), (1, 5), (-1, 1)]))
def test_percents_and_ratios_map_linearly_onto_the_scale(part: int, scale: tuple[int, int]) -> None:
    low, high = scale
    expected = low + part / 100 * (high - low)
    for written in (f"{part}%", f"{part} percent"):
        read = read_score_value(written, scale)
        assert isinstance(read, Value)
        assert read.number == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high"), [(0, 10), (1, 10), (0, 5), (1, 5)])
def test_a_ratio_to_the_top_of_the_scale_is_its_first_number(low: int, high: int) -> None:
    assert read_score_value(f"3/{high}", (low, high)) == Value(3.0)


@pytest.mark.parametrize(
    "raw", [True, False, None, [], [1, 2], {}, "", "high", "0.8x", "0.7-0.8", "1 or 2", "½", "0.9²"]
)
def test_what_is_no_single_number_is_unread(raw: object) -> None:
    assert isinstance(read_score_value(raw, UNIT), Unread)


@pytest.mark.parametrize("raw", [float("nan"), float("inf"), 10**400, ABSURD * 2, "1e300", "9" * 300])
def test_numbers_without_meaning_are_unread(raw: object) -> None:
    assert isinstance(read_score_value(raw, UNIT), Unread)


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        ("eighty-five", 85), ("ninety", 90), ("one hundred", 100), ("zero point eight five", 0.85), ("nine", 9),
        ("八", 8), ("零点九", 0.9), ("二〇", 20), ("〇", 0), ("两点五", 2.5),
        ("两百", 200), ("７", 7), ("٠٫٥", 0.5), ("0,5", 0.5), ("8 points", 8), ("8 (good)", 8),
        ("Score: 8", 8),
    ],
)  # fmt: skip
def test_words_scripts_and_units_are_read(raw: str, number: float) -> None:
    read = read_score_value(raw, UNIT)
    assert isinstance(read, Value)
    assert read.number == number


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(read_score_value(text, (0, 100)), Value | Unread)
