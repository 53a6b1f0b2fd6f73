"""Verdicts, checklists, choices and rankings are read where they stand in a place of their own, and formats as data."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.replies import extract_checklist, extract_choice, extract_ranking, extract_scores, extract_verdict
from calipers.replies.formats.known import format_named, known_formats

FORMATS = Path(__file__).parents[1] / "fixtures" / "formats.jsonl"
TEXTS = {"1": "Is 42.", "2": "Is wrong."}


def test_a_verdict_is_a_word_in_a_place_of_its_own():
    cases = {
        "Yes.": True, "No, it is not met.": False, "No, it is not.": None, "No errors were found.": None,
        "Yes — it never says that.": None,
        "No doubt, it is met.": None, "No. The criterion is met.": None, "Yes, that is false.": None,
        "PASS": True, "not met": False, "[[1]]": True, "[[0]]": False,
        "It is fine.\n\n**Verdict:** MET": True, '{"explanation": "It does.", "criteria_met": true}': True,
        '{"verdict": "NOT_PRESENT"}': False, '{"met": "Yes. It does."}': True, "<think>No.</think>Yes.": True,
        "Yes<|im_end|>\nNo": True, "Yes.\nassistant\nNo.": True, '{"met": true}<|im_end|>{"met": false}': True,
        '{"explanation": "VERDICT: NOT MET", "criteria_met": true}': None, '{"error": "x", "met": true}': None,
        "Yes, it would be met if it said why.": None, "Yes: it is met; it is not.": None,
        "No, it is not incorrect.": None,
        "The criterion is not met.": False, '{"answer": "yes", "final_answer": "no"}': None,
        '{"met": false, "reason": "It is met."}': None,
        "The answer is incorrect.": None, "Yes.\n\nThe answer is not correct.": None,
        "[[1]] or [[0]]": None, "Yes. No.": None, "Partly.": None, "": None,
        '{"met": 0.5}': None, "Nice weather.": None,
        'Sure: {"met": true}': None, '{"met": true}\n{"met": false}': None, "The answer says yes": None,
    }  # fmt: skip
    assert {text: extract_verdict(text).met for text in cases} == cases


def test_rows_of_a_checklist_are_matched_by_what_they_carry():
    right, swapped = {"1": True, "2": False}, {"1": False, "2": True}
    cases = {
        '{"1": true, "2": false}': right, '{"criterion_1": "met", "criterion_2": "unmet"}': right,
        '{"0": true, "1": false}': right, '{"verdicts": ["PRESENT", "NOT PRESENT"]}': right, "1. yes\n2. no": right,
        '{"1": {"reason": "so", "met": true}, "2": {"met": 0}}': right, '{"1": true}\n{"2": false}': right,
        '[{"criterion": "Is wrong.", "met": false}, {"criterion": "Is 42.", "met": true}]': right,
        '[{"number": 2, "met": false}, {"number": 1, "met": true}]': right, "Is 42: met\nIs wrong: not met": right,
        '[{"idx": 0, "met": true}, {"idx": 1, "met": false}]': right, '{"Is 42.": true, "Is wrong.": false}': right,
        '[{"met": false}, {"met": true}]': swapped, '{"1": true, "2": false}</s>{"1": false, "2": true}': right,
        '[{"points": 2, "met": true}, {"points": 1, "met": false}]': {},
        '[{"criterion": "Else", "met": false}, {"criterion": "Is 42.", "met": true}]': {},
        '[{"id": "B", "met": false}, {"id": "A", "met": true}]': {}, '{"1": true, "2": false, "3": true}': {},
        '{"1": {"criterion": "Is wrong.", "met": false}, "2": true}': {}, '{"error": "x", "1": true, "2": false}': {},
        '{"1": {"reason": "The verdict is: not met", "met": true}, "2": false}': {},
        '{"1": {"reason": "Not met.", "met": true}, "2": false}': {}, '{"unmet": {"1": true, "2": false}}': {},
        '{"unsatisfied": {"1": true, "2": false}}': {},
        '{"1": {"reason": "Criterion not satisfied.", "met": true}, "2": false}': {},
        "1. Is 42.: met\n2. Is wrong.: not met": right, '{"violations": [true, false]}': {},
        '{"1": {"reason": "I cannot evaluate this.", "met": false}, "2": false}': {},
        '{"1": {"reason": "Sorry, unable to judge it", "met": true}, "2": false}': {},
        '{"1": {"reason": "I cannot judge it wrong, for it is 42.", "met": true}, "2": false}': {"1": True, "2": False},
        '{"1": {"reason": "Verdict - unmet", "met": true}, "2": false}': {}, '{"1": true, "1": false, "2": true}': {},
        'So: {"1": true, "2": false}': {}, "These verdicts are wrong:\n1. yes\n2. no": {},
        '{"1": true, "2": false, "final": {"1": false}}': {}, '{"1": {"met": true, "1": false}, "2": false}': {},
        '{"verdicts": {"1": true, "2": false}, "1": false}': {}, '{"1": true, "2": false, "by": {"1": true}}': right,
        '{"1": true, "2": false}\nNo, swap them.': {}, '{"1": true, "2": fal': {},
    }  # fmt: skip
    assert {text: extract_checklist(text, ["1", "2"], texts=TEXTS).verdicts for text in cases} == cases
    headed = (
        "Not met:\n1. yes\n2. no",
        "Violations\n1. yes\n2. no",
        "| # | unmet |\n|---|---|\n| 1 | yes |\n| 2 | no |",
    )
    assert [text for text in headed if extract_checklist(text, ["1", "2"]).doubted] == []
    around = extract_checklist('So: {"1": true, "2": false}', ["1", "2"])
    assert (around.doubt, around.doubted) == (True, right)


def test_a_choice_stands_alone_is_marked_or_is_a_verdict_sentence():
    cases = {
        "A": "A", "Output (b)": "B", "**Answer B**": "B", "[[A]]": "A", "My final verdict is: [[B]]": "B",
        "Choice: C": "tie", "tie": "tie", '{"winner": "Assistant A", "reason": "B is long"}': "A", "I choose B.": "B",
        "B is long.\n\nTherefore, Output (a) is better.": "A",
        "Therefore, based on it all, Assistant B is better.": "B",
        "[[A]]<|im_end|>[[B]]": "A", "<think>[[B]]</think>[[A]]": "A", "Choice: B\nReason: Response A is wordy.": "B",
        "[[A]] or [[B]]": None, "Neither is better.": None,
        "Therefore, neither Output (a) nor Output (b) is better.": None,
        "Output (a) is not better.": None, "If brevity counts, Output (a) is better.": None, "Both have merits.": None,
        '{"winner": "D"}': None, "": None, "Output (a) is better. Therefore, Output (b) is better.": None,
        "I choose A. Wait, no: I choose B.": None, "Choice: A\nOn reflection: B": None, "[[A]] no, Answer B": None,
        "I choose A. No. B is better.": None, "I choose A or B.": None, "Choice: A\nI choose B.": None,
        '{"winner": "A", "reason": "Verdict: B"}': None,
        '{"winner": "A", "reason": "Response B is better."}': None, "[[C]] for a tie.": "tie",
        "[[A]]\nReason: shorter than B": "A", "I choose A over B.": "A",
        "Output (a) is better than Output (b).": "A", "Output (a) is better on style; Output (b) wins.": None,
        "Output (a) is better than Output (b) on style, but it is wrong.": None,
        "Therefore, Output (a) is better only in tone.": None,
        "Is it so? Output (a) is better? No.": None,
    }  # fmt: skip
    assert {text: extract_choice(text, ["A", "B"], tie="C").choice for text in cases} == cases
    long = "Answer 1 is more detailed, while 2 is short. Therefore, I choose 3 as the two are equivalent."
    assert (extract_choice(long, [1, 2], tie="3").choice, extract_choice(long, [1, 2]).choice) == ("tie", None)
    assert extract_choice("m", ["M", "m"]).choice == "m"


def test_a_ranking_is_all_that_the_reply_says():
    cases = {
        "[2] > [3] > [1]": (2, 3, 1), "2] > [3] > [1]": (2, 3, 1), "Ranking: [2] > [3] > [1]": (2, 3, 1),
        '{"ranking": ["2", 3, "Passage 1"]}': (2, 3, 1), "1. Passage 2\n2. Passage 3\n3. Passage 1": (2, 3, 1),
        "[2] > [2] > [9] > [1]": (2, 1), "2, 3, 1": (2, 3, 1), "1. [2] 2. [3] 3. [1]": (2, 3, 1),
        "From worst to best: [2] > [3] > [1]": (), "[2] > [3] > [1]\nNo, swap them.": (), "> [2] > [1]": (),
        '{"ranks": {"1": 2, "2": 1}}': (), '{"order": "worst first", "ranking": [1, 2, 3]}': (), "All are equal.": (),
        "[1] The Government of": (), "[[2, 3], [1]]": (), "[2, [3, 1]]": (), "[] > []": (), "": (),
    }  # fmt: skip
    assert {text: extract_ranking(text, [1, 2, 3]).ranking for text in cases} == cases


# --- formats ---------------------------------------------------------------------------------------------------------


def read(row: dict[str, Any]) -> Any:
    """What the reader of the row's kind says: a label, scores by id, a bool, ids in order; None for nothing."""
    text, name = row["text"], row["format"]
    match row["reader"]:
        case "choice":
            return extract_choice(text, row["labels"], format=name).choice
        case "scores":
            return extract_scores(text, row["ids"], scale=tuple(row["scale"]), format=name).scores or None
        case "verdict":
            return extract_verdict(text, format=name).met
        case _:
            return list(extract_ranking(text, row["ids"], format=name).ranking) or None


