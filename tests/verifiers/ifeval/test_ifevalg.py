"""IFEvalG's instructions: what each asks for, and the oddities of its own checker."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.rubric.dataset_standards import read_standards
from calipers.verifiers.constraints import read_constraints
from calipers.verifiers.ifeval import Instruction, check, instruction
from calipers.verifiers.ifeval.period_sentences import split_at_periods
from calipers.verifiers.ifeval.treebank import treebank_words
from effort import in_proportion

FORMAT = "detectable_format:"
ASKED: dict[str, Mapping[str, Any]] = {
    "copy:copy": {"prompt_to_repeat": "Name a fruit."},
    "copy:copying_simple": {"prompt_to_repeat": "Name a fruit."},
    "copy:copying_multiple": {"prompt_to_repeat": "Name a fruit.", "N": 2},
    "copy:repeat_phrase": {"phrase": "we like ripe pears", "small_n": 2},
    "new:copy_span_idx": {"prompt_to_repeat": "Name a fruit.", "n_start": 5, "n_end": 12},
    "count:count_increment_word": {"keyword1": "fig", "keyword2": "plum"},
    "count:count_unique": {},
    "count:counting_composition": {"n_sent": 2, "n_words": 3},
    "count:lowercase_counting": {"N": 2},
    "letters:letter_counting": {"N": 5, "relation": "at least"},
    "letters:letter_counting2": {"letter": "p", "let_frequency": 3, "let_relation": "at least"},
    "paragraphs:paragraphs": {},
    "paragraphs:paragraphs2": {},
    "first_word:first_word_answer": {"first_word": "plum"},
    "first_word:first_word_sent": {"first_word": "plums"},
    "last_word:last_word_answer": {"last_word": "plum"},
    "last_word:last_word_sent": {"last_word": "plum"},
    "keywords:exclude_word_harder": {"keyword": "plum"},
    "keywords:keyword_specific_position": {"keyword": "plum", "n": 2, "m": 3},
    "keywords:no_adjacent_consecutive": {},
    "keywords:palindrome": {},
    "keywords:start_end": {},
    "keywords:word_count_different_numbers": {"keyword": "plum", "frequency": 2, "relation": "at least"},
    "keywords:word_once": {"keyword": "plum"},
    f"{FORMAT}bigram_wrapping": {},
    f"{FORMAT}sentence_hyphens": {},
    f"{FORMAT}square_brackets": {},
    "punctuation:punctuation_dot": {},
    "punctuation:punctuation_exclamation": {},
}


@pytest.mark.parametrize(("name", "response", "met"), [
    ("copy:copy", " name a FRUIT.\n", True),
    ("copy:copy", "Name a fruit. A plum.", False),
    ("copy:copying_simple", "Name a fruit.", True),
    ("copy:copying_multiple", "Name a fruit.\n******\nName a fruit.", True),
    ("copy:copying_multiple", "Name a fruit.", False),
    ("copy:copying_multiple", "Name a fruit.******A plum.", False),
    ("copy:repeat_phrase", "we like red pears, we eat ripe pears", True),
    ("copy:repeat_phrase", "we like ripe pears, we eat ripe pears", False),
    ("copy:repeat_phrase", "we like red pears, we eat ripe red pears", False),
    ("copy:repeat_phrase", "we like red pears", False),
    ("copy:repeat_phrase", "we like red\npears, we eat ripe pears", False),
    ("new:copy_span_idx", "A Fruit", True),
    ("new:copy_span_idx", "fruit", False),
    ("count:count_increment_word", "a Fig, a plum and a plum", True),
    ("count:count_increment_word", "figs and a fig, plum, plum", False),
    ("count:count_increment_word", "a fig and a plum", False),
    ("count:count_unique", "one plum, The other", True),
    ("count:count_unique", "one, two, three", False),  # a mark is a word, too
    ("count:counting_composition", "It is. So are.***It is. So are.***It is. So are.", True),
    ("count:counting_composition", "It is. So are.***It is. So are.", False),
    ("count:counting_composition", "It is. So are.***It is.***It is. So are.", False),
    ("count:counting_composition", "It is so. So are.***It is. So are.***It is. So are.", False),
    ("count:counting_composition", "***It is. So are.***It is. So are.***It is. So are.", False),
    ("count:lowercase_counting", "TWO small words HERE", True),
    ("count:lowercase_counting", "I don't KNOW it", False),
    ("letters:letter_counting", "ab1 CDe", True),
    ("letters:letter_counting", "äöü abc", False),
    ("letters:letter_counting2", "Pip's ripe", True),
    ("letters:letter_counting2", "pip", False),
    ("paragraphs:paragraphs", "one\n\ntwo *** three", True),
    ("paragraphs:paragraphs", "one *** *** two", False),
    ("paragraphs:paragraphs2", "one\ntwo\n\nthree", True),
    ("paragraphs:paragraphs2", "one\n\n\n\ntwo", False),
    ("first_word:first_word_answer", "Plum is it", True),
    ("first_word:first_word_answer", "Plum, of course", False),  # the mark belongs to the word
    ("first_word:first_word_sent", "Plums are blue. plums are sweet!", True),
    ("first_word:first_word_sent", "Plums cost 3.50 at Mr. Smith's.", True),
    ("first_word:first_word_sent", "Plums are blue. Figs not.", False),
    ("first_word:first_word_sent", 'Plums are blue."! Plums', False),  # an empty sentence after the mark
    ("last_word:last_word_answer", "It is a (Plum)!", True),
    ("last_word:last_word_answer", "plum it is", False),
    ("last_word:last_word_sent", "I ate a plum. Give me a plum", True),
    ("last_word:last_word_sent", "I ate a plum. It was sweet.", False),
    ("keywords:exclude_word_harder", "It is a plum.", True),  # only with blanks on both sides
    ("keywords:exclude_word_harder", "a plum is it", False),
    ("keywords:keyword_specific_position", "Well. It, plum", True),
    ("keywords:keyword_specific_position", "Well. It is a plum.", False),
    ("keywords:keyword_specific_position", "It is plum.", False),
    ("keywords:no_adjacent_consecutive", "a cat eats", True),
    ("keywords:no_adjacent_consecutive", "a Big cat", False),
    ("keywords:no_adjacent_consecutive", "a \u0130 x", False),
    ("keywords:palindrome", "at noon we eat", True),
    ("keywords:palindrome", "at Noon. we eat", False),
    ("keywords:start_end", "Plum or fig or plum", True),
    ("keywords:start_end", "Plum or fig or plum.", False),
    ("keywords:start_end", "Plum", False),
    ("keywords:word_count_different_numbers", "plum, Plums", True),
    ("keywords:word_count_different_numbers", "plum", False),
    ("keywords:word_once", "a Plum", True),
    ("keywords:word_once", "a plum among plums", False),
    (f"{FORMAT}bigram_wrapping", "<<I eat>> <<a plum>> now", True),
    (f"{FORMAT}bigram_wrapping", "<<I eat a>> plum", False),
    (f"{FORMAT}sentence_hyphens", "One.-Two.-Three.", True),
    (f"{FORMAT}sentence_hyphens", "One. - Two.", False),
    (f"{FORMAT}square_brackets", "[one] [two.]", True),
    (f"{FORMAT}square_brackets", "[one] [two].", False),
    ("punctuation:punctuation_dot", "no dot!", True),
    ("punctuation:punctuation_dot", "3.5", False),
    ("punctuation:punctuation_exclamation", "no.", True),
    ("punctuation:punctuation_exclamation", "no!", False),
])  # fmt: skip
def test_each_instruction_asks_for_what_it_says(name: str, response: str, *, met: bool) -> None:
    verdict = check(name, ASKED[name], response)
    assert verdict.met is met
    assert met or verdict.reason


@pytest.mark.parametrize("name", ASKED)
def test_a_blank_response_follows_none(name: str) -> None:
    assert check(name, ASKED[name], " \n").met is False


@pytest.mark.parametrize(("name", "kwargs", "field"), [
    ("copy:copying_multiple", {"N": 0}, "N"),
    ("copy:repeat_phrase", {"small_n": 0}, "small_n"),
    ("copy:repeat_phrase", {"phrase": " "}, "phrase"),
    ("new:copy_span_idx", {"n_end": 0}, "n_end"),
    ("count:counting_composition", {"n_words": 0}, "n_words"),
    ("count:lowercase_counting", {"N": 0}, "N"),
    ("letters:letter_counting", {"relation": "more than"}, "relation"),
    ("keywords:keyword_specific_position", {"m": 0}, "m"),
    ("first_word:first_word_sent", {"first_word": " "}, "first_word"),
    ("last_word:last_word_answer", {"last_word": ["a", "b"]}, "last_word"),
])  # fmt: skip
def test_what_the_official_checker_would_draw_at_random_is_an_error_that_names_the_field(
    name: str, kwargs: Mapping[str, Any], field: str
) -> None:
    with pytest.raises(InputError, match=rf"^{name}: {field}: "):
        instruction(name, {**ASKED[name], **kwargs})


def test_a_span_from_the_first_character_has_no_official_verdict() -> None:
    asked = {"prompt_to_repeat": "Name a fruit.", "n_start": 0, "n_end": 4}
    assert check("new:copy_span_idx", asked, "name").met is None
    assert check("new:copy_span_idx", asked, "name", mode="fixed").met is True


@pytest.mark.parametrize(("name", "kwargs", "response", "official", "fixed"), [
    ("keywords:word_once", {"keyword": "fig"}, "a fig is no figure", False, True),
    ("keywords:word_once", {"keyword": "f.g"}, "a fig", True, False),
    ("keywords:exclude_word_harder", {"keyword": "fig"}, "It is a Fig.", True, False),
    ("keywords:exclude_word_harder", {"keyword": "fig"}, "no figs", True, True),
    ("copy:repeat_phrase", {"phrase": "is. it so", "small_n": 1}, "isn x so", False, False),
    ("copy:repeat_phrase", {"phrase": "(a) b c", "small_n": 1}, "(a) x c", False, True),
])  # fmt: skip
def test_fixed_takes_words_literally_and_whole(
    name: str, kwargs: Mapping[str, Any], response: str, *, official: bool, fixed: bool
) -> None:
    assert check(name, kwargs, response).met is official
    assert check(name, kwargs, response, mode="fixed").met is fixed


def test_words_are_those_of_the_penn_treebank() -> None:
    said = "I can't (really) say: \"It's 'fine', isn't it?\" $3.88 in the U.S. -- gonna. See..."
    words = "I ca n't ( really ) say : `` It 's 'fine ' , is n't it ? '' $ 3.88 in the U.S. -- gon na . See ..."
    assert treebank_words(said) == words.split()


@pytest.mark.parametrize(("text", "sentences"), [
    ("Mr. Smith left. He ran.", ["Mr. Smith left.", "He ran."]),
    ("See x.org or 3.5 e.g. now!", ["See x.org or 3.5 e.g. now!"]),
    ("At Plum Inc. He works. J. Doe", ["At Plum Inc", "He works.", "J. Doe"]),
    ('He said "no." Then...what?', ['He said "no".', "Then...", "what?"]),
    ("a\nb", ["a b"]),
])  # fmt: skip
def test_sentences_end_at_periods_that_belong_to_nothing_else(text: str, sentences: list[str]) -> None:
    assert split_at_periods(text) == sentences


def test_the_label_of_open_instruct_is_read_as_rules() -> None:
    label = str([{"instruction_id": ["last_word:last_word_answer", "count:count_unique"],
                  "kwargs": [{"last_word": "plum"}, None]}])  # fmt: skip
    found = read_standards({"ground_truth": label, "dataset": "ifeval"}).rules
    assert found is not None
    rules = [one for one in read_constraints(found.value).rules if isinstance(one, Instruction)]
    assert [one.check("a big plum").met for one in rules] == [True, True]
    assert [one.check("plum a plum").met for one in rules] == [True, False]


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("unit", ["we ", "A.B. ", '."', "***", "\n"])
def test_hostile_text_takes_time_in_proportion_to_its_length(name: str, unit: str) -> None:
    asked = instruction(name, ASKED[name])

    def checked(size: int) -> Callable[[], object]:
        text = unit * (size // len(unit)) + "x"
        return lambda: asked.strict(text)

    in_proportion(checked, 20_000)
