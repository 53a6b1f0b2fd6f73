"""IFEval: the official verdicts with their oddities, the rows of its files, and its report."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.verifiers.ifeval import INSTRUCTION_IDS, check, instruction, instructions
from calipers.verifiers.ifeval.rows import Prompt, Response, check_response, pair, read_prompt, read_response, report
from calipers.verifiers.ifeval.sentences import count_capital_words, count_sentences
from effort import in_proportion

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = "the weather was fine and we walked along the river until the evening came"
GERMAN = "Das Wetter war schön und wir gingen am Fluss entlang, bis der Abend kam."
NO_COMMA, BULLETS = "punctuation:no_comma", "detectable_format:number_bullet_lists"


def need_langdetect() -> None:
    pytest.importorskip("langdetect", reason="langdetect is not installed: pip install 'calipers[ifeval]'")


def rows(name: str) -> list[dict[str, Any]]:
    folder = Path(os.environ.get("CALIPERS_DATA") or ROOT.parent / "shared" / "data") / "ifeval"
    if not folder.is_dir():
        pytest.skip(f"no recorded data at {folder}; CALIPERS_DATA says where it is")
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.data
def test_every_verdict_of_the_official_checker_on_its_own_data_is_given() -> None:
    need_langdetect()
    prompts = [read_prompt(row, line) for line, row in enumerate(rows("input_data.jsonl"), start=1)]
    given = rows("input_response_data_gpt4_20231107_145030.jsonl")
    paired = pair(prompts, [read_response(row, line) for line, row in enumerate(given, start=1)])
    assert [asked.line for asked, _ in paired.pairs] == [response.line for _, response in paired.pairs]
    checked = [check_response(asked, response) for asked, response in paired.pairs]
    ours = [(a.met, b.met) for one in checked for _, a, b in one]
    golden = rows("golden_gpt4_verdicts.jsonl")
    # In two rows the official code draws a letter at random, in place of "#" and "!"; here these are counted.
    theirs = [(row["strict"], row["loose"]) if row["stable"] else (row["literal"],) * 2 for row in golden]
    assert len(ours) == len(theirs) == 834
    assert [row for row, one, other in zip(golden, ours, theirs, strict=True) if one != other] == []
    found = report(checked)
    assert [round(100 * share, 2) for share in list(found.values())[:4]] == [77.08, 83.69, 79.67, 85.61]


def at_least(field: str, count: int, relation: str = "relation", **more: Any) -> dict[str, Any]:
    return {field: count, relation: "at least", **more}


CASES: list[tuple[str, dict[str, Any], list[tuple[str, bool | None]]]] = [
    (NO_COMMA, {}, [("no comma; here、，", True), ("one, two", False), (" ", False)]),
    ("startend:quotation", {}, [(' "all of it" ', True), ('"', False), ("“all of it”", False)]),
    ("startend:end_checker", {"end_phrase": "The End "},
     [('So it was: THE END" ', True), ("The End.", False), ('The End "', False)]),
    ("combination:two_responses", {}, [
        ("a ****** b", True), ("******a******b******", True), ("a ****** a", False), ("a", False),
        ("a******b******c", False), ("a****** ******b", False)]),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it"}, [(" say IT, more", True), ("Sure: say it", False)]),
    ("detectable_format:title", {}, [
        ("<<A title>>", True), ("<<>> <<a>>", True), ("<< >>", False), ("<<<>>>", False), ("<<a\n>>", False)]),
    ("detectable_format:json_format", {}, [
        ('{"a": 1}', True), ("```Json [1] ```", True), ("```\nNaN\n```", True), ("{'a': 1}", False),
        ('Here: {"a": 1}', False), ("[" * 100_000, None)]),
    ("detectable_format:constrained_response", {}, [
        ("I think My answer is maybe. So.", True), ("my answer is yes.", False), ("My answer is yes", False)]),
    (BULLETS, {"num_bullets": 2}, [
        ("* a\n- b", True), ("  * a\n\n\t- b", True), ("---\n*italics*", True), ("**bold**\n***\n", False),
        ("*\n* next", False), ("* a\n* b\n* c", False)]),
    (BULLETS, {"num_bullets": 1.0, "keywords": None}, [("* a", True)]),  # whole floats are numbers, and null is absent
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, [
        ("*a* and *b*", True), ("***a***", True), ("**a**", False), ("** **", False), ("*a\nb*", False)]),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, [
        ("[a] []", True), ("[[a]]", False), ("[a\nb] [c]", False), ("]a[ [", False)]),
    ("detectable_format:multiple_sections", {"section_spliter": " Pa.t ", "num_sections": 2}, [
        ("Part 1\nPart 2", True), ("PART 1 Part 2", False)]),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, [("text p. s. more", True), ("PS: more", False)]),
    ("detectable_content:postscript", {"postscript_marker": "Note*"}, [("Notes", True)]),
    ("keywords:existence", {"keywords": ["cat", "d.g"]}, [("A Dog and concatenation.", True), ("A dog.", False)]),
    ("keywords:frequency", at_least("frequency", 2, keyword=" cat "), [("cat, Cats", True), ("cat", False)]),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, [("Concatenate.", True), ("A Cat!", False)]),
    ("keywords:letter_frequency", at_least("let_frequency", 2, "let_relation", letter="#"),
     [("# #", True), ("#", False)]),
    ("keywords:letter_frequency", at_least("let_frequency", 3, "let_relation", letter="A"),
     [("aAá a", True), ("aA", False)]),
    ("length_constraints:number_words", at_least("num_words", 5), [("don't stop-me now_now", True), ("यह", False)]),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, [
        ("one *** two", True), ("***\none\n***\ntwo", True), ("one\n\ntwo", False), ("one\n***\n\n***\ntwo", False)]),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "two"}, [
        ("One a\n\n'\"TWO,\" b", True), ("One\n\n\n\nTwo", False), ("One", False), ("One\n\nTwo\n\nThree", False)]),
    ("change_case:capital_word_frequency", at_least("capital_frequency", 2, "capital_relation"), [
        ("NASA and the FBI", True), ("NASA", False)]),
    ("language:response_language", {"language": "de"}, [(GERMAN, True), (ENGLISH, False), ("12345", True)]),
    ("change_case:english_capital", {}, [(ENGLISH.upper(), True), (ENGLISH, False), ("12345", False)]),
    ("change_case:english_lowercase", {}, [(ENGLISH, True), (GERMAN.lower(), False)]),
]  # fmt: skip


def test_verdicts_are_the_official_ones() -> None:
    need_langdetect()
    got = [(name, kwargs, text, check(name, kwargs, text).met) for name, kwargs, texts in CASES for text, _ in texts]
    expected = [(name, kwargs, text, met) for name, kwargs, texts in CASES for text, met in texts]
    assert [one for one, other in zip(got, expected, strict=True) if one != other] == []
    assert {name for name, *_ in CASES} | {"length_constraints:number_sentences"} == set(INSTRUCTION_IDS)


def test_sentences_and_capitals_are_counted_as_punkt_and_the_word_tokenizer_do() -> None:
    sentences = {
        "One. Two? Three!": 3, "no mark at all": 1, "Really?! Yes.": 2, "Dr. Smith came. The end.": 2, "": 0, " \n": 0,
        "In the U.S. The law holds.": 2, "In the U.S. Congress met.": 1, "Wait... The door. Wait... Smith?": 3,
        "It is by J. Smith. The end.": 2, "1. First\n2. Second": 3, "It was 1999. then more": 1, "yes.no": 1,
        "We use e.g. words": 2, 'He said "go." She went.': 2, "(It is so.) Then more.": 2, "“So.” Then more.": 1,
        "A. Java\nB. Hands-on": 3, 'He said "go."': 1,
    }  # fmt: skip
    capitals = {
        "": 0, "nothing here, Really nothing": 0, "I saw NASA and the U.S. today": 3, "ALL-OR-NOTHING is one": 1,
        "A1 B2 12 -- ...": 2, "IT'S here": 2, "DON'T go": 2, "CANNOT GIMME GOTTA": 6, "YES!NO?MAYBE;SO": 4,
        'He said "STOP", then *GO* [NOW] (OK) {X}<Y>': 6, "A/B C:D E,F 1:A": 6, "ÉTÉ ΟΔΟΣ ß": 2,
    }  # fmt: skip
    assert {text: count_sentences(text) for text in sentences} == sentences
    assert {text: count_capital_words(text) for text in capitals} == capitals


@pytest.mark.slow
@pytest.mark.parametrize("name", ["detectable_format:title", BULLETS, "detectable_content:number_placeholders"])
@pytest.mark.parametrize("unit", ["[", "<<", "*", "* ", "\n", "- ", "A.) ", "CANNOT'", ". ", '."'])
def test_hostile_text_takes_time_in_proportion_to_its_length(name: str, unit: str) -> None:
    kwargs = {BULLETS: {"num_bullets": 1}, "detectable_content:number_placeholders": {"num_placeholders": 1}}
    asked = instruction(name, kwargs.get(name))

    def checked(size: int) -> Callable[[], object]:
        text = "x." + unit * size + "x"
        return lambda: (asked.strict(text), count_sentences(text), count_capital_words(text))

    in_proportion(checked, 50_000)


def test_loose_leaves_out_the_first_and_last_line_and_all_stars() -> None:
    asked = instruction(BULLETS, {"num_bullets": 2})
    texts = {"- Sure\n* a\n* b": True, "* a\n* b\n- done": True, "- Sure\n* a\n* b\n- done": True, "* a": False}
    assert {text: asked.loose(text).met for text in texts} == texts
    assert not any(asked.strict(text).met for text in texts)
    assert instruction("startend:end_checker", {"end_phrase": "the end"}).loose("It is **the end**").met is True
    assert instruction(NO_COMMA).loose("a, b\nc, d\ne, f") == instruction(NO_COMMA).strict("a, b\nc, d\ne, f")


def test_the_prompt_is_repeated_if_the_kwargs_do_not_say_what() -> None:
    assert check("combination:repeat_prompt", {}, "Say it. Done.", prompt="say it.").met is True
    with pytest.raises(InputError, match="prompt_to_repeat: is missing"):
        check("combination:repeat_prompt", None, "Say it. Done.")


WORDS, LETTERS = "length_constraints:number_words", "keywords:letter_frequency"
ERRORS: list[tuple[Any, Any, str]] = [
    ("punctuation:no_commas", {}, "did you mean punctuation:no_comma"),
    ("words:keywords_specific_position", {}, "only IFEval's 25"),
    (["a"], {}, "unknown instruction"),
    (WORDS, {"num_words": 300}, "relation: is missing"),
    (WORDS, {"num_words": "300", "relation": "at least"}, "num_words: must be a whole number"),
    (WORDS, {"num_words": -1, "relation": "at least"}, "num_words: must be a whole number, 0 or more"),
    (WORDS, {"num_words": 3, "relation": "at most"}, "relation: must be"),
    (WORDS, {"num_word": 3, "relation": "at least"}, "did you mean num_words"),
    ("keywords:existence", {"keywords": ["one", 2]}, r"keywords\[1\]: must be text"),
    ("keywords:existence", {"keywords": "one"}, "keywords: must be a list"),
    ("keywords:existence", {"keywords": ["(x"]}, "regular expression"),
    (LETTERS, {"letter": "ab", "let_frequency": 1, "let_relation": "at least"}, "letter: must be one character"),
    ("language:response_language", {"language": "english"}, "language: must be a code"),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 2, "nth_paragraph": 3, "first_word": "a"},
     "nth_paragraph: must be from 1"),
    (NO_COMMA, ["x"], "kwargs must be an object"),
]  # fmt: skip


def test_errors_name_the_instruction_and_the_field() -> None:
    for name, kwargs, named in ERRORS:
        with pytest.raises(InputError, match=named):
            instruction(name, kwargs)


def test_languages_are_detected_the_same_way_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    need_langdetect()
    answers = set()
    for _ in range(5):
        instructions.detect_language.cache_clear()
        answers.add(instructions.detect_language("no si the de la"))
    assert len(answers) == 1
    instructions._detectors.cache_clear()
    for name in ("langdetect", "langdetect.detector_factory"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[ifeval\]'"):
        instruction("language:response_language", {"language": "en"})


# --- rows


def prompt(line: int, text: str | None = None) -> Prompt:
    return Prompt(line, 1000 + line, text or f"prompt {line}", ())


def lines(asked: list[str | None], *, key: bool = False) -> tuple[list[tuple[int, int]], int, int]:
    """How three prompts and the responses to ``asked`` are paired, and how many warnings and errors there are."""
    given = [Response(n, "answer", one if key else None, None if key else one) for n, one in enumerate(asked, start=1)]
    found = pair([prompt(1), prompt(2), prompt(3)], given)
    return [(one.line, other.line) for one, other in found.pairs], len(found.warnings), len(found.errors)


def test_responses_are_paired_by_key_by_prompt_or_by_line() -> None:
    assert lines(["prompt 3", "prompt 1", "prompt 2"]) == ([(3, 1), (1, 2), (2, 3)], 0, 0)
    assert lines(["1002", "1003"], key=True) == ([(2, 1), (3, 2)], 0, 0)
    assert lines(["prompt 1", "prompt two", "prompt 3"]) == ([(1, 1), (2, 2), (3, 3)], 1, 0)
    assert lines(["prompt 2", "prompt two", "prompt 3"]) == ([(2, 1), (3, 3)], 0, 1)
    assert lines(["another 1", "another 2", "another 3"]) == ([], 0, 3)
    assert lines([None, None, None]) == ([], 0, 3)
    twins = pair([prompt(1, "same"), prompt(2, "same")], [Response(n, "a", None, "same") for n in (1, 2, 3)])
    assert [(one.line, other.line) for one, other in twins.pairs] == [(1, 1), (2, 2), (1, 3)]


ROW: dict[str, Any] = {
    "key": 6, "prompt": "q", "instruction_id_list": ["keywords:existence", "keywords:existence"],
    "kwargs": [{"keywords": ["cat"]}, {"keywords": ["dog"], "num_words": None}],
}  # fmt: skip
WRONG_ROWS: list[tuple[dict[str, Any], str]] = [
    ({"instruction_id_list": None}, "instruction_id_list: is missing"),
    ({"kwargs": [{}]}, "kwargs: 1 given for 2 instructions"),
    ({"prompt": 3}, "prompt: must be text"),
]


def test_what_is_wrong_in_a_row_is_named() -> None:
    for change, named in WRONG_ROWS:
        with pytest.raises(InputError, match=named):
            read_prompt(ROW | change, 1)


def test_a_report_has_shares_of_prompts_and_of_instructions() -> None:
    asked = read_prompt(ROW, 1)
    texts = ("cat and dog", "cat", "x\ncat, dog", "x")
    found = report([check_response(asked, Response(line, text)) for line, text in enumerate(texts, start=1)])
    assert [found[name] for name in ("prompts", "instructions", "prompt_strict", "inst_strict")] == [4, 8, 2 / 4, 5 / 8]
    assert json.loads(json.dumps(found))["by_type"]["keywords:existence"]["count"] == 8
