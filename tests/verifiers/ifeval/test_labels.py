"""Labels of open-instruct, and Multi-IF's turns, as rules of a row."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.types import Trajectory
from calipers.verifiers.ifeval.open_instruct import FUNCTIONS, labelled_function
from calipers.verifiers.rule_files import own_constraints


def checked(row: dict[str, Any], *messages: list[dict[str, str]]) -> list[list[bool | None]]:
    """What the row's rules say of conversations, a list of verdicts for each."""
    group = as_group(row | {"trajectories": [{"id": str(n), "messages": one} for n, one in enumerate(messages)]})
    constraints = own_constraints(group)
    assert constraints is not None
    assert not constraints.judged
    return [[rule(one).met for rule in constraints.rules] for one in group.trajectories]


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


@pytest.mark.parametrize("label", [
    {"func_name": "validate_word_constraint", "N": 3.0, "quantifier": "at most", "end_phrase": None},
    [{"func_name": "validate_word_constraint", "N": 3, "quantifier": "at most"}],
])  # fmt: skip
@pytest.mark.parametrize("form", [json.dumps, str, lambda label: label])
def test_a_label_with_func_name_is_a_rule(label: Any, form: Callable[[Any], Any]) -> None:
    row = {"ground_truth": form(label), "dataset": ["ifeval"]}
    assert checked(row, said("One two."), said("One two three four.")) == [[True], [False]]


def test_a_label_of_ifevalg_keeps_its_instructions() -> None:
    label = [{"instruction_id": ["punctuation:no_comma", "length_constraints:number_words"],
              "kwargs": [None, {"relation": "less than", "num_words": 3}]}]  # fmt: skip
    assert checked({"ground_truth": str(label)}, said("One, two."), said("One two three.")) == [
        [False, True], [True, False],
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "follows", "fails"), [
    ("verify_keywords", {"keyword_list": ["Ferry", "night"]}, "the night ferry", "the ferry"),
    ("verify_keyword_frequency", {"word": "Ferry", "N": 2}, "ferry, ferry", "ferryman ferry"),
    ("validate_forbidden_words", {"forbidden_words": ["car"]}, "a ferry", "a carriage"),
    ("verify_letter_frequency", {"letter": "a", "N": 2}, "aAa", "aaa"),
    ("verify_paragraph_count", {"N": 2}, "a\n* * *\nb", "a\n* * *\n"),
    ("validate_word_constraint", {"N": 20, "quantifier": "around"}, "w " * 22, "w " * 23),
    ("verify_sentence_constraint", {"N": 1, "quantifier": "at most"}, "Mr. Smith is e.g. here.", "Hello. You."),
    ("validate_paragraphs", {"N": 2, "first_word": "Yes", "i": 2}, "a\n\nYes, b", "a\n\nb"),
    ("verify_postscript", {"postscript_marker": "P.S."}, "a\nP.S. b", "a\nP.S."),
    ("validate_placeholders", {"N": 2}, "[a] [b]", "[a]"),
    ("verify_bullet_points", {"N": 2}, "* a\n - b", "* a"),
    ("validate_title", {}, "<<A>>", "A"),
    ("validate_choice", {"options": ["yes", "no"]}, "I say no", "perhaps"),
    ("validate_highlighted_sections", {"N": 1}, "*a*", "a"),
    ("validate_sections", {"N": 2, "section_splitter": "PART"}, "PART 1 a PART 2 b", "PART 1 a"),
    ("validate_json_format", {}, "[1]", "[1"),
    ("validate_repeat_prompt", {"original_prompt": "Why?"}, "Why? So.", "So. Why?"),
    ("validate_two_responses", {}, "a******b", "a******a"),
    ("validate_uppercase", {}, "ABC 1", "AbC"),
    ("validate_lowercase", {}, "abc 1", "aBc"),
    ("validate_frequency_capital_words", {"N": 2, "quantifier": "at least"}, "A BC d", "A bc"),
    ("validate_end", {"end_phrase": "Bye."}, "So. Bye.", "Bye. So."),
    ("validate_quotation", {}, '"a"', '"a'),
    ("validate_no_commas", {}, "a b", "a, b"),
])  # fmt: skip
def test_each_function(name: str, arguments: dict[str, Any], follows: str, fails: str) -> None:
    rule = labelled_function({"func_name": name, **arguments})
    assert (rule.check(follows).met, rule.check(fails).met) == (True, False)


