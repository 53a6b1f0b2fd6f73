"""Finding documents: strict ones, mended ones, and none in prose."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.documents import find_documents, unescape_reply

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(JSON.filter(lambda value: isinstance(value, dict | list)), st.sampled_from(["", "Here: ", "note [sic] "]))
def test_a_strict_document_is_found_whole_wherever_it_stands(value: object, before: str) -> None:
    text = f"{before}{json.dumps(value)} end"
    documents = find_documents(text)
    assert documents is not None
    last = documents[-1]
    assert last.strict
    assert last.node == value
    assert text[last.start : last.end] == json.dumps(value)


@pytest.mark.parametrize(
    "text", ["", "no braces", "set {x} and {y}", "a [sic] b", ":{", "see {this and that", "f(x) = {"]
)
def test_prose_holds_no_document_with_content(text: str) -> None:
    documents = find_documents(text)
    assert documents is not None
    assert not any(document.node for document in documents)


def test_a_document_the_text_ends_in_is_cut_and_one_before_prose_is_only_unclosed() -> None:
    cut = find_documents('{"a": 1, "b": 2')
    unclosed = find_documents('{"a": 1, "b": {"c": 2}\n\nThat is all.')
    assert cut is not None
    assert unclosed is not None
    assert (cut[0].cut, cut[0].closed) == (True, False)
    assert (unclosed[0].cut, unclosed[0].closed) == (False, False)


def test_words_out_of_place_are_reported_as_garbled() -> None:
    documents = find_documents('{"a": 1} {"b": 2, "c" and then some "d": 3}')
    assert documents is not None
    assert [document.garbled for document in documents[:2]] == [False, True]


def test_too_many_documents_are_none() -> None:
    assert find_documents('{"a" 1}' * 5_000) is None


def test_quoting_around_the_whole_reply_is_taken_off_and_quoting_inside_is_not() -> None:
    assert unescape_reply("{&quot;a&quot;: 1}") == '{"a": 1}'
    assert unescape_reply('{\\"a\\": 1}') == '{"a": 1}'
    for text in ('{"a": "x &quot;y&quot;"}', 'say {"a": "{\\"b\\": 1}"}'):
        assert unescape_reply(text) == text


@pytest.mark.parametrize(
    ("piece", "most"),
    [
        ('{"a": 1} ', 2000),  # documents
        ("{'a': 1,,} ", 1500),  # four nodes of work each, 6,000 in all
    ],
)
def test_the_last_allowed_document_is_read_and_one_more_is_too_many(piece: str, most: int) -> None:
    assert len(find_documents(piece * most) or ()) == most
    assert find_documents(piece * (most + 1)) is None
