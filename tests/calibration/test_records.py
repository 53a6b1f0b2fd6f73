"""Recorded judgments: what a line may hold, and what is said about one that may not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration.records import as_record, as_records
from calipers.errors import InputError

GOOD: dict[str, Any] = {
    "group_id": "g", "judge": "j", "mode": "pointwise", "order": ["a", "b"], "raw_text": None,
    "parsed": {"scores": {"a": 3, "b": None}}, "sample_index": 2, "prompt_variant": "v", "temperature": 1,
    "scale": [1, 10],
}  # fmt: skip


def test_a_full_line_is_read_and_what_was_not_read_is_missing():
    record = as_record(GOOD)
    assert record.scores == {"a": 3.0}
    assert (record.sample, record.scale, record.key.temperature) == (2, (1.0, 10.0), 1.0)
    for parsed in (None, {}, {"winner": None}, {"scores": None}):
        record = as_record({"group_id": "g", "judge": "j", "order": ["a", "b"], "parsed": parsed})
        assert (record.scores, record.winner, record.ranking) == (None, None, None)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"order": []}, "'order' must list"),
    ({"order": [1.5]}, "id in 'order'"),
    ({"mode": "guess"}, "known: pointwise"),
    ({"mode": "pairwise", "order": ["a", "b", "c"]}, "3 ids instead of 2"),
    ({"judge": None}, "'judge'"),
    ({"group_id": ""}, "'group_id'"),
    ({"parsed": "a"}, "'parsed' must be an object"),
    ({"parsed": {"winner": "c"}}, "neither of two ids"),
    ({"parsed": {"ranking": ["a", "a"]}}, "twice"),
    ({"parsed": {"scores": [1, 2]}}, "object of numbers"),
    ({"parsed": {"scores": {"a": "high"}}}, "must be a number"),
    ({"parsed": {"scores": {"a": -1e200}}}, "at most 1e+100"),
    ({"parsed": {"scores": {"a": 10**400}}}, "finite"),
    ({"scale": [10, 1]}, "lower"),
    ({"sample_index": "0"}, "integer"),
    ({"temperature": "warm"}, "'temperature'"),
    ({"usage": {"input_tokens": "many"}}, "'input_tokens' must be a number"),
    ({"usage": {"cost_usd": -1}}, "must not be negative"),
    ({"mode": "pairwise", "parsed": {"winner": "a", "margin": 2}}, "from 0 to 1"),
    ({"order": ["tie", "b"], "parsed": {"winner": "tie"}}, "would be ambiguous"),
    ({"status": "skipped"}, "'status' is 'skipped'"),
    ({"parsed": None, "raw_text": "[[A]]", "format": "mt_bench"}, "extract_choice"),
]  # fmt: skip


def problem_of(value: dict[str, Any]) -> str:
    try:
        return str(as_record(value))
    except InputError as error:
        return str(error)


def test_a_bad_line_is_said_to_be_so():
    problems = [(words, problem_of(GOOD | change)) for change, words in BAD]
    assert [one for one in problems if one[0] not in one[1]] == []


def test_what_an_answer_took_is_kept_and_unknown_where_not_told():
    """A pointwise record is a call for each id it lists."""
    told = as_record(GOOD | {"usage": {"input_tokens": 100, "output_tokens": 10, "cost_usd": None}}).cost
    assert (told.calls, told.shown, told.of("tokens"), told.cost_usd) == (2, 2, 110, None)
    bare = as_record(GOOD | {"mode": "listwise", "shown": 3}).cost
    assert (bare.calls, bare.shown, bare.of("tokens")) == (1, 3, None)


def test_a_winner_may_win_by_a_margin_and_one_of_nothing_is_a_tie():
    pair = GOOD | {"mode": "pairwise"}
    assert as_record(pair | {"parsed": {"winner": "a", "margin": 0.25}}).margin == 0.25
    assert as_record(pair | {"parsed": {"winner": "a"}}).margin == 1
    assert as_record(pair | {"parsed": {"winner": "a", "margin": 0}}).winner == "tie"


def test_files_are_read_packed_or_not_and_what_is_wrong_is_named(tmp_path: Path):
    lines = json.dumps(GOOD) + "\n[1]\n" + json.dumps(GOOD | {"judge": 3}) + "\n"
    plain, packed = tmp_path / "j.jsonl", tmp_path / "j.jsonl.gz"
    plain.write_text(lines, encoding="utf-8")
    packed.write_bytes(gzip.compress(lines.encode()))
    for path in (plain, packed):
        problems: list[InputError] = []
        assert [one.key.judge for one in as_records(path, on_error=problems.append)] == ["j", "3"]
        assert [problem.line for problem in problems] == [2]
        assert path.name in str(problems[0])
    with pytest.raises(InputError, match=r"j\.jsonl:2"):
        list(as_records(plain))
    with pytest.raises(InputError, match="no such file"):
        list(as_records(tmp_path / "none.jsonl"))
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InputError, match="holds no judgments"):
        list(as_records(tmp_path / "empty.jsonl"))


def test_objects_in_memory_are_taken_too_and_bad_ones_counted():
    problems: list[InputError] = []
    found = list(as_records([GOOD, as_record(GOOD), {"judge": "x"}], on_error=problems.append))
    assert found[0] == found[1]
    assert "judgment 3" in str(problems[0])
    with pytest.raises(InputError, match="judgment 1"):
        list(as_records([3]))


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                    max_leaves=8)  # fmt: skip


@given(st.fixed_dictionaries({key: JSON | st.just(value) for key, value in GOOD.items()}))
def test_any_object_is_a_record_or_an_input_error(value: dict[str, Any]):
    try:
        record = as_record(value)
    except InputError:
        return
    assert record.order
