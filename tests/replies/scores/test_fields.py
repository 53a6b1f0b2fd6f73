"""What the fields around a score mean: their roles, and the scale that they state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.replies.scores.fields import role_of_key
from calipers.replies.scores.scores import extract_scores


def read(document: Any) -> dict[str, float]:
    return extract_scores(json.dumps(document), ["KB", "BC"], scale=(0, 100)).scores


def test_a_key_of_up_to_60_characters_is_a_name_and_a_longer_one_a_sentence() -> None:
    assert role_of_key("score" + "_" * 55) == "score"
    assert role_of_key("score" + "_" * 56) is None


@pytest.mark.parametrize("key", ["metadata", "meta"])
def test_the_metadata_state_the_scale_of_all_scores(key: str) -> None:
    assert read({"scores": {"KB": 8, "BC": 3}, key: {"max_score": 10}}) == {"KB": 80, "BC": 30}


def test_of_many_objects_about_the_scores_any_may_state_the_scale() -> None:
    about: dict[str, dict[str, int]] = {key: {"count": 1} for key in ("meta", "info", "settings", "config", "details")}
    assert read({"scores": {"KB": 8, "BC": 3}, **about}) == {"KB": 8, "BC": 3}
    assert read({"scores": {"KB": 8, "BC": 3}, **about, "scoring": {"max_score": 10}}) == {"KB": 80, "BC": 30}


@pytest.mark.parametrize(
    "notes",
    [
        ["fine"] * 40 + ["All scores are out of 10."],
        ["x" * 30_000 + ". All scores are out of 10."],
        ["It is 3 of 7 parts. " * 2_000, "All scores are out of 10."],
    ],
    ids=["41 notes", "30,000 characters", "a long note before"],
)
def test_notes_are_searched_for_a_scale_however_many_and_long_they_are(notes: list[str]) -> None:
    document = {"scores": {"KB": 8, "BC": 3}} | {f"n{place}": note for place, note in enumerate(notes)}
    assert read(document) == {"KB": 80, "BC": 30}
