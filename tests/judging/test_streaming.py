"""The bounded stream: bounds, order, backpressure, clean-up."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import calipers
from calipers.errors import InputError
from calipers.judging.streaming import readable_groups, stream_results
from calipers.testing import SimulatedJudge
from calipers.types import TrajectoryGroup
from groups import FOUR, QUALITY, group_of


async def test_no_more_than_limit_run_at_once():
    running = peak = 0

    async def work(item: int) -> int:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0)
        running -= 1
        return item

    results = [result async for result in stream_results(range(50), work, limit=7)]
    assert sorted(results) == list(range(50))
    assert peak == 7


async def test_ordered_gives_input_order_however_they_finish():
    gates = [asyncio.Event() for _ in range(5)]

    async def work(item: int) -> int:
        await gates[item].wait()
        if item:
            gates[item - 1].set()
        return item

    gates[4].set()
    assert [result async for result in stream_results(range(5), work, limit=5, ordered=True)] == [0, 1, 2, 3, 4]


async def test_work_begins_in_input_order_before_any_waiting():
    begun: list[int] = []

    def work(item: int) -> asyncio.Future[int]:
        begun.append(item)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        future.set_result(item)
        return future

    _ = [result async for result in stream_results(range(9), work, limit=3)]
    assert begun == list(range(9))


async def test_a_slow_consumer_holds_the_source_back():
    taken = 0

    async def source() -> AsyncIterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    async def work(item: int) -> int:
        return item

    async with contextlib.aclosing(stream_results(source(), work, limit=4)) as results:
        for _ in range(3):
            await anext(results)
        for _ in range(20):
            await asyncio.sleep(0)
    assert taken <= 7


async def test_a_straggler_holds_back_how_far_others_run_ahead():
    gate = asyncio.Event()
    begun = 0

    async def work(item: int) -> int:
        nonlocal begun
        begun += 1
        if item == 0:
            await gate.wait()
        return item

    results = stream_results(range(10_000), work, limit=2, ordered=True)
    first = asyncio.ensure_future(anext(results))
    for _ in range(5_000):
        await asyncio.sleep(0)
    assert begun <= 2 * 16 + 2
    gate.set()
    assert await first == 0
    await results.aclose()


async def test_an_exception_cancels_the_rest():
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

    with pytest.raises(ValueError, match="three"):
        _ = [result async for result in stream_results(range(5), work, limit=5)]
    assert cancelled == 4


async def test_results_do_not_wait_for_a_source_that_is_slow():
    more = asyncio.Event()

    async def source() -> AsyncIterator[int]:
        yield 1
        await more.wait()
        yield 2

    async def work(item: int) -> int:
        return item

    async with contextlib.aclosing(stream_results(source(), work, limit=4)) as results:
        assert await asyncio.wait_for(anext(results), 5) == 1
        more.set()
        assert await asyncio.wait_for(anext(results), 5) == 2
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(results), 5)


async def test_a_source_that_comes_keeps_its_order_and_is_drawn_in_one_task():
    tasks = set()
    begun: list[int] = []

    async def source() -> AsyncIterator[int]:
        for number in range(20):
            tasks.add(asyncio.current_task())
            await asyncio.sleep(0)
            yield number

    async def work(item: int) -> int:
        begun.append(item)
        await asyncio.sleep(0)
        return item

    assert [result async for result in stream_results(source(), work, limit=3, ordered=True)] == list(range(20))
    assert begun == list(range(20))
    assert len(tasks) == 1


@pytest.mark.parametrize("kind", ["there", "coming"])
async def test_an_exception_of_the_source_is_raised_and_cancels_the_rest(kind: str):
    def now() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    async def coming() -> AsyncIterator[int]:
        for item in now():
            yield item

    async def work(item: int) -> int:
        await asyncio.Event().wait()
        return item

    with pytest.raises(ValueError, match="no more"):
        _ = [result async for result in stream_results(coming() if kind == "coming" else now(), work, limit=5)]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_closing_ends_the_source_that_is_waited_for():
    ended = False

    async def source() -> AsyncIterator[int]:
        nonlocal ended
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            ended = True

    async def work(item: int) -> int:
        return item

    async with contextlib.aclosing(stream_results(source(), work, limit=4)) as results:
        assert await anext(results) == 1
    assert ended
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (b"groups.jsonl", "takes groups and not a path"),
        (TrajectoryGroup("g", ()), r"takes several groups; score_group\(group\) judges one"),
        ({"trajectories": []}, "takes several groups"),
        ({"train": []}, r"takes groups and not a dict; read them with calipers\.read_groups"),
        (SimpleNamespace(columns=[], itertuples=list), r"not a SimpleNamespace; read them with calipers\.read_groups"),
        (None, "takes an iterable of groups, not null"),
        (3, "takes an iterable of groups, not a number"),
    ],
)
def test_what_is_no_groups_is_told_what_to_write(groups: Any, words: str):
    with pytest.raises(InputError, match=words):
        readable_groups(groups, None)


@pytest.mark.parametrize(
    "judge",
    [
        calipers.Judge(SimulatedJudge(QUALITY)),
        calipers.Judge(SimulatedJudge(QUALITY), orders=2, resolve=True),
        calipers.Hybrid(SimulatedJudge(QUALITY)),
    ],
)
def test_an_error_of_the_consumer_leaves_nothing_to_report_when_the_loop_ends(
    judge: Any, caplog: pytest.LogCaptureFixture
):
    async def consume() -> None:
        results = judge.score_groups([group_of(FOUR, group_id=f"g{number}") for number in range(9)], concurrency=2)
        async for _ in results:  # held by a name, the iterator is open until the event loop closes it
            raise LookupError("the consumer's own")

    with pytest.raises(LookupError):
        asyncio.run(consume())
    assert caplog.messages == []


async def test_a_stream_that_was_closed_has_no_more_results():
    async def work(item: int) -> int:
        return item

    results = stream_results(range(9), work, limit=2)
    assert await anext(results) == 0
    await results.aclose()
    assert [one async for one in results] == []


@pytest.mark.parametrize("path", ["groups.jsonl", Path("groups.jsonl")])
def test_a_path_in_place_of_groups_is_told_who_reads_it(path: str | Path):
    with pytest.raises(InputError, match=r"calipers\.read_groups\(PATH\)"):
        readable_groups(path, None)  # type: ignore[arg-type]
