"""What trainers' adapters cost a group, and how little is left to do when a group's last rollout comes.

    python -m benchmarks.trainers.adapters [--groups 200]

CPU of all that an adapter does itself: the judge answers at once, and is not counted. TRL's adapter in one call for all
groups; verl's and OpenRLHF's rollout by rollout, through cohorts; ART's where ART is installed. Then, for rollouts of
an agent with tools that meet in a cohort: the CPU between the last one's coming and the question going out, with
nothing done before and with all that can be. What a server takes is in ``benchmarks.speed.server``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from statistics import median
from typing import Any

from benchmarks.sample_groups import sample_groups
from benchmarks.trainers.trl_overlap import SIZE, batch, told
from calipers import Judge
from calipers.trainers.art.loop import judged_by
from calipers.trainers.cohorts.cohort import Cohorts
from calipers.trainers.no_signal.float_rewards import complete_cohorts, run_for_floats
from calipers.trainers.openrlhf.reply import judged_reply
from calipers.trainers.trl import reward_func
from calipers.trainers.verl.rows import group_fields_of_row
from calipers.trainers.verl.rows import member_of_outputs as verl_member
from calipers.types import Completion, GroupResult, JudgeRequest, TrajectoryGroup, TrajectoryResult, Usage

LIMIT = 1.0
"""Milliseconds of CPU an adapter may add to a group."""


class AtOnce(Judge):
    """A judge that scores every group before anything is asked, read or rendered."""

    def __init__(self) -> None:
        super().__init__("embedded")

    async def score_group(self, group: object) -> GroupResult:
        members = group["trajectories"] if isinstance(group, dict) else getattr(group, "trajectories", ())
        return scored(len(members))

    async def score_groups(self, groups: Any, **_: Any) -> AsyncIterator[GroupResult]:
        for group in groups:
            yield await self.score_group(group)

    def preparing(self, head: TrajectoryGroup) -> Any:
        """Nothing: what is prepared is a judge's work, done early."""
        del head
        return lambda member: member


def scored(count: int) -> GroupResult:
    rows = tuple(TrajectoryResult(str(n), "scored", n / 10, n / 10, 0.1, "so it seems") for n in range(count))
    return GroupResult("g", "scored", rows)


async def cpu(work: Callable[[], Awaitable[object]], groups: int) -> float:
    """CPU milliseconds a group, of the second time."""
    await work()
    started = time.process_time()
    await work()
    return (time.process_time() - started) * 1000 / groups


# --- adapters -------------------------------------------------------------------------------------------------------


async def trl(groups: int) -> float:
    # The synchronous twin, which every TRL takes; it waits for the asynchronous one.
    reward, given = reward_func(AtOnce(), num_generations=SIZE, blocking=True), batch(groups, seed=1)
    return await cpu(lambda: asyncio.to_thread(reward, **given), groups)


async def art(groups: int) -> float:
    from benchmarks.speed.art_client import groups as art_groups  # noqa: PLC0415 - needs ART

    made, judged = art_groups(groups, seed=1, tools=False), judged_by(AtOnce())
    return await cpu(lambda: asyncio.gather(*map(judged, made)), groups)


@dataclass
class Output:
    """What is read of verl's AgentLoopOutput; its one token stands for all of its text."""

    response_ids: list[int]
    response_mask: list[int]
    extra_fields: dict[str, Any] = field(default_factory=dict)


async def verl(groups: int) -> float:
    """All of the agent loop's own work but decoding, which is the tokenizer's."""
    made = list(sample_groups(groups, seed=1))
    texts = [[one["messages"][-1]["content"] for one in group["trajectories"]] for group in made]

    async def step() -> None:
        judge = AtOnce()
        cohorts = Cohorts(judge.score_group, size=SIZE, preparing=judge.preparing, deadline=None)

        async def rollout(place: int, number: int, head: dict[str, Any]) -> float:
            member = verl_member([Output([number], [1])], number, lambda tokens: texts[place][tokens[0]], limit=1024)
            return (await cohorts.join(place, member, size=SIZE, group=head)).required()

        async def prompt(place: int) -> None:
            row = {"uid": str(place), "raw_prompt": made[place]["context"]}
            head = group_fields_of_row(row, rubric="", reference=False)
            await asyncio.gather(*(rollout(place, number, head) for number in range(SIZE)))

        await asyncio.gather(*map(prompt, range(groups)))

    return await cpu(step, groups)


