"""Two scores for two candidates are a pair, and numbers that are content are not."""

from __future__ import annotations

import pytest

from calipers.replies.compare.pairs import pair_of_scores, pair_of_scores_in_prose
from calipers.replies.sentences import split_sentences

AB = ("A", "B")


@pytest.mark.parametrize(
    "text",
    [
        "8 7",
        "(8, 7)",
        "8/10, 7/10",
        "8 7\nThe first is complete.",
        "A: 8\nB: 7",
        "**Response A**: 8/10\n**Response B**: 7/10",
    ],
)
def test_scores_on_lines_of_their_own_are_a_pair(text: str) -> None:
    assert pair_of_scores(text, None, AB) == (8, 7)


def test_scores_under_a_key_per_label_are_a_pair() -> None:
    assert pair_of_scores("{}", {"A": 8, "score_b": 7}, AB) == (8, 7)
    assert pair_of_scores("{}", {"A": 8}, AB) is None
    assert pair_of_scores("{}", {"A": True, "B": 7}, AB) is None


@pytest.mark.parametrize("text", ["1 2", "2, 1"])
def test_two_labels_on_a_line_may_be_an_order_and_are_no_pair(text: str) -> None:
    assert pair_of_scores(text, None, ("1", "2")) is None


@pytest.mark.parametrize("text", ["The recipe needs 2 eggs.", "8 7\n3 9", "A: 8\nA: 6\nB: 7"])
def test_content_and_contradictions_are_no_pair(text: str) -> None:
    assert pair_of_scores(text, None, AB) is None


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("Their scores are 4 and 9, respectively.", (4, 9)),
        ("Both get an 8.", (8, 8)),
        ("I give Response A a 6 and Response B a 9.", (6, 9)),
        ("Response A earns 4 points. Response B earns 5 points.", (4, 5)),
        ("Response A scores 4; to make it a 9 it would have needed sources. Response B scores 7.", None),
        ("On a scale from 1 to 10 I rate Response A.", None),
        ("Response A names 3 rivers, Response B names 5.", None),
    ],
)
def test_scores_told_in_sentences(text: str, pair: tuple[float, float] | None) -> None:
    assert pair_of_scores_in_prose(split_sentences(text), AB) == pair


def test_only_two_labels_make_a_pair() -> None:
    assert pair_of_scores("8 7", None, ("A", "B", "C")) is None
    assert pair_of_scores_in_prose(split_sentences("Both get an 8."), ("A", "B", "C")) is None
