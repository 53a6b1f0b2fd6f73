"""Recorded replies that are not parsed yet are read in the format that their line, or the caller, names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calipers.calibration import calibrate
from calipers.calibration.criteria.verdicts import as_recorded
from calipers.calibration.records import as_record, read_judgments
from calipers.errors import InputError

LINE: dict[str, Any] = {"group_id": "g", "judge": "j", "order": ["a", "b"]}


def test_a_pair_is_read_in_its_format_by_who_was_shown_first() -> None:
    record = as_record({**LINE, "raw_text": "My final verdict is [[B>>A]]", "format": "arena_hard"})
    assert (record.winner, record.margin, record.key.mode) == ("b", 1.0, "pairwise")
    assert as_record({**LINE, "raw_text": "[[C]]", "format": "mt_bench"}).winner == "tie"
    assert as_record({**LINE, "raw_text": "M", "format": "alpaca_eval"}).winner == "b"


def test_scores_are_on_the_formats_scale_or_the_lines() -> None:
    line = {**LINE, "order": ["a"], "raw_text": "[RESULT] 4", "format": "prometheus"}
    assert (as_record(line).scores, as_record(line).scale) == ({"a": 4}, (1, 5))
    assert as_record({**line, "scale": [0, 1]}).scores == {"a": 0.75}
    both = as_record({**LINE, "raw_text": "8 7\nBecause", "format": "vicuna", "mode": "pairwise_scores"})
    assert (both.scores, both.key.mode) == ({"a": 8, "b": 7}, "pairwise_scores")


def test_a_verdict_is_a_score_of_nought_or_one_and_neither_is_none() -> None:
    line = {**LINE, "order": ["a"], "format": "simpleqa"}
    assert as_record({**line, "raw_text": "A"}).scores == {"a": 1}
    assert as_record({**line, "raw_text": "B"}).scores == {"a": 0}
    assert as_record({**line, "raw_text": "C"}).scores is None


def test_what_was_parsed_already_stays_and_what_cannot_be_read_is_nothing() -> None:
    assert as_record({**LINE, "raw_text": "[[A]]", "format": "mt_bench", "parsed": {"winner": "b"}}).winner == "b"
    record = as_record({**LINE, "raw_text": "Both.", "format": "mt_bench"})
    assert (record.winner, record.scores) == (None, None)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "mt_bnch"}, "did you mean 'mt_bench'"),
        ({"format": 7}, "unknown format '7'"),
        ({"format": "healthbench"}, "holds verdict"),
        ({"format": "mt_bench", "raw_text": 3}, "must be text"),
        ({"format": "g_eval", "order": ["a"]}, "has no scale"),
        ({"format": "prometheus", "order": ["a"], "scale": ["x", 1]}, "lowest, highest"),
    ],
)
def test_a_format_that_cannot_be_used_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words.replace("[", r"\[")):
        as_record({**LINE, "raw_text": "[[A]]", **change})


def test_a_winner_called_tie_among_ids_called_tie_is_refused() -> None:
    with pytest.raises(InputError, match="would be ambiguous"):
        as_record({**LINE, "order": ["tie", "b"], "parsed": {"winner": "tie"}})


def test_labels_that_differ_in_case_only_keep_their_winners() -> None:
    line = {**LINE, "order": ["m", "M"], "format": "alpaca_eval"}
    assert [as_record({**line, "raw_text": said}).winner for said in ("m", "M")] == ["m", "M"]


def test_a_whole_file_goes_by_one_format(tmp_path: Path) -> None:
    groups, said = tmp_path / "groups.jsonl", tmp_path / "said.jsonl"
    gold = {"a": 1, "b": 0}
    rows = [{"group_id": str(n), "trajectories": [{"id": i, "gold": g} for i, g in gold.items()]} for n in range(12)]
    groups.write_text("".join(json.dumps(row) + "\n" for row in rows))
    replies = [{**LINE, "group_id": str(n), "raw_text": "[[A>B]]" if n % 4 else "[[B>A]]"} for n in range(12)]
    said.write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    judge = calibrate(groups, read_judgments(said, format="arena_hard")).judges[0]
    assert (judge.mode, judge.groups, judge.top1) == ("pairwise", 12, 0.75)
    command = [sys.executable, "-m", "calipers", "calibrate", str(groups), "--judgments", str(said)]
    run = subprocess.run(
        [*command, "--format", "arena-hard", "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["judges"][0]["top1"] == 0.75


def test_a_verdict_on_a_labelled_criterion_may_name_its_format() -> None:
    said = {"judge": "j", "line": 1, "raw_text": "GRADE: I"}
    assert as_recorded({**said, "format": "inspect_ai"}).met is False
    assert as_recorded(said, format="inspect_ai").met is False
    with pytest.raises(InputError, match="unknown format"):
        as_recorded({**said, "format": "nonesuch"})
