"""Scores and stated scales: which are the same, and which are too large to be scores."""

from __future__ import annotations

import pytest

from calipers.replies.scores.found import TOO_LARGE, StatedScale, Value
from calipers.replies.scores.scores import extract_scores
from calipers.replies.scores.values import read_score_value


def test_a_scale_is_no_statistic_unless_its_words_may_mean_one() -> None:
    text = "KB: 10\nBC: 6\nAll scores are out of 10."
    assert extract_scores(text, ["KB", "BC"], scale=(0, 100)).scores == {"KB": 100, "BC": 60}
    maximum = "KB: 10\nBC: 6\nMax score: 10"
    assert extract_scores(maximum, ["KB", "BC"], scale=(0, 100)).scores == {}
    assert not StatedScale(0.0, 10.0).statistic


def test_a_maximum_is_the_same_scale_as_words_that_surely_mean_the_scale() -> None:
    assert StatedScale(0.0, 10.0, statistic=True) == StatedScale(0.0, 10.0)
    text = "KB: 10\nMax score: 10\nBC: 6\nAll scores are out of 10."
    reading = extract_scores(text, ["KB", "BC"], scale=(0, 100))
    assert (reading.scores, reading.doubt) == ({}, True)
    other = text.replace("out of 10", "out of 20")  # each score has the scale after it
    assert extract_scores(other, ["KB", "BC"], scale=(0, 100)).scores == {"KB": 100, "BC": 30}


@pytest.mark.parametrize("raw", [1_000_001, 1_000_000.5, -1_000_001, "1000001", "1000001/10", "3/1000001",
                                 "1000001 out of 1000001", "ten out of 2000000", "1000001%"])  # fmt: skip
def test_a_number_above_a_million_is_an_error_of_the_decoder(raw: object) -> None:
    assert read_score_value(raw, (0, 100)) == TOO_LARGE


@pytest.mark.parametrize(("raw", "number"), [(1_000_000, 1e6), (-1_000_000, -1e6), ("1000000/1000000", 100),
                                             ("0/1000000", 0), ("1000000%", 1e6)])  # fmt: skip
def test_a_million_may_be_a_score_on_another_scale(raw: object, number: float) -> None:
    assert read_score_value(raw, (0, 100)) == Value(number)
