"""The monitor sees what happens, tells it as numbers, and alarms in three places without touching the record."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import calipers
from calipers import pacing
from calipers.errors import ConfigError
from calipers.judging.judge import Judge, replaying_judge
from calipers.ledger import Ledger, Replayer
from calipers.monitoring.alarms import Alarm
from calipers.monitoring.monitor import Monitor
from calipers.testing import Flaky, Noise, SimulatedJudge
from calipers.types import GroupResult
from groups import FOUR, QUALITY, group_of

ALWAYS = Alarm("judge/groups", above=3, groups=1, advice="look")


def groups(count: int, start: int = 0) -> list[calipers.TrajectoryGroup]:
    return [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(start, start + count)]


async def results(judge: Judge, count: int, start: int = 0) -> list[GroupResult]:
    return [result async for result in judge.score_groups(groups(count, start), ordered=True, concurrency=1)]


async def test_a_batch_is_what_finished_since_the_last_one_and_the_window_goes_on():
    monitor = Monitor(window=6, alarms=())
    judge = Judge(SimulatedJudge(QUALITY, Noise(0.1)), orders=2, records={"watchers": [monitor]})
    await results(judge, 4)
    first = monitor.batch()
    assert (first["judge/groups"], first["judge/answers"], first["judge/calls_per_group"]) == (4, 8, 2)
    assert 0.03 < first["judge/noise_sd"] < 0.3
    await results(judge, 4, start=4)
    assert monitor.batch()["judge/groups"] == 4
    assert monitor.metrics()["judge/groups"] == 6
    assert "judge/answers" not in monitor.batch()


async def test_a_prompt_that_comes_back_is_another_group():
    monitor = Monitor(alarms=())
    turned = {name: 1 - value for name, value in QUALITY.items()}
    for truth in (QUALITY, turned):  # other rollouts under the same ids
        await Judge(SimulatedJudge(truth), records={"watchers": [monitor]}).score_group(group_of(FOUR, group_id="g"))
    found = monitor.batch()
    assert found["judge/groups"] == 2
    assert "judge/order_flip_rate" not in found


async def test_what_a_ledger_gave_counts_as_a_cache_hit(tmp_path: Path):
    for expected in (0.0, 1.0):
        monitor = Monitor()
        judge = Judge(SimulatedJudge(QUALITY), ledger=tmp_path / "l.db", records={"watchers": [monitor]})
        await results(judge, 3)
        judge.close()
        assert monitor.batch()["judge/cache_hit_rate"] == expected


async def test_an_alarm_is_printed_once_on_results_while_it_lasts_and_called_each_time_it_begins(
    capsys: pytest.CaptureFixture[str],
):
    called: list[str] = []
    falling = Alarm("judge/parse_failure_rate", above=0.5, groups=1)
    monitor = Monitor(window=4, every=2, alarms=[falling], on_alarm=lambda alarm, _: called.append(alarm.metric))
    broken, sound = SimulatedJudge(QUALITY, Flaky(empty=1.0)), SimulatedJudge(QUALITY)
    alarmed = []
    for judge, start in ((broken, 0), (sound, 10), (broken, 20)):
        judged = await results(Judge(judge, question={"reasks": 0}, records={"watchers": [monitor]}), 8, start)
        alarmed.append(["alarm: judge/parse_failure_rate" in "".join(one.warnings) for one in judged])
    assert alarmed[0] == [False, True, True, True, True, True, True, True]
    assert (alarmed[1][-1], alarmed[2][-1]) == (False, True)
    assert called == ["judge/parse_failure_rate"] * 2
    assert capsys.readouterr().err.count("alarm") == 1


async def test_a_server_computes_alarms_in_pieces_between_which_its_event_loop_does_other_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(pacing, "PIECE", 0.0)
    monitor = Monitor(every=64, alarms=[Alarm("judge/groups", above=63, groups=1)], in_pieces=True)
    judge = Judge(SimulatedJudge(QUALITY), orders=2, records={"watchers": [monitor]})
    judged = await results(judge, 64)
    assert judged[-1].warnings == ()
    turns = 0
    while "alarm: judge/groups" not in (printed := capsys.readouterr().err):
        await asyncio.sleep(0)
        turns += 1
        assert turns < 10_000
    assert turns > 64
    assert printed.count("alarm") == 1
    assert (await results(judge, 1, start=64))[0].warnings == ("alarm: judge/groups is 64, above 63",)
    assert await monitor.metrics_in_pieces() == monitor.metrics()


async def test_alarms_are_not_in_the_record_and_a_quiet_monitor_prints_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monitor = Monitor(every=1, alarms=[ALWAYS], quiet=True)
    judge = Judge(SimulatedJudge(QUALITY), ledger=tmp_path / "l.db", records={"watchers": [monitor]})
    judged = await results(judge, 6)
    judge.close()
    assert judged[-1].warnings == ("alarm: judge/groups is 6, above 3: look",)
    assert capsys.readouterr().err == ""
    store = Replayer(Ledger(tmp_path / "l.db", create=False))
    again = replaying_judge(store.settings(), store)
    replayed = [one.to_dict() async for one in again.score_groups(store.groups(), ordered=True)]
    assert all(one["warnings"] == [] for one in replayed)
    assert [one["trajectories"] for one in replayed] == [one.to_dict()["trajectories"] for one in judged]


async def test_groups_that_never_finish_are_forgotten():
    monitor = Monitor()
    judge = Judge(SimulatedJudge(QUALITY), records={"watchers": [monitor.observe]})  # answers, but no results
    await results(judge, 5000)
    assert len(monitor._pending) <= 4096


def test_windows_that_cannot_be_meant_are_refused():
    with pytest.raises(ConfigError, match="window"):
        Monitor(window=0)
