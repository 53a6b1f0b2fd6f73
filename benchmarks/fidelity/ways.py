"""Truth against calls and tokens: what each way to ask is worth, on simulated judges through the whole pipeline.

    python -m benchmarks.fidelity.ways [--groups 200] [--members 8]

The judges are invented: each errs by N(0, 0.12) in every answer, by N(0, 0.08) for each candidate in all its answers
(its own taste, which only another judge averages out), and gives the first place 0.1 over the last. Qualities are
uniform. Fidelity is the mean over groups of the correlation of rewards and qualities. RULER asks for one list, so its
row is that of one list; ``speed.tokens`` compares its tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
from typing import Any

import calipers
from calipers.testing import Noise, PositionBias, SimulatedJudge
from calipers.types import Trajectory, TrajectoryGroup

WAYS: dict[str, tuple[int, dict[str, Any]]] = {
    "one list (as RULER)": (1, {}),
    "two orders": (1, {"orders": 2}),
    "resolve=0.015": (1, {"resolve": True}),
    "all pairs": (1, {"protocol": "pairwise"}),
    "panel of two judges, one list each": (2, {}),
    "panel of four judges, one list each": (4, {}),
}
"""How many judges each way has, and its options."""


def simulated(count: int, members: int) -> tuple[list[TrajectoryGroup], dict[str, float]]:
    """Return groups of short answers, and the quality of each by its id."""
    drawn, groups, quality = random.Random(3), [], dict[str, float]()
    for number in range(count):
        ids = [f"g{number}-{place}" for place in range(members)]
        quality |= {name: drawn.uniform(0.2, 0.8) for name in ids}
        rollouts = tuple(Trajectory(name, ({"role": "assistant", "content": f"It is {name}."},)) for name in ids)
        groups.append(TrajectoryGroup(f"g{number}", rollouts, ({"role": "user", "content": f"Task {number}?"},)))
    return groups, quality


def judge(seed: int, quality: dict[str, float]) -> SimulatedJudge:
    vices = (Noise(0.08, per="candidate"), PositionBias(0.1), Noise(0.12))
    return SimulatedJudge(quality, *vices, seed=seed, model=f"judge-{seed}")


async def row(judges: int, options: dict[str, Any], groups: list[TrajectoryGroup], quality: dict[str, float]) -> str:
    """Return calls and tokens a group, and fidelity, as cells of the table. Each judge's figures are averaged."""
    calls, tokens, fidelity = list[int](), list[int](), list[float]()
    for first in range(0, 4, judges):
        asked = [judge(first + number, quality) for number in range(judges)]
        async with calipers.Judge(asked if judges > 1 else asked[0], **options) as asking:
            async for result in asking.score_groups(groups):
                calls.append(result.judge_calls)
                tokens.append(result.usage.input_tokens + result.usage.output_tokens)
                known = [(one.reward, quality[one.id]) for one in result.trajectories if one.reward is not None]
                fidelity.append(statistics.correlation(*zip(*known, strict=True)))
    error = 1.96 * statistics.stdev(fidelity) / len(fidelity) ** 0.5
    mean = statistics.fmean
    return f"{mean(calls):.1f} | {mean(tokens):,.0f} | {mean(fidelity):.3f} ± {error:.3f}"


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--members", type=int, default=8)
    given = parser.parse_args()
    groups, quality = simulated(given.groups, given.members)
    print("| way | calls | tokens | fidelity |\n|---|---|---|---|")
    for name, (judges, options) in WAYS.items():
        print(f"| {name} | {await row(judges, options, groups, quality)} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
