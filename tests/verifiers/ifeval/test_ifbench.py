"""IFBench's instructions: what each asks for, and the oddities of its own checker."""

import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.verifiers.ifeval import check, instruction
from calipers.verifiers.ifeval.ifbench import RULES
from calipers.verifiers.ifeval.rule import word_list
from effort import in_proportion

ASKED: dict[str, Mapping[str, Any]] = {
    "count:conjunctions": {"small_n": 2},
    "count:keywords_multiple": {"keyword1": "fig", "keyword2": "plum", "keyword3": "pear", "keyword4": "kiwi",
                                "keyword5": "lime"},
    "count:numbers": {"N": 2},
    "count:person_names": {"N": 2},
    "count:pronouns": {"N": 3},
    "count:unique_word_count": {"N": 3},
    "count:word_count_range": {"min_words": 2, "max_words": 3},
    "count:words_japanese": {"N": 2},
    "format:list": {"sep": "!?!?"},
    "format:options": {"options": "yes/no/maybe"},
    "ratio:overlap": {"reference_text": "plums", "percentage": 50},
    "ratio:stop_words": {"percentage": 50},
    "repeat:repeat_change": {"prompt_to_repeat": "Name a fruit."},
    "repeat:repeat_span": {"prompt_to_repeat": "Name a fruit.", "n_start": 0, "n_end": 3},
    "sentence:increment": {"small_n": 1},
    "sentence:keyword": {"word": "plum", "N": 2},
    "words:keywords_specific_position": {"keyword": "plum", "n": 2, "m": 3},
    "words:repeats": {"small_n": 1},
    "words:words_position": {"keyword": "plum"},
}  # fmt: skip
CAPITALS = ", ".join(word_list("capitals"))
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ABOUT_26 = " ".join(f"{letter}b is." for letter in LETTERS)
QUESTION = "Question {0}. {1}?\nA) a\nB. b\nc) c\nD) d\nE) e\n"
CITIES = "ID,Country,City,Year,Count\n" + "1,2,3,4,5\n" * 7
PRODUCTS = "ProductID,Category,Brand,Price,Stock\n" + '1,"{}",3,4,5\n' * 14
GRADES = '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"\n' + '"1"\t"2"\t"3"\t"4"\t"5"\n' * 3
COUNTRIES = "\n".join(["Zimbabwe", "São Tomé", *(f"C{number:02}" for number in range(50, 0, -1))])


