"""The functions that are called before and after judging."""

from __future__ import annotations

import asyncio

import pytest

import calipers
from calipers.testing import SimulatedJudge
from groups import FOUR, QUALITY, group_of

GROUPS = [group_of(FOUR, group_id=f"g{number}") for number in range(3)]


def judge_with(called: list[str], **hooks: object) -> calipers.Judge:
    calls = {"before": lambda: called.append("before"), "after": lambda: called.append("after"), **hooks}
    return calipers.Judge(SimulatedJudge(QUALITY), calls=calls)


async def test_a_batch_and_groups_at_the_same_time_call_them_once() -> None:
    called: list[str] = []
    judge = judge_with(called)
    assert [result.status async for result in judge.score_groups(GROUPS)] == ["scored"] * 3
    assert called == ["before", "after"]
    await asyncio.gather(*(judge.score_group(group) for group in GROUPS))
    assert called[:3] == ["before", "after", "before"]
    assert called[-1] == "after"


async def test_what_before_raises_is_raised_and_the_next_group_calls_it_again() -> None:
    called: list[str] = []

    def refuse() -> None:
        called.append("refused")
        raise RuntimeError("no GPU is free")

    judge = judge_with(called, before=refuse)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no GPU"):
            await judge.score_group(GROUPS[0])
    assert called == ["refused"] * 2
