"""Judgments: what a recorded line may hold, what is said about one that may not, and what a judge is asked now."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calipers.calibration import calibrate
from calipers.calibration.collect import JudgeAnswers, collect_judgments
from calipers.calibration.records import as_record, as_records
from calipers.errors import ConfigError, InputError
from calipers.types import Ask, Comparison, Completion, JudgeRequest, Rating, Reading, TrajectoryGroup, Usage
from groups import group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, said
from servers.faulty_server import Asked as Question
from viewed import view_of

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
    assert "'scores' belongs inside 'parsed'" in problem_of({"group_id": "g", "judge": "j", "scores": {"a": 1}})


@pytest.mark.parametrize("parsed", [{"scores": {"b": 700, "a": 7, "c": None}}, {"ranking": ["c", "a", "b"]}])
def test_without_an_order_the_ids_are_those_of_the_answer_and_no_position_is_known(parsed: dict[str, Any]):
    line = {"group_id": "g", "judge": "j", "mode": "listwise", "parsed": parsed, "scale": [1, 10]}
    record = as_record(line)
    assert (record.order, record.ordered, record.cost.shown) == (("a", "b", "c"), False, 3)
    if "scores" in parsed:  # one off its scale is unread
        assert (record.scores, as_record(line | {"scale": None}).scores) == ({"a": 7}, {"a": 7, "b": 700})
    assert as_record(line | {"order": ["c", "b", "a"]}).ordered
    silent: Any
    for silent in (None, {"scores": {}}, {"ranking": []}, {"winner": "a"}):
        assert "'order' is needed where 'parsed'" in problem_of(line | {"parsed": silent})


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
    ({"parsed": {"scores": {"a": "high"}}}, "must be a finite number"),
    ({"parsed": {"scores": {"a": -1e200}}}, "at most 1e+100"),
    ({"parsed": {"scores": {"a": 10**400}}}, "finite"),
    ({"scale": [10, 1]}, "lower"),
    ({"sample_index": "0"}, "integer"),
    ({"temperature": "warm"}, "'temperature'"),
    ({"usage": {"input_tokens": "many"}}, "'input_tokens' must be a finite number"),
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


# --- what a judge says now, written down as a judgments file has it ---------------------------------------------------


def group(number: int, *, words: bool = True) -> TrajectoryGroup:
    """Four answers, the longer ones better by gold, as the embedded judge tends to see them."""
    texts = {name: f"Step {number}. " * length for name, length in (("a", 1), ("b", 4), ("c", 9), ("d", 16))}
    asked = group_of(texts, group_id=f"g{number}", question=f"Explain step {number} of the plan.")
    members = (replace(one, gold=float(len(texts[one.id]))) for one in asked.trajectories)
    return replace(asked, trajectories=tuple(one if words else replace(one, messages=()) for one in members))


GROUPS = [group(number) for number in range(12)]


@pytest.mark.parametrize(
    ("protocol", "mode", "calls"),
    [("listwise", "listwise", 2), ("pairwise", "pairwise", 12), ("pointwise", "pointwise", 8)],
)
async def test_every_answer_is_a_record_that_calibrate_reads(protocol: str, mode: str, calls: int):
    asked = await collect_judgments(GROUPS, "embedded", protocol=protocol, orders=2)
    assert len(asked.judgments) == calls * len(GROUPS)
    found = calibrate(GROUPS, asked.judgments)
    (judge,) = found.judges
    assert (judge.judge, judge.mode, judge.groups) == ("embedded", mode, len(GROUPS))
    assert judge.failure_rate == 0
    assert (judge.order_flip_rate is not None) == (mode == "pairwise")
    assert (asked.calls, asked.unscored) == (calls * len(GROUPS), 0)


async def test_every_call_is_in_what_asking_took(faulty: FaultyServer, tmp_path: Path):
    faulty.script(lambda asked: said(verdict(asked) if "Score these attempts" in str(asked.body) else "An apple."))
    asked = await collect_judgments(GROUPS[:3], f"vllm/m@{faulty.url}", orders=1, ledger=tmp_path / "l.db")
    assert (asked.calls, asked.usage.input_tokens) == (3, 10 * len(faulty.posts)) == (len(faulty.posts), 30)


async def test_a_group_without_any_answer_is_a_record_too(faulty: FaultyServer):
    def answer(asked: Question) -> Answer:
        text = str(asked.body)
        if "step 3 " in text:
            return said(None, finish_reason="content_filter")
        return Answer(400, {"error": {"message": "no"}}) if "step 5 " in text else said(verdict(asked))

    faulty.script(answer)
    asked = await collect_judgments(GROUPS, f"vllm/m@{faulty.url}", orders=1)
    silent = {one["group_id"]: one["status"] for one in asked.judgments if "status" in one}
    assert silent == {"g3": "abstained", "g5": "failed"}
    (judge,) = calibrate(GROUPS, asked.judgments).judges
    assert judge.missing == {"abstained": 1, "failed": 1, "unrecorded": 0}
    assert judge.groups == 10
    assert judge.failure_rate == pytest.approx(8 / 48)


async def test_what_cannot_be_asked_is_found_out_first():
    with pytest.raises(InputError, match="nothing to ask a judge about"):
        await collect_judgments([group(1, words=False)], "embedded")
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:9"):
        await collect_judgments(GROUPS, "vllm/m@http://127.0.0.1:9/v1")


LIST, PAIR = Ask(0, (0, 1, 2), (0, 1, 2)), Ask(0, (1, 0), (1, 0), sample=2)
GAP = Ask(3, (2,), (2, 0, 1), anchors=((0, 0.1), (1, 0.9)), presentation=0, parent=0)
TOOK: dict[str, Any] = {"input_tokens": 120, "output_tokens": 30, "cached_tokens": 0, "cost_usd": 0.002}
HEARD: list[tuple[Ask, tuple[Any, ...], dict[str, Any]]] = [
    (GAP, (Rating(2, 0.4, 0),), {"sample_index": 0, "order": ["t2"], "parsed": {"scores": {"t2": 0.4}}}),
    (PAIR, (Comparison(1, 0, -0.3, 0),), {"parsed": {"winner": "t0", "margin": 0.3}, "order": ["t1", "t0"]}),
    (PAIR, (Comparison(1, 0, 0.0, 0),), {"parsed": {"winner": "tie", "margin": 0}, "sample_index": 2}),
    (PAIR, (), {"parsed": None}),
    (LIST, (), {"parsed": None, "prompt_variant": "base", "temperature": 0.5}),
    (LIST, (Rating(0, 0.4, 0),), {"shown": 3, "usage": TOOK}),
]
"""A question, what was read in its answer, and fields of the record. A gap belongs to the answer that left it."""


def test_a_record_holds_what_was_asked_read_and_taken():
    for ask, judgments, expected in HEARD:
        reading = Reading(judgments, "strict" if judgments else "rejected")
        for usage in (Usage(**TOOK), Usage()):  # a server that tells what it took, and one that does not
            asked = JudgeAnswers("j", "pairwise" if ask is PAIR else "listwise", "base", 0.5)
            asked.observe(JudgeRequest((), (), ask, view_of("a", "b", "c")), Completion("", usage=usage), reading)
            (record,) = asked.judgments
            known = expected if usage != Usage() else expected | {"usage": None}
            assert {name: record[name] for name in known} == known
