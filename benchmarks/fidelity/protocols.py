"""Judging protocols at equal judge tokens, on simulated judges of stated noise and bias, through ``Judge`` itself.

    python -m benchmarks.fidelity.protocols [--groups 100] [--members 8]

Qualities are normal around the middle of the scale (0.15 apart); a judge's score of one trajectory errs by ``noise`` in
each answer, and falls by ``leaning`` from the first place to the last. Fidelity is the mean correlation of reward and
quality within groups, tau Kendall's; "shown" is the trajectories a judge reads for one group, over the group's size: at
equal transcripts that is what protocols cost. Monotone reshaping of the same answers is a row of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.sample_groups import groups_of
from calipers.judging.judge import Judge
from calipers.testing import Noise, PositionBias, SimulatedJudge
from calipers.types import Completion, GroupResult, JudgeRequest, TrajectoryResult

JUDGES = {"noise 0.1, leaning 0.1": (0.1, 0.1), "noise 0.15, leaning 0.3": (0.15, 0.3)}
PROTOCOLS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("pointwise", {"protocol": "pointwise"}),
    ("listwise, 1 order", {}),
    ("listwise, 1 order, ranks", {"reward": "rank"}),
    ("listwise, 2 orders", {"orders": 2}),
    ("listwise, 4 orders", {"orders": 4}),
    ("listwise, 7 orders", {"orders": 7}),
    ("listwise, parts of 5, 4 orders", {"orders": 4, "at_once": 5}),
    ("listwise, resolve", {"resolve": True}),
    ("pairwise, pivot, both orders", {"protocol": "pairwise", "pairing": "pivot", "orders": 2}),
    ("pairwise, Swiss, one order", {"protocol": "pairwise", "pairing": "swiss"}),
    ("pairwise, all, one order", {"protocol": "pairwise"}),
    ("pairwise, all, both orders", {"protocol": "pairwise", "orders": 2}),
)


class Counting:
    """A judge that counts the trajectories it is shown."""

    endpoint = "simulated"

    def __init__(self, inner: SimulatedJudge) -> None:
        self.inner, self.model, self.shown = inner, inner.model, 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.shown += len(request.ask.order)
        return await self.inner.complete(request)


def drawn(count: int, members: int) -> dict[str, dict[str, float]]:
    """The qualities of ``count`` groups."""
    generator = random.Random(5)
    return {
        str(number): {str(one): min(max(generator.gauss(0.5, 0.15), 0.0), 1.0) for one in range(members)}
        for number in range(count)
    }


async def judged(
    truth: Mapping[str, Mapping[str, float]], noise: float, leaning: float, options: Mapping[str, Any]
) -> tuple[float, list[GroupResult]]:
    """Trajectories shown over those there are, and the results."""
    vices = (PositionBias(leaning), Noise(noise))
    backend = Counting(SimulatedJudge(lambda group, one: truth[group][one], *vices, model="simulated"))
    judge = Judge.of({"judge": backend, **options})
    results = [result async for result in judge.score_groups(groups_of(truth))]
    return backend.shown / sum(map(len, truth.values())), results


def rewarded(one: TrajectoryResult) -> float:
    """Its reward; these judges never fail, and a failure would be no number."""
    assert one.reward is not None  # noqa: S101 - see above
    return one.reward


def agreement(truth: Mapping[str, Mapping[str, float]], results: Sequence[GroupResult]) -> tuple[float, float]:
    """Fidelity and tau."""
    found, ranked = [], []
    for result in results:
        gold = [truth[result.group_id][one.id] for one in result.trajectories]
        rewards = [rewarded(one) for one in result.trajectories]
        found.append(statistics.correlation(rewards, gold) if len(set(rewards)) > 1 else 0.0)
        pairs = list(itertools.combinations(range(len(gold)), 2))
        signs = [(rewards[a] - rewards[b]) * (gold[a] - gold[b]) for a, b in pairs]
        ranked.append(sum((one > 0) - (one < 0) for one in signs) / len(pairs))
    return statistics.fmean(found), statistics.fmean(ranked)


async def table(groups: int, members: int) -> None:
    """Print the table."""
    truth = drawn(groups, members)
    print("| judge | protocol | calls | shown | fidelity | tau |\n|---|---|---|---|---|---|")
    for name, (noise, leaning) in JUDGES.items():
        for protocol, options in PROTOCOLS:
            shown, results = await judged(truth, noise, leaning, options)
            fidelity, tau = agreement(truth, results)
            calls = statistics.fmean(one.judge_calls for one in results)
            print(f"| {name} | {protocol} | {calls:.1f} | {shown:.1f} | {fidelity:.3f} | {tau:.3f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=100, help="groups a protocol")
    parser.add_argument("--members", type=int, default=8, help="trajectories a group")
    given = parser.parse_args()
    asyncio.run(table(given.groups, given.members))
