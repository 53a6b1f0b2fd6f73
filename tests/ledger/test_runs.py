"""Recorded runs: nothing is paid twice, a replay is the run, adds nothing and answers from the record alone."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import calipers
from asking import request
from calipers.errors import LedgerError, PermanentError
from calipers.interfaces import FullBackend
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, Recorder, Replayer, Run
from calipers.ledger.database import RUNS, checksum
from calipers.ledger.replayer import RecordedBackend, Replay
from calipers.testing import Flaky, Noise, SimulatedJudge
from calipers.types import Completion, Failure, GroupResult, JudgeRequest, Usage
from groups import FOUR, QUALITY, group_of
from replaying import replayed, replayed_lines, scored

GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(12)]


def update(path: Path, statement: str, *values: object, signed: bool = True) -> None:
    """Change what a ledger holds; ``signed``: with the checksums of its runs."""
    with Ledger(path) as ledger:
        ledger.put(statement, values)
    with Ledger(path) as ledger:
        for number, *row in ledger.rows(f"SELECT {', '.join(RUNS.columns)} FROM runs") if signed else ():  # noqa: S608 - ours
            ledger.put("UPDATE runs SET checksum = ? WHERE id = ?", (checksum(row), number))


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """The ledger of a run."""
    await scored(tmp_path / "l.db", SimulatedJudge(QUALITY), GROUPS)
    return tmp_path / "l.db"


async def test_another_model_schema_or_sample_is_another_question(path: Path):
    for other in (
        {"judge": SimulatedJudge(QUALITY, model="b")},
        {"params": {"temperature": 0}},
        {"rubric": "Be strict."},
        {"samples": 2},
        {"seed": 3},
    ):
        judge = other.pop("judge", SimulatedJudge(QUALITY))
        assert isinstance(judge, SimulatedJudge)
        await scored(path, judge, GROUPS, **other)
        assert judge.calls >= len(GROUPS) * 0.7, other


@pytest.mark.parametrize("fault", ["server_error", "empty"])
async def test_what_gave_no_verdict_is_asked_again_by_a_new_run_and_each_run_replays(tmp_path: Path, fault: str):
    path, flaky = tmp_path / "l.db", Flaky(**{fault: 1.0})
    judges = [SimulatedJudge(QUALITY, flaky), SimulatedJudge(QUALITY, flaky), *(SimulatedJudge(QUALITY) for _ in "ab")]
    lines = [await scored(path, judge, GROUPS) for judge in judges]
    assert lines[0] == lines[1] != lines[2] == lines[3]
    assert judges[0].calls == judges[1].calls >= len(GROUPS)
    assert [judge.calls for judge in judges[2:]] == [len(GROUPS), 0]
    assert [await replayed_lines(path, run) for run in (1, 2, 3, 4)] == lines


async def test_a_deadline_replays_without_waiting(tmp_path: Path):
    class Hangs(SimulatedJudge):
        async def complete(self, request: JudgeRequest) -> Completion:
            await asyncio.Event().wait()
            raise AssertionError

    lines = await scored(tmp_path / "l.db", Hangs(QUALITY), GROUPS, deadline=0.05)
    assert "deadline" in lines[0]
    assert await replayed_lines(tmp_path / "l.db") == lines


async def test_a_call_that_an_interruption_cut_off_is_not_in_the_results_of_the_run_that_goes_on(tmp_path: Path):
    class Hangs(SimulatedJudge):
        async def complete(self, request: JudgeRequest) -> Completion:
            asks.set()
            await asyncio.Event().wait()
            raise AssertionError

    asks = asyncio.Event()
    interrupted = asyncio.ensure_future(scored(tmp_path / "l.db", Hangs(QUALITY), GROUPS))
    await asks.wait()
    interrupted.cancel()
    await asyncio.wait([interrupted])
    again = await scored(tmp_path / "l.db", SimulatedJudge(QUALITY), GROUPS)
    assert again == await scored(tmp_path / "other.db", SimulatedJudge(QUALITY), GROUPS)


async def test_a_context_window_that_a_user_set_is_not_that_of_later_runs(tmp_path: Path):
    windows = []
    for calls in ({"context_window": 1500}, {}, {"context_window": 1500}):
        async with Judge(SimulatedJudge(QUALITY), ledger=tmp_path / "l.db", calls=calls) as judge:
            await judge.score_group(GROUPS[0])
        with Ledger(tmp_path / "l.db") as ledger:
            windows.append(Replayer(ledger).recorded.settings["judges"][0]["context_window"])
    assert windows == [1500, None, 1500]


async def test_a_recorded_judge_can_stand_in_for_the_live_one(tmp_path: Path):
    path = tmp_path / "l.db"
    lines = await scored(path, SimulatedJudge(QUALITY, Noise(0.1)), GROUPS)
    judge = Judge(f"replay:{path}")
    assert [json.dumps(result.to_dict()) async for result in judge.score_groups(GROUPS, ordered=True)] == lines
    unseen: GroupResult = await judge.score_group(group_of({"a": "1", "b": "2"}))
    assert "no answer to this question" in (unseen.trajectories[0].reason or "")
    update(path, """UPDATE runs SET settings = json_set(settings, '$.warnings', json('["slow"]'))""")
    assert Replay(path).warnings == ("slow",)


async def test_positions_are_input_positions_even_when_later_groups_finish_first(tmp_path: Path):
    class FirstIsSlow(SimulatedJudge):
        async def complete(self, request: JudgeRequest) -> Completion:
            if request.view.group_id == "g0":
                await another.wait()
            return await super().complete(request)

    another, finished = asyncio.Event(), list[str]()
    async with Judge(FirstIsSlow(QUALITY), ledger=tmp_path / "l.db") as judge:
        async for result in judge.score_groups(GROUPS):
            finished.append(result.group_id)
            another.set()
    assert finished[0] != "g0"
    with Ledger(tmp_path / "l.db") as ledger:
        assert ledger.rows("SELECT group_id FROM groups ORDER BY position LIMIT 1") == [("g0",)]


async def test_what_a_backend_learned_is_there_for_the_next_run_and_each_runs_snapshot_is_kept(tmp_path: Path):
    class Curious(SimulatedJudge):
        known: dict[str, object] = {}  # noqa: RUF012 - replaced, never changed

        def learned(self) -> dict[str, object]:
            return self.known

        def learn(self, known: Mapping[str, Any]) -> None:
            self.known = dict(known)

        async def complete(self, request: JudgeRequest) -> Completion:
            self.known = {"refused": ["temperature"]}
            return await super().complete(request)

    path, second = tmp_path / "l.db", Curious(QUALITY)
    await scored(path, Curious(QUALITY), GROUPS)
    await scored(path, second, GROUPS)
    assert (second.calls, second.known) == (0, {"refused": ["temperature"]})
    with Ledger(path) as ledger:
        first, later = (json.loads(row[0]) for row in ledger.rows("SELECT learned FROM runs ORDER BY id"))
    assert (first, later[0]["refused"]) == ([{}], ["temperature"])


async def test_a_run_with_settings_of_a_newer_version_is_refused_with_the_remedy(path: Path):
    update(path, "UPDATE runs SET settings = json_set(settings, '$.telepathy', 1)")
    with pytest.raises(LedgerError, match=r"l\.db: .*telepathy.*newer one"):
        await replayed_lines(path)


@pytest.mark.parametrize("field", ["windows", "experience"])
async def test_a_run_that_is_not_as_it_was_written_teaches_nothing_and_the_warning_names_its_ledger(
    path: Path, caplog: pytest.LogCaptureFixture, field: str
):
    before = await replayed_lines(path)
    statement = f"UPDATE runs SET settings = json_set(settings, '$.{field}', json(?))"  # noqa: S608 - ours
    update(path, statement, "[[0, 9, 4096, 3.0]]", signed=False)
    assert await scored(path, SimulatedJudge(QUALITY), GROUPS) == before
    assert "run 1 teaches this run nothing" in caplog.text
    assert "l.db: a row is damaged" in caplog.text
    with pytest.raises(LedgerError, match=r"l\.db: a row is damaged"):
        await replayed_lines(path, 1)


async def test_what_no_database_takes_is_that_answers_matter_and_nobody_waits_forever(tmp_path: Path):
    class Odd(SimulatedJudge):
        beside: dict[str, Any]

        async def complete(self, request: JudgeRequest) -> Completion:
            return replace(await super().complete(request), **self.beside)

    cases: list[tuple[dict[str, Any], str]] = [
        ({"model": "half a pair \ud800"}, "scored"),
        ({"reasoning": "\udfff"}, "scored"),
        ({"usage": Usage(10**30, 1)}, "failed"),
        ({"model": ["a list"]}, "failed"),
    ]
    for number, (beside, status) in enumerate(cases):
        path, odd = tmp_path / f"{number}.db", Odd(QUALITY)
        odd.beside = beside
        async with Judge(odd, ledger=path, rubric="Be brief \ud800.") as judge:
            group = group_of(FOUR, group_id="half a pair \ud800")
            result = await asyncio.wait_for(judge.score_group(group), 10)
        assert result.status == status
        if status == "scored":
            assert [one.rewards for one in await replayed(path)] == [result.rewards]


_WRONG = ["[[1]]", "3", '"text"', '{"judges": 3}', '{"kind": "server"}', b"no text", b"[]"]


async def test_what_was_kept_in_another_shape_is_told_and_ends_in_no_traceback(path: Path):
    """SQLite keeps whatever it is given; a ledger may be damaged, or come from anybody."""
    before, damaged = await replayed_lines(path), path.with_name("damaged.db")
    bill = {"attempts": 0, "unusable": 0, "usage": 0, "warnings": 0}
    places = {
        "answers": ("attempts", "cost_usd", "failed_before", "logprobs"), "asks": ("detail",),
        "runs": ("settings", "learned"), "groups": ("source",),
    }  # fmt: skip
    changes = [f"UPDATE {table} SET {name} = ?" for table, names in places.items() for name in names]  # noqa: S608 - ours
    changes.append("UPDATE answers SET text = CAST(? AS BLOB)")
    for statement, value in itertools.product(changes, _WRONG):
        shutil.copy(path, damaged)
        update(damaged, statement, value)
        try:
            after = await replayed_lines(damaged)
        except calipers.CalipersError:
            continue
        assert [json.loads(line) | bill for line in after] == [json.loads(line) | bill for line in before], statement


async def test_a_changed_answer_is_asked_again_once_it_is_deleted_as_the_error_says(path: Path):
    update(path, "UPDATE answers SET input_tokens = 7 WHERE key = (SELECT key FROM asks WHERE position = 3)")
    with pytest.raises(LedgerError, match=r"ledger verify .*l\.db") as raised:
        await scored(path, SimulatedJudge(QUALITY), GROUPS)
    update(path, str(raised.value)[str(raised.value).index("DELETE FROM") :])
    assert await scored(path, judge := SimulatedJudge(QUALITY), GROUPS) == await replayed_lines(path, 1)
    assert judge.calls == 1


async def test_a_question_put_differently_than_recorded_gets_no_answer_even_if_another_group_has_one(path: Path):
    """A replay that served it would not be the run: its results would be of a question that this ask never was."""
    update(path, "UPDATE asks SET key = (SELECT key FROM asks WHERE position = 1) WHERE position = 0")
    first, second, *_ = (json.loads(line) for line in await replayed_lines(path))
    assert (first["status"], second["status"]) == ("failed", "scored")
    assert "differently than recorded" in first["trajectories"][0]["reason"]


async def test_an_ask_whose_question_was_never_put_replays_as_the_failure_it_was(path: Path):
    """Its group's deadline passed before it was put, so it has no key: that is no other question."""
    detail = json.dumps({"kind": "deadline", "reason": "the deadline passed", "fatal": False})
    update(path, "UPDATE asks SET key = '', detail = ? WHERE position = 0", detail)
    first = json.loads((await replayed_lines(path))[0])
    assert (first["status"], first["trajectories"][0]["reason"]) == ("failed", "the deadline passed")


