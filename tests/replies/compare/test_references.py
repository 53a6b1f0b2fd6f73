"""Candidates are recognised by their names, and not by the article *a* or a number in the text."""

from __future__ import annotations

import re

import pytest

from calipers.replies.compare.references import (
    DEBATER,
    distinguishing_names,
    do_names_clash,
    fold_name,
    is_debate,
    mask_references,
    matched_label,
    reference_regex,
)

A, B = "\ue000", "\ue001"


def test_what_tells_labels_apart() -> None:
    assert distinguishing_names(("Model A", "Model B")).shorts == ("A", "B")
    assert distinguishing_names(("a", "b")).words == (False, False)
    assert distinguishing_names(("gpt-4", "llama")).words == (True, True)
    assert distinguishing_names(("A", "B", "tie")).words == (False, False, True)


@pytest.mark.parametrize("text", ["A", "(a)", "[A]", "**A**", "Output (a)", "the response A", "回答A", "Assistant #A"])
def test_a_reference_stands_in_many_spellings(text: str) -> None:
    match = re.fullmatch(reference_regex(("A", "B")), text, re.IGNORECASE)
    assert match is not None
    assert matched_label(match) == 0


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Output (a) wins", f"{A} wins"),
        ("Assistant B's second response is clear", f"{B} is clear"),
        ("the first response", A),
        ("Response 2", B),
        ("A is a letter", f"{A} is a letter"),
        ("A better text", "A better text"),
        ("vitamin K and plan Z", "vitamin K and plan Z"),
        ("Response C", "Response C"),
        ("The judge A", DEBATER),
    ],
)
def test_running_text_is_masked_where_a_candidate_is_named(text: str, masked: str) -> None:
    assert mask_references(text, ("A", "B")).replace("The ", "") == masked


def test_assistants_are_debaters_where_they_speak_about_outputs() -> None:
    text = "Assistant (a) argues that Output (a) is better."
    assert is_debate(text)
    assert not is_debate("Assistant A is better.")
    assert mask_references(text, ("a", "b"), debated=True) == f"{DEBATER} argues that {A} is better."


def test_names_compare_without_case_signs_and_leading_zeros() -> None:
    assert fold_name("Model_A") == fold_name("model a")
    assert fold_name("[07]") == "7"
    assert fold_name("0") == "0"


@pytest.mark.parametrize(
    ("labels", "clash"),
    [
        (["Model A", "ModelA"], True),
        (["a", "A"], True),
        (["a+", "a"], True),
        (["07", "7"], True),
        (["+", "-"], True),
        (["+", "a"], False),
        (["Model A", "Model B"], False),
    ],
)
def test_names_clash_that_differ_only_in_case_signs_zeros_or_spaces(labels: list[str], clash: bool) -> None:  # noqa: FBT001
    assert do_names_clash(labels) is clash
