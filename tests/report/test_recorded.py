"""A run read back from its ledger gives the same health metrics as the monitor that saw it."""

from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.ledger import Ledger
from calipers.monitoring.monitor import Monitor
from calipers.report.following import FollowedRun
from calipers.report.results import as_group_result, checked_result
from calipers.testing import Flaky, Noise, PositionBias, SimulatedJudge
from groups import FOUR, QUALITY, group_of


def read_back(line: dict[str, Any]) -> calipers.GroupResult:
    return as_group_result(checked_result(line))


GROUPS = [group_of(FOUR, group_id=f"g{n}", question=f"{n}?") for n in range(12)]


async def followed(folder: Path, monitor: Monitor, **options: Any) -> list[calipers.GroupResult]:
    """Results of a noisy run that a ledger and a monitor saw."""
    judge = SimulatedJudge(
        QUALITY,
        Noise(0.2),
        PositionBias(0.3),
        Flaky(malformed=0.05, missing_ids=0.05, truncated=0.05, rate_limited=0.05),
        seed=3,
    )
    async with calipers.Judge(judge, ledger=folder / "l.db", records={"watchers": [monitor]}, **options) as made:
        return [one async for one in made.score_groups(GROUPS, ordered=True)]


@pytest.mark.parametrize("options", [{"orders": 2}, {"protocol": "pairwise"}, {"protocol": "pointwise"}])
async def test_the_metrics_of_a_followed_run_are_the_monitors(tmp_path: Path, options: dict[str, Any]):
    monitor = Monitor(alarms=())
    await followed(tmp_path, monitor, **options)
    state = FollowedRun(str(tmp_path / "l.db")).read()
    assert state is not None
    found, expected = dict(state.metrics), monitor.metrics()
    for name in ("judge/latency_p50", "judge/latency_p90", "judge/latency_p99"):
        assert (name in found) == (name in expected)
        found.pop(name, None), expected.pop(name, None)
    assert expected.pop("judge/truncated_rate") is not None, "a ledger does not record it"
    assert found == pytest.approx(expected)
    assert "judge/reward_mean" in found


async def test_a_result_read_back_from_its_line_is_the_result(tmp_path: Path):
    results = await followed(tmp_path, Monitor(alarms=()), orders=2)
    for result in results:
        again = read_back(result.to_dict())
        assert (again.group_id, again.status, again.rewards) == (result.group_id, result.status, result.rewards)
        assert (again.usage, again.attempts, again.unusable) == (result.usage, result.attempts, result.unusable)
        assert [one.reason for one in again.trajectories] == [one.reason for one in result.trajectories]


async def test_a_run_is_followed_while_it_grows_and_nothing_is_written(tmp_path: Path):
    path = tmp_path / "l.db"
    run = FollowedRun(str(path))
    async with calipers.Judge(SimulatedJudge(QUALITY), ledger=path) as judge:
        assert run.read() is None, "no run is recorded yet"
        counts = []
        async for _ in judge.score_groups(GROUPS, ordered=True, concurrency=1):
            state = run.read()
            assert state is not None
            counts.append(state.tally.groups.total())
            assert state.tally.groups["scored"] == state.tally.groups.total()
            assert state.tally.trajectories["scored"] == 4 * state.tally.groups.total()
    assert counts == sorted(counts)
    assert counts[-1] == len(GROUPS)


async def test_a_newer_run_is_followed_from_its_begin_and_a_named_one_stays(tmp_path: Path):
    path = tmp_path / "l.db"
    latest, named = FollowedRun(str(path)), FollowedRun(str(path), 1)
    for count in (5, 3):
        async with calipers.Judge(SimulatedJudge(QUALITY), ledger=path) as judge:
            async for _ in judge.score_groups(GROUPS[:count]):
                pass
        states = [one.read() for one in (latest, named)]
        assert [one and one.tally.groups.total() for one in states] == [count, 5]
    state = latest.read()
    assert state is not None
    assert state.metrics["judge/cache_hit_rate"] == 1.0


async def test_failed_calls_are_counted_by_kind_while_no_group_is_finished(tmp_path: Path, faulty: Any):
    path = tmp_path / "l.db"
    Ledger(path).close()
    run = FollowedRun(str(path))
    assert run.read() is None, "no run yet"
    async with calipers.Judge(SimulatedJudge(QUALITY), ledger=path) as judge:
        async for _ in judge.score_groups(GROUPS[:1]):
            pass
    ledger = Ledger(path)
    row = (1, 7, 0, 0, "k", "rate_limited", 1, 0, 0, 0, 0.0, "2026-01-01T00:00:00.000+00:00")
    ledger.insert("INSERT INTO failed_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    ledger.insert("INSERT INTO asks VALUES (1, 7, 0, 'k', 'first', 'strict', NULL, '{}')", ())
    ledger.close()
    state = run.read()
    assert state is not None
    assert state.failed_calls == {"rate_limited": 1}
    assert state.waiting == 1, "answered, and its group is not finished"


def test_a_line_of_another_hand_has_an_unknown_reliability():
    line = {"group_id": "g", "status": "scored", "trajectories": []}
    given = {"value": 0.5, "interval": [0.1, 0.9], "basis": "repeats", "freedom": 3}
    assert read_back(line | {"reliability": given}).reliability.to_dict() == given
    for wrong in (None, 0.5, {}, given | {"value": 1.5}, given | {"value": "0.5"}, given | {"basis": "guessed"}):
        assert read_back(line | {"reliability": wrong}).reliability == calipers.types.Reliability()
    assert read_back(line).reliability == calipers.types.Reliability()
    assert read_back(line | {"reliability": given | {"interval": [0.1]}}).reliability.interval is None
