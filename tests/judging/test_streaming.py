"""The stream of results: its bounds, its order, and that nothing is left behind when it ends."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import calipers
from calipers.errors import InputError
from calipers.judging.streaming import ResultStream, stream_groups
from calipers.testing import SimulatedJudge
from calipers.types import GroupResult, TrajectoryGroup
from groups import FOUR, QUALITY, group_of


async def same(item: int) -> int:
    return item


async def coming(items: Iterable[int]) -> AsyncIterator[int]:
    for item in items:
        await asyncio.sleep(0)
        yield item


async def test_no_more_than_limit_run_at_once_and_work_begins_in_input_order():
    for source in (range(50), coming(range(50))):
        begun: list[int] = []
        peak = running = 0

        async def work(item: int) -> int:
            nonlocal running, peak
            begun.append(item)  # noqa: B023 - used within its turn of the loop
            running += 1
            peak = max(peak, running)
            for _ in range(30):  # longer than the source takes to come with seven
                await asyncio.sleep(0)
            running -= 1
            return item

        results = [result async for result in ResultStream(source, work, limit=7)]
        assert sorted(results) == begun == list(range(50))
        assert peak == 7


async def test_ordered_gives_input_order_however_they_finish():
    gates = [asyncio.Event() for _ in range(5)]

    async def work(item: int) -> int:
        await gates[item].wait()
        if item:
            gates[item - 1].set()
        return item

    gates[4].set()
    assert [result async for result in ResultStream(range(5), work, limit=5, ordered=True)] == [0, 1, 2, 3, 4]


async def test_an_item_without_work_is_skipped():
    def work(item: int) -> Any:
        return same(item) if item % 2 else None

    assert [result async for result in ResultStream(range(6), work, limit=2, ordered=True)] == [1, 3, 5]


async def test_a_slow_consumer_holds_the_source_back():
    taken: list[int] = []

    async def source() -> AsyncIterator[int]:
        for number in range(10**6):
            taken.append(number)
            yield number

    async with contextlib.aclosing(ResultStream(source(), same, limit=4)) as results:
        for _ in range(3):
            await anext(results)
        for _ in range(20):
            await asyncio.sleep(0)
    assert len(taken) <= 8


async def test_a_straggler_holds_back_how_far_others_run_ahead():
    gate = asyncio.Event()
    begun = 0

    async def work(item: int) -> int:
        nonlocal begun
        begun += 1
        if item == 0:
            await gate.wait()
        return item

    results = ResultStream(range(10_000), work, limit=2, ordered=True)
    first = asyncio.ensure_future(anext(results))
    for _ in range(500):
        await asyncio.sleep(0)
    assert begun <= 2 * 16 + 2
    gate.set()
    assert await first == 0
    await results.aclose()
    assert [one async for one in results] == []  # closed


async def test_an_exception_of_the_work_or_of_the_source_cancels_the_rest():
    cancelled = 0

    async def work(item: int) -> int:
        nonlocal cancelled
        if item == 3:
            raise ValueError("three")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled += 1
            raise
        return item

    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("three")

    for source, expected in ((range(5), 4), (broken(), 1), (coming(broken()), 1)):
        cancelled = 0
        with pytest.raises(ValueError, match="three"):
            _ = [result async for result in ResultStream(source, work, limit=5)]
        assert cancelled == expected
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_results_do_not_wait_for_a_slow_source_and_closing_ends_it():
    ended = False

    async def source() -> AsyncIterator[int]:
        nonlocal ended
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            ended = True

    async with contextlib.aclosing(ResultStream(source(), same, limit=4)) as results:
        assert await asyncio.wait_for(anext(results), 5) == 1
    assert ended
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_what_is_no_groups_is_told_what_to_write():
    async def judge(group: TrajectoryGroup) -> GroupResult:
        raise NotImplementedError

    cases: list[tuple[Any, str]] = [
        ("groups.jsonl", "calipers.read_groups(PATH)"),
        (Path("groups.jsonl"), "calipers.read_groups(PATH)"),
        (TrajectoryGroup("g", ()), "takes several groups; score_group(group) judges one"),
        ({"trajectories": []}, "takes several groups"),
        ({"train": []}, "not a dict; read them with calipers.read_groups"),
        (SimpleNamespace(columns=[], itertuples=list), "not a SimpleNamespace; read them with calipers.read_groups"),
        (3, "takes an iterable of groups, not a number"),
    ]
    for groups, words in cases:
        with pytest.raises(InputError) as caught:
            stream_groups(groups, judge, limit=2, ordered=False)
        assert words in str(caught.value)


def test_an_error_of_the_consumer_leaves_nothing_to_report_when_the_loop_ends(caplog: pytest.LogCaptureFixture):
    async def consume(judge: Any) -> None:
        results = judge.score_groups([group_of(FOUR, group_id=f"g{number}") for number in range(9)], concurrency=2)
        async for _ in results:  # held by a name, the iterator is open until the event loop closes it
            raise LookupError("the consumer's own")

    simulated = SimulatedJudge(QUALITY)
    for judge in (calipers.Judge(simulated, orders=2, resolve=True), calipers.Hybrid(simulated)):
        with pytest.raises(LookupError):
            asyncio.run(consume(judge))
    assert caplog.messages == []