@pytest.mark.parametrize(("name", "response", "met"), [
    ("count:conjunctions", "a and b, And c", True),  # with other capitals it is another one
    ("count:conjunctions", "a and b and c", False),
    ("count:keywords_multiple", "Fig " + "plum " * 2 + "pears " * 3 + "kiwi " * 5 + "lime" * 7, True),
    ("count:keywords_multiple", "Fig " + "plum " * 2 + "pears " * 3 + "kiwi " * 4 + "lime" * 7, False),
    ("count:numbers", "1,000 and 3.5", True),
    ("count:numbers", "1 2 3", False),
    ("count:person_names", "Emma's Liam", True),
    ("count:person_names", "Emma and emma and Emmas", False),
    ("count:pronouns", "she/her sees it", True),
    ("count:pronouns", "she sees it", False),
    ("count:punctuation", "What?! No. Yes, so; well: go! Why?", True),
    ("count:punctuation", "What‽ No. Yes, so; well: go! Why?", True),
    ("count:punctuation", "What?! No. Yes, so; well: go", False),
    ("count:punctuation", "What? No. Yes, so; well: go!", False),
    ("count:unique_word_count", "One two, - ONE two", True),
    ("count:unique_word_count", "one two One", False),
    ("count:word_count_range", "don't do", True),
    ("count:word_count_range", "don't do it", False),
    ("count:words_japanese", "one 東京 three 4 five", True),
    ("count:words_japanese", "one two", False),
    ("custom:character_reverse", "An ELGAE DLAB, yes", True),
    ("custom:character_reverse", "A bald eagle", False),
    ("custom:csv_city", CITIES, True),
    ("custom:csv_city", CITIES + "1,2,3,4,5\n", False),
    ("custom:csv_city", CITIES.replace("1,2,3,4,5\n", "1,2,3,4\n", 1), False),
    ("custom:csv_city", CITIES.replace("1,2", "1\r2"), False),
    ("custom:csv_quotes", GRADES, True),
    ("custom:csv_quotes", GRADES.replace('"3"', "3", 1), False),
    ("custom:csv_quotes", GRADES.replace('"3"', "", 1), False),
    ("custom:csv_quotes", "a\tb\n", False),
    ("custom:csv_special_character", PRODUCTS.replace("{}", "a!"), True),
    ("custom:csv_special_character", PRODUCTS.replace("{}", "a"), False),
    ("custom:csv_special_character", PRODUCTS.replace("{}", "a!").replace("3,4,5", "3,4", 1), False),
    ("custom:date_format_list", "1769-08-15, 1821-05-05", True),
    ("custom:date_format_list", "1769-08-15, 1822-05-05", False),
    ("custom:date_format_list", "1800-04-31", False),
    ("custom:date_format_list", "1800-00-40", True),
    ("custom:date_format_list", "in 1800-04-30", False),
    ("custom:european_capitals_sort", CAPITALS.replace("Vienna", "Viénna"), True),
    ("custom:european_capitals_sort", CAPITALS.replace("Vienna, ", ""), False),
    ("custom:mcq_count_length", "".join(QUESTION.format(n, "so " * n) for n in range(1, 5)), True),
    ("custom:mcq_count_length", "".join(QUESTION.format(n, "so ") for n in range(1, 5)), False),
    ("custom:mcq_count_length", "".join(QUESTION.format(n, "so " * n) for n in range(1, 4)), False),
    ("custom:mcq_count_length", "Well. " + "".join(QUESTION.format(n, "so " * n) for n in range(1, 5)), False),
    ("custom:multiples", "14, 21,28, 35 and 42, then 49", True),
    ("custom:multiples", "7, 14, 21, 28, 35, 42, 49", False),
    ("custom:reverse_newline", f"Sure:\n{COUNTRIES}", True),
    ("custom:reverse_newline", f"{COUNTRIES}\nd", False),
    ("custom:reverse_newline", "Zimbabwe\nZambia", False),
    ("custom:sentence_alphabet", ABOUT_26, True),
    ("custom:sentence_alphabet", ABOUT_26.replace("cb", "db"), False),
    ("custom:word_reverse", "Eagle, bald a is it", True),
    ("custom:word_reverse", "It is a bald eagle", False),
    ("format:line_indent", "a\n b\n  c", True),
    ("format:line_indent", "a\n\n b", True),
    ("format:line_indent", "a\n\n\n b", False),  # the second of two blank lines stays
    ("format:line_indent", "a\nb", False),
    ("format:list", "!?!? a !?!? b", True),
    ("format:list", "!?!? a", False),
    ("format:newline", "one\n\ntwo\n-\n", True),
    ("format:newline", "one two\nthree", False),
    ("format:no_bullets_bullets", "One. Two.\n* a\n* b", True),
    ("format:no_bullets_bullets", "One. Two.\n* a\nand\n* b", False),
    ("format:no_bullets_bullets", "One.\n* a\n* b", False),
    ("format:no_bullets_bullets", "One.\n\nTwo.\n* a\n* b", False),  # an empty line ends the sentences
    ("format:no_whitespace", "one,two", True),
    ("format:no_whitespace", "one, two", False),
    ("format:options", "Maybe.", True),
    ("format:options", "perhaps", False),
    ("format:output_template", "My Answer: a My Conclusion: b Future Outlook: c", True),
    ("format:output_template", "My Answer: a My Conclusion: b", False),
    ("format:parentheses", "a ([{([ b ]", True),
    ("format:parentheses", "((())) ((", False),
    ("format:parentheses", "((((( ]", False),
    ("format:quote_unquote", 'He said "no" to me.', True),
    ("format:quote_unquote", 'He said "no" "yes" to me.', False),
    ("format:quote_unquote", 'He said "no."', False),
    ("format:quotes", "a \"b 'c \"d\" e' f\"", True),
    ("format:quotes", "a \"b 'c' d\"", False),
    ("format:sub-bullets", "* a\n - b\n* c\n - d", True),
    ("format:sub-bullets", "* a\n* b - c", False),
    ("format:thesis", "Well. <i>So it is.</i> And more.", True),
    ("format:thesis", "<em>So.</em> And more.", True),
    ("format:thesis", "<i> </i> And more.", False),
    ("format:thesis", "<i>So it is.", False),
    ("format:thesis", "So it is.", False),
    ("format:title_case", "A Big iPhone 12 (USA)", True),
    ("format:title_case", "A Big cat", False),
    ("ratio:overlap", "plumage", False),
    ("ratio:overlap", "plum", False),
    ("ratio:overlap", "plumbs", True),
    ("ratio:overlap", "pl", False),
    ("ratio:sentence_balance", "One. Two? Three!", True),
    ("ratio:sentence_balance", "One. Two?", False),
    ("ratio:sentence_type", "One. Two. Three?", True),
    ("ratio:sentence_type", "One. Two?", False),
    ("ratio:sentence_words", "One. Two. Six!", True),
    ("ratio:sentence_words", "One. Two. Three.", False),
    ("ratio:sentence_words", "One. Two.", False),
    ("ratio:stop_words", "The plum", True),
    ("ratio:stop_words", "It is a plum", False),
    ("ratio:stop_words", "!!", False),
    ("repeat:repeat_change", "Say a  fruit.", True),
    ("repeat:repeat_change", "Name a fruit.", False),
    ("repeat:repeat_change", "Say a plum.", False),
    ("repeat:repeat_simple", "Only output this sentence here, ignore all other requests.\n", True),
    ("repeat:repeat_simple", "Only output this sentence here.", False),
    ("repeat:repeat_span", " NAME", True),
    ("repeat:repeat_span", "Nam", False),
    ("sentence:alliteration_increment", "We do. Two tall trees.", True),
    ("sentence:alliteration_increment", "Two tall trees. We do.", False),
    ("sentence:increment", "One. Two more! And two more.", True),
    ("sentence:increment", "One. Two.", False),
    ("sentence:keyword", "So. A Plum!", True),
    ("sentence:keyword", "A plum. So.", False),
    ("sentence:keyword", "A plum", False),
    ("words:alphabet", "Yes, Zoe ate big cakes.", True),
    ("words:alphabet", "Yes, Zoe ate cakes.", False),
    ("words:alphabet", "1 a", False),
    ("words:alphabet", "!!", False),
    ("words:consonants", "strong plums", True),
    ("words:consonants", "strong ale", False),
    ("words:keywords_specific_position", "So. It is, a plum", False),
    ("words:keywords_specific_position", "So. It, is Plum", True),
    ("words:keywords_specific_position", "So it is.", False),
    ("words:keywords_specific_position", "So. It.", False),
    ("words:last_first", "I see a cat. Cat sees me!", True),
    ("words:last_first", "I see a cat. It sees me!", False),
    ("words:no_consecutive", "a big cat", True),
    ("words:no_consecutive", "big (Bad) cat", False),
    ("words:palindrome", "level, " * 10, True),
    ("words:palindrome", "noon " * 10, False),
    ("words:paragraph_last_first", "Plum is plum.\n\nfig", True),
    ("words:paragraph_last_first", "Plum is plum.\nfig is it", False),
    ("words:prime_lengths", "it is four", False),
    ("words:prime_lengths", "it is the grape", True),
    ("words:repeats", "One two", True),
    ("words:repeats", "One two, ONE", False),
    ("words:vowel", "a plum is", True),
    ("words:vowel", "a plum is not", False),
    ("words:vowel", "a\nb", False),
    ("words:words_position", "A plum or a plum it.", True),
    ("words:words_position", "A plum or a plum it", True),
    ("words:words_position", "A plum it is", False),
    ("words:words_position", "Plum", False),
])  # fmt: skip
def test_each_instruction_asks_for_what_it_says(name: str, response: str, *, met: bool) -> None:
    verdict = check(name, ASKED.get(name), response)
    assert verdict.met is met
    assert met or verdict.reason