async def test_a_replay_reads_a_runs_groups_in_order_records_nothing_and_asks_nobody(tmp_path: Path):
    def everything() -> list[Any]:
        return [ledger.rows(f"SELECT * FROM {table}") for table in ("asks", "groups", "answers", "runs")]  # noqa: S608 - ours

    path = tmp_path / "l.db"
    await scored(path, SimulatedJudge(QUALITY), GROUPS[:3])
    update(path, "UPDATE groups SET position = 7 WHERE position = 2")
    with Ledger(path) as ledger:
        before, store = everything(), Replayer(ledger)
        assert store.replays
        assert [group["group_id"] for group in store.groups()] == ["g0", "g1", "g2"]
        assert [await store.begin() for _ in range(5)] == [0, 1, 7, -1, -1]
        await store.note(0, request(), Failure("server", "down"))
        await store.finish(0, GROUPS[0], cast("Any", None))
        assert everything() == before
        backend = RecordedBackend("here", "m", ("slow",))
        unknown = [store.answer(number, request(), backend) for number in (0, 99)]
        for asked in (*unknown, backend.complete(request())):
            with pytest.raises(PermanentError) as caught:
                await asked
            assert caught.value.kind == "not_recorded"
        ledger.insert("UPDATE groups SET position = 'x' WHERE position = 1", ())
        with pytest.raises(LedgerError):
            list(Replayer(ledger).groups())


