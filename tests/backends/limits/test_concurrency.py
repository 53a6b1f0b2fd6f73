"""Bounds on what is in flight."""

from __future__ import annotations

import asyncio

import pytest

from backends.asking import question
from calipers.backends.limits.bounds import Limited
from calipers.errors import ConfigError, TransientError
from calipers.types import Completion, JudgeRequest


class _Gate:
    """Counts what is in flight, and answers when opened."""

    endpoint = "here"
    model = "m"

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.fails = False

    async def complete(self, request: JudgeRequest) -> Completion:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await asyncio.sleep(0)
            if self.fails:
                raise TransientError("server", "died")
            return Completion("done")
        finally:
            self.inside -= 1


async def test_no_more_than_the_bound_are_in_flight_and_all_are_answered() -> None:
    gate = _Gate()
    judge = Limited(gate, concurrency=3)
    answers = await asyncio.gather(*(judge.complete(question()) for _ in range(20)))
    assert len(answers) == 20
    assert gate.most == 3
    assert (judge.endpoint, judge.model) == ("here", "m")


async def test_failures_and_cancellations_give_their_place_back() -> None:
    gate = _Gate()
    judge = Limited(gate, concurrency=1)
    gate.fails = True
    for _ in range(3):
        with pytest.raises(TransientError):
            await judge.complete(question())
    gate.fails = False
    tasks = [asyncio.create_task(judge.complete(question())) for _ in range(3)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (await judge.complete(question())).text == "done"


def test_one_judge_serves_several_loops_one_after_another() -> None:
    gate = _Gate()
    judge = Limited(gate, concurrency=2)

    async def many() -> None:
        await asyncio.gather(*(judge.complete(question()) for _ in range(10)))

    for _ in range(3):
        asyncio.run(many())
    assert gate.most == 2
    assert len(judge._slots) == 1  # closed loops are let go


def test_a_bound_is_at_least_one() -> None:
    with pytest.raises(ConfigError, match="concurrency"):
        Limited(_Gate(), concurrency=0)
