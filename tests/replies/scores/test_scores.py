"""Scores from replies: everything a careful reader extracts, and never a wrong number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import reply_zoo as zoo
from calipers.errors import ConfigError
from calipers.replies import ScoreReading, extract_choice, extract_ranking, extract_scores, extract_verdict

REPLIES = Path(__file__).parents[2] / "fixtures" / "replies.jsonl"
IDS = ("1", "2", "3")
SIMPLE = [
    case
    for section in (zoo.JSON, zoo.MORE, zoo.VALUES, zoo.SEVERAL, zoo.CUT, zoo.PROSE, zoo.TAILS, zoo.BEFORE, zoo.ATTACKS)
    for case in section
]


def recorded() -> list[dict[str, object]]:
    return [json.loads(line) for line in REPLIES.read_text(encoding="utf-8").splitlines()]


def coherent(reading: ScoreReading, ids: tuple[str, ...]) -> bool:
    """Every id is scored or missing, never both, and the outcome says which."""
    together = sorted([*reading.scores, *reading.missing]) == sorted(ids)
    partial = bool(reading.scores) and bool(reading.missing)
    return (
        together
        and (reading.outcome == "rejected") == (not reading.scores)
        and (reading.outcome == "partial") == partial
    )


@pytest.mark.parametrize("case", SIMPLE, ids=[f"{place}-{case[0]}" for place, case in enumerate(SIMPLE)])
def test_the_zoo_is_read_as_a_careful_reader_would(case: zoo.Case) -> None:
    _, text, expected = case
    reading = extract_scores(text, IDS)
    assert reading.scores == pytest.approx(expected)
    assert coherent(reading, IDS)


@pytest.mark.parametrize("case", zoo.OTHER, ids=[case[0] for case in zoo.OTHER])
def test_other_ids_and_scales_are_read_alike(
    case: tuple[str, str, dict[str, float], tuple[str, ...], tuple[float, float]],
) -> None:
    _, text, expected, ids, scale = case
    reading = extract_scores(text, ids, scale=scale)
    assert reading.scores == pytest.approx(expected)
    assert coherent(reading, ids)


@pytest.mark.parametrize("row", recorded(), ids=lambda row: str(row["id"]))
def test_every_recorded_reply_is_exact(row: dict[str, object]) -> None:
    expected = row["expected"] or {}
    reading = extract_scores(str(row["text"]), row["ids"])  # type: ignore[arg-type]  # a JSON row
    assert reading.scores == pytest.approx(expected)


@pytest.mark.parametrize("scale", [(10, 0), (1, 1), (0, float("nan")), (0, float("inf")), 10, (0, 1, 2), ("0", "1")])
def test_a_scale_that_cannot_be_meant_is_refused(scale: Any) -> None:
    with pytest.raises(ConfigError, match=r"scale=.*: it must be two finite numbers, the lower one first"):
        extract_scores('{"1": 7}', IDS, scale=scale)


@pytest.mark.parametrize("reply", [b"{}", {"1": 0.5}, 7])
def test_a_reply_that_is_no_text_is_refused(reply: Any) -> None:
    reads: list[Callable[[], object]] = [
        lambda: extract_scores(reply, IDS),
        lambda: extract_choice(reply, "AB"),
        lambda: extract_ranking(reply, IDS),
        lambda: extract_verdict(reply),
    ]
    for read in reads:
        with pytest.raises(ConfigError, match="text must be a reply's text, or None"):
            read()


def test_arguments_of_another_kind_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"ids=\[1, 2\]: they must be texts; give list\(map\(str, ids\)\)"):
        extract_scores('{"1": 80}', [1, 2])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="out_of_range='clip': write one of reask, rescale, rank, clamp"):
        extract_scores('{"1": 7}', IDS, out_of_range="clip")  # type: ignore[arg-type]


def test_a_reply_without_text_is_an_empty_one() -> None:
    assert extract_scores(None, IDS) == extract_scores("", IDS)
    assert extract_choice(None, "AB") == extract_choice("", "AB")
    assert extract_ranking(None, IDS) == extract_ranking("", IDS)
    assert extract_verdict(None) == extract_verdict("")


def test_outcomes_name_the_way_a_reply_was_read() -> None:
    assert extract_scores(zoo.GOOD, IDS).outcome == "strict"
    assert extract_scores(f"Well: {zoo.GOOD}!", IDS).outcome == "strict"
    assert extract_scores(zoo.GOOD.replace('"', "'"), IDS).outcome == "repaired"
    assert extract_scores("1: 0.9\n2: 0.4\n3: 0.1\n", IDS).outcome == "text"
    assert extract_scores('{"1": 0.9}', IDS).outcome == "partial"
    assert extract_scores("no", IDS).outcome == "rejected"


def test_a_clean_reading_has_no_reason_and_keeps_the_explanations() -> None:
    reading = extract_scores(zoo.GOOD, IDS)
    assert reading.explanations == {"1": "ok", "2": "so-so", "3": "bad"}
    assert (reading.reason, reading.doubt, reading.truncated, reading.adjusted) == (None, False, False, None)
    keyed = extract_scores('{"explanations": {"1": "x"}, "scores": {"1": 0.9, "2": 0.4, "3": 0.1}}', IDS)
    assert keyed.explanations == {"1": "x"}


def test_what_is_missing_has_a_reason_each() -> None:
    reading = extract_scores('{"1": 0.9, "2": "N/A"}', IDS)
    assert reading.missing == {"2": "the score is not a number", "3": "not in the reply"}
    assert not reading.doubt


def test_doubt_asks_for_the_whole_reply_again_and_truncation_for_room() -> None:
    assert extract_scores('{"1": 0.9, "2": 0.4, "3": 0.1, "9": 1}', IDS).doubt
    assert extract_scores('{"1": 7, "2": 10, "3": 15}', IDS).doubt
    cut = extract_scores('{"1": 0.9, "2": 0.4, "3": 0.', IDS)
    assert (cut.truncated, cut.doubt, cut.scores) == (True, False, {"1": 0.9, "2": 0.4})
    assert extract_scores("<think>and so", IDS).truncated
    assert not extract_scores("I'd rather not.", IDS).truncated


def test_a_reply_the_server_cut_is_read_only_where_its_verdict_is_closed() -> None:
    assert extract_scores(zoo.GOOD + "\n\n\n", IDS, finish_reason="length").scores == zoo.V
    after = extract_scores(zoo.GOOD + "\nBut then", IDS, finish_reason="length")
    assert (after.scores, after.truncated) == ({}, True)
    lines = extract_scores("1: 0.9\n2: 0.4\n3: 0.1", IDS, finish_reason="length")
    assert (lines.scores, lines.truncated) == ({"1": 0.9, "2": 0.4}, True)
    assert extract_scores("RB: 83\nKX: 40\nMK: 5", zoo.RB, scale=(0, 100), finish_reason="stop").scores == zoo.W


def test_off_scale_rules_apply_to_the_whole_reply_and_are_recorded() -> None:
    text = '{"1": 7, "2": 10, "3": 15}'
    assert extract_scores(text, IDS, out_of_range="clamp").scores == {"1": 1, "2": 1, "3": 1}
    ranked = extract_scores(text, IDS, out_of_range="rank")
    assert (ranked.scores, ranked.adjusted) == ({"1": 0, "2": 0.5, "3": 1}, "rank")
    rescaled = extract_scores(text, IDS, out_of_range="rescale")
    assert rescaled.scores == pytest.approx({"1": 0.07, "2": 0.1, "3": 0.15})
    assert rescaled.adjusted == "rescale"
    assert extract_scores(zoo.GOOD, IDS, out_of_range="clamp").adjusted is None


def test_long_strict_replies_are_read_and_long_broken_ones_are_not_read_in_part() -> None:
    long = zoo.GOOD.replace("so-so", "x" * 900_000)
    assert extract_scores(long, IDS).scores == zoo.V
    assert extract_scores("word " * 100_000 + zoo.GOOD, IDS).scores == zoo.V
    fake = '{"1": 1, "2": 1, "3": 1}'
    broken = '{"1": {"explanation": "' + "x" * 70_000 + fake + ' and more", "score": 0.5}, "2": 0.4, "3": 0.1,,'
    assert extract_scores(broken, IDS).scores in ({}, {"1": 0.5, "2": 0.4, "3": 0.1})


def test_a_question_about_nobody_has_nothing_to_read() -> None:
    reading = extract_scores(zoo.GOOD, ())
    assert (reading.scores, reading.missing, reading.outcome) == ({}, {}, "rejected")
