"""Every adapter that runs without its engine, in one form: groups of texts in, each group's rewards out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import calipers
from calipers.trainers import agent_lightning, areal, ms_swift, skyrl, tinker, verifiers
from calipers.trainers.easyr1 import batch_reward
from calipers.trainers.rewards import rewards_or_constant
from calipers.trainers.run import Row, complete_cohorts, float_reward, judged, run_for_floats
from calipers.trainers.slime import group_rm
from calipers.trainers.trl import reward_func

Rewards = Sequence[float | None]
Groups = Sequence[tuple[Any, Sequence[str]]]
"""Each group's prompt (a tuple: one for each rollout), and what its rollouts said."""

Play = Callable[[Groups], Awaitable[list[Rewards]]]


def rows_of(groups: Groups) -> list[tuple[int, str, str]]:
    return [
        (number, prompt if isinstance(prompt, str) else prompt[at], text)
        for number, (prompt, texts) in enumerate(groups)
        for at, text in enumerate(texts)
    ]


def regrouped(groups: Groups, rewards: Rewards) -> list[Rewards]:
    left = iter(rewards)
    return [[next(left) for _ in texts] for _, texts in groups]


def conversation(prompt: str, text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": text}]


def trl(judge: calipers.Judge, **settings: Any) -> Play:
    functions: dict[int, Any] = {}

    async def play(groups: Groups) -> list[Rewards]:
        size = len(groups[0][1])
        if size not in functions:
            functions[size] = reward_func(judge, num_generations=size, check=False, **settings)
        prompts, texts = zip(*((prompt, text) for _, prompt, text in rows_of(groups)), strict=True)
        given = functions[size](list(prompts), list(texts), trainer_state=SimpleNamespace(global_step=1))
        return regrouped(groups, await given)

    return play


def trl_blocking(judge: calipers.Judge, **settings: Any) -> Play:
    function = reward_func(judge, num_generations=2, check=False, blocking=True, **settings)

    async def play(groups: Groups) -> list[Rewards]:
        prompts, texts = zip(*((prompt, text) for _, prompt, text in rows_of(groups)), strict=True)
        state = SimpleNamespace(global_step=1)
        return regrouped(groups, await asyncio.to_thread(function, list(prompts), list(texts), trainer_state=state))

    return play


def slime(judge: calipers.Judge, **settings: Any) -> Play:
    reward, status = group_rm(judge, **settings), SimpleNamespace(value="completed")

    def sample(number: int, prompt: str, text: str) -> Any:
        return SimpleNamespace(prompt=prompt, response=text, status=status, metadata={}, label=None, group_index=number)

    async def play(groups: Groups) -> list[Rewards]:
        samples = [[sample(*row) for row in rows_of(groups) if row[0] == number] for number in range(len(groups))]
        return [await reward(SimpleNamespace(group_rm=True), group) for group in samples]

    return play


def sky(judge: calipers.Judge, **settings: Any) -> Play:
    class Plain:
        tokenizer = SimpleNamespace(decode=lambda tokens, **_: "".join(map(chr, tokens)))

        async def generate(self, input_batch: Any) -> dict[str, Any]:
            texts = input_batch["texts"]
            return {"response_ids": [[ord(char) for char in text] for text in texts], "rewards": [0.0] * len(texts)}

    generator = skyrl.judged(Plain, judge, **settings)()

    async def play(groups: Groups) -> list[Rewards]:
        rows = rows_of(groups)
        batch = {
            "prompts": [[{"role": "user", "content": prompt}] for _, prompt, _ in rows],
            "trajectory_ids": [SimpleNamespace(instance_id=str(number)) for number, *_ in rows],
            "texts": [text for *_, text in rows],
        }
        return regrouped(groups, (await generator.generate(batch))["rewards"])

    return play


def easyr1(judge: calipers.Judge, **settings: Any) -> Play:
    reward = batch_reward(judge, **settings)

    async def play(groups: Groups) -> list[Rewards]:
        rows = [
            {"response": text, "ground_truth": {"id": number, "prompt": prompt}}
            for number, prompt, text in rows_of(groups)
        ]
        return regrouped(groups, [one["overall"] for one in await asyncio.to_thread(reward, rows)])

    return play


def swift(judge: calipers.Judge, **settings: Any) -> Play:
    reward = ms_swift.JudgeReward(judge, size=2, **settings)

    async def play(groups: Groups) -> list[Rewards]:
        rows = rows_of(groups)
        given = await reward(
            [text for *_, text in rows],
            messages=[conversation(prompt, text) for _, prompt, text in rows],
            prompt_id=[str(number) for number, *_ in rows],
            request_id=[str(number) for number in range(len(rows))],
        )
        return regrouped(groups, given)

    return play


def cohort(judge: calipers.Judge, **settings: Any) -> Play:
    """OpenRLHF's and NeMo-Gym's: one rollout at a time, each waiting for its group."""
    run = run_for_floats(judge, **settings)
    cohorts = complete_cohorts(run, size=2, deadline=60)

    async def play(groups: Groups) -> list[Rewards]:
        rewards: list[Rewards] = []
        for number, (_, texts) in enumerate(groups):
            run.require_running()
            members = ({"messages": [{"role": "assistant", "content": text}]} for text in texts)
            common = {"group_id": str(number)}
            joined = (cohorts.join("k", member, size=len(texts), group=common) for member in members)
            rewards.append([float_reward(one) for one in await asyncio.gather(*joined)])
        return rewards

    return play


def plain_rows(judge: calipers.Judge, **settings: Any) -> Play:
    """What NeMo-RL's batches go through, and an adapter of one's own."""
    run = run_for_floats(judge, **settings)

    async def play(groups: Groups) -> list[Rewards]:
        rows = [Row(number, text, prompt, name=str(number)) for number, prompt, text in rows_of(groups)]
        return regrouped(groups, await judged(run, rows, rewards_or_constant))

    return play


def cookbook(judge: calipers.Judge, **settings: Any) -> Play:
    class Inner:
        async def compute_group_rewards(self, trajectory_group: Any, env_group: Any) -> Any:
            return [(0.0, {})] * len(trajectory_group)

    def told(one: Any, _: Any) -> Any:
        return [{"role": "assistant", "content": one.transitions[0].text}]

    async def play(groups: Groups) -> list[Rewards]:
        rewards: list[Rewards] = []
        for _, texts in groups:  # a builder of its own for each group, as the cookbook has them
            builder = tinker.JudgedGroup(Inner(), judge, conversation=told, **settings)
            rollouts = [SimpleNamespace(transitions=[SimpleNamespace(reward=0.0, text=text)]) for text in texts]
            rewards.append([one for one, _ in await builder.compute_group_rewards(rollouts, [None] * len(texts))])
        return rewards

    return play


def episode(judge: calipers.Judge, **settings: Any) -> Play:
    def trace(number: int, text: str) -> Any:
        dumped = SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": text})
        one = SimpleNamespace(id=f"t{number}-{text}", ok=True, last_error=None, rewards={}, reward=0.0, info={})
        one.agent = SimpleNamespace(trainable=True, name="a")
        one.branches = [SimpleNamespace(messages=[dumped], tools=[], trainable=True)]
        one.record_reward = lambda name, value, _: one.rewards.__setitem__(name, value)
        return one

    async def play(groups: Groups) -> list[Rewards]:
        rewards: list[Rewards] = []
        for number, (_, texts) in enumerate(groups):
            traces = [trace(*one) for one in enumerate(texts)]
            await verifiers.judge_episode(SimpleNamespace(id=str(number), traces=traces), judge, **settings)
            rewards.append([one.rewards["judge"] for one in traces])
        return rewards

    return play


def step_of_rollouts(judge: calipers.Judge, **settings: Any) -> Play:
    def updated(update: dict[str, Any]) -> Any:
        return SimpleNamespace(**update)

    def rollout(number: int, prompt: str, text: str) -> Any:
        reply = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        data = {"request": {"messages": conversation(prompt, text)[:1]}, "response": reply, "http_status": 200}
        turn = SimpleNamespace(model_copy=updated)
        events = [{"event_type": "model_request", "data": data}]
        return SimpleNamespace(
            data_id=str(number), events=events, triplets=[turn], final_reward=None, model_copy=updated
        )

    async def play(groups: Groups) -> list[Rewards]:
        step = [rollout(*row) for row in rows_of(groups)]
        done = await asyncio.to_thread(agent_lightning.rewarded, step, judge, **settings)
        return regrouped(groups, [one.final_reward for one in done])

    return play


def workflow(judge: calipers.Judge, **settings: Any) -> Play:
    """AReaL's: an episode is rejected, or its rewards would be joined by AReaL's own function, which is not here."""

    class Tensor(list[Any]):
        def tolist(self) -> list[Any]:
            return list(self)

    class Reward(list[float]):
        def __add__(self, other: Any) -> Any:
            return [self[0] + other]

    async def play(groups: Groups) -> list[Rewards]:
        rewards: list[Rewards] = []
        for number, (prompt, texts) in enumerate(groups):
            waiting = [[ord(letter) for letter in text] for text in texts]

            class Once:
                tokenizer = SimpleNamespace(decode=lambda tokens, **_: "".join(map(chr, tokens)))

                async def arun_episode(self, engine: Any, data: Any, waiting: Any = waiting) -> Any:
                    tokens = waiting.pop(0)
                    return {
                        "input_ids": Tensor([Tensor([0, *tokens])]),
                        "loss_mask": Tensor([Tensor([0, *[1] * len(tokens)])]),
                        "rewards": Reward([0.0]),
                    }

            data = {"messages": [{"role": "user", "content": prompt}], "id": str(number)}
            made = areal.judged_group(Once, judge, size=len(texts), **settings)()
            try:
                rejected = await made.arun_episode(None, data) is None
            except ModuleNotFoundError:
                rejected = False
            rewards.append([None if rejected else 1.0] * len(texts))
        return rewards

    return play


@dataclass(frozen=True)
class Adapter:
    """``partly`` are the rewards of [20, unscored, 90], ``down`` those of a pair that the judge failed to judge."""

    make: Callable[..., Play]
    partly: Rewards
    down: Rewards | None
    name: str = "0"
    rewards: bool = True


EVEN = [0.5, 0.5]
ADAPTERS: dict[str, Adapter] = {
    "trl": Adapter(trl, [None] * 3, [None] * 2, "step 1, rows 1-2"),
    "trl, blocking": Adapter(trl_blocking, [], [None] * 2, "step 1, rows 1-2"),
    "slime": Adapter(slime, [0.5] * 3, EVEN),
    "skyrl": Adapter(sky, [0.5] * 3, EVEN),
    "easyr1": Adapter(easyr1, [0.5] * 3, EVEN),
    "ms-swift": Adapter(swift, [None] * 3, [None] * 2),
    "cohort": Adapter(cohort, [0.5] * 3, EVEN),
    "rows": Adapter(plain_rows, [0.5] * 3, EVEN),
    "tinker": Adapter(cookbook, [0.2, 0.55, 0.9], EVEN, ""),
    "verifiers": Adapter(episode, [0.2, None, 0.9], None),
    "agent-lightning": Adapter(step_of_rollouts, [0.2, None, 0.9], EVEN),
    "areal": Adapter(workflow, [None] * 3, [None] * 2, rewards=False),
}