# --- what kill -9 may cost --------------------------------------------------------------------------------------------

FORTY = [group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(40)]


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
        results = [result async for result in judge.score_groups(FORTY)]
    assert {result.status for result in results} == {"scored"}
    assert asked.most_at_risk == concurrency  # and no fewer: no place is left empty for it
    assert asked.paid == asked.committed() == orders * len(FORTY)


async def test_a_deadline_that_passes_does_not_free_the_place_of_an_answer_that_is_not_safe(tmp_path: Path):
    asked = Paid(tmp_path / "l.db")
    async with Judge(asked, ledger=tmp_path / "l.db", concurrency=4, deadline=0.02) as judge:
        await asyncio.gather(*(judge.score_group(group) for group in FORTY))
    assert asked.most_at_risk <= 4
    assert asked.paid == asked.committed()


async def test_a_ledger_that_cannot_be_written_gives_its_places_back(tmp_path: Path):
    refusal = "CREATE TRIGGER full BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    async with Judge(SimulatedJudge(QUALITY), ledger=tmp_path / "l.db", concurrency=2) as judge:
        await judge.score_group(FORTY[0])
        with closing(sqlite3.connect(tmp_path / "l.db")) as other:
            other.execute(refusal)
            for group in FORTY[1:6]:
                with pytest.raises(LedgerError, match="disk is full"):
                    await judge.score_group(group)
            other.execute("DROP TRIGGER full")
        assert (await judge.score_group(FORTY[7])).status == "scored"


class Numbered(FullBackend):
    """Gives a new answer each time, and cancels its task once the answer is on its way to the ledger."""

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
