"""Sentences beside a verdict: what they name and number, and how much of a long text is read."""

from __future__ import annotations

import pytest

from calipers.replies.caveats.asides import Sentence, sentences_beside, split_clauses
from calipers.replies.caveats.retractions import why_taken_back

IDS = ("KB", "BC")
SCORES = {"KB": 80.0, "BC": 20.0}


@pytest.mark.parametrize(
    ("what", "most"),
    [("numbers", 12), ("mentions", 12)],
)
def test_a_sentence_that_repeats_itself_is_read_up_to_a_limit(what: str, most: int) -> None:
    """A repetition loop would otherwise be compared number by number and name by name, which takes quadratic time."""
    for count in (most - 1, most, most + 1):
        text = ", ".join("KB" if what == "mentions" else "7" for _ in range(count))
        assert len(getattr(Sentence(text, IDS), what)) == min(count, most)


def test_a_long_sentence_is_read_in_pieces() -> None:
    """Patterns are searched in each piece, so that their time grows with the length and not with its square."""
    assert [len(one.text) for one in sentences_beside("a" * 600, IDS)] == [600]
    assert [len(one.text) for one in sentences_beside("a" * 601, IDS)] == [600, 1]
    assert [len(clause) for clause, _ in split_clauses("a" * 601)] == [600]


def test_of_many_sentences_both_ends_are_read() -> None:
    """A reply takes its verdict back at once or at its end."""
    told = [one.text for one in sentences_beside(" ".join(f"No{n}." for n in range(40)), IDS)]
    assert told == [f"No{n}." for n in range(40)]
    told = [one.text for one in sentences_beside(" ".join(f"No{n}." for n in range(41)), IDS)]
    assert told == [f"No{n}." for n in range(41) if n != 20]


def test_only_the_first_sentence_is_the_first() -> None:
    assert [one.first for one in sentences_beside("So it is. Really.", IDS)] == [True, False]


def test_sentences_and_clauses_have_no_blanks_around_them() -> None:
    assert [one.text for one in sentences_beside(" 一。 二", IDS)] == ["一。", "二"]
    assert split_clauses("a, b: c") == [("a", ","), ("b", ":"), ("c", "")]
    assert split_clauses("a - b\n(c)") == [("a", "-"), ("b", ""), ("c", ")")]


def test_of_many_clauses_the_first_are_read() -> None:
    """A list of hundreds of words has no clause that takes a verdict back."""
    assert len(split_clauses(", ".join("a" for _ in range(30)))) == 30
    assert len(split_clauses(", ".join("a" for _ in range(31)))) == 30


@pytest.mark.parametrize("number", ["30", "３０"])
def test_full_width_digits_are_digits(number: str) -> None:
    assert why_taken_back(f"KB: {number}", IDS, scores=SCORES, scale=(0, 100)) is not None
    assert why_taken_back(f"KB: {number}", IDS, scores={"KB": 30.0}, scale=(0, 100)) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("7: fine", True),
        ("- **7**: fine", True),
        ("> 7 | fine", True),
        ("candidate 7 is fine", True),
        ("# 7 is fine", True),
        ("That # 7 is fine", True),
        (f"candidate{' ' * 31}7 is fine", True),
        (f"candidate{' ' * 32}7 is fine", False),
        ("7 is fine", False),
        ("so 7: fine", False),
        ("7.5: fine", False),
        ("x7: fine", False),
    ],
)
def test_a_number_names_a_candidate_before_a_colon_or_after_a_word_for_one(text: str, named: bool) -> None:  # noqa: FBT001
    assert Sentence(text, ("7",)).named_ids == ({"7"} if named else set())
