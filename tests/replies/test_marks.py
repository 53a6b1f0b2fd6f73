"""Marks are found in the settings machines use, and the question's own words are no marks."""

from __future__ import annotations

import pytest

from calipers.replies.caveats.ownership import values_of_keys
from calipers.replies.marks import Mark, agreed_value, find_marks
from calipers.replies.rejected import Rejected

VALUE = r"[\[(*'\"]{0,3}(?P<v>a|b)(?![a-z])[\])*'\"]{0,3}"


def found(text: str) -> list[str]:
    return [mark.match["v"].lower() for mark in find_marks(text, VALUE, "choice|winner")]


@pytest.mark.parametrize(
    "text",
    [
        "[[A]]",
        "\\boxed{A}",
        "$\\boxed{\\text{A}}$",
        "[RESULT] A",
        "<answer>A</answer>",
        "Choice: A",
        "**Choice**: A",
        "**Choice: A**",
        "final_winner = A",
        "The winner is: A.",
        '"winner": "A"',
        "Winner: A over B",
        "Which one? A.",
    ],
)
def test_every_setting_holds_a_mark(text: str) -> None:
    assert found(text) == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        "[[A]] if the first is better, [[B]] otherwise",
        "Choice: A or B",
        "Choice: A/B",
        "Winner: a close race",
        "The correct answer is A.",
        "Assistant B's answer is A.",
        "my verdict is [[A",
        "Choose from [[A]]",
    ],
)
def test_templates_conditions_other_peoples_answers_and_torn_ends_hold_none(text: str) -> None:
    assert found(text) == []


def test_marks_of_one_value_agree_and_others_are_rejected() -> None:
    first, second = find_marks("[[A]] [[B]]", VALUE, "choice")
    assert agreed_value([("a", first), ("a", second)]) == ("a", None)
    with pytest.raises(Rejected, match="contradict each other"):
        agreed_value([("a", first), ("b", second)])


def test_the_last_mark_counts_when_it_is_final_or_corrects() -> None:
    match = next(find_marks("[[A]]", VALUE, "choice")).match
    assert agreed_value([("a", Mark(match)), ("b", Mark(match, final=True))])[0] == "b"
    assert agreed_value([("a", Mark(match)), ("b", Mark(match, correcting=True))])[0] == "b"
    with pytest.raises(Rejected):
        agreed_value([("a", Mark(match, final=True)), ("b", Mark(match, final=True))])


def test_values_are_found_a_few_levels_deep_and_no_deeper() -> None:
    keys = frozenset({"final_verdict"})
    assert list(values_of_keys({"r": [{"Final Verdict": "x"}]}, keys)) == ["x"]
    assert list(values_of_keys({"a": {"b": {"c": {"d": {"final_verdict": "x"}}}}}, keys)) == []


def test_only_words_right_before_a_mark_call_it_final() -> None:
    """A *final* further away belongs to another statement: ``the final paragraph of A ... [[B]]``."""
    (near,) = find_marks(f"final{' ' * 25}[[A]]", VALUE, "choice")
    (far,) = find_marks(f"final{' ' * 26}[[A]]", VALUE, "choice")
    assert (near.final, far.final) == (True, False)


def test_a_mark_may_call_itself_final_or_a_correction() -> None:
    marks = [*find_marks("<final_answer>A</final_answer>", VALUE, "choice"), *find_marks("Choice: A", VALUE, "choice")]
    assert [mark.final for mark in marks] == [True, False]
    marks = [*find_marks("Choice (revised): A", VALUE, "choice"), *find_marks("Choice: A", VALUE, "choice")]
    assert [mark.correcting for mark in marks] == [True, False]


def test_a_correction_counts_up_to_a_few_sentences_before_a_mark() -> None:
    (near,) = find_marks(f"wait{' ' * 296}[[A]]", VALUE, "choice")
    (far,) = find_marks(f"wait{' ' * 297}[[A]]", VALUE, "choice")
    assert (near.correcting, far.correcting) == (True, False)


def test_of_endless_marks_the_last_are_read() -> None:
    """The words beside each mark are read, which makes a repetition loop costly."""
    assert found("[[A]]\n" * 64) == ["a"] * 64
    assert found("[[B]]\n" + "[[A]]\n" * 64) == ["a"] * 64