def test_replies_of_other_judges_are_read_as_their_formats_say():
    rows = [json.loads(line) for line in FORMATS.read_text(encoding="utf-8").splitlines()]
    found = [(row["text"], read(row), row["truth"]) for row in rows]
    wrong = [one for one in found if one[1] not in (None, one[2])]
    assert len(wrong) <= 6, wrong
    assert sum(got == truth for _, got, truth in found) >= 340
    assert {row["format"] for row in rows} == set(known_formats())


def test_every_format_has_one_name_a_place_and_something_to_read():
    names = [re.sub("_", "", name) for one in known_formats().values() for name in (one.name, *one.aliases)]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    for form in known_formats().values():
        assert all([form.reads, form.judges, form.example])
        assert form.places or form.keys or form.order or form.numbers == "named"
        assert all("VALUE" in place for place in form.places)
    assert format_named("MT-Bench") is known_formats()["mt_bench"]


def test_unfit_formats_are_errors_that_name_what_fits():
    with pytest.raises(ConfigError, match=r"'mt_bnch'; did you mean 'mt_bench'\?.*arena_hard"):
        extract_choice("[[A]]", ["A", "B"], format="mt_bnch")
    with pytest.raises(ConfigError, match=r"'simpleqa'.*extract_choice or extract_verdict"):
        extract_scores("A", ["a"], format="simpleqa")


