"""Which part of a reply is the verdict that counts."""

from __future__ import annotations

import pytest

from calipers.replies.scores.scores import extract_scores
from calipers.replies.text import TOLERANT_LIMIT


@pytest.mark.parametrize(("length", "scores"), [(TOLERANT_LIMIT, {"1": 0.9}), (TOLERANT_LIMIT + 1, {})])
def test_a_reply_of_which_only_the_end_is_read_is_not_read_in_part(length: int, scores: dict[str, float]) -> None:
    ending = "\n1: 0.9"  # the scores of 2 and 3 may be in what is not read
    text = "word " * 12_000 + "x" * (length - 60_000 - len(ending)) + ending
    assert extract_scores(text, ["1", "2", "3"], finish_reason="stop").scores == scores


def test_a_list_of_numbers_alone_is_in_the_order_of_the_ids() -> None:
    assert extract_scores("[0.9, 0.4]", ["KB", "BC"]).scores == {"KB": 0.9, "BC": 0.4}
    assert extract_scores("```json\n[0.9, 0.4,]\n```", ["KB", "BC"]).scores == {"KB": 0.9, "BC": 0.4}
    assert extract_scores('{"scores": [0.9, 0.4],}', ["KB", "BC"]).scores == {"KB": 0.9, "BC": 0.4}


@pytest.mark.parametrize(
    "reply",
    [
        "Then [0.9, 0.4,]",
        "[0.9, 0.4,] it is",
        "[0.9, 0.4",
        "[0.9,] [0.4,]",
        '{"scores": [0.9, 0.4], "note": "and',
        '{"scores": [0.9, 0.4] or so}',
    ],
)
def test_numbers_without_ids_among_words_or_cut_off_are_nobodys(reply: str) -> None:
    assert extract_scores(reply, ["KB", "BC"]).scores == {}
