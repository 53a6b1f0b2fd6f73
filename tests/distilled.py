"""Groups and recorded runs that a local judge can learn from: the more of the task an answer covers, the better."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import calipers
from calipers.distilling import Distilled, distill
from calipers.testing import Noise, SimulatedJudge
from calipers.types import Trajectory, TrajectoryGroup

SUBJECTS = (
    "harvest orchard pressing cider barrels autumn", "violin strings bowing posture rosin concert",
    "granite climbing anchors ropes weather summit", "loaves sourdough starter flour ovens crust",
    "telescope mirrors galaxies exposure nights tripod", "harbour lighthouse sailing anchors tides charts",
)  # fmt: skip
FILLER = ("and", "so", "it", "goes", "with", "many", "other", "matters", "that", "nobody", "asked", "about", "here")


def group_of(number: int, *, size: int = 4, prompts: int = 30, gold: bool = True) -> TrajectoryGroup:
    """A group whose answers cover different shares of the task's words; gold is that share."""
    generator = random.Random(number)
    asked = SUBJECTS[number % prompts % len(SUBJECTS)].split()
    task = f"Explain {' '.join(asked)} for visitor number {number % prompts}."
    shares = generator.sample(range(len(asked) + 1), size)
    members = []
    for place, share in enumerate(shares):
        words = generator.sample(asked, share) + generator.choices(FILLER, k=generator.randrange(8, 20))
        generator.shuffle(words)
        text = f"Well, {' '.join(words)}."
        answer = ({"role": "assistant", "content": text},)
        members.append(Trajectory(f"t{place}", answer, gold=share / len(asked) if gold else None))
    context = ({"role": "user", "content": task},)
    return TrajectoryGroup(f"g{number}", tuple(members), context=context)


def groups_of(count: int, **how: Any) -> list[TrajectoryGroup]:
    return [group_of(number, **how) for number in range(count)]


def recorded_run(path: Path, groups: Sequence[TrajectoryGroup], judge: Any = None, **options: Any) -> Path:
    """Judge groups, by default with a simulated judge that knows gold but for some noise, and record it at ``path``."""
    truth = {(group.group_id, one.id): one.gold or 0.0 for group in groups for one in group.trajectories}
    options = {
        "judge": judge or SimulatedJudge(lambda group, one: truth[group, one], Noise(0.05), model="teacher")
    } | options

    async def run() -> None:
        judging = calipers.Judge.of({"ledger": str(path), "orders": 2, **options})
        async for _ in judging.score_groups(list(groups)):
            pass
        judging.close()

    asyncio.run(run())
    return path


def made(folder: Path, *, count: int = 60, **options: Any) -> Distilled:
    """A local judge in ``folder / "judge"``, distilled from a run of ``count`` groups."""
    ledger = recorded_run(folder / "run.db", groups_of(count))
    return distill(ledger, out=folder / "judge", **options)


def rewards_of(judge: Any, group: Any, **options: Any) -> calipers.GroupResult:
    return asyncio.run(calipers.score_group(group, judge=judge, **options))
