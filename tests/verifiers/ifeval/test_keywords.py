"""Keywords and letters: the official reading with its oddities, and the mended one."""

from typing import Any

import pytest

from calipers.errors import InputError
from calipers.verifiers.ifeval import Mode, check

EXISTENCE, FREQUENCY = "keywords:existence", "keywords:frequency"
FORBIDDEN, LETTERS = "keywords:forbidden_words", "keywords:letter_frequency"


def letters(letter: str, n: int) -> dict[str, Any]:
    return {"letter": letter, "let_frequency": n, "let_relation": "at least"}


def times(keyword: str, n: int) -> dict[str, Any]:
    return {"keyword": keyword, "frequency": n, "relation": "at least"}


@pytest.mark.parametrize(("instruction_id", "kwargs", "response", "official", "fixed"), [
    (EXISTENCE, {"keywords": ["cat", "dog"]}, "A Dog and a CAT.", True, True),
    (EXISTENCE, {"keywords": ["cat", "dog"]}, "A dog.", False, False),
    (EXISTENCE, {"keywords": ["cat"]}, "Concatenate.", True, False),
    (EXISTENCE, {"keywords": ["a.b"]}, "axb", True, False),
    (EXISTENCE, {"keywords": ["old man"]}, "the old\nman", False, True),
    (FREQUENCY, times("cat", 2), "cat, cats", True, False),
    (FREQUENCY, times(" cat ", 2), "cat cat", True, True),
    (FREQUENCY, {"keyword": "cat", "frequency": 2, "relation": "less than"}, "cat", True, True),
    (FREQUENCY, {"keyword": "cat", "frequency": 2, "relation": "less than"}, "cat cat", False, False),
    (FORBIDDEN, {"forbidden_words": ["cat"]}, "Concatenate.", True, True),
    (FORBIDDEN, {"forbidden_words": ["cat"]}, "A Cat!", False, False),
    (FORBIDDEN, {"forbidden_words": ["c.t"]}, "A cut.", False, True),
    (FORBIDDEN, {"forbidden_words": ["#tag"]}, "a #tag", True, False),
    (LETTERS, letters("A", 3), "aAá a", True, True),
    (LETTERS, letters("a", 3), "a A", False, False),
    (LETTERS, letters("#", 2), "# #", None, True),
    (LETTERS, letters("!", 2), "!", None, False),
    (LETTERS, letters("ab", 1), "xABx", None, True),
    (LETTERS, letters("İ", 1), "x", None, False),
])  # fmt: skip
def test_official_takes_keywords_for_patterns_and_fixed_takes_them_whole(
    instruction_id: str, kwargs: dict[str, Any], response: str, *, official: bool | None, fixed: bool
) -> None:
    assert check(instruction_id, kwargs, response).met is official
    assert check(instruction_id, kwargs, response, mode="fixed").met is fixed


def test_a_random_check_says_why_it_has_no_verdict() -> None:
    assert "random" in check(LETTERS, letters("#", 4), "####").reason


@pytest.mark.parametrize("mode", ["official", "fixed"])
def test_a_keyword_that_is_no_pattern_is_an_error_in_official_and_a_keyword_in_fixed(mode: Mode) -> None:
    kwargs = {"keywords": ["C++", "(x"]}
    if mode == "official":
        with pytest.raises(InputError, match=r"keywords:existence: keywords: .*regular expression.*fixed"):
            check(EXISTENCE, kwargs, "C++ (x", mode=mode)
    else:
        assert check(EXISTENCE, kwargs, "C++ (x", mode=mode).met is True


def test_the_reason_names_what_is_missing_or_found() -> None:
    assert check(EXISTENCE, {"keywords": ["cat", "dog"]}, "dog").reason == "missing: cat"
    assert check(FORBIDDEN, {"forbidden_words": ["cat", "dog"]}, "dog").reason == "found: dog"