def test_there_are_25_functions_and_a_text_without_a_language_has_no_verdict() -> None:
    assert len(FUNCTIONS) == 25
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")
    rule = labelled_function({"func_name": "validate_response_language", "language": "de"})
    german = "Das ist ein Satz in deutscher Sprache, und er ist lang genug."
    assert (rule.check(german).met, rule.check("17 25").met) == (True, None)


@pytest.mark.parametrize(("label", "complaint"), [
    ({"func_name": "validate_no_comma"}, "unknown 'validate_no_comma'; did you mean validate_no_commas"),
    ({"func_name": "validate_end"}, "validate_end: end_phrase: is missing"),
    ({"func_name": "validate_end", "end_phrase": "x", "N": 3}, "validate_end: N: not an argument; it has end_phrase"),
    ({"func_name": "validate_end", "end_phrase": 3}, "end_phrase: must be text, is 3"),
    ({"func_name": "verify_letter_frequency", "letter": "ab", "N": 3}, "letter: must be one character"),
    ({"func_name": "validate_sections", "section_splitter": "", "N": 3}, "section_splitter: must not be empty"),
])  # fmt: skip
def test_a_label_that_names_no_check_is_an_error(label: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        labelled_function(label)


def turn(number: int, text: str, ids: list[str], kwargs: list[dict[str, Any]]) -> dict[str, str]:
    """A turn in Multi-IF's fields: JSON text, and each of its kwargs JSON text again."""
    return {
        f"turn_{number}_prompt": json.dumps({"role": "user", "content": text}),
        f"turn_{number}_instruction_id_list": json.dumps(ids),
        f"turn_{number}_kwargs": json.dumps([json.dumps(one) for one in kwargs]),
    }


MULTI_IF = (
    {"key": "1:1:en", "language": "English", "turns": [], "responses": []}
    | turn(1, "Name a ferry.", ["punctuation:no_comma"], [{}])
    | turn(2, "Again.", ["punctuation:no_comma", "startend:quotation"], [{}, {}])
    | {"turn_3_prompt": "", "turn_3_instruction_id_list": "", "turn_3_kwargs": ""}
)


def test_each_turn_is_checked_by_its_own_instructions() -> None:
    first, again = {"role": "user", "content": "Name a ferry."}, {"role": "user", "content": "Again."}
    row = {key: item for key, item in MULTI_IF.items() if key != "responses"}
    both = [first, *said("Mull, say."), again, *said('<think>,</think>"Mull"')]
    assert checked(row, both, [first, *said("Mull")], [*said("Mull"), again, *said("Mull")]) == [
        [False, True, True], [True, None, None], [True, True, False],
    ]  # fmt: skip


def test_a_turns_field_that_is_not_json_is_named() -> None:
    with pytest.raises(InputError, match=r"turn_1_instruction_id_list: its JSON text is not JSON"):
        as_group({**MULTI_IF, "turn_1_instruction_id_list": "[", "responses": ["x"]})


def test_an_answer_of_several_messages_is_one_turn() -> None:
    from calipers.verifiers.ifeval.turns import turn_answers  # noqa: PLC0415 - only this test needs it

    messages: list[dict[str, Any]] = [
        {"role": "assistant", "content": "a"},
        {"role": "tool", "content": "t"},
        *said("b"),
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None},
    ]
    assert turn_answers(Trajectory("x", tuple(messages))) == ["b", None]
