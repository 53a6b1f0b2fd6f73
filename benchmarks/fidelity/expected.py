"""Means over digits against the likeliest digit, at equal calls, on simulated judges, through ``Judge`` itself.

    python -m benchmarks.fidelity.expected [--groups 200] [--members 8]

Groups and judges are those of ``benchmarks.fidelity.protocols``; a judge's belief is ``doubt`` wide around its opinion.
The same questions are put to the same judge; once it tells no probabilities, so that its digits are read as they are.
*Tied* is the share of pairs with equal rewards. The last column is what the judge's own probabilities make of a
standard error: the mean of (score - quality)² over stderr², which is 1 where a judge is as unsure as it errs.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.fidelity.protocols import agreement, drawn, rewarded
from benchmarks.sample_groups import groups_of
from calipers.judging.judge import Judge
from calipers.testing import HesitantJudge, Noise, PositionBias
from calipers.types import GroupResult

JUDGES = {
    "noise 0.1, doubt 0.1": (0.1, 0.1),
    "noise 0.05, doubt 0.05": (0.05, 0.05),
    "noise 0.05, doubt 0.2": (0.05, 0.2),
}
ASKED: Mapping[str, Mapping[str, Any]] = {
    "pointwise": {"protocol": "pointwise"},
    "listwise, 1 order": {},
    "listwise, 2 orders": {"orders": 2},
    "pairwise, pivot, both orders": {"protocol": "pairwise", "pairing": "pivot", "orders": 2},
}


async def judged(
    truth: Mapping[str, Mapping[str, float]], judge: tuple[float, float], options: Mapping[str, Any], *, tells: bool
) -> list[GroupResult]:
    """The results of all groups."""
    noise, doubt = judge
    biases = (PositionBias(0.1), Noise(noise))
    backend = HesitantJudge(lambda group, one: truth[group][one], *biases, doubt=doubt, tells=tells, model="simulated")
    return [
        result
        async for result in Judge.of({"judge": backend, "expected": True, **options}).score_groups(groups_of(truth))
    ]


def tied(results: Sequence[GroupResult]) -> float:
    """The share of pairs with equal rewards."""
    pairs = [(rewarded(a), rewarded(b)) for one in results for a, b in itertools.combinations(one.trajectories, 2)]
    return statistics.fmean(a == b for a, b in pairs)


def honest(truth: Mapping[str, Mapping[str, float]], results: Sequence[GroupResult]) -> str:
    """Squared errors over squared standard errors, where scores are on the scale of qualities and have any."""
    found = [
        ((one.score - truth[result.group_id][one.id]) / one.stderr) ** 2
        for result in results
        for one in result.trajectories
        if one.stderr and one.score is not None
    ]
    return f"{statistics.fmean(found):.2f}" if found else "-"


async def table(groups: int, members: int) -> None:
    """Print the table."""
    truth = drawn(groups, members)
    print(
        "| judge | asked | calls | read | fidelity | tau | tied | error²/stderr² |\n|---|---|---|---|---|---|---|---|"
    )
    for name, judge in JUDGES.items():
        for asked, options in ASKED.items():
            for read, tells in (("likeliest digit", False), ("mean", True)):
                results = await judged(truth, judge, options, tells=tells)
                fidelity, tau = agreement(truth, results)
                calls = statistics.fmean(one.judge_calls for one in results)
                cells = (f"{fidelity:.3f}", f"{tau:.3f}", f"{tied(results):.0%}")
                error = "-" if options.get("protocol") == "pairwise" else honest(truth, results)
                print(f"| {name} | {asked} | {calls:.0f} | {read} | {' | '.join(cells)} | {error} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=200, help="groups a row")
    parser.add_argument("--members", type=int, default=8, help="trajectories a group")
    given = parser.parse_args()
    asyncio.run(table(given.groups, given.members))
