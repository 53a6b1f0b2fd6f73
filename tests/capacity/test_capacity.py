"""What a load needs: formulas by hand, and a simulation that agrees with the theory of queues."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from calipers.capacity.load import Load
from calipers.capacity.queues import least_processes, simulate
from calipers.errors import ConfigError


def test_the_formulas_by_hand():
    load = Load(
        groups_per_minute=6000, group_size=2, spread=10, calls=2, judge_seconds=3, cpu_ms=0.7, kilobytes=20,
        input_tokens=4000, output_tokens=100, prefill=20000, decode=1000, usd_in=1, usd_out=10, rollout_kilobytes=10,
    )  # fmt: skip
    assert load.processes == 1  # 100 groups · 2 · 0.7 ms = 0.14 of a core
    assert Load(groups_per_minute=6000, group_size=8, cpu_ms=1.0).processes == 2  # 0.8 of a core is over 0.7
    assert load.calls_in_flight == 600
    assert load.gpus == pytest.approx(100 * 2 * 0.3)
    assert load.waiting == pytest.approx(100 * 2 * (10 / 3 + 3))  # 1 - 1 / (1 + 1/2) = 1/3
    assert load.waiting_megabytes == pytest.approx(load.waiting / 100)
    assert load.gigabytes_a_day == pytest.approx(172.8)
    assert load.usd_a_group == pytest.approx(2 * 0.005)
    assert load.days(1e9) == pytest.approx(1e9 / 8.64e6)


@pytest.mark.parametrize("wrong", [{"group_size": 0}, {"cpu_ms": -1}, {"spread": math.nan}, {"judge_p99": 2}])
def test_a_load_that_cannot_be_is_refused(wrong: dict[str, float]):
    with pytest.raises(ConfigError):
        Load(**wrong)  # type: ignore[arg-type]


def test_a_core_that_serves_single_rollouts_waits_as_the_theory_of_queues_says():
    """M/D/1: a visit of half the cost D waits rho · D / (2 · (1 - rho)) on average. Each rollout makes two visits."""
    load = Load(groups_per_minute=60 * 700, group_size=1, spread=0, cpu_ms=1, judge_seconds=1, judge_p99=3)
    found = simulate(load, processes=1, slots=10_000, seconds=30)
    assert found.core == pytest.approx(0.7, rel=0.03)
    assert found.over_mean == pytest.approx(0.001 + 2 * 0.7 * 0.0005 / (2 * 0.3), rel=0.1)
    light = simulate(replace(load, groups_per_minute=60), processes=1, slots=1000, seconds=300)
    assert light.over_p50 == pytest.approx(0.001, rel=0.01)


def test_littles_law_holds_for_the_judge_and_for_rollouts_that_wait():
    load = Load(groups_per_minute=1200, group_size=4, spread=5, judge_seconds=2, judge_p99=4, cpu_ms=0.1)
    found = simulate(load, processes=1, slots=400, seconds=200)
    assert found.slots * 400 == pytest.approx(load.calls_in_flight, rel=0.06)
    assert found.p50 == pytest.approx(2, rel=0.15)
    assert load.waiting < found.most_waiting < 1.5 * load.waiting


def test_too_few_slots_make_a_queue_that_grows_and_no_number_of_processes_helps():
    load = Load(groups_per_minute=1200, judge_seconds=2, judge_p99=4)
    assert simulate(load, processes=1, slots=60, seconds=60).over_p99 < 0.2
    assert simulate(load, processes=1, slots=20, seconds=60).over_p99 > 10
    assert least_processes(load, slots=20, within=1.0, seconds=20, most=3) is None


def test_bursts_wait_longer_than_single_groups_and_more_processes_help():
    single = Load(groups_per_minute=6000, spread=0, judge_seconds=0.5, judge_p99=1)
    bursts = replace(single, burst=200)
    once, together = (simulate(one, processes=1, slots=2000, seconds=20).over_p99 for one in (single, bursts))
    assert together > 5 * once
    assert simulate(bursts, processes=4, slots=8000, seconds=20).over_p99 < together / 2
    needed = least_processes(bursts, slots=8000, within=together / 2, seconds=20)
    assert needed is not None
    assert 2 <= needed <= 4


def test_the_same_seed_gives_the_same_figures():
    load = Load(groups_per_minute=600)
    first, again, other = (simulate(load, processes=2, slots=100, seconds=30, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    more = simulate(load, processes=4, slots=100_000, seconds=30, seed=1)
    assert more.groups == first.groups
    assert more.p50 == pytest.approx(first.p50, abs=0.05), "other groups came"