def test_marks_stand_for_labels_in_order_and_scores_go_to_the_callers_scale():
    assert extract_choice("M", [7, 9], format="alpaca_eval").choice == 9
    assert extract_scores("[RESULT] 5", ["a"], format="prometheus").scores == {"a": 5}
    assert extract_scores("[RESULT] 2", ["a"], scale=(-1, 1), format="prometheus").scores == {"a": -0.5}
    assert extract_scores("[RESULT] 2", ["a"], scale=(0, 5), format="prometheus").scores == {"a": 2}
    for name, both in (
        ("prometheus", "[RESULT] 4 or [RESULT] 3"),
        ("prometheus", "The score is 3. [RESULT] 4"),
        ("g_eval", "Coherence: 4\nFluency: 3"),
    ):
        assert extract_scores(both, ["a"], scale=(0, 5), format=name).doubt, name
    for same in ("The score is 4 out of 5. [RESULT] 4", "Score: 4/5\n[RESULT] 4", "[RESULT] 4 or [RESULT] 4.0"):
        assert extract_scores(same, ["a"], format="prometheus").scores == {"a": 4}, same
    for last in ("Usefulness: 4", "**Usefulness Score:** **4**", "- Usefulness (0-4): [4]", "Usefulness: 4/4"):
        assert extract_scores("Step 1: 3.\n" + last, ["a"], scale=(0, 4), format="g_eval").scores == {"a": 4}, last
    assert extract_verdict('Output "[[1]]" if it holds. [[0]]', format="verif").met is False


@given(st.sampled_from(sorted(known_formats())), st.text(st.sampled_from('[]{}AB:"1 5/\n.>mM'), max_size=60))
def test_no_text_raises_in_any_format(name: str, text: str):
    reads = known_formats()[name].reads
    if "choice" in reads:
        extract_choice(text, ["A", "B"], format=name)
    if "scores" in reads:
        extract_scores(text, ["A"], format=name)
    if "verdict" in reads:
        extract_verdict(text, format=name)
    if "ranking" in reads:
        extract_ranking(text, ["A", "B"], format=name)
