"""What ``kill -9`` may cost: at every moment, no more calls have begun than are committed, but for those in flight."""

import asyncio
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from asking import request
from calipers.errors import LedgerError
from calipers.interfaces import FullBackend
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, Recorder, Run
from calipers.testing import SimulatedJudge
from calipers.types import Completion, JudgeRequest
from groups import FOUR, QUALITY, group_of

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(40)]


class Paid(SimulatedJudge):
    """A judge that looks, whenever it is called, how many of its answers a killed process would have lost."""

    def __init__(self, ledger: Path, *, answers_after: int = 0) -> None:
        """The first answer comes once ``answers_after`` questions have come, however slow the machine is."""
        super().__init__(QUALITY)
        self._ledger, self._answers_after = ledger, answers_after
        self._has_questions, self._drawn = asyncio.Event(), random.Random(3)
        self.paid = self.most_at_risk = 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.paid += 1
        self.most_at_risk = max(self.most_at_risk, self.paid - self.committed())
        try:
            if self.paid >= self._answers_after:
                self._has_questions.set()
            await self._has_questions.wait()
            for _ in range(self._drawn.randrange(4)):
                await asyncio.sleep(0)
            return await super().complete(request)
        except asyncio.CancelledError:
            self.paid -= 1  # given up by us: nobody would have written it down
            raise

    def committed(self) -> int:
        with closing(sqlite3.connect(self._ledger)) as other:
            return int(other.execute("SELECT count(*) FROM answers").fetchone()[0])


@pytest.mark.parametrize(("concurrency", "orders"), [(1, 1), (4, 3), (16, 1)])
async def test_no_more_answers_are_at_risk_than_calls_may_be_in_flight(tmp_path: Path, concurrency: int, orders: int):
    asked = Paid(tmp_path / "l.db", answers_after=concurrency)
    async with Judge(asked, ledger=tmp_path / "l.db", concurrency=concurrency, orders=orders) as judge:
        results = [result async for result in judge.score_groups(GROUPS)]
    assert {result.status for result in results} == {"scored"}
    assert asked.most_at_risk == concurrency  # and no fewer: no place is left empty for it
    assert asked.paid == asked.committed() == orders * len(GROUPS)


async def test_a_deadline_that_passes_does_not_free_the_place_of_an_answer_that_is_not_safe(tmp_path: Path):
    asked = Paid(tmp_path / "l.db")
    async with Judge(asked, ledger=tmp_path / "l.db", concurrency=4, deadline=0.02) as judge:
        await asyncio.gather(*(judge.score_group(group) for group in GROUPS))
    assert asked.most_at_risk <= 4
    assert asked.paid == asked.committed()


async def test_a_ledger_that_cannot_be_written_gives_its_places_back(tmp_path: Path):
    refusal = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    async with Judge(SimulatedJudge(QUALITY), ledger=tmp_path / "l.db", concurrency=2) as judge:
        await judge.score_group(GROUPS[0])
        with closing(sqlite3.connect(tmp_path / "l.db")) as other:
            other.execute(refusal)
            for group in GROUPS[1:6]:
                with pytest.raises(LedgerError, match="disk is full"):
                    await judge.score_group(group)
            other.execute("DROP TRIGGER full")
        assert (await judge.score_group(GROUPS[7])).status == "scored"


class Numbered(FullBackend):
    """Each answer is another one; cancels whom it is told to, once its answer is on its way to the ledger."""

    endpoint, model = "numbered", "m"

    def __init__(self) -> None:
        self.calls = 0
        self.first: asyncio.Task[Completion] | None = None

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        await asyncio.sleep(0)  # so that the second asker waits for this one
        if self.calls == 1 and self.first is not None:
            asyncio.get_running_loop().call_soon(self.first.cancel)
        return Completion(f"answer {self.calls}")


async def test_who_waited_for_an_answer_that_its_asker_gave_up_gets_the_one_on_record(tmp_path: Path):
    judge = Numbered()
    with Ledger(tmp_path / "l.db") as ledger:
        store = Recorder(Run(ledger, {"judges": []}, version="0"))
        judge.first = asyncio.create_task(store.answer(0, request(), judge))
        second = asyncio.create_task(store.answer(1, request(), judge))
        assert (await second).text == "answer 1"
        assert judge.first.cancelled()
        assert judge.calls == 1
