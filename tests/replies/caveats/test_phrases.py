"""Phrases of all kinds are found in one pass, whole words in most scripts, anywhere in those without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.caveats.phrases import FILES, find_phrases, fold_words, reaches_last_word
from calipers.replies.wordlists import WordList, word_lists


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Scratch THAT!", "CORRECTION"),
        ("Korrektur: nein", "CORRECTION"),
        ("corrección", "CORRECTION"),
        ("CORRECCION", "CORRECTION"),
        ("KB和BC搞混了", "SWAPS"),
        ("이 점수는 무작위입니다", "MEANINGLESS"),
        ("Я перепутал их", "RETRACTION"),
        ("Lower scores are better", "LOWER_IS_BETTER"),
    ],
)
def test_case_accents_and_endings_do_not_matter(text: str, kind: str) -> None:
    assert kind in find_phrases(fold_words(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("random forests", "CORRECTION"),
        ("awaiting", "CORRECTION"),
        ("a lower bound that is long and winding and about something else is better", "LOWER_IS_BETTER"),
    ],
)
def test_parts_of_words_and_words_far_apart_are_none(text: str, kind: str) -> None:
    assert kind not in find_phrases(fold_words(text))


def tables() -> dict[str, WordList]:
    return {name: table for file in FILES for name, table in word_lists(file).items()}


@pytest.mark.parametrize("kind", sorted(tables()))
def test_every_phrase_of_the_tables_is_found(kind: str) -> None:
    for language, phrases in tables()[kind].items():
        for phrase in phrases:
            text = fold_words(phrase.replace("*", "").replace("…", " "))
            assert kind in find_phrases(text), (language, phrase)


@given(st.text(max_size=200))
def test_folding_is_its_own_fixed_point_and_spans_lie_in_the_text(text: str) -> None:
    words = fold_words(text)
    assert words[0] == words[-1] == " "
    for spans in find_phrases(words).values():
        assert all(0 < start < end <= len(words) for start, end in spans)


def test_a_stem_closes_the_text_with_its_last_word_only() -> None:
    words = fold_words("der Kandidaten")
    (span,) = find_phrases(words)["CANDIDATES"][:1]
    assert reaches_last_word(words, span[1])
    assert not reaches_last_word(fold_words("der Kandidaten hier"), span[1])


def test_no_stem_is_shorter_than_the_letters_it_is_looked_up_by() -> None:
    starts = [phrase.split("…")[0].strip() for lists in tables().values() for of in lists.values() for phrase in of]
    stems = [fold_words(start).strip() for start in starts if start.endswith("*") and " " not in start]
    assert len(stems) > 100
    assert [stem for stem in stems if len(stem) < 3 and stem.isascii()] == []


def test_stems_are_found_with_any_ending() -> None:
    for kind, lists in tables().items():
        for phrase in lists.get("en", []):
            if phrase.endswith("*"):
                assert kind in find_phrases(fold_words(phrase.replace("…", " ").replace("*", "zz"))), phrase


def test_only_the_beginning_of_endless_words_is_searched() -> None:
    """The time for one sentence is bounded, whoever wrote it."""
    phrase = fold_words("scratch that")
    assert "CORRECTION" in find_phrases("x" * (1_000 - len(phrase)) + phrase)
    assert "CORRECTION" not in find_phrases("x" * (1_001 - len(phrase) + 1) + phrase)