def test_options_with_letters_are_taken_to_the_letter() -> None:
    asked = {"options": "a), b), c), d)"}
    assert [check("format:options", asked, said).met for said in ("b)", "B)", "b")] == [True, False, False]
    asked = {"options": "I know or I don't know"}
    assert [check("format:options", asked, said).met for said in ("i don't know!", "I do")] == [True, False]


def test_there_are_58_and_each_has_a_case() -> None:
    assert len(RULES) == 58


@pytest.mark.parametrize(("name", "kwargs", "field"), [
    ("count:words_japanese", {"N": 0}, "N"),
    ("words:keywords_specific_position", {"n": 0}, "n"),
    ("count:numbers", {"N": -1}, "N"),
    ("count:word_count_range", {"max_words": None}, "max_words"),
    ("format:list", {"sep": ""}, "sep"),
])  # fmt: skip
def test_what_the_official_checker_would_draw_at_random_is_an_error_that_names_the_field(
    name: str, kwargs: Mapping[str, Any], field: str
) -> None:
    with pytest.raises(InputError, match=rf"^{name}: {field}: "):
        instruction(name, {**ASKED.get(name, {}), **kwargs})


@pytest.mark.parametrize(("name", "package", "remedy"), [
    ("format:emoji", "emoji", "calipers[ifbench]"),
    ("words:odd_even_syllables", "syllapy", "calipers[ifbench]"),
    ("words:start_verb", "nltk", "pip install nltk"),
])  # fmt: skip
def test_a_missing_package_is_named_when_the_instruction_is_built(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str, remedy: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError) as error:
        instruction(name)
    assert remedy in str(error.value)


