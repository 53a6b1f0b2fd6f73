"""A budget for a batch: it is kept, goes where it is worth most, depends on no order, and no group waits for ever."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.config.settings import Settings
from calipers.errors import BackendError, ConfigError
from calipers.interfaces import Backend
from calipers.judging.batch import SIZE, Batch, worth_most
from calipers.ledger import Ledger, Replayer
from calipers.testing import Noise, SimulatedJudge
from calipers.types import Completion, GroupResult, JudgeRequest
from groups import group_of

CLEAR, CLOSE, SAME = (0.9, 0.5, 0.1), (0.54, 0.5, 0.46), (0.5, 0.5, 0.5)
KINDS = {"clear": CLEAR, "close": CLOSE, "same": SAME}
TRUTH = {f"{kind}{number}": spread for number in range(8) for kind, spread in KINDS.items()}


def group(name: str) -> Any:
    return group_of({one: f"{one} of {name}" for one in "abc"}, group_id=name, question=name)


def simulated(noise: float = 0.05) -> SimulatedJudge:
    return SimulatedJudge(lambda name, one: TRUTH[name]["abc".index(one)], Noise(noise))


def judge(backend: Backend | None = None, **options: Any) -> calipers.Judge:
    return calipers.Judge.of({"judge": backend or simulated(), "resolve": True, "presentations": 3, **options})


async def judged(one: calipers.Judge, names: Any = tuple(TRUTH)) -> dict[str, GroupResult]:
    return {found.group_id: found async for found in one.score_groups([group(name) for name in names])}


class Late(Backend):
    """Answers late, each question by another number of turns of the event loop; fails about ``lost``."""

    endpoint, model = "here", "late"

    def __init__(self, step: int, lost: str = "") -> None:
        self.inner, self.step, self.lost, self.count = simulated(), step, lost, 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.count += self.step
        for _ in range(self.count % 7):
            await asyncio.sleep(0)
        if self.lost and self.lost in str(request.messages):
            raise BackendError("server", "down")
        return await self.inner.complete(request)


async def test_the_budget_is_kept_and_goes_where_groups_can_be_told_apart():
    found = await judged(judge())
    calls = {kind: sum(found[f"{kind}{number}"].judge_calls for number in range(8)) for kind in KINDS}
    assert sum(calls.values()) == 3 * len(TRUTH)
    assert calls["clear"] < calls["close"]


async def test_results_do_not_depend_on_the_order_of_answers_or_on_concurrency():
    results = [await judged(judge(Late(step)), tuple(TRUTH)) for step in (1, 3, 5)]
    results.append(await judged(judge(Late(2), concurrency=1)))
    assert all(one == results[0] for one in results)


async def test_a_budget_below_the_first_questions_asks_nothing_more():
    found = await judged(judge(presentations=1))
    assert {one.judge_calls for one in found.values()} == {2}


async def test_no_group_has_more_presentations_than_allowed():
    found = await judged(judge(presentations=50, most=4))
    assert {one.judge_calls for one in found.values()} <= {2, 3, 4}
    assert max(one.judge_calls for one in found.values()) == 4


async def test_a_group_that_fails_or_has_nothing_to_compare_holds_up_nobody():
    one = judge(Late(1, lost="close1"), reasks=0)
    alone = group_of({"a": "only"}, group_id="alone", question="alone?")
    found = [result async for result in one.score_groups([group("close0"), group("close1"), alone, group("clear0")])]
    status = {result.group_id: result.status for result in found}
    assert status["close1"] == "failed"
    assert {status["close0"], status["clear0"]} == {"scored"}
    assert len(found) == 4


async def test_one_group_alone_is_a_batch_of_one():
    result = await judge(presentations=5).score_group(group("close0"))
    assert result.judge_calls == 5


async def test_a_run_with_a_budget_replays_to_the_same_results(tmp_path: Path):
    path = tmp_path / "l.db"
    recorded = judge(ledger=path)
    there = await judged(recorded)
    recorded.close()
    ledger = Ledger(path)
    store = Replayer(ledger)
    again = calipers.Judge.replaying(Settings.of(store.recorded.settings), store)
    found = {one.group_id: one async for one in again.score_groups(store.groups())}
    ledger.close()
    assert found == there


async def test_a_group_that_waits_beyond_its_deadline_ends_with_what_it_has():
    class Stuck(Late):
        async def complete(self, request: JudgeRequest) -> Completion:
            if "close1" in str(request.messages):
                await asyncio.sleep(60)
            return await self.inner.complete(request)

    found = await judged(judge(Stuck(1), deadline=0.3, reasks=0), ("close0", "close1"))
    assert (found["close0"].status, found["close0"].judge_calls) == ("scored", 2)
    assert found["close1"].status == "failed"


async def test_a_consumer_may_stop_early():
    results = judge().score_groups([group(name) for name in TRUTH])
    async for _ in results:
        break
    await results.aclose()  # type: ignore[attr-defined]  # an async generator


async def test_long_streams_are_cut_into_batches_in_input_order():
    names = tuple(f"long{number}" for number in range(SIZE + 2))
    backend = SimulatedJudge(lambda _, one: CLOSE["abc".index(one)], Noise(0.05))

    async def stream() -> Any:
        for name in names:
            yield group(name)

    one = judge(backend)
    found = [result async for result in one.score_groups(stream(), ordered=True)]
    assert [result.group_id for result in found] == list(names)
    calls = [result.judge_calls for result in found]
    assert (sum(calls[:SIZE]), sum(calls[SIZE:])) == (3 * SIZE, 6)


def test_pairwise_has_no_presentations_of_whole_groups():
    with pytest.raises(ConfigError, match=r"presentations= shares"):
        judge(protocol="pairwise")


@given(st.lists(st.lists(st.floats(0, 1), max_size=4).map(lambda one: sorted(one, reverse=True)), max_size=4))
def test_the_best_presentations_are_taken(values: list[list[float]]):
    left = 3
    chosen = worth_most(values, left)
    counts = itertools.product(*(range(len(one) + 1) for one in values))
    allowed = [count for count in counts if sum(count) <= left]
    best = max((sum(sum(one[:n]) for one, n in zip(values, count, strict=True)) for count in allowed), default=0.0)
    reached = {tuple(n > 0 for n in count) for count in allowed
               if abs(sum(sum(one[:n]) for one, n in zip(values, count, strict=True)) - best) < 1e-12}  # fmt: skip
    assert not values or tuple(number in chosen for number in range(len(values))) in reached
    assert worth_most(values, 0) == set()
    assert all(values[number][0] > 0 for number in chosen)


async def test_a_batch_decides_only_when_all_wait_or_are_done():
    batch = Batch.of(3, 2.0)
    first, second, third = batch.members
    asking = [asyncio.ensure_future(one.may_ask(1, (0.2, 0.1))) for one in (first, second)]
    await asyncio.sleep(0)
    assert not any(one.done() for one in asking)
    with third:
        pass
    assert await asyncio.gather(*asking) == [True, True]