def openrlhf_rows(groups: int) -> list[tuple[str, str]]:
    """Query and prompt, one a rollout."""
    return [
        (prompt := group["context"][-1]["content"], prompt + one["messages"][-1]["content"])[::-1]
        for group in sample_groups(groups, seed=1)
        for one in group["trajectories"]
    ]


async def openrlhf(groups: int) -> float:
    rows = openrlhf_rows(groups)

    async def step() -> None:
        run = run_for_floats(AtOnce())
        cohorts = complete_cohorts(run, size=SIZE, deadline=60.0)
        await asyncio.gather(*(judged_reply(run, cohorts, [(*row, "-")], rubric=None) for row in rows))

    return await cpu(step, groups)


# --- what is left when the last rollout has come --------------------------------------------------------------------


@dataclass
class Noting:
    """A judge that notes how much CPU had been used when it was asked."""

    asked: float = 0.0
    endpoint: str = "noting"
    model: str = "noting"

    async def complete(self, request: JudgeRequest) -> Completion:
        self.asked = time.process_time()
        scores = {key: 50 + place for place, key in enumerate(request.keys)}
        return Completion(json.dumps({"scores": scores}), usage=Usage(1, 1))


def rollout(draw: random.Random, turns: int) -> list[dict[str, Any]]:
    """A rollout of an agent that looks something up in each turn."""
    (sample,) = sample_groups(1, seed=draw.randrange(10**6))
    texts = [message["content"] for one in sample["trajectories"] for message in one["messages"]]
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        arguments = json.dumps({"order": draw.randrange(10**6), "fields": ["total", "policy"]})
        call = {"id": f"call{turn}", "type": "function", "function": {"name": "get_order", "arguments": arguments}}
        said, found = draw.choice(texts)[: draw.randrange(100, 300)], draw.choice(texts) + str(draw.random())
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"call{turn}", "content": found})
    return [*messages, {"role": "assistant", "content": draw.choice(texts)}]


async def left(rollouts: Sequence[Sequence[Any]], *, early: bool) -> float:
    """CPU milliseconds from a group's last rollout to its question, the median of the groups."""
    backend = Noting()
    judge = Judge(backend)
    found = []
    cohorts = Cohorts(judge.score_group, size=len(rollouts[0]), preparing=judge.preparing if early else None)
    async with cohorts:
        for number, (*first, last) in enumerate(rollouts):
            head = {"group_id": str(number), "context": [{"role": "user", "content": "Mend my booking."}]}
            others = [asyncio.ensure_future(cohorts.join(number, one, group=head)) for one in first]
            for _ in range(3):
                await asyncio.sleep(0)
            started = time.process_time()
            await cohorts.join(number, last, group=head)
            found.append((backend.asked - started) * 1000)
            await asyncio.gather(*others)
    return median(found)


async def measured(groups: int) -> bool:
    """Print it all; whether every adapter kept to its limit."""
    found = {
        "TRL's reward function": await trl(groups),
        "verl's agent loop (cohort)": await verl(groups),
        "OpenRLHF's executor (cohort)": await openrlhf(groups),
    }
    if find_spec("art") is None:
        print("ART is not installed, so its adapter was not run")
    else:
        found["ART's judged_by"] = await art(groups)
    for name, milliseconds in found.items():
        print(told(f"{name}, CPU ms a group of {SIZE}", milliseconds, LIMIT))
    draw = random.Random(0)
    for turns, members in ((3, 8), (12, 8), (12, 16)):
        rollouts = [[rollout(draw, turns) for _ in range(members)] for _ in range(30)]
        size = sum(len(json.dumps(one)) for one in rollouts[0]) // 1000
        before, after = await left(rollouts, early=False), await left(rollouts, early=True)
        what = f"{members} rollouts of {turns} tool calls ({size} kB)"
        print(f"      {what}: left after the last, CPU ms: {before:.2f} with nothing done early, {after:.2f} with it")
    return all(milliseconds <= LIMIT for milliseconds in found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=200)
    options = parser.parse_args()
    sys.exit(0 if asyncio.run(measured(options.groups)) else 1)


if __name__ == "__main__":
    main()
