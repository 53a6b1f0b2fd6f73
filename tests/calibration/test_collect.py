"""What a judge says now, written down as a judgments file has it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calipers.calibration import calibrate
from calipers.calibration.collect import JudgeAnswers, collect_judgments
from calipers.errors import ConfigError, InputError
from calipers.types import Ask, Comparison, Completion, JudgeRequest, Rating, Reading, TrajectoryGroup, Usage
from groups import group_of
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, said
from servers.faulty_server import Asked as Question
from viewed import view_of


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
