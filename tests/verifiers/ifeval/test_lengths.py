"""Sentences, paragraphs and words, counted as the official checker counts."""

from typing import Any

import pytest

from calipers.errors import InputError
from calipers.verifiers.ifeval import check

SENTENCES, WORDS = "length_constraints:number_sentences", "length_constraints:number_words"
PARAGRAPHS, NTH = "length_constraints:number_paragraphs", "length_constraints:nth_paragraph_first_word"


@pytest.mark.parametrize(("instruction_id", "field", "response", "count"), [
    (SENTENCES, "num_sentences", "One. Two! Three?", 3),
    (SENTENCES, "num_sentences", "1. One", 2),
    (WORDS, "num_words", "don't stop-me now_now", 5),
    (WORDS, "num_words", "यह", 1),
    (WORDS, "num_words", "हिन्दी", 3),
])  # fmt: skip
def test_the_count_is_the_official_one(instruction_id: str, field: str, response: str, count: int) -> None:
    for asked, relation, met in ((count, "at least", True), (count + 1, "at least", False),
                                 (count + 1, "less than", True), (count, "less than", False)):  # fmt: skip
        verdict = check(instruction_id, {field: asked, "relation": relation}, response)
        assert verdict.met is met
        assert f"asked: {relation} {asked}" in verdict.reason


@pytest.mark.parametrize(("response", "count"), [
    ("one", 1),
    ("one\n\ntwo", 1),
    ("one *** two\n***\nthree", 3),
    ("***\none\n***", 1),
    ("one\n***\n\n***\ntwo", None),
    ("***", 0),
])  # fmt: skip
def test_only_three_stars_part_paragraphs_and_none_may_be_empty_inside(response: str, count: int | None) -> None:
    for asked in range(5):
        assert check(PARAGRAPHS, {"num_paragraphs": asked}, response).met is (asked == count)


@pytest.mark.parametrize(("response", "n", "nth", "word", "met"), [
    ("One a\n\nTwo b", 2, 2, "TWO", True),
    ("One a\n\nTwo b", 3, 2, "two", False),
    ("One a\n\nTwo b", 2, 1, "two", False),
    ("One", 2, 2, "one", False),
    ("One\n\n\n\nTwo", 2, 2, "two", False),
    ("\n\nOne\n\nTwo", 2, 2, "one", True),
    ("'\"Two,\" he said", 1, 1, "two", True),
    ("\"'Two", 1, 1, "", True),
    ("ΟΔΟΣ", 1, 1, "οδοσ", True),
    ("ΟΔΟΣ", 1, 1, "ΟΔΟΣ", False),
])  # fmt: skip
def test_the_nth_paragraph_is_picked_among_all_pieces_and_its_word_cut_at_marks(
    response: str, n: int, nth: int, word: str, *, met: bool
) -> None:
    kwargs: dict[str, Any] = {"num_paragraphs": n, "nth_paragraph": nth, "first_word": word}
    assert check(NTH, kwargs, response).met is met


@pytest.mark.parametrize("nth", [0, 3])
def test_a_paragraph_that_cannot_be_there_is_an_error(nth: int) -> None:
    with pytest.raises(InputError, match="nth_paragraph: must be from 1 to num_paragraphs"):
        check(NTH, {"num_paragraphs": 2, "nth_paragraph": nth, "first_word": "a"}, "a")
