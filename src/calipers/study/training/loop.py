"""The loop: a policy's rollouts, their rewards from the real judge, an update; held-out prompts now and then."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from calipers.errors import CalipersError
from calipers.judging.judge import Judge
from calipers.rewards.reliable import weight_of
from calipers.study.training.judges import Truth, arrival_places, judge_for
from calipers.study.training.rollouts import (
    ARRIVAL,
    PROMPTS,
    REHEARSAL,
    SAMPLING,
    Policy,
    Rollouts,
    advantages,
    generator_of,
    grouped_prompts,
    seed_of,
    step_figures,
    text_of,
)
from calipers.study.training.settings import Arm, Missing, Study
from calipers.synchronous import run
from calipers.types import GroupResult, Trajectory, TrajectoryGroup

_ENOUGH = 2
"""Groups of a step that all have to fail before the judge is taken to be broken."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What judging made of a step's rollouts, in their order.

    ``rewards`` go to the policy. ``weights`` multiply the advantages. ``unscored`` is the share of the rollouts that
    the judge gave no reward, whatever it became, and ``calls`` the number of its answers.
    """

    rewards: list[float | None]
    weights: list[float]
    unscored: float
    calls: int


def train(study: Study, arm: Arm, seed: int, policy: Policy, *, folder: Path = Path()) -> dict[str, Any]:
    """Train ``policy`` in an arm's run with ``seed``, and return the rows of its steps and evaluations.

    ``folder`` is that of the study's file. Raises CalipersError for a judge that cannot be asked.
    """
    return run(_train(study, arm, seed, policy, folder))


async def _train(study: Study, arm: Arm, seed: int, policy: Policy, folder: Path) -> dict[str, Any]:
    began = time.process_time()
    truth, size = Truth(*arm.judge.quality), arm.training.group_size
    steps: list[dict[str, Any]] = []
    evaluations: list[dict[str, Any]] = []
    calls = judging = 0.0
    with TemporaryDirectory() as kept:
        ledger = Path(kept, "ledger.db") if arm.table.learn else None
        if ledger is not None:
            await _rehearse(arm, seed, policy, truth, folder, ledger)
        async with judge_for(arm, seed, truth, folder=folder, ledger=ledger) as judge:
            for step in range(study.steps + 1):
                if step % study.evaluation.every == 0 or step == study.steps:
                    groups = step * arm.training.prompts
                    evaluations.append({"step": step, **policy.evaluate(), "groups": groups, "calls": calls})
                if step == study.steps:
                    break
                prompts = grouped_prompts(arm.training.prompts, size, seed, PROMPTS, step)
                rollouts = policy.respond(prompts, seed_of(seed, SAMPLING, step))
                since = time.process_time()
                judged = await judged_rollouts(judge, truth, arm, seed, step, rollouts)
                judging += time.process_time() - since
                step_advantages = advantages(judged.rewards, size, arm.training.scale, judged.weights)
                figures = step_figures(rollouts.features, judged.rewards, step_advantages, size)
                calls += judged.calls
                figures |= {"unscored": judged.unscored, "weight": math.fsum(judged.weights) / len(judged.weights)}
                steps.append({"step": step, **figures, **policy.learn(rollouts, step_advantages), "calls": calls})
    seconds = time.process_time() - began
    return {"steps": steps, "evaluations": evaluations, "seconds": seconds, "judging_seconds": judging}


async def judged_rollouts(judge: Judge, truth: Truth, arm: Arm, seed: int, step: int, rollouts: Rollouts) -> Judged:
    """Return what an arm's judge makes of a step's rollouts, which arrive in the order that the arm describes."""
    size, right = arm.training.group_size, rollouts.features.right
    places = arrival_places(
        rollouts.features.length,
        size,
        generator_of(seed, ARRIVAL, step),
        jitter=arm.table.jitter,
        correlation=arm.table.correlation,
    )
    # Rows are numbered as they arrive, from 1.
    truth.right = {str(number): bool(right[row]) for number, row in enumerate(places, 1)}
    groups = [_group(rollouts, places, start, size, step) for start in range(0, len(places), size)]
    results = [result async for result in judge.score_groups(groups, ordered=True)]
    _require_answers(results)
    rewards: list[float | None] = [None] * len(places)
    weights = [1.0] * len(places)
    for result in results:
        for trajectory in result.trajectories:
            row = places[int(trajectory.id) - 1]
            rewards[row] = trajectory.reward
            if arm.table.weights == "reliability" and result.status == "scored":
                weights[row] = weight_of(result.reliability)
    unscored = rewards.count(None) / len(rewards)
    return Judged(_completed(rewards, size, arm.table.missing), weights, unscored, sum(r.judge_calls for r in results))


def _group(rollouts: Rollouts, places: Sequence[int], start: int, size: int, step: int) -> TrajectoryGroup:
    members = [
        Trajectory(str(number), ({"role": "assistant", "content": text_of(rollouts.responses[places[number - 1]])},))
        for number in range(start + 1, start + size + 1)
    ]
    context = ({"role": "user", "content": text_of(rollouts.prompts[places[start]])},)
    name = f"step {step}, rows {start + 1}-{start + size}"
    return TrajectoryGroup(group_id=name, context=context, trajectories=tuple(members))


def _require_answers(results: Sequence[GroupResult]) -> None:
    """Raise CalipersError if no group of a step could be judged: training on nothing would look like a finding."""
    if len(results) >= _ENOUGH and all(result.status == "failed" for result in results):
        raise CalipersError(f"the judge answered for no group of a step: {results[0].trajectories[0].reason}")


def _completed(rewards: Sequence[float | None], size: int, missing: Missing) -> list[float | None]:
    """Return the rewards with what a study's arm makes of missing ones."""
    if missing == "zero":
        return [0.0 if reward is None else reward for reward in rewards]
    if missing == "none":
        return list(rewards)
    groups = [rewards[start : start + size] for start in range(0, len(rewards), size)]
    return [None if None in group else reward for group in groups for reward in group]


async def _rehearse(arm: Arm, seed: int, policy: Policy, truth: Truth, folder: Path, ledger: Path) -> None:
    """Judge groups of the first policy in 4 orders, from which the judge's noise and position bias are learned."""
    options = {**arm.options, "orders": 4}
    asked = replace(arm, options=options, table=replace(arm.table, order="content", weights="none"))
    prompts = grouped_prompts(arm.table.learn, arm.training.group_size, seed, REHEARSAL)
    rollouts = policy.respond(prompts, seed_of(seed, REHEARSAL))
    async with judge_for(asked, seed, truth, folder=folder, ledger=ledger) as judge:
        with suppress(CalipersError):  # a judge that cannot be asked is reported by the run itself
            await judged_rollouts(judge, truth, asked, seed, 0, rollouts)
