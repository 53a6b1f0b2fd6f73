"""A preference that is denied, asked about, nearly given or taken back is none; words that only sound so change
nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.caveats.denials import denies_preference, is_attributed_to_others, is_verdict_retracted
from calipers.replies.compare.choice import extract_choice

WORDINGS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "fixtures" / "choice_doubts.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


@pytest.mark.parametrize("tie", [None, "C"])
@pytest.mark.parametrize("row", WORDINGS, ids=[row["text"] for row in WORDINGS])
def test_doubt_about_a_preference_is_heard_and_nothing_else_is(row: dict[str, Any], tie: str | None) -> None:
    """``may`` are the labels a careful reader might take; where not ``certain``, silence is as right."""
    choice = extract_choice(row["text"], ["A", "B"], tie=tie).choice
    assert choice in row["may"] or (choice is None and not row["certain"])


@pytest.mark.parametrize("row", WORDINGS, ids=[row["text"] for row in WORDINGS])
def test_the_order_of_the_labels_changes_nothing(row: dict[str, Any]) -> None:
    assert extract_choice(row["text"], ["A", "B"]).choice == extract_choice(row["text"], ["B", "A"]).choice


MARKS = st.sampled_from(["[[A]]", "Winner: A", "Verdict: A.", "**Choice: A**", "<answer>A</answer>"])


@given(MARKS, st.sampled_from(["Scratch that.", "No, wait.", "I take that back.", "This verdict is wrong.", "EDIT: B"]))
def test_a_mark_that_is_taken_back_in_the_next_line_is_not_read(mark: str, words: str) -> None:
    assert extract_choice(f"Both answer.\n\n{mark}\n\n{words}", ["A", "B"]).choice is None


@pytest.mark.parametrize(
    "words",
    ["Nein, doch B.", "Korrektur: B", "更正：B", "訂正：B", "Perdón, quise decir B.", "En réalité, B est meilleure."],
)
def test_a_remark_that_takes_a_choice_back_is_heard_in_other_languages(words: str) -> None:
    assert extract_choice(f"Winner: A\n{words}", ["A", "B"]).choice is None
    assert extract_choice(f"[[A]]\n{words}", ["x", "y"], format="mt_bench").choice is None


@given(MARKS)
def test_the_same_marks_are_read_where_nothing_follows(mark: str) -> None:
    assert extract_choice(f"Both answer.\n\n{mark}", ["A", "B"]).choice == "A"


@given(st.text(max_size=300))
def test_any_words_are_looked_at_without_an_error(text: str) -> None:
    assert {type(denies_preference(text)), type(is_attributed_to_others(text)), type(is_verdict_retracted(text))} == {
        bool
    }


def test_two_denials_are_none() -> None:
    assert denies_preference("I doubt that ")
    assert not denies_preference("There is no doubt that ")


def test_an_unequal_sign_is_no_tie_and_no_preference() -> None:
    for sign in ("!=", "≠", "<>", "=/="):
        assert extract_choice(f"[[A{sign}B]]", ["A", "B"], tie="C").choice is None
