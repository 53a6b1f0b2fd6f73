"""Attacks on the score reader: cuts at every place, random damage, and text meant to make it slow."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reply_damage as damage
import reply_zoo as zoo
from calipers.replies import extract_scores
from calipers.replies.scores.scores import ScoreReading
from effort import at_most

"""Ten times the bound, for machines that run other things; the benchmark measures the bound itself."""


def wrong(reading: ScoreReading, truth: dict[str, float]) -> dict[str, float]:
    return {id_: score for id_, score in reading.scores.items() if abs(truth[id_] - score) > 1e-9}


@pytest.mark.parametrize("seed", range(24))
def test_cut_at_any_place_a_reply_never_gives_a_wrong_number(seed: int) -> None:
    sample = damage.damaged(seed, most=0)
    for end in range(len(sample.text)):
        reading = extract_scores(sample.text[:end], sample.ids, scale=sample.scale)
        assert not wrong(reading, sample.truth), sample.text[:end]
        assert reading.truncated or not reading.scores or not reading.missing


@pytest.mark.parametrize("case", [case for case in zoo.PROSE if case[2] == zoo.V and "reasoning" not in case[0]])
def test_cut_at_any_place_prose_never_gives_a_wrong_number(case: zoo.Case) -> None:
    for end in range(len(case[1])):
        assert not wrong(extract_scores(case[1][:end], ("1", "2", "3")), zoo.V), case[1][:end]


@pytest.mark.parametrize(("damages", "floor"), [(damage.TUNED, 0.93), (damage.UNSEEN, 0.75)], ids=["tuned", "unseen"])
def test_damaged_replies_are_mostly_read_and_never_wrongly(damages: tuple[damage.Damage, ...], floor: float) -> None:
    intact = exact = 0
    for seed in range(7_000, 7_600):
        sample = damage.damaged(seed, damages)
        reading = extract_scores(sample.text, sample.ids, scale=sample.scale)
        assert not wrong(reading, sample.truth), (seed, sample.text)
        if not sample.cut:
            intact += 1
            exact += len(reading.scores) == len(sample.truth)
    assert exact / intact > floor


@given(
    st.dictionaries(st.sampled_from(["RB", "KX", "MK", "QT", "ZW"]), st.integers(0, 100), min_size=1),
    st.booleans(),
)
def test_a_clean_verdict_is_read_exactly(truth: dict[str, int], rows: bool) -> None:  # noqa: FBT001  # hypothesis draws it
    body: object = truth
    if rows:
        body = [{"trajectory_id": id_, "explanation": "x", "score": score} for id_, score in truth.items()]
    reading = extract_scores(json.dumps({"scores": body}), list(truth), scale=(0, 100))
    assert reading.scores == truth
    assert reading.outcome == "strict"


PIECES = [
    *'{}[]",:\'\\ \n0.19-+/%|#*<>`=;', '"1"', '"2"', '"score"', "trajectory_id", "Trajectory 1", "Trajectory 2",
    "score:", "null",
    "NaN", "1e99", '{"1": 0.9, "2": 0.4}', "```json\n", "```", "<think>", "</think>", "| Score |", "...", "Final:",
    "\\u00", "０", "：",
    "<|channel|>", "&quot;", "- id: 1", "½", "\x00", "\ud800", "\ufeff",
]  # fmt: skip


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.sampled_from(["stop", "length", None]))
def test_any_text_gives_a_reading(text: str, finish: object) -> None:
    reading = extract_scores(text, ["1", "2"], finish_reason=finish)  # type: ignore[arg-type]  # drawn from its values
    assert set(reading.scores) | set(reading.missing) == {"1", "2"}
    assert all(0 <= score <= 1 for score in reading.scores.values())


@given(st.text(), st.lists(st.text(max_size=4), max_size=4))
def test_any_unicode_and_any_ids_give_a_reading(text: str, ids: list[str]) -> None:
    reading = extract_scores(text, ids)
    assert set(reading.scores) | set(reading.missing) == set(ids)


@pytest.mark.parametrize("ids", [(), ("",), (" ", "")])
@pytest.mark.parametrize("text", [",", "", ", 0.5", "[1, 2]", "\n,\n"])
def test_without_a_visible_id_a_text_is_read_once(text: str, ids: tuple[str, ...]) -> None:
    assert extract_scores(text, ids).scores == {}


@pytest.mark.parametrize("name", zoo.HOSTILE)
def test_hostile_text_is_cheap(name: str) -> None:
    text = zoo.HOSTILE[name]
    at_most(100, lambda: extract_scores(text, ("1", "2", "3")))


@pytest.mark.parametrize("name", ["map of 70k", "one repeated key", "a million ones", "rows in a row", "open string"])
def test_hostile_text_is_light(name: str) -> None:
    tracemalloc.start()
    try:
        extract_scores(zoo.HOSTILE[name], ("1", "2", "3"))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
