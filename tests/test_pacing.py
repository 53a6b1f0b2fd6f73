"""How judging shares an event loop: bounded work in one turn, in the order of the calls, whoever is cancelled."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import calipers
from backends.virtual import Server
from calipers import pacing
from calipers.ledger import Ledger
from calipers.pacing import Pace
from calipers.types.steps import Steps
from groups import group_of


class Clock:
    """A clock that stands still until a step of work takes time."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(pacing, "perf_counter", found)
    return found


def work(clock: Clock, name: str, steps: int, took: list[str], seconds: float = pacing.TURN) -> Steps[str]:
    for _ in range(steps):
        clock.now += seconds
        took.append(name)
        yield
    return name


async def count_turns(turns: list[int]) -> None:
    while True:
        turns[0] += 1
        await asyncio.sleep(0)


async def test_long_work_leaves_a_turn_to_others_after_each_step(clock: Clock):
    turns = [0]
    counting = asyncio.create_task(count_turns(turns))
    assert await Pace().run(work(clock, "a", 100, [], seconds=pacing.TURN / 200)) == "a"
    assert turns == [0]  # short work does not wait for another turn
    assert await Pace().run(work(clock, "a", 20, [])) == "a"
    assert turns[0] >= 20
    counting.cancel()


async def test_many_tasks_together_use_one_turns_time(clock: Clock):
    """One task a turn, although each of them needs only the time of one turn."""
    pace, turns, seen = Pace(), [0], list[int]()
    counting = asyncio.create_task(count_turns(turns))

    async def one(name: str) -> None:
        await pace.enter()
        await pace.run(work(clock, name, 1, []))
        seen.append(turns[0])

    await asyncio.gather(*(one(str(number)) for number in range(40)))
    assert len(set(seen)) == 40
    counting.cancel()


async def test_work_that_began_goes_on_before_new_work_in_the_order_of_the_calls(clock: Clock):
    pace, took = Pace(), list[str]()

    async def one(name: str) -> None:
        await pace.enter()
        await pace.run(work(clock, name, 3, took))

    await asyncio.gather(*(one(name) for name in "abcd"))
    assert took == list("aaabbbcccddd")


async def two_stages(pace: Pace, clock: Clock, name: str, took: list[str]) -> None:
    await pace.enter()
    await pace.run(work(clock, name, 1, took))
    await pace.gather()
    await pace.run(work(clock, name.upper(), 1, took))


async def test_groups_that_arrive_together_pass_one_stage_after_another(clock: Clock):
    pace, took = Pace(), list[str]()
    await asyncio.gather(*(two_stages(pace, clock, name, took) for name in "abcd"))
    assert took == list("abcdABCD")


async def test_the_first_groups_of_many_do_not_wait_until_all_have_passed_the_first_stage(clock: Clock):
    pace, took = Pace(), list[str]()
    names = [chr(ord("a") + number // 26) + chr(ord("a") + number % 26) for number in range(60)]
    await asyncio.gather(*(two_stages(pace, clock, name, took) for name in names))
    first = took.index("AA")
    assert 10 <= first <= 20
    assert took[:first] == names[:first]
    assert [name for name in took if name.isupper()] == [name.upper() for name in names]


async def test_a_task_that_is_cancelled_while_it_waits_wakes_the_next(clock: Clock):
    pace, took = Pace(), list[str]()

    async def one(name: str, steps: int) -> None:
        await pace.enter()
        await pace.run(work(clock, name, steps, took))

    first, second, third = (asyncio.create_task(one(name, 5)) for name in "abc")
    for _ in range(3):
        await asyncio.sleep(0)
    first.cancel()
    second.cancel()
    await asyncio.wait_for(third, 10)
    assert took[-5:] == ["c"] * 5
    assert took.count("a") < 5
    assert took.count("b") < 5
    await asyncio.wait_for(one("d", 1), 10)


async def test_an_error_of_a_step_reaches_the_caller_and_holds_nobody_up(clock: Clock):
    pace = Pace()

    def failing() -> Steps[None]:
        clock.now += 2 * pacing.TURN
        yield
        raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"):
        await pace.run(failing())
    assert await asyncio.wait_for(pace.run(work(clock, "a", 2, [])), 10) == "a"


def long_groups() -> Iterator[calipers.TrajectoryGroup]:
    """A group of many steps first, then short ones."""
    text = "The booking was changed. " * 2000
    yield group_of({f"long {number}": f"{text}{number}" for number in range(8)}, group_id="long")
    for number in range(5):
        yield group_of({"a": f"yes {number}", "b": f"no {number}"}, group_id=f"short {number}")


async def test_groups_are_numbered_in_the_order_of_the_calls_however_long_each_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pacing, "TURN", 0.0)  # every step is longer than a turn
    groups = list(long_groups())
    async with calipers.Judge(Server(seconds=0), ledger=tmp_path / "ledger.db") as judge:
        await asyncio.gather(*(judge.score_group(group) for group in groups))
    with closing(Ledger(tmp_path / "ledger.db")) as ledger:
        rows = ledger.rows("SELECT group_id FROM groups ORDER BY position")
    assert [name for (name,) in rows] == [group.group_id for group in groups]


async def test_results_are_the_same_in_many_turns_as_in_one(monkeypatch: pytest.MonkeyPatch):
    groups = list(long_groups())
    whole = [await calipers.score_group(group, judge=Server(seconds=0)) for group in groups]
    monkeypatch.setattr(pacing, "TURN", 0.0)
    turns = [0]
    counting = asyncio.create_task(count_turns(turns))
    assert [await calipers.score_group(group, judge=Server(seconds=0)) for group in groups] == whole
    assert turns[0] > 50
    counting.cancel()
