"""Exactly this text, or what a regular expression finds."""

import sys
from typing import Any

import pytest

from answers import answered
from calipers.errors import ConfigError
from calipers.verifiers import Exact, Regex, WordCount

confined = pytest.param(
    True, marks=pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")
)


@pytest.mark.parametrize(("expected", "ignore_case", "answer", "met"), [
    ("Paris", False, " Paris\n", True), ("Paris", False, "paris", False), ("Paris", True, "PARIS", True),
    (("a", "b"), False, "b", True), ("Paris", False, "<think>London</think>Paris", True),
    ("Straße", True, "STRASSE", True),
    ("Paris", False, "<think>Paris", None), ("Paris", False, None, None), ("", False, "", None),
])  # fmt: skip
def test_exact_compares_the_final_answer(expected: Any, ignore_case: Any, answer: str | None, met: Any) -> None:
    if not expected:
        with pytest.raises(ConfigError, match="must be text"):
            Exact(expected)
        return
    assert Exact(expected, ignore_case=ignore_case)(answered(answer)).met is met


@pytest.mark.parametrize("inside", [confined, False])
@pytest.mark.parametrize(("pattern", "options", "answer", "met"), [
    (r"\b42\b", {}, "it is 42.", True), (r"\b42\b", {}, "142", False), ("YES", {"ignore_case": True}, "yes", True),
    ("yes", {"whole": True}, "yes, of course", False), ("y.s", {"whole": True}, "yes", True), ("x", {}, None, None),
])  # fmt: skip
def test_regex_searches_the_final_answer(pattern: str, options: Any, answer: str | None, met: Any, inside: Any) -> None:
    assert Regex(pattern, **options, confined=inside)(answered(answer)).met is met


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox confines code on Linux only")
def test_a_search_that_does_not_end_is_no_verdict() -> None:
    found = Regex("(a+)+$")(answered("a" * 60 + "b"))
    assert found.met is None
    assert "CPU" in found.reason


def test_what_is_no_expression_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="not a regular expression"):
        Regex("(")


@pytest.mark.parametrize(("bounds", "answer", "met"), [
    ((2, 3), "one", False), ((2, 3), "one two", True), ((2, 3), "don't stop,\nplease", True),
    ((2, 3), "a b c d", False),
    ((None, 1), "", True), ((None, 1), "a b", False), ((2, None), "<think>a b c</think>one", False),
    ((2, None), "<think>a b", None),
])  # fmt: skip
def test_words_are_what_spaces_part(bounds: Any, answer: str, met: Any) -> None:
    assert WordCount(*bounds)(answered(answer)).met is met


@pytest.mark.parametrize("bounds", [(None, None), (3, 2), (-1, None), (True, None), ("3", None), (None, 2.5)])
def test_bounds_that_are_none_are_refused(bounds: Any) -> None:
    with pytest.raises(ConfigError, match="whole numbers"):
        WordCount(*bounds)
