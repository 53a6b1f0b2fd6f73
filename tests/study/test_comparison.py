"""Judges compared on the same groups: what a rewrite earns, which judge agrees more, and how sure that is."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import replace

import pytest

import calipers
from calipers.errors import CalipersError
from calipers.study.figures import Comparison, answer_of, compare_judges, rewritten_ids, with_rewritten
from calipers.study.intervals import estimate, paired_difference, t_distribution, t_quantile
from calipers.study.rewrites import REWRITES, verbose
from calipers.testing import LengthBias, Noise, RefusedByLength, SimulatedJudge, Sycophancy, Vice
from calipers.types import Trajectory, TrajectoryGroup


def groups(count: int = 40, size: int = 4) -> list[TrajectoryGroup]:
    """Groups with one right answer, all of one length."""
    made = []
    for number in range(count):
        members = [
            Trajectory(str(n), ({"role": "assistant", "content": f"It is {number + n:4}."},), gold=float(n == 0))
            for n in range(size)
        ]
        made.append(TrajectoryGroup(f"g{number}", tuple(members)))
    return made


def judge(*vices: Vice, seed: int = 0, **options: object) -> calipers.Judge:
    simulated = SimulatedJudge(lambda _group, name: 0.6 if name == "0" else 0.4, *vices, seed=seed)
    return calipers.Judge.of({"judge": simulated, **options})


async def compared(judges: Mapping[str, calipers.Judge], asked: list[TrajectoryGroup], *names: str) -> Comparison:
    return await compare_judges(asked, judges, {name: REWRITES[name] for name in names})


@pytest.mark.parametrize("protocol", ["listwise", "pointwise"])
async def test_a_rewrite_earns_what_the_judges_vice_says(protocol: str) -> None:
    """Two phrases of flattery, each worth 0.05; length is worth nothing to this judge."""
    vain = judge(Sycophancy(0.05), Noise(0.02), protocol=protocol)
    found = await compared({"vain": vain}, groups(), "sycophantic", "verbose")
    figures = found.judges[0].figures()
    assert set(figures) == {"fidelity", "sycophantic", "verbose"}
    assert abs(figures["sycophantic"].mean - 0.1) < 0.06
    assert figures["sycophantic"].is_clear
    assert abs(figures["verbose"].mean) < 0.01


async def test_judges_differ_by_paired_differences() -> None:
    judges = {"wordy": judge(LengthBias(0.05), Noise(0.03)), "plain": judge(Noise(0.03), seed=1)}
    found = await compared(judges, groups(), "verbose")
    gaps = {name: gap for name, one, other, gap in found.differences() if (one, other) == ("wordy", "plain")}
    assert gaps["verbose"].mean > 0.05
    assert gaps["verbose"].is_clear
    assert not gaps["fidelity"].is_clear
    wordy, plain = (one.figures()["verbose"].mean for one in found.judges)
    assert gaps["verbose"].mean == pytest.approx(wordy - plain)
    ((_, _, agreement),) = found.agreements()
    assert 0.5 < agreement.mean <= 1


async def test_what_a_judge_does_not_score_is_counted_and_never_a_number() -> None:
    found = await compared({"shy": judge(RefusedByLength(1.0)), "bold": judge()}, groups(5), "verbose")
    shy, bold = found.judges
    assert shy.figures() == {}
    assert shy.unscored == 5 * 4 * 3, "the groups, and the two halves of their rewrites"
    assert bold.unscored == 0
    assert not found.differences()
    assert not found.agreements()
    assert json.loads(json.dumps(found.to_dict()))["judges"][0]["figures"] == {}


async def test_without_gold_there_is_no_fidelity_and_without_answers_nothing_to_compare() -> None:
    blind = [replace(g, trajectories=tuple(replace(one, gold=None) for one in g.trajectories)) for g in groups(5)]
    found = await compared({"one": judge()}, blind, "verbose")
    assert "fidelity" not in found.judges[0].figures()
    with pytest.raises(CalipersError, match="two trajectories with an answer"):
        await compared({"one": judge()}, [TrajectoryGroup("g", ())], "verbose")


def test_each_half_of_the_answers_is_rewritten_once() -> None:
    (group,) = groups(1, size=5)
    thought = Trajectory("mute", ({"role": "tool", "content": "x"},))
    group = replace(group, trajectories=(*group.trajectories, thought))
    first, second = rewritten_ids(group, verbose)
    assert (first, second) == (["0", "2", "4"], ["1", "3"])
    changed = with_rewritten(group, verbose, first)
    answers = {one.id: answer_of(one) for one in changed.trajectories}
    before = {one.id: answer_of(one) for one in group.trajectories}
    assert {name for name in answers if answers[name] != before[name]} == set(first)
    assert rewritten_ids(group, lambda text: text) == ([], [])


def test_quantiles_are_those_of_printed_tables_and_of_the_normal_distribution() -> None:
    for freedom, quantile in {1: 12.7062, 2: 4.3027, 4: 2.7764, 9: 2.2622, 30: 2.0423}.items():
        assert t_quantile(0.975, freedom) == pytest.approx(quantile, abs=6e-5)
        assert t_distribution(t_quantile(0.9, freedom), freedom) == pytest.approx(0.9, abs=1e-12)
    assert t_quantile(0.975, 2000) == pytest.approx(statistics.NormalDist().inv_cdf(0.975), abs=2e-3)


def test_an_interval_is_the_mean_and_its_error_times_the_quantile() -> None:
    found = estimate([1.0, 2.0, 4.0])
    error = statistics.stdev([1.0, 2.0, 4.0]) / math.sqrt(3)
    assert found.mean == pytest.approx(7 / 3)
    assert found.half_width == pytest.approx(4.3027 * error, rel=1e-4)
    assert found.detectable == pytest.approx((4.3027 + 1.0607) * error, rel=1e-4)
    assert not found.is_clear


def test_one_run_has_no_interval_and_no_runs_have_no_mean() -> None:
    assert estimate([3.0]).half_width is None
    assert not estimate([3.0]).is_clear
    with pytest.raises(ValueError, match="no runs"):
        estimate([])


def test_what_pairs_share_cancels() -> None:
    seeds = [10.0, -40.0, 25.0, 0.5]
    found = paired_difference([one + shift for one, shift in zip(seeds, (1.0, 1.1, 0.9, 1.0), strict=True)], seeds)
    assert found.mean == pytest.approx(1.0)
    assert found.half_width is not None
    assert found.half_width < 0.2
    assert found.is_clear