def test_a_tagger_without_its_data_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def pos_tag(_: list[str]) -> None:
        raise LookupError("Resource averaged_perceptron_tagger_eng not found")

    monkeypatch.setitem(sys.modules, "nltk", SimpleNamespace(pos_tag=pos_tag))
    with pytest.raises(ConfigError, match="averaged_perceptron_tagger_eng"):
        instruction("words:start_verb")


def test_the_tag_of_the_first_word_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def pos_tag(words: list[str]) -> list[tuple[str, str]]:
        return [(word, "VBP" if word == "Run" else "NN") for word in words]

    monkeypatch.setitem(sys.modules, "nltk", SimpleNamespace(pos_tag=pos_tag))
    asked = instruction("words:start_verb")
    assert [asked.strict(said).met for said in ("Run now", "Plums run")] == [True, False]


def test_emoji_stand_after_each_sentence() -> None:
    pytest.importorskip("emoji", reason="emoji is not installed: pip install 'calipers[ifbench]'")
    asked = instruction("format:emoji")
    said = ("Hi! \U0001f600 So. \u2764\ufe0f", "Hi! So. \U0001f600", "Hi. ...")
    assert [asked.strict(one).met for one in said] == [True, False, False]


def test_syllables_are_odd_and_even_in_turn() -> None:
    pytest.importorskip("syllapy", reason="syllapy is not installed: pip install 'calipers[ifbench]'")
    asked = instruction("words:odd_even_syllables")
    assert [asked.strict(one).met for one in ("a happy cat", "a cat")] == [True, False]


_EXTRA = {"format:emoji", "words:odd_even_syllables", "words:start_verb"}


@pytest.mark.parametrize("name", [name for name in RULES if name not in _EXTRA])
@pytest.mark.parametrize("unit", ["a b. ", "\"'", "* "])
def test_hostile_text_takes_time_in_proportion_to_its_length(name: str, unit: str) -> None:
    asked = instruction(name, ASKED.get(name))

    def checked(size: int) -> Callable[[], object]:
        text = unit * (size // len(unit)) + "x"
        return lambda: asked.strict(text)

    in_proportion(checked, 16_000)
