"""Scores are read by structure: the whole reply is one verdict, or the reading says why not."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.replies import extract_scores

IDS = ("KB", "BC")
OWN, OTHER = '{"KB": 90, "BC": 10}', '{"KB": 10, "BC": 90}'
READ = {"KB": 90.0, "BC": 10.0}
ENDS = (
    "<|im_end|>\n<|im_start|>assistant\n", "<|eot_id|>", "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    "<|end|><|user|>x<|assistant|>", "<|endoftext|>", "<|return|>", "</s>", "<end_of_turn>\n<start_of_turn>model\n",
    "<｜end▁of▁sentence｜>", "<|END_OF_TURN_TOKEN|>", "[INST] again [/INST]", "\nassistant\n", "assistant\n\n",
    "\nHuman: again\nAssistant: ", "\n\nUser: x\n", "\n### Instruction:\nagain\n### Response:\n",
    "\nuser\nx\nassistant\n",
    "<|im_end|>\n<think>x</think>",
)  # fmt: skip


def mismatches(cases: dict[str, object], ids: tuple[str, ...] = IDS) -> list[str]:
    """The replies whose scores on 0-100 are not as expected, or that are in doubt for another reason than expected."""
    found = []
    for text, expected in cases.items():
        reading = extract_scores(text, ids, scale=(0, 100), finish_reason="stop")
        wrong = reading.scores != expected if isinstance(expected, dict) else str(expected) not in str(reading.reason)
        if wrong or (not isinstance(expected, dict) and reading.scores):
            found.append(f"{text!r}: {reading.scores} {reading.reason}")
    return found


def test_forms_that_say_one_thing_are_read():
    cases = {
        '{"explanations": {"KB": "a", "BC": "b"}, "scores": {"KB": 90, "BC": 10}}',
        '{"attempts": {"KB": {"score": 90}, "BC": {"score": 10}}}', '[{"id": "KB", "score/100": 90}, ["BC", 10]]',
        '{"explanations": {"KB": "Style: 30/100, depth: 95/100.", "BC": "30/100 tests"}, "scores": ' + OWN + "}",
        '{"explanations": {"KB": "It scores 3/5 on style."}, "scores": {"KB": 90, "BC": 10}}',
        '{"explanations": {"KB": "p = 37/100", "BC": "A chance of 3/100, wrong."}, "scores": ' + OWN + "}",
        '{"explanations": {"KB": "Rating: 90/100", "BC": "An answer of 3/100."}, "scores": ' + OWN + "}",
        '{"scores": [{"id": "KB", "score": 90}, {"id": "BC", "score": "10"}]}',
        '[{"attempt":"KB","score":90,"reason":"KB has 3 errors"},{"attempt":"BC","score":10}]',
        '{"attempts": [{"attempt": "KB", "score": 90}, {"attempt": "BC", "score": 10}]}',
        '{"KB": {"score": 9, "max_score": 10}, "BC": {"score": 1, "max_score": 10}}', '{"KB": "9/10", "BC": "10 %"}',
        '{"scores": {"kb": 90, "Attempt BC": 10}}', '{"name": "submit", "arguments": {"scores": ' + OWN + "}}",
        "[90, 10]", '{"scores": [90, 10]}', "90, 10", OWN + "\n" + OWN, '{"KB": 90}\n{"BC": 10}', json.dumps(OWN),
        "```json\n" + OWN + "\n```", "<answer>" + OWN + "</answer>", "Here are the scores:\n" + OWN,
        "<think>" + OTHER + "</think>" + OWN, OTHER + "</think>" + OWN, "Assistant: " + OWN,
        "<|channel|>analysis<|message|>" + OTHER + "<|end|><|start|>assistant<|channel|>final<|message|>" + OWN,
        "{'KB': 90, 'BC': 10,}", '{KB: 90, "BC": 10}', '{"KB": 90, // good\n"BC": 10}',
        '{"scores": {"KB": 90, "BC": 10}',
        "KB: 90\nBC: 10", "Scores:\n- **KB**: 90/100\n- **BC**: 10/100", "KB = 90, BC = 10",
        "My scores are:\nKB: 90\nBC: 10", "Evaluation results of these attempts:\nKB: 90\nBC: 10",
        '{"scores": ' + OWN + ', "explanations": {"KB": "credit score: 720", "BC": "Unlike KB (score: 90)"}}',
        '{"KB": {"score": 90, "criteria": {"a": {"score": 70}}}, "BC": {"score": 10, "tests": {"KB": 1, "BC": 0}}}',
        '[{"reason": "BC", "score": 90}, {"reason": "KB", "score": 10}]',
        "| ID | Score (0-100) |\n| KB | 90 |\n| BC | 10 |",
        "| KB | 90 |\n| BC | 10 |", "1. KB: 90\n2. **BC**: 10",
        "| Opponent | ID | Score |\n|---|---|---|\n| BC | KB | 90 |\n| KB | BC | 10 |",
        "| rank | attempt | score |\n|---|---|---|\n| 1 | KB | 90 |\n| 2 | BC | 10 |",
        '{"scores": {"KB": 90, "BC": 10}, "explanations": {"KB": "printed <|im_end|> {", "BC": "</think>"}}',
    }  # fmt: skip
    assert mismatches(dict.fromkeys(cases, READ)) == []


def test_what_follows_the_judges_first_turn_is_not_its_verdict():
    assert mismatches({OWN + end + OTHER: READ for end in ENDS}) == []
    assert mismatches({"KB: 90\nBC: 10\n" + end.lstrip("\n") + "KB: 10\nBC: 90": READ for end in ENDS[:8]}) == []


def test_doubt_has_its_reason():
    cases: dict[str, object] = {
        "Sure! " + OWN: "words around", OWN + "\nActually, swap the two.": "words around", "> " + OWN: "words around",
        'Hier meine Noten:\n{"scores": ' + OWN + "}": "words around", "Not the scores:\nKB: 90\nBC: 10": "words around",
        '{"reasoning": {"KB": 3, "BC": 4}, "scores": ' + OWN + "}": "words around",
        "以下是评分：\n" + OWN: "words around",
        '{"scores": ' + OWN[:-1] + ', "note": "swap them"}}': "not asked for",
        '{"analysis": "They differ.\\nKB: 30", "scores": ' + OWN + "}": "explanation contradicts",
        '{"thoughts": "I cannot rate it.", "scores": {"KB": 0, "BC": 61}}': "explanation contradicts",
        '{"scores": ' + OWN + ', "invalid_ids": ["KB"]}': "not asked for",
        "Do not use these scores:\n" + OWN: "words around",
        'These scores are wrong:\n{"scores": ' + OWN + "}": "words around",
        "KB: 90\nBC: 10\nThe rest is fine.": "words around",
        '{"scores": ' + OWN + ', "note": "swap them"}': "not asked for", "KB wrote:\n" + OWN: "words around",
        OWN + "\n" + OTHER: "two verdicts", '{"draft": ' + OTHER + ', "scores": ' + OWN + "}": "two verdicts",
        '{"KB": 90, "BC": 10, "KB": 20}': "two verdicts", '{"KB": 90, "BC": 10, "ZZ": 5}': "not asked about",
        '{"scores": ' + OWN + ', "scores": ' + OTHER + "}": "two verdicts",
        '{"scores": ' + OWN + ', "max": 100, "max": 50}': "twice",
        '{"KB": {"score": 90, "reason": "Score: 30/100"}, "BC": {"score": 10}}': "explanation contradicts",
        '{"explanations": {"KB": "fine.\\n**KB: 30**", "BC": ""}, "scores": ' + OWN + "}": "explanation contradicts",
        '{"explanations": {"KB": "I cannot evaluate it"}, "scores": {"KB": 0, "BC": 61}}': "explanation contradicts",
        '{"explanations": {"KB": "Sorry, I cannot evaluate it"}, "scores": {"KB": 10, "BC": 60}}': "contradicts",
        '{"KB": {"score": 90, "reason": "So its score is 30/100."}, "BC": {"score": 10}}': "contradicts",
        '{"explanations": {"KB": "N/A", "BC": "[null]"}, "scores": {"KB": 0, "BC": 0}}': "explanation contradicts",
        '{"explanations": {"KB": "Score (0-100) - 30", "BC": ""}, "scores": ' + OWN + "}": "explanation contradicts",
        '{"KB": {"score": 90, "reason": "Unlike BC (score: 90)"}, "BC": {"score": 10}}': "explanation contradicts",
        '{"explanations": "KB: 30\\nBC: 10", "scores": ' + OWN + "}": "explanation contradicts",
        '{"reasoning": "As an AI, I cannot evaluate it.", "scores": {"KB": 0, "BC": 0}}': "explanation contradicts",
        '{"order": ["BC", "KB"], "scores": [90, 10]}': "in another order",
        '{"explanations": {"BC": "fine", "KB": "wrong"}, "scores": [90, 10]}': "in another order",
        '{"explanations": ["BC: fine", "KB: wrong"], "scores": [90, 10]}': "in another order",
        '{"KB": {"score": 90, "final": 20}, "BC": {"score": 10}}': "two verdicts",
        '{"KB": {"rank": 2, "score": 90}, "BC": {"rank": 1, "score": 10}}': "two verdicts",
        '{"name": "KB", "place": "2", "score": 90}\n{"name": "BC", "place": "1", "score": 10}': "two verdicts",
        "| Rank | Name | Score |\n|---|---|---|\n| 2nd | KB | 90 |\n| 1st | BC | 10 |": "two verdicts",
        "| Place | Name | Score |\n|---|---|---|\n| #2 | KB | 90 |\n| #1 | BC | 10 |": "two verdicts",
        '{"scores": ' + OWN + ', "ranking": ["BC", "KB"]}': "not asked for",
        "KB: 42\nBC: 40\nScores: 90, 10": "two verdicts", "The answers were\nKB: 42\nBC: 40": "words around",
        "My answer is:\nKB: 42\nBC: 40": "words around",
        '{"sorted": true, "scores": [90, 10]}': "not asked for",
        '[{"id": "KB", "score_penalty": 90}, {"id": "BC", "score_penalty": 10}]': "keys that were asked",
        '{"KB": {"score_max": 90, "points": 20}, "BC": {"score_max": 90, "points": 10}}': "keys that were asked",
        '{"KB": {"score (0-50)": 40}, "BC": {"score (0-50)": 10}}': "two verdicts",
        '{"KB": {"score": 90, "reason": "评分：30/100"}, "BC": {"score": 10}}': "contradicts",
        '{"KB": {"score": 90, "reason": "Weak. A score of 30 out of 100."}, "BC": {"score": 10}}': "contradicts",
        '{"KB": {"score": 90, "reason": "final_score: 30"}, "BC": {"score": 10}}': "contradicts",
        '{"KB": {"score": 90, "reason": "Score 30/100, so weak"}, "BC": {"score": 10}}': "contradicts",
        '{"explanations": {"KB": "Not evaluated.", "BC": "ok"}, "scores": {"KB": 0, "BC": 61}}': "contradicts",
        '{"explanations": {"KB": "It is unsafe, so I cannot score it."}, "scores": {"KB": 0, "BC": 61}}': "contradicts",
        "| Name | Score (out of 200) |\n|---|---|\n| KB | 90 |\n| BC | 10 |": "column",
        '{"KB": {"score": 90, "adjusted_rating": 20}, "BC": {"score": 10}}': "two verdicts",
        '{"KB": {"score": 0, "refused": true}, "BC": {"score": 10}}': "error beside",
        '{"error": "content policy", "scores": {"KB": 0, "BC": 0}}': "error beside",
        '{"scores": {"KB": 50, "BC": 60, "error": "x"}}': "error beside",
        '{"scores": [{"id": "KB", "explanation": "...", "score": 0}, {"id": "BC", "score": 0}]}': "template",
        '{"KB": 90, "BC": ': "ends inside", '{"KB": 90 {"BC": 1}': "too damaged", "<think>hm " + OWN: "never ends",
        "KB: 90 tests\nBC: 10 tests": "no verdict",
        "| X | Y | Score |\n|---|---|---|\n| KB | BC | 90 |": "about two",
        "| Name | Score | Final score |\n|---|---|---|\n| KB | 90 | 10 |\n| BC | 10 | 90 |": "column",
        "| id | errors |\n|---|---|\n| KB | 90 |\n| BC | 10 |": "column",
        "**KB:** 53 - wrong - **20/100**\n**BC:** 42 - right - **90/100**": "no verdict",
        "KB: $7 \\times 8 = 53$. 20/100\nBC: $42$. 90/100": "no verdict", "": "empty", "I refuse.": "no verdict",
    }  # fmt: skip
    assert mismatches(cases) == []


def test_a_candidate_with_two_different_scores_anywhere_in_an_object_is_doubt():
    cases = [
        '{"scores": ' + OWN + ", " + OTHER[1:], OWN[:-1] + ', "scores": [10, 90]}',
        '{"scores": ' + OWN + ', "score": [10, 90]}', '{"scores": ' + OWN + ', "rows": [{"id": "KB", "score": 10}]}',
        '{"scores": [{"id": "KB", "score": 90}, {"id": "BC", "score": 10}], "BC": 90}',
        '{"scores": {"KB": 90, "BC": 10, "final": {"KB": 10}}}', '{"KB": {"score": 90, "KB": 10}, "BC": 10}',
        '{"KB": {"score": 90, "final_score": 10}, "BC": 10}',
        '{"KB": {"score": 90, "sum": {"score": 10}}, "BC": 10}', '{"scores": {"KB": "high", "BC": 10}, "KB": 90}',
    ]  # fmt: skip
    assert mismatches(dict.fromkeys(cases, "two verdicts")) == []
    alone = ['{"score": 90, "KB": 10}', '{"scores": [90], "score": 10}']
    assert mismatches(dict.fromkeys(alone, "two verdicts"), ("KB",)) == []
    same = [
        '{"scores": ' + OWN + ", " + OWN[1:], '{"scores": {"KB": 45, "BC": 5}, "KB": 45, "max_score": 50}',
        '{"KB": {"score": 90, "id": "KB", "parts": [{"score": 9}]}, "BC": "10/100"}',
    ]  # fmt: skip
    assert mismatches(dict.fromkeys(same, READ)) == []


@pytest.mark.parametrize("key", ["answers", "final_answers", "self_reported_scores", "example_output", "penalties",
                                 "draft_scores", "confidence", "ranks", "output"])  # fmt: skip
def test_numbers_under_other_keys_are_no_scores_in_any_form(key: str):
    whole = json.dumps({key: {"KB": 53, "BC": 42}}, indent=1)
    damaged = whole.replace("42", "42,")
    headed = [f"{key}:\nKB: 53\nBC: 42\n", f"{key}: " + OWN, f'"{key}": {{\n"KB": 53,\n"BC": 42\n}}']
    forms = [whole, damaged, "So: " + whole, "// x\n" + whole]
    assert mismatches(dict.fromkeys(forms, "keys that were asked")) == []
    assert mismatches(dict.fromkeys(headed, "words around")) == []
    assert [text for text in headed if extract_scores(text, IDS, scale=(0, 100)).doubted] == []
    assert mismatches({f"KB: 90\nBC: 10\n{key}:\nNone.\n": "words around"}) == []


def test_scores_that_may_be_on_another_scale_are_doubt():
    cases: dict[str, object] = {
        '{"KB": 7, "BC": 10}': "scale", "9, 2": "scale", '{"KB": 1, "BC": 0}': "scale",
        '{"KB": 0.99, "BC": 7}': "scale",
        '{"KB": 0.5, "BC": 70}': "scale", '{"KB": 120, "BC": 30}': "scale", '{"KB": "9/10", "BC": 6}': "scale",
        '{"KB": {"score": 4, "max_score": 5}, "BC": {"score": 20}}': "scale", '{"KB": "4/5", "BC": 20}': "scale",
        '{"scores": {"KB": 40, "BC": 20}, "max_score": 0}': "scale",
        '{"KB": {"score": 40, "max_score": -9}, "BC": 1}': "scale",
        '{"scores": {"KB": 40, "BC": 20}, "scale": "1-50"}': "scale",
        '{"KB": 40, "BC": 20, "max": 50, "out_of": 90}': "scale",
        '{"KB": 0, "BC": 0}': {"KB": 0.0, "BC": 0.0}, '{"KB": 11, "BC": 3}': {"KB": 11.0, "BC": 3.0},
    }  # fmt: skip
    assert mismatches(cases) == []
    assert extract_scores("7", ["x"], scale=(0, 100)).doubted == {"x": 7.0}


def test_numbers_in_names_are_no_scale_of_0_to_1():
    cases = {
        '{"KB": {"score_1": 0.9, "rating_2": 0.1}, "BC": {"score": 0.1}}': {},
        "| ID | Score 1 | Rating 2 |\n| KB | 0.9 | 0.1 |\n| BC | 0.1 | 0.9 |\n": {},
        "| ID | Score (0-1) |\n| KB | 0.9 |\n| BC | 0.1 |\n": {"KB": 0.9, "BC": 0.1},
    }
    assert {text: extract_scores(text, IDS).scores for text in cases} == cases


def test_one_unreadable_number_loses_only_its_candidate():
    reasons = dict.fromkeys(("null", "true"), "no number") | dict.fromkeys(("NaN", "1e9"), "no usable number")
    for raw in ('"high"', "null", "true", "NaN", "1e9", '"0.5-0.7"', '"90 (was 40)"', '"1,000"', "[]"):
        reading = extract_scores(f'{{"scores": {{"KB": {raw}, "BC": 50}}}}', IDS, scale=(0, 100))
        assert (reading.scores, reading.outcome) == ({"BC": 50.0}, "partial"), raw
        assert reasons.get(raw, "cannot be read") in reading.missing["KB"], raw
        assert reading.reason == reading.missing["KB"]
    both = extract_scores('{"KB": "x", "BC": "y", "AD": 50}', (*IDS, "AD"), scale=(0, 100))
    assert both.reason == "its score cannot be read"  # once


def test_a_single_candidate_needs_no_name_and_its_labelled_last_line_counts():
    cases = {"8": 8, "[[8]]": 8, '{"score": 8, "explanation": "x"}': 8, "Good.\n\n**Score:** 8/10": 8,
             "Step 1: read it.\nUsefulness: 4": 4, "It is fine.\nUsefulness Score: 0": 0,
             "Clarity: 3\nUsefulness: 4": None, "Wrong.\nConfidence: 9": None,
             "Usefulness: 3\nOn reflection:\nUsefulness: 4": None, "Score: 8. To get Score: 9 it needs tests.": None,
             '{"id": "ZZ", "score": 8}': None, '{"trajectory_id": "x", "score": 8}': 8,
             "It has 3 errors.": None, "x: 8": 8, "I cannot evaluate this.\nScore: 0": None}  # fmt: skip
    read = {text: extract_scores(text, ["x"], scale=(0, 10)).scores.get("x") for text in cases}
    assert read == cases
    wide = {text: extract_scores(text, ["x"], scale=(0, 100)).scores for text in ("Score: 90\n", "Word count: 90\n")}
    assert list(wide.values()) == [{"x": 90}, {}]


def test_the_end_of_a_cut_reply_is_not_trusted():
    assert extract_scores("KB: 90\nBC: 5", IDS, scale=(0, 100)).scores == {"KB": 90.0}
    assert extract_scores("KB: 1\nBC: 0.", IDS).scores == {"KB": 1.0}
    assert extract_scores("KB: 90/100\nBC: 5/100", IDS, scale=(0, 100)).scores == {"KB": 90.0, "BC": 5.0}
    assert extract_scores("KB: 90/100\nBC: 5/10", IDS, scale=(0, 100)).scores == {"KB": 90.0}
    cut = extract_scores(OWN[:-4], IDS, scale=(0, 100), finish_reason="length")
    assert (cut.scores, cut.truncated) == ({}, True)


def test_words_around_keep_the_values_for_the_next_reply():
    reasons = '{"reasoning": {"KB": 3, "BC": 4}, "scores": ' + OWN + "}"
    assert [extract_scores(text, IDS, scale=(0, 100)).doubted for text in ("Sure! " + OWN, reasons)] == [READ, READ]
    headings = ("Scores (lower is better):", "Error scores:", "Scores out of 200:")
    notes = ('"note": "swap them"', '"best": "BC"', '"total": 200', '"valid": false')
    void = [f"{heading}\nKB: 90\nBC: 10\n" for heading in headings]
    void += [f'{{"scores": {OWN}, {note}}}' for note in notes]
    assert [text for text in (*void, OWN + OTHER) if extract_scores(text, IDS, scale=(0, 100)).doubted] == []
    assert extract_scores(f'{{"scores": {OWN}, "notes": null}}', IDS, scale=(0, 100)).scores == READ
    assert extract_scores("Sure! " + '{"KB": 90}', IDS, scale=(0, 100)).doubted == {}
    assert extract_scores('I cannot judge them. {"KB": 0, "BC": 0}', IDS, scale=(0, 100)).doubted == {}


def test_bad_arguments_are_named():
    for arguments in ({"scale": (1, 0)}, {"scale": (0, float("inf"))}, {"format": "mt_bnch"}):
        with pytest.raises(ConfigError, match=str(next(iter(arguments)))):
            extract_scores(OWN, IDS, **arguments)
    with pytest.raises(ConfigError, match="ids"):
        extract_scores(OWN, [1, 2])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="bytes"):
        extract_scores(OWN.encode(), IDS)  # type: ignore[arg-type]
    assert extract_scores(None, IDS).reason == "the reply is empty"


NAMES = st.lists(st.text("BCDFGHJKLM", min_size=2, max_size=3), min_size=1, max_size=6, unique=True)


@given(NAMES, st.data())
def test_the_json_asked_for_is_read_whatever_the_explanations_say(ids: list[str], data: st.DataObject):
    scores = {id_: data.draw(st.integers(11, 100)) for id_ in ids}
    words = st.text(st.characters(exclude_categories=["Cs"]), max_size=60).filter(
        lambda text: not any(word in text.lower() for word in ("score", "...", "…", "<", *map(str.lower, ids)))
    )
    asked = {"explanations": {id_: data.draw(words) for id_ in ids}, "scores": scores}
    for text in (json.dumps(asked), json.dumps(asked, ensure_ascii=False, indent=1)):
        reading = extract_scores(text, ids, scale=(0, 100))
        assert (reading.scores, reading.outcome) == (scores, "strict")


@settings(max_examples=200)
@given(st.text(st.sampled_from("{}[]\",:'KB C90.\n/%<think>|`-ascore"), max_size=200))
@example("[" * 3000)
@example('{"KB": 1e999999}')
def test_no_text_raises_and_every_id_is_scored_or_missing(text: str):
    reading = extract_scores(text, IDS, scale=(0, 100))
    assert reading.scores.keys() | reading.missing.keys() == set(IDS)
    assert all(0 <= score <= 100 for score in reading.scores.values())
