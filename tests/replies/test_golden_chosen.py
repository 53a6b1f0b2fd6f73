"""Chosen replies have the readings on file, with all that a reading holds but its wording."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

import chosen
from calipers.replies import extract_checklist, extract_choice, extract_ranking, extract_scores, extract_verdict

READERS: dict[str, Any] = {
    "scores": extract_scores,
    "choice": extract_choice,
    "ranking": extract_ranking,
    "verdict": extract_verdict,
    "checklist": extract_checklist,
}


def read(given: Any) -> Any:
    how, text = dict(given["how"]), given["text"]
    reader = READERS[how.pop("reader")]
    if how.get("scale") is not None:
        how["scale"] = tuple(how["scale"])
    asked = [how.pop(name) for name in ("ids", "labels") if name in how]
    reading = reader(text, *asked, **how)
    return {one.name: plain(getattr(reading, one.name)) for one in fields(reading) if one.name != "reason"}


def plain(value: Any) -> Any:
    match value:
        case float():
            return round(value, 9)
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case frozenset():
            return sorted(value)
        case _:
            return value


def held(reading: Any) -> Any:
    """Why something is missing is wording."""
    if isinstance(reading.get("missing"), dict):
        reading["missing"] = list(reading["missing"])
    return reading


@pytest.mark.parametrize("start", chosen.parts("readings"))
def test_replies_have_the_readings_on_file(start: int) -> None:
    chosen.check("readings", start, lambda given: held(read(given)))
