"""Each value of a TOML file has the line on which it begins, also within lists and braces, and however hostile."""

from __future__ import annotations

import tomllib

import pytest

from calipers.errors import ConfigError
from calipers.study.tables import Tables
from calipers.study.toml_lines import DEEPEST, Place, lines_of

TEXT = """\
a.b = 1 # \"\"\"
title = \"\"\"
[x]
y = 1
\"\"\"
day = 1979-05-27 07:32:00
[judges."a\\u0041"]
vices = [
  { kind = "N", sd = [1,
    2] },

  # a remark, with ] and {
  { kind = "M", "s x" = { q = 1 } }, 'a', \"\"\"
 s\"\"\",
]
none = {}
[[arms]]
name = 'x#'
panel = [{noise = 1}, {noise = 2}]
[[arms.inner]]
k = 1
[arms.inner.more]
l = 1
[[arms]]
"""


def places_in(value: object, place: Place = ()) -> list[Place]:
    """Every place of a file's content."""
    found = [place] if place else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        found += places_in(inner, (*place, key))
    return found


def test_every_value_of_a_file_has_a_line():
    content = tomllib.loads(TEXT)
    assert set(lines_of(TEXT, content)) == set(places_in(content))


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("a", "b"), 1),
        (("title",), 2),
        (("day",), 6),
        (("judges", "aA", "vices"), 8),
        (("judges", "aA", "vices", 0, "sd"), 9),
        (("judges", "aA", "vices", 0, "sd", 1), 10),
        (("judges", "aA", "vices", 1, "s x", "q"), 13),
        (("judges", "aA", "vices", 3), 13),
        (("judges", "aA", "none"), 16),
        (("arms", 0, "panel", 1, "noise"), 19),
        (("arms", 0, "inner", 0, "more", "l"), 23),
        (("arms", 1), 24),
    ],
)
def test_a_value_within_lists_and_braces_has_its_own_line(place: Place, line: int):
    assert lines_of(TEXT, tomllib.loads(TEXT))[place] == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\nb = " + "[" * 5000 + "]" * 5000, 2),
        ("a = 1\nb = " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), 2),
        ("b = " + "[\n" * 200 + "]\n" * 200, DEEPEST + 1),
        ("b = " + "{a = " * 100 + "1" + "}" * 100, 1),
        (".".join(["a"] * 100_000) + " = 1", 1),
        ("\n[" + ".".join(["a"] * 55) + "]", 2),
        ("b = " + "[" * 300_000, 1),
    ],
    ids=["deep", "just too deep", "lines", "braces", "dotted", "header", "open"],
)
def test_what_is_nested_without_end_is_an_error_with_its_line(text: str, line: int):
    with pytest.raises(ConfigError) as raised:
        Tables.parse(text, "study.toml")
    assert str(raised.value) == f"study.toml:{line}: tables or lists are nested more than 50 deep; no setting is"


def test_what_is_nested_as_deep_as_allowed_is_read():
    assert Tables.parse("b = " + "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1), "study.toml").problems == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1\nb = = 2", "study.toml:2: not valid TOML: Invalid value (column 5)"),
        ("a = [1", "study.toml: not valid TOML: Unclosed array (at end of document)"),
        ("a = 1\nb = " + "9" * 5000, "study.toml:2: a number has 5,000 digits; no setting needs more than 20"),
    ],
)
def test_what_is_no_toml_names_its_line(text: str, words: str):
    with pytest.raises(ConfigError) as raised:
        Tables.parse(text, "study.toml")
    assert str(raised.value) == words
