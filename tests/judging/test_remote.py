"""A judge that one process owns and others use: equal results, one record, and errors that survive the way."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError, PermanentError, TransientError
from calipers.judging.judge import replaying_judge, store_of
from calipers.judging.remote import Note, Outcome, RemoteStore, SharedJudge
from calipers.ledger import open_ledger
from calipers.testing import Noise, SimulatedJudge
from calipers.types import FailedCalls, GroupResult, JudgeRequest, TrajectoryGroup, Usage
from criteria_writers import Both
from criteria_writers import group as criteria_group
from groups import FOUR, QUALITY, group_of
from judging.test_long_trajectories import Narrow


def pickled(value: Any) -> Any:
    """What arrives in another process."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


class Pickling:
    """A SharedJudge as another process reaches it: everything is pickled on its way there and back."""

    def __init__(self, judge: SharedJudge) -> None:
        self.judge = judge

    async def answer(self, number: int, request: JudgeRequest) -> Outcome:
        outcome: Outcome = pickled(await self.judge.answer(*pickled((number, request))))
        return outcome

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]) -> None:
        await self.judge.finish(*pickled((number, group, result, notes)))


GROUPS = [
    group_of({name: f"{text} ({number})" for name, text in FOUR.items()}, group_id=f"g{number}") for number in range(6)
]


def judge_there(shared: SharedJudge, numbers: Sequence[int]) -> calipers.Judge:
    return replaying_judge(pickled(shared.begin(max(numbers))), RemoteStore(Pickling(shared), numbers))


async def scored_remotely(shared: SharedJudge, numbers: Sequence[int]) -> list[GroupResult]:
    judge = judge_there(shared, numbers)
    return [one async for one in judge.score_groups([GROUPS[number] for number in numbers], ordered=True)]


async def test_results_and_the_record_are_those_of_one_process_whatever_the_order_of_the_batches(tmp_path: Path):
    local = calipers.Judge(SimulatedJudge(QUALITY, Noise(0.2)), orders=2, ledger=tmp_path / "local.db")
    expected = [one.to_dict() async for one in local.score_groups(GROUPS, ordered=True)]
    shared = SharedJudge(SimulatedJudge(QUALITY, Noise(0.2)), orders=2, ledger=tmp_path / "shared.db")
    await shared.start(GROUPS[0])
    later = await scored_remotely(shared, [3, 4, 5])
    found = [one.to_dict() for one in (*await scored_remotely(shared, [0, 1, 2]), *later)]
    assert found == expected
    again = await scored_remotely(shared, [1, 2])
    assert [one.to_dict() for one in again] == expected[1:3]
    assert store_of(shared).reused == 4
    ledgers = [open_ledger(tmp_path / f"{name}.db") for name in ("local", "shared")]
    kept = [ledger.rows("SELECT position, source, result FROM groups ORDER BY position", ()) for ledger in ledgers]
    query = "SELECT position, number, key, outcome, detail FROM asks ORDER BY position, number"
    asks = [ledger.rows(query, ()) for ledger in ledgers]
    assert kept[0] == kept[1]
    assert asks[0] == asks[1]


async def test_a_window_that_a_refusal_reveals_holds_for_groups_that_begin_later(tmp_path: Path):
    shared = SharedJudge(Narrow(900, size=1.0, truth=QUALITY), ledger=tmp_path / "shared.db")
    await shared.start(None)
    assert shared.begin(0).for_group(0).judges[0].context_window is None
    await scored_remotely(shared, [0])
    assert shared.begin(1).for_group(1).judges[0].context_window == 900


async def test_what_needs_all_groups_in_one_process_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="debug only works where one process judges all groups"):
        await SharedJudge("embedded", records={"debug": True}).start(None)


def test_an_error_of_a_backend_keeps_all_it_says_when_it_is_pickled():
    refusal = PermanentError("context_window", "too long", fatal=True, limit=9, prompt=12)
    for error in (TransientError("server", "busy", retry_after=3.0), refusal):
        error.failed, error.question, error.usage = FailedCalls(2), "key", Usage(3, 4)
        found = pickled(error)
        assert (type(found), str(found), vars(found)) == (type(error), str(error), vars(error))


async def test_criteria_are_written_once_and_recorded_by_the_owner(tmp_path: Path):
    one, ours, theirs = criteria_group(), Both(), Both()
    expected = await calipers.Judge(ours, criteria="auto", ledger=tmp_path / "local.db").score_group(one)
    shared = SharedJudge(theirs, criteria="auto", ledger=tmp_path / "shared.db")
    await shared.start(None)
    found = await judge_there(shared, [0]).score_group(one)
    assert found.to_dict() == expected.to_dict()
    assert len(ours.writer.asked) == len(theirs.writer.asked) == 1
