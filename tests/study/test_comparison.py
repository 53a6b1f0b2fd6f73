"""Judges compared on the same groups: what a rewrite earns, which judge agrees more, and what is not known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

import calipers
from calipers.errors import CalipersError
from calipers.study.figures import Comparison, answer_of, compare_judges, rewritten_ids, with_rewritten
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
