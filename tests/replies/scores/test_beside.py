"""What stands beside the scores in JSON is heard."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.replies.scores.scores import extract_scores

SCORES = {"KB": 80, "BC": 30}


def read(document: Any) -> dict[str, float]:
    return extract_scores(json.dumps(document), ["KB", "BC"], scale=(0, 100)).scores


@pytest.mark.parametrize(
    "beside",
    [
        {"correction": "KB should be 50"},
        {"correction": {"KB": 50}},
        {"Korrektur": "KB 50"},
        {"edit": "KB -> 50"},
        {"note": "These scores are random."},
        {"comment": "Please swap the two."},
        {"remark": "I could not read the candidates."},
        {"lower_is_better": True},
        {"is_example": True},
        {"draft": True},
    ],
)
def test_a_remark_that_takes_the_scores_back_puts_them_in_doubt(beside: dict[str, Any]) -> None:
    assert read({"scores": SCORES, **beside}) == {}
    assert read(SCORES | beside) == {}


@pytest.mark.parametrize(
    "beside",
    [
        {"note": "KB is concise."},
        {"comment": "BC made a mistake in step 3."},
        {"is_example": False},
        {"correction": None},
        {"edits": []},
        {"model": "judge-1"},
        {"summary": "KB corrects its earlier mistake and gets 80."},
    ],
)
def test_other_remarks_change_nothing(beside: dict[str, Any]) -> None:
    assert read({"scores": SCORES, **beside}) == {"KB": 80.0, "BC": 30.0}


RANDOM = "These scores are random"
MISTAKE = ". I made a mistake"


@pytest.mark.parametrize(
    "beside",
    [
        {"result": {"note": RANDOM}},
        {"result": {"result": {"note": RANDOM}}},
        {"k": MISTAKE.rjust(4_000, "x")},
        {f"k{place}": 1 for place in range(62)} | {"note": RANDOM},
    ],
    ids=["one object deep", "two objects deep", "4,000 characters", "64 keys"],
)
def test_remarks_are_heard_within_the_limits_that_keep_a_reply_cheap_to_read(beside: dict[str, Any]) -> None:
    assert read({"scores": SCORES, **beside}) == {}


@pytest.mark.parametrize(
    "beside",
    [
        {"result": {"result": {"result": {"note": RANDOM}}}},
        {"k": MISTAKE.rjust(4_001, "x")},
        {f"k{place}": 1 for place in range(63)} | {"note": RANDOM},
    ],
    ids=["three objects deep", "4,001 characters", "65 keys"],
)
def test_remarks_beyond_the_limits_are_not_heard(beside: dict[str, Any]) -> None:
    assert read({"scores": SCORES, **beside}) == {"KB": 80.0, "BC": 30.0}


def test_reasoning_before_the_scores_may_try_other_numbers() -> None:
    assert read({"reasoning": "KB 50 at first; wait, more.", "scores": SCORES}) == {"KB": 80.0, "BC": 30.0}
