"""Language, case, commas, beginnings, endings and repetitions."""

from typing import Any

import pytest

from calipers.verifiers.ifeval import check

ENGLISH = "the weather was fine and we walked along the river until the evening came"
GERMAN = "Das Wetter war schön und wir gingen am Fluss entlang, bis der Abend kam."
LANGUAGE, CAPITAL = "language:response_language", "change_case:english_capital"
LOWER, WORDS = "change_case:english_lowercase", "change_case:capital_word_frequency"


def need_langdetect() -> None:
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")


@pytest.mark.parametrize(("instruction_id", "kwargs", "response", "official", "fixed"), [
    (LANGUAGE, {"language": "de"}, GERMAN, True, True),
    (LANGUAGE, {"language": "en"}, GERMAN, False, False),
    (LANGUAGE, {"language": "en"}, "12345", True, None),
    (CAPITAL, {}, ENGLISH.upper(), True, True),
    (CAPITAL, {}, ENGLISH, False, False),
    (CAPITAL, {}, "12345", False, False),
    (LOWER, {}, ENGLISH, True, True),
    (LOWER, {}, ENGLISH.title(), False, False),
    (LOWER, {}, GERMAN.lower(), False, False),
])  # fmt: skip
def test_a_language_that_cannot_be_told_passes_in_official_and_has_no_verdict_in_fixed(
    instruction_id: str, kwargs: dict[str, Any], response: str, *, official: bool, fixed: bool | None
) -> None:
    need_langdetect()
    assert check(instruction_id, kwargs, response).met is official
    assert check(instruction_id, kwargs, response, mode="fixed").met is fixed


def test_capital_words_are_compared_with_any_number() -> None:
    kwargs = {"capital_frequency": 2, "capital_relation": "at least"}
    assert check(WORDS, kwargs, "NASA and the FBI").met is True
    assert check(WORDS, kwargs | {"capital_relation": "less than"}, "NASA and the FBI").met is False
    assert check(WORDS, kwargs | {"capital_frequency": -1}, "none").met is True


@pytest.mark.parametrize(("instruction_id", "kwargs", "response", "met"), [
    ("punctuation:no_comma", {}, "no comma; here", True),
    ("punctuation:no_comma", {}, "one, two", False),
    ("startend:quotation", {}, ' "all of it" ', True),
    ("startend:quotation", {}, '"', False),
    ("startend:end_checker", {"end_phrase": "The End "}, 'So it was: THE END" ', True),
    ("startend:end_checker", {"end_phrase": "The End"}, "The End.", False),
    ("startend:end_checker", {"end_phrase": "The End"}, 'The End "', False),
    ("combination:two_responses", {}, "a ****** b", True),
    ("combination:two_responses", {}, "******a******b******", True),
    ("combination:two_responses", {}, "a ****** a", False),
    ("combination:two_responses", {}, "a", False),
    ("combination:two_responses", {}, "a******b******c", False),
    ("combination:two_responses", {}, "a****** ******b", False),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it"}, " say IT, then more", True),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it"}, "Sure: say it", False),
])  # fmt: skip
def test_verdicts_are_the_official_ones_in_both_modes(
    instruction_id: str, kwargs: dict[str, Any], response: str, *, met: bool
) -> None:
    assert check(instruction_id, kwargs, response).met is met
    assert check(instruction_id, kwargs, response, mode="fixed").met is met


@pytest.mark.parametrize(("instruction_id", "response", "fixed"), [
    ("punctuation:no_comma", "你好，世界", False),
    ("punctuation:no_comma", "春、夏", False),
    ("punctuation:no_comma", "مرحبا، كيف", False),
    ("punctuation:no_comma", "你好。", True),
    ("startend:quotation", "“all of it”", True),
    ("startend:quotation", "「全部です」", True),
    ("startend:quotation", "«tout»", True),
    ("startend:quotation", "„alles“", True),
    ("startend:quotation", "'single'", False),
    ("startend:quotation", "“half", False),
])  # fmt: skip
def test_fixed_knows_the_marks_of_other_scripts(instruction_id: str, response: str, *, fixed: bool) -> None:
    assert check(instruction_id, {}, response, mode="fixed").met is fixed


@pytest.mark.parametrize(("instruction_id", "response", "met"), [
    ("punctuation:no_comma", "no comma、here，", True),
    ("startend:quotation", "“all of it”", False),
])  # fmt: skip
def test_official_knows_ascii_marks_only(instruction_id: str, response: str, *, met: bool) -> None:
    assert check(instruction_id, {}, response).met is met
    assert check(instruction_id, {}, response, mode="official_2025").met is met


@pytest.mark.parametrize(("phrase", "response", "official", "fixed"), [
    ("bye", 'x "bye"', True, True), ("bye", "“x bye”", False, True), ("再见。", "他说「再见。」", False, True),
    ("don't", "I don’t", False, True), ("café", "un cafe\u0301", False, True), ("bye", "bye now”", False, False),
    ('say "bye"', 'say "bye"', False, True), ("」", "「x」", True, True),
])  # fmt: skip
def test_an_ending_may_be_quoted_in_any_marks_in_fixed(
    phrase: str, response: str, *, official: bool, fixed: bool
) -> None:
    kwargs = {"end_phrase": phrase}
    assert check("startend:end_checker", kwargs, response).met is official
    assert check("startend:end_checker", kwargs, response, mode="official_2025").met is official
    assert check("startend:end_checker", kwargs, response, mode="fixed").met is fixed


def test_burmese_little_section_is_a_comma() -> None:
    assert check("punctuation:no_comma", {}, "က၊ ခ။", mode="fixed").met is False
    assert check("punctuation:no_comma", {}, "က ခ။", mode="fixed").met is True
