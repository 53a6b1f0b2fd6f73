"""Mending damaged JSON: what is mended, what is kept apart, and what is called garbled."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.strictjson import CUT, Items, Pairs
from calipers.replies.tolerant import Parsed, Unparsed, parse_damaged_json


def read(text: str) -> Parsed:
    parsed = parse_damaged_json(text, 0)
    assert isinstance(parsed, Parsed)
    return parsed


def plain(node: object) -> object:
    """Mended nodes as JSON values, bare numbers as numbers."""
    if isinstance(node, Pairs):
        return {key: plain(value) for key, value in node}
    if isinstance(node, Items):
        return [plain(value) for value in node]
    if isinstance(node, str):
        try:
            return json.loads(node)
        except ValueError:
            return node
    return node


@pytest.mark.parametrize(
    "text",
    [
        "{'a': 1, 'b': 'x'}",
        '{a: 1, b: "x"}',
        '{"a": 1, "b": "x",}',
        '{"a": 1 "b": "x"}',
        '{"a" 1, "b": "x"}',
        '{"a: 1, "b": "x"}',
        '{"a": 1, b": "x"}',
        "{“a”: 1, “b”: “x”}",
        '{＂a＂：1，"b"："x"}',
        '{"a": 1, // note\n "b": "x" /* more */}',
        '{"a": 1, # note\n "b": "x"}',
        '{"a" => 1, "b" => "x"}',
        '{"a" = 1; "b" = "x"}',
        '{"a":: 1,, "b": "x"}',
        '{"a": 1, "b": "x"',
    ],
)
def test_common_slips_are_mended(text: str) -> None:
    parsed = read(text)
    assert plain(parsed.node) == {"a": 1, "b": "x"}
    assert not parsed.garbled


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ('said "done" and left', '{"e": "said "done" and left", "b": 1}'),
        ('f("x")', '{"e": "f("x")", "b": 1}'),
        ('has {"k": 2} in it', '{"e": "has {"k": 2} in it", "b": 1}'),
        ("it's fine", "{'e': 'it's fine', 'b': 1}"),
        ("a\nb", '{"e": "a\nb", "b": 1}'),
    ],
)
def test_loose_quotes_inside_a_string_stay_inside(inner: str, text: str) -> None:
    parsed = read(text)
    assert plain(parsed.node) == {"e": inner, "b": 1}
    assert not parsed.garbled


@pytest.mark.parametrize("text", ['{"a": 0.', '{"a": 0.8', '{"a": 0,', '{"a": "0.8', '{"a": 8 ', '{"a": 8\n'])
def test_a_scalar_at_which_the_text_ends_is_cut(text: str) -> None:
    parsed = read(text)
    assert list(parsed.node) == [("a", CUT)]
    assert parsed.cut


def test_repeated_keys_are_all_kept() -> None:
    assert list(read('{"a": "1", "a": "2",}').node) == [("a", "1"), ("a", "2")]


def test_a_string_whose_end_was_missed_is_garbled() -> None:
    assert read('{a: {e: "good, s: 1}, b: {e: "bad", s: 2}}').garbled


def test_words_between_values_are_garbled() -> None:
    assert read('[{"a": 1} and then {"a": 2}]').garbled


@given(st.text(alphabet=st.sampled_from("{}[]\",:'0.9a \n\\/*#`<“")).map(lambda tail: "{" + tail))
def test_any_text_is_read_or_given_up_and_the_reader_moves_on(text: str) -> None:
    parsed = parse_damaged_json(text, 0)
    assert 0 < parsed.end <= len(text)


@pytest.mark.parametrize(
    ("start", "unit", "most", "rest"),
    [
        ("", "[", 64, ""),
        ("", '{"a": ', 64, ""),
        ("[", "x,", 4_998, "]"),
        ('{"a": 1, ', "word! {} ", 13, "}"),
        ('{"a": "', 'x" ', 199, 'y", "b": 1}'),
    ],
)
def test_endless_damage_is_given_up_and_less_of_it_is_not(start: str, unit: str, most: int, rest: str) -> None:
    """What a hostile reply may cost is bounded, far above what an honest slip needs."""
    assert isinstance(parse_damaged_json(f"{start}{unit * most}{rest}", 0), Parsed)
    assert isinstance(parse_damaged_json(f"{start}{unit * (most + 1)}{rest}", 0), Unparsed)


def test_brackets_nested_too_deep_are_given_up_at_once() -> None:
    """The work is counted against the whole reply, which may state its verdict after them."""
    given_up = parse_damaged_json("[" * 65, 0)
    assert isinstance(given_up, Unparsed)
    assert given_up.work == 65


def test_an_unquoted_value_has_an_end_in_sight() -> None:
    """A longer one is prose that follows a key by chance."""
    assert plain(read(f"{{a: {'x' * 399}, b: 1}}").node) == {"a": "x" * 399, "b": 1}
    assert read(f"{{a: {'x' * 400}, b: 1}}").garbled


@pytest.mark.parametrize("dots", ["…", "..", "...", "… …", ",…", "/* more */", "// more\n", "# more\n"])
def test_ellipses_and_comments_are_passed_over(dots: str) -> None:
    parsed = read(f'[{{"a": 1}}{dots}]')
    assert plain(parsed.node) == [{"a": 1}]
    assert parsed.closed
