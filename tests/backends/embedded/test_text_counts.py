from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.embedded import text_counts


def test_words_are_lower_cased_and_unspaced_scripts_come_in_pairs() -> None:
    assert text_counts.words("Order QX-81, please") == ["order", "qx", "81", "please"]
    assert text_counts.words("我要退票 now") == ["我要", "要退", "退票", "now"]
    assert text_counts.words("退") == ["退"]


def test_terms_keep_what_carries_meaning() -> None:
    assert text_counts.terms(text_counts.words("Where are the two warehouses of order 7?")) == {"wareh", "order", "7"}


@given(st.floats(0, 1e9, allow_nan=False))
def test_a_number_is_the_same_with_and_without_commas(value: float) -> None:
    assert text_counts.numbers(f"{value:,.2f}") == text_counts.numbers(f"{value:.2f}") != []


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("So it is 12.\nA: 540", "540"),
        ("thus \\boxed{1,300.0}", "1300"),
        ("#### 18", "18"),
        ("The answer is $7.50, I think", "7.5"),
        ("答案是 36", "36"),
        ("The first answer is 3. No: the answer is 4.", "4"),
        ("42", "42"),
        ("On 12 May at 10:00 the train left the station of Oslo for Bergen, where it arrived much later.", None),
        ("", None),
    ],
)
def test_the_number_given_as_the_answer(said: str, number: str | None) -> None:
    assert text_counts.concluding_number(said) == number


@pytest.mark.parametrize(
    ("shown", "counted"),
    [
        ("3*60=180", (1, 0)),
        ("<<3*60=180>>180", (1, 0)),
        ("3 x 60 = 190", (1, 1)),
        ("2 + 3 * 4 = 14", (1, 0)),
        ("10 / 3 = 3.33", (1, 0)),
        ("10 / 3 = 3.43", (1, 1)),
        ("$1,000 - $1 = $999", (1, 0)),
        ("1 + 2 = 3 and 1 + 2 = 4", (2, 1)),
        ("5 / 0 = 0", (0, 0)),
        ("20% * 50 = 10", (0, 0)),
        ("x+2=5", (0, 0)),
        ("no sums", (0, 0)),
    ],
)
def test_sums_shown_are_checked(shown: str, counted: tuple[int, int]) -> None:
    assert text_counts.count_calculations(shown) == counted


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 50))
def test_a_right_sum_is_right_and_a_wrong_one_wrong(a: int, b: int, off: int) -> None:
    assert text_counts.count_calculations(f"{a} + {b} = {a + b}") == (1, 0)
    assert text_counts.count_calculations(f"{a:,} + {b:,} = {a + b + off:,}") == (1, 1)


def test_repetition_begins_beyond_what_prose_does() -> None:
    prose = "The parcel left Oslo on Monday and reached Bergen on Tuesday after a long ride through the snow."
    assert text_counts.repetition_share(text_counts.words(prose)) == 0
    assert text_counts.repetition_share(text_counts.words("so I said " * 30)) > 0.9
    assert text_counts.repetition_share(["a"] * 5) == 0


@pytest.mark.parametrize(
    ("said", "cut"),
    [
        ("It was found that the parcel had left the warehouse in the early morning and was then brought to the", True),
        ("It was found that the parcel had left the warehouse in the early morning and was then brought home.", False),
        ("它已经发出。", False),
        ("Oslo", False),
        ("", False),
        ("```python\nprint(1)", True),
        ("```python\nprint(1)\n```", False),
        ("The parts of the shipment, as they are named in the warehouse's own list:\n- wheel\n- saddle", False),
    ],
)
def test_cut_means_prose_that_stops_midway(said: str, cut: bool) -> None:  # noqa: FBT001 - the expected value
    assert text_counts.is_cut(said) is cut


@pytest.mark.parametrize(
    ("said", "script"),
    [
        ("Hello", "latin"),
        ("你好,世界", "unspaced"),
        ("Größe", "latin"),
        ("Привет", "other"),
        ("12 + 3", ""),
        ("用 Python 写一个函数", "unspaced"),
    ],
)
def test_script(said: str, script: str) -> None:
    assert text_counts.script(said) == script


def test_sentences_are_counted_in_any_script() -> None:
    assert text_counts.sentence_count("One. Two! Three?\nFour") == 4
    assert text_counts.sentence_count("一句。两句。") == 2
    assert text_counts.sentence_count("Version 1.5 is out.") == 1
