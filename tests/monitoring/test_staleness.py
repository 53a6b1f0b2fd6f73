"""Staleness: known where rollouts state versions, absent where they do not, and never 0 for unknown."""

from __future__ import annotations

from typing import Any

import pytest

import calipers
from calipers.monitoring.health import health
from calipers.monitoring.monitor import Monitor
from calipers.monitoring.staleness import NewestVersion
from calipers.types import GroupResult, TrajectoryResult

KEYS = (
    "policy_version", "version_known_rate", "staleness_mean", "staleness_max", "stale_rate",
)  # fmt: skip


def judged(*members: tuple[Any, float | None], **about: Any) -> GroupResult:
    """A group's result: for each trajectory the versions that it states, and its reward."""
    rows = tuple(
        TrajectoryResult(
            str(number), "failed" if reward is None else "scored", reward,
            extra={} if version is None else {"metadata": {"policy_version": version}},
        )
        for number, (version, reward) in enumerate(members)
    )  # fmt: skip
    return GroupResult("g", "scored", rows, extra=about)


def staleness(*results: GroupResult) -> dict[str, float]:
    found = {name.removeprefix("judge/"): value for name, value in health(results).items()}
    return {name: value for name, value in found.items() if name in KEYS}


def test_no_version_is_no_metric_and_not_0():
    assert staleness(judged((None, 1.0), (None, 0.0)), judged(("default", 1.0), (-1, 0.0))) == {}


def test_staleness_is_behind_the_stated_current_version_and_an_unknown_one_counts_nowhere():
    found = staleness(judged((10, 1.0), ([6, 9], 0.5), (None, 0.0), current_version=12))
    assert found == {
        "policy_version": 10, "version_known_rate": pytest.approx(2 / 3), "staleness_mean": 4, "staleness_max": 6,
        "stale_rate": 0.5,
    }  # fmt: skip


def test_without_a_stated_current_version_it_is_the_newest_that_any_rollout_showed_so_far():
    found = staleness(judged((3, 1.0), (3, 0.0)), judged((7, 1.0), (7, 0.0)), judged((5, 1.0), (5, 0.0)))
    assert found["staleness_mean"] == pytest.approx(2 / 3)
    assert found["staleness_max"] == 2
    # A policy that was updated while the group waited is not behind itself.
    assert staleness(judged((8, 1.0), (9, 0.0), current_version=8))["staleness_max"] == 0
    found = staleness(judged((None, 1.0), (4, 0.0), policy_version=2, current_version=5))
    assert (found["version_known_rate"], found["staleness_mean"]) == (1, 2)


def test_a_group_that_states_its_current_version_keeps_it_and_one_without_versions_stays_as_it_is():
    newest = NewestVersion()
    plain = judged((None, 1.0))
    assert newest.dated(plain) is plain
    stated = judged((3, 1.0), current_version=6)
    assert newest.dated(stated) is stated
    assert newest.dated(judged((4, 1.0))).extra["current_version"] == 6


def rollouts(number: int, version: Any) -> dict[str, Any]:
    texts = ("a", "b")
    return {
        "group_id": f"g{number}",
        "trajectories": [
            {"messages": [{"role": "assistant", "content": f"{text} {number}"}], "policy_version": version}
            for text in texts
        ],
    }


async def test_a_monitor_remembers_the_newest_version_from_batch_to_batch():
    monitor = Monitor()
    judge = calipers.Judge("embedded", records={"watchers": [monitor]})
    await judge.score_group(rollouts(1, 8))
    assert monitor.batch()["judge/staleness_max"] == 0
    result = await judge.score_group(rollouts(2, 5))
    found = monitor.batch()
    assert (found["judge/staleness_max"], found["judge/stale_rate"]) == (3, 0)
    assert monitor.metrics()["judge/staleness_mean"] == 1.5
    assert "current_version" not in result.to_dict()  # results do not depend on what was judged before