@pytest.mark.parametrize(("letter", "response", "old", "new"), [
    ("#", "a # b", None, True),
    ("!", "none", None, False),
    ("é", "É", None, True),
    ("a", "A", True, True),
    ("ab", "ab", None, None),
    (" ", "a b", None, False),
    ("İ", "İ", None, False),
])  # fmt: skip
def test_the_revisions_since_2025_count_any_one_character_as_it_stands(
    letter: str, response: str, *, old: bool | None, new: bool | None
) -> None:
    assert check(LETTERS, letters(letter, 1), response).met is old
    assert check(LETTERS, letters(letter, 1), response, mode="official_2025").met is new


@pytest.mark.parametrize("instruction_id", [EXISTENCE, FREQUENCY])
@pytest.mark.parametrize(("keyword", "response"), [("cat", "Concatenate."), ("a.b", "axb"), ("北京", "去北京看")])
def test_the_revisions_since_2025_read_keywords_as_before(instruction_id: str, keyword: str, response: str) -> None:
    kwargs = {"keywords": [keyword]} if instruction_id == EXISTENCE else times(keyword, 1)
    assert check(instruction_id, kwargs, response, mode="official_2025").met is True


@pytest.mark.parametrize(("keyword", "response", "count"), [
    ("学习", "学习，学习，再学习。", 3),
    ("ね", "いいね、そうだね", 2),
    ("사과", "사과를 사과와 함께, 파인사과는 아니고", 2),
    ("ไทย", "ภาษาไทยและอาหารไทย", 2),
])  # fmt: skip
def test_fixed_counts_words_of_scripts_that_put_no_space_between_them(keyword: str, response: str, count: int) -> None:
    assert check(FREQUENCY, times(keyword, count), response, mode="fixed").met is True
    assert check(FREQUENCY, times(keyword, count + 1), response, mode="fixed").met is False


def test_fixed_finds_a_forbidden_word_in_chinese() -> None:
    assert check(FORBIDDEN, {"forbidden_words": ["悲伤"]}, "他很悲伤。").met is True  # what the official one misses
    assert check(FORBIDDEN, {"forbidden_words": ["悲伤"]}, "他很悲伤。", mode="fixed").met is False


@pytest.mark.parametrize(("keyword", "response", "fixed"), [
    ("straße", "DIE STRASSE", True), ("Straße", "die Straße", True), ("Maße", "die Masse", False),
    ("Maße", "MASSE", True),
    ("カタカナ", "ｶﾀｶﾅ です", True), ("ガラス", "ｶﾞﾗｽ", True), ("ｶﾞﾗｽ", "ガラス", True), ("カラス", "ｶﾞﾗｽ", False),
    ("cat", "a _cat_!", True), ("cat", "__cat__", True), ("big cat", "_big cat_", True), ("дом", "_дом_", True),
    ("cat", "my_cat", False), ("cat", "cat_food", False), ("cat", "a_cat_b", False), ("foo_bar", "foo_bar()", True),
    ("_x", "_x", True), ("カ", "_カ_", True),
])  # fmt: skip
def test_fixed_knows_the_forms_in_which_one_word_is_written(keyword: str, response: str, *, fixed: bool) -> None:
    assert check(EXISTENCE, {"keywords": [keyword]}, response, mode="fixed").met is fixed
    assert check(FORBIDDEN, {"forbidden_words": [keyword]}, response, mode="fixed").met is not fixed


@pytest.mark.parametrize("letter", ["é", "e\u0301", "É"])
@pytest.mark.parametrize("response", ["été", "e\u0301te\u0301", "ÉTÉ"])
def test_fixed_counts_a_letter_however_it_is_composed(letter: str, response: str) -> None:
    for n, met in ((2, True), (3, False)):
        assert check(LETTERS, letters(letter, n), response, mode="fixed").met is met
    assert check(LETTERS, letters("e", 1), response, mode="fixed").met is False
