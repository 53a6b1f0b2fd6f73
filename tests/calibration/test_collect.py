"""What a judge says now, written down as a judgments file has it."""

from pathlib import Path

import pytest

from calipers.calibration import calibrate
from calipers.calibration.collect import JudgeAnswers, collect_judgments
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group
from calipers.types import Ask, Comparison, Completion, JudgeRequest, Rating, Reading, TrajectoryGroup, Usage
from servers.dialects import verdict
from servers.faulty_server import Answer, FaultyServer, said
from servers.faulty_server import Asked as Question
from viewed import view_of

NOTHING = Usage()


def group(number: int, *, words: bool = True) -> TrajectoryGroup:
    """Four answers, the longer ones better by gold, as the embedded judge tends to see them."""
    texts = {name: f"Step {number}. " * length for name, length in (("a", 1), ("b", 4), ("c", 9), ("d", 16))}
    return as_group(
        {
            "group_id": f"g{number}",
            "context": [{"role": "user", "content": f"Explain step {number} of the plan."}],
            "trajectories": [
                {
                    "id": name,
                    "gold": len(text),
                    "messages": [{"role": "assistant", "content": text}] if words else [],
                }
                for name, text in texts.items()
            ],
        }
    )


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


def heard(protocol: str, ask_: Ask, reading: Reading, usage: Usage = NOTHING) -> dict[str, object]:
    view = view_of("a", "b", "c")
    asked = JudgeAnswers("j", protocol, "base", 0.5)
    asked.observe(JudgeRequest((), (), ask_, view), Completion("", usage=usage), reading)
    return asked.judgments[0]


def test_a_gap_that_is_filled_belongs_to_the_answer_that_left_it():
    gap = Ask(3, (2,), (2, 0, 1), anchors=((0, 0.1), (1, 0.9)), presentation=0, parent=0)
    record = heard("listwise", gap, Reading((Rating(2, 0.4, 0),), "strict"))
    assert record["sample_index"] == 0
    assert record["order"] == ["t2"]
    assert record["parsed"] == {"scores": {"t2": 0.4}}
    assert (record["prompt_variant"], record["temperature"]) == ("base", 0.5)


def test_a_pairs_verdict_is_its_winner_and_an_unreadable_answer_is_none():
    pair = Ask(0, (1, 0), (1, 0), sample=2)
    record = heard("pairwise", pair, Reading((Comparison(1, 0, -0.3, 0),), "strict"))
    assert (record["parsed"], record["order"]) == ({"winner": "t0", "margin": 0.3}, ["t1", "t0"])
    assert record["sample_index"] == 2
    tied = heard("pairwise", pair, Reading((Comparison(1, 0, 0.0, 0),), "strict"))
    assert tied["parsed"] == {"winner": "tie", "margin": 0}
    assert heard("pairwise", pair, Reading((), "rejected"))["parsed"] is None
    assert heard("listwise", Ask(0, (0, 1, 2), (0, 1, 2)), Reading((), "rejected"))["parsed"] is None


def test_what_an_answer_took_stands_beside_it_and_is_unknown_where_its_server_does_not_tell():
    reading = Reading((Rating(0, 0.4, 0),), "strict")
    told = heard("listwise", Ask(0, (0, 1, 2), (0, 1, 2)), reading, Usage(120, 30, 0, 0.002))
    assert told["shown"] == 3
    assert told["usage"] == {"input_tokens": 120, "output_tokens": 30, "cached_tokens": 0, "cost_usd": 0.002}
    assert heard("listwise", Ask(0, (0, 1, 2), (0, 1, 2)), reading)["usage"] is None
