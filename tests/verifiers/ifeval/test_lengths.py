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


@pytest.mark.parametrize(("text", "count"), [
    ("你好。今天天气很好！你呢？", 3),
    ("“你好。”他说。", 1),
    ("「行くよ。」「はい。」", 2),
    ("これはペンです。あれは本です", 2),
    ("等一下……好的。", 1),
    ("हम गए। वे आए।", 2),
    ("هل أنت بخير؟ نعم.", 2),
    ("One. Two? Three!", 3),
])  # fmt: skip
def test_fixed_counts_the_sentences_of_other_scripts(text: str, count: int) -> None:
    for asked, met in ((count, True), (count + 1, False)):
        kwargs = {"num_sentences": asked, "relation": "at least"}
        assert check("length_constraints:number_sentences", kwargs, text, mode="fixed").met is met


def test_fixed_has_no_verdict_on_what_nothing_parts() -> None:
    few, many = {"num_words": 8, "relation": "at least"}, {"num_words": 30, "relation": "at least"}
    assert check("length_constraints:number_words", few, "我们今天去北京看长城", mode="fixed").met is None
    assert check("length_constraints:number_words", many, "我们今天去北京看长城", mode="fixed").met is False
    assert check("length_constraints:number_words", few, "ten words " * 5, mode="fixed").met is True
    thai = check(
        "length_constraints:number_sentences", {"num_sentences": 2, "relation": "at least"}, "สวัสดี", mode="fixed"
    )
    assert thai.met is None
    assert "script" in thai.reason


def test_fixed_finds_the_first_word_of_a_chinese_paragraph() -> None:
    kwargs = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "然后"}
    for text, met in (("你好\n\n然后我们走了", True), ("你好\n\n“然后呢？”", True), ("你好\n\n我们然后走了", False)):
        assert check("length_constraints:nth_paragraph_first_word", kwargs, text, mode="fixed").met is met


@pytest.mark.parametrize(("response", "count"), [
    ("Τι κάνεις; Καλά.", 2), ("Πού είσαι\u037e Εδώ.", 2), ("One; two.", 1), ("Αυτό; ναι; όχι", 3), ("က၊ ခ။ ဂ။", 2),
    ("ᠠ᠃ ᠡ᠃", 2),
    ("བཀྲ་ཤིས། བདེ་ལེགས།", None),
])  # fmt: skip
def test_sentences_end_as_their_language_ends_them(response: str, count: int | None) -> None:
    for n in (1, 2, 3):
        kwargs = {"num_sentences": n, "relation": "at least"}
        found = check("length_constraints:number_sentences", kwargs, response, mode="fixed")
        assert found.met is (None if count is None else count >= n)
