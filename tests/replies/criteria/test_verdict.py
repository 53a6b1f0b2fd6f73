"""extract_verdict tells yes from no in many wordings, and neither where a careful reader would not be sure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.criteria.verdict import extract_verdict
from effort import at_most

ZOO = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "fixtures" / "verdicts.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ZOO, ids=[row["id"] for row in ZOO])
def test_every_reply_of_the_zoo_is_read_as_a_careful_reader_would(row: dict[str, Any]) -> None:
    reading = extract_verdict(row["text"])
    assert reading.met is row["met"], reading
    assert (reading.outcome == "rejected") == (reading.met is None)
    assert reading.met is not None or reading.reason


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Yes", "strict"),
        ('{"criteria_met": true}', "strict"),
        ("Verdict: fail\nCorrection: it did ask. Verdict: pass", "repaired"),
        ("The response meets the criterion.", "text"),
        ("The response is partly correct.", "rejected"),
    ],
)
def test_the_outcome_tells_how_plainly_it_was_said(text: str, outcome: str) -> None:
    assert extract_verdict(text).outcome == outcome


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("<think>yes", "reasoning never ended"),
        ("I'm sorry, but I can't assist with that request.", "declined"),
        ("Verdict: pass\nVerdict: fail", "contradict"),
        ("Yes, the candidate is not correct.", "both yes and no"),
        ("Partially correct.", "partly"),
        ("The bridge opened in 1937.", "no verdict"),
        ('{"verdict": "7"}', "have no verdict"),
    ],
)
def test_abstaining_says_why(text: str, why: str) -> None:
    reading = extract_verdict(text)
    assert reading.met is None
    assert why in (reading.reason or "")


def test_a_plain_key_counts_before_a_vague_one() -> None:
    assert extract_verdict('{"status": "success", "verdict": "fail"}').met is False
    assert extract_verdict('{"status": "success"}').met is True


@given(
    st.sampled_from(
        [("yes", True), ("no", False), ("pass", True), ("fail", False), ("compliant", True), ("not met", False)]
    ),
    st.booleans(),
)
def test_case_and_emphasis_do_not_matter(word: tuple[str, bool], bold: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
    text = word[0].upper() if bold else word[0]
    for form in ("{}", "**{}**", "Verdict: {}", "[[{}]]", '{{"verdict": "{}"}}'):
        assert extract_verdict(form.format(text)).met is word[1]


PIECES = st.sampled_from(
    [
        "Yes",
        "No",
        ", ",
        "Verdict: ",
        "pass",
        "fail",
        " not ",
        "the answer is correct",
        ". ",
        "\n",
        "{",
        "}",
        '"',
        "if ",
        "```",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join)))
def test_no_text_raises(text: str) -> None:
    assert extract_verdict(text).met in (True, False, None)


@pytest.mark.parametrize("unit", ["not ", "Verdict: ", "the answer is ", "*", "(", "```\n", "No. ", '{"a":'])
def test_repetition_loops_cost_bounded_time(unit: str) -> None:
    """What grows faster than the text takes minutes here."""
    text = unit * (1_000_000 // len(unit))
    at_most(100, lambda: extract_verdict(text))


@pytest.mark.parametrize(
    "text",
    [
        "Does it violate the rule? Yes.",
        "Does it violate the rule? No.",
        "Is the criterion violated? Yes.",
        "Incorrect? No.",
        "Incorrect? Yes.",
        "Violation: no",
        "Not met: yes",
        "错误：无",
        "Fehler: nein",
    ],
)
def test_yes_and_no_to_a_question_of_the_bad_are_not_taken_for_the_verdict(text: str) -> None:
    assert extract_verdict(text).met is None


@pytest.mark.parametrize(
    "text",
    [
        "Yes would be too generous.",
        "Yes is what it wants me to say.",
        "Yes, unless the second paragraph counts.",
        "Yes, for the first half.",
        "Ja, aber eigentlich nein.",
        "Oui, enfin non.",
        "I doubt that the response is correct.",
        "The claim that the response is correct is unfounded.",
    ],
)
def test_a_yes_that_is_spoken_of_limited_or_turned_is_none(text: str) -> None:
    assert extract_verdict(text).met is None


def test_a_verdict_after_questions_of_the_bad_is_read() -> None:
    assert extract_verdict("Does it miss anything? No, nothing at all.\n\nVerdict: yes").met is True


@pytest.mark.parametrize(("place", "met"), [(1, None), (19, None), (20, True), (39, True), (40, None), (59, None)])
def test_a_lone_no_contradicts_a_yes_near_either_end_of_a_reply(place: int, met: bool | None) -> None:  # noqa: FBT001
    """Of many sentences twenty at each end are searched for it: a verdict is stated first or last."""
    sentences = ["Yes.", *["It names Paris."] * 59]
    sentences[place] = "No."
    assert extract_verdict(" ".join(sentences)).met is met


def test_a_quoted_word_is_the_judges_own_and_a_longer_quotation_is_not() -> None:
    assert extract_verdict('The response is "correct" because it names Paris.').met is True
    assert extract_verdict('The response is "fully correct" because it names Paris.').met is None


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("The answer is wrong: no", None),
        ("The answer is not correct: **Yes**.", None),
        ("The response satisfies the requirement: False", None),
        ("The response does not meet the criterion — no.", None),
        ("The response meets the criterion: yes", True),
        ("The answer is correct: no errors were found.", True),
        ("The answer is incorrect: no working is shown.", False),
        ("The answer is wrong. Verdict: no", False),
    ],
)
def test_a_yes_or_no_behind_a_statement_that_it_may_answer_is_read_only_if_both_say_the_same(
    text: str,
    met: bool | None,  # noqa: FBT001
) -> None:
    assert extract_verdict(text).met is met
