"""Answers that are words, letters of options, or times."""

import pytest

from calipers.verifiers.expressions.word_answers import (
    answer_words,
    boxed_option,
    equal_times,
    equal_words,
    expected_option,
    expected_words,
    parse_time,
)


@pytest.mark.parametrize("text", ["C", "(C)", r"\text{(C)}", r"\text{C}", r"\textbf{(C)}", r"\mathrm{(C)}", "C."])
def test_an_option_is_expected_where_its_letter_stands_alone(text: str) -> None:
    assert expected_option(text) == "C"


@pytest.mark.parametrize("text", ["c", "x", "K", "AB", "C + 1", r"\text{Carl}", "2C", "I, II"])
def test_other_letters_are_no_option(text: str) -> None:
    assert expected_option(text) is None


@pytest.mark.parametrize(("text", "letter"), [
    ("C", "C"), ("(C)", "C"), (r"\text{(C)}", "C"), ("C. Paris", "C"), ("C) 5", "C"), ("C: 5", "C"),
    (r"\textbf{(C)}\ 5", "C"), ("Option C", "C"), ("Answer: (C)", "C"), ("[C]", "C"),
    ("A dog", None), ("A or B", None), ("5", None), ("c", None), ("Cat", None), ("AB", None),
])  # fmt: skip
def test_an_option_is_said_by_its_letter_and_not_by_an_article(text: str, letter: str | None) -> None:
    assert boxed_option(text) == letter


@pytest.mark.parametrize(("text", "words"), [
    (r"\text{Evelyn}", ("evelyn",)), ("east", ("east",)), (r"\text{the ellipse}", ("ellipse",)),
    ("two lines", ("two", "lines")),
    (r"\text{necessary but not sufficient}", ("necessary", "but", "not", "sufficient")),
    ("x", None), ("abc", None), ("x+y", None), (r"10\text{ cm}", None), (r"\pi", None), ("ABCD", None),
    (r"\text{5 PM}", None),
])  # fmt: skip
def test_words_are_expected_where_there_is_no_mathematics(text: str, words: tuple[str, ...] | None) -> None:
    assert expected_words(text) == words


def test_words_are_compared_without_case_articles_and_marks() -> None:
    assert equal_words(("ellipse",), answer_words(r"\text{An Ellipse.}"))
    assert equal_words(("ellipse",), answer_words("hyperbola")) is False
    assert equal_words(("east",), answer_words("north east")) is None
    assert equal_words(("north", "east"), answer_words("east")) is None
    assert equal_words(("east",), answer_words("5")) is False


@pytest.mark.parametrize(("one", "other", "met"), [
    ("6:00 PM", r"6\text{ p.m.}", True), ("6:00 PM", "18:00", True), ("6:00 PM", "6:00", None),
    ("6:00 PM", "6:00 AM", False), ("1:58 am", "1:59 am", False), ("5am", r"5:00\ \text{a.m.}", True),
])  # fmt: skip
def test_times_of_day(one: str, other: str, met: bool | None) -> None:  # noqa: FBT001 - the parameter of a test
    first, second = parse_time(one), parse_time(other)
    assert first is not None
    assert second is not None
    assert equal_times(first, second) is met
