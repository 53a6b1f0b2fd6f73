"""Scores in prose: in lines of any length, and in the part of a reply that is its answer."""

from __future__ import annotations

import pytest

from calipers.replies.scores.scores import extract_scores


@pytest.mark.parametrize("before", range(3_980, 4_001))
def test_a_number_on_a_long_line_is_read_to_its_last_digit(before: int) -> None:
    text = f"{' ' * before}KB: 87, BC: 30"
    assert extract_scores(text, ["KB", "BC"], scale=(0, 100)).scores == {"KB": 87, "BC": 30}


def test_many_candidates_on_one_line_are_all_read() -> None:
    ids = [f"candidate-number-{number:04d}" for number in range(200)]
    text = ", ".join(f"{id_}: {number / 2}" for number, id_ in enumerate(ids))
    assert extract_scores(text, ids, scale=(0, 100)).scores == {id_: n / 2 for n, id_ in enumerate(ids)}


@pytest.mark.parametrize(
    "text",
    [
        "<answer>\nKB: 80\nBC: 30\n</answer>",
        "<ANSWER>\nKB: 80\nBC: 30\n</ANSWER>",
        "<Verdict>KB: 80\nBC: 30</Verdict>",
        "<answer>\nKB: 80\nBC: 30",  # the closing tag is missing
        "<answer>\nKB: 1\nBC: 2\n</answer>\nNo, better:\n<answer>\nKB: 80\nBC: 30\n</answer>",
    ],
)
def test_the_last_answer_tag_counts_and_not_the_draft_before_it(text: str) -> None:
    assert extract_scores(f"KB: 40\nBC: 50\n\n{text}\n", ["KB", "BC"], scale=(0, 100)).scores == {"KB": 80, "BC": 30}
