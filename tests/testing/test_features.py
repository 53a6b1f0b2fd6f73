"""Features of answers: length, markdown, confidence, flattery."""

import math

import pytest

from asking import view
from calipers.testing.features import (
    TEXT_FEATURES,
    count_confidence,
    count_flattery,
    count_markdown,
    own_text,
    text_feature,
)
from calipers.types import Candidate


def test_length_is_in_doublings_of_what_only_the_candidate_has() -> None:
    assert text_feature("length")(view(["a" * 63, "b" * 127, "", "c"])) == [6.0, 7.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("plain words, 3 of them - here", 0),
        ("# Title\ntext", 1),
        ("- one\n- two\n1. three\n2) four", 4),
        ("this is **bold**", 2),
        ("```\ncode\n```", 2),
        ("| a | b |\n| 1 | 2 |", 2),
    ],
)
def test_markdown_counts_marks_in_doublings(text: str, marks: int) -> None:
    assert count_markdown(text) == pytest.approx(math.log2(marks + 1))


def test_confidence_is_sure_words_over_hedges() -> None:
    assert count_confidence("It is so.") == 0
    assert count_confidence("It is definitely so. Certainly. I am sure.") == 2
    assert count_confidence("Perhaps it is so.") == -1
    assert count_confidence("Perhaps it is definitely so.") == 0


def test_flattery_counts_phrases_up_to_three() -> None:
    assert count_flattery("What do you mean?") == 0
    assert count_flattery("Great question! You are absolutely right.") == 2
    assert count_flattery("Great question! " * 9) == 3


def test_only_what_the_assistant_wrote_itself_counts() -> None:
    messages = (
        {"role": "user", "content": "Great question! **"},
        {"role": "assistant", "content": [{"type": "text", "text": "Great point!"}, {"type": "image_url"}]},
        {"role": "tool", "content": "Great idea!"},
        {"role": "assistant", "content": None},
    )
    assert own_text(Candidate((0,), messages, ()), 0) == "Great point!"
    assert own_text(Candidate((0,), messages, ()), 2) == ""


@pytest.mark.parametrize("name", TEXT_FEATURES)
def test_every_feature_has_a_number_for_every_candidate(name: str) -> None:
    values = text_feature(name)(view(["", "## é 🙂 " * 400, "Great question!", "a"]))  # type: ignore[arg-type]
    assert len(values) == 4
    assert all(map(math.isfinite, values))
