"""Every adapter that runs without its engine, in one form: groups of texts in, each group's rewards out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import calipers
from calipers.trainers import agent_lightning, areal, ms_swift, skyrl, tinker, verifiers
from calipers.trainers.easyr1 import batch_reward
from calipers.trainers.run import JudgedRun, complete_cohorts, float_reward, run_for_floats
from calipers.trainers.slime import group_rm
from calipers.trainers.trl import reward_func

Rewards = Sequence[float | None]
Groups = Sequence[tuple[Any, Sequence[str]]]
"""Each group's prompt (a tuple: one for each rollout), and what its rollouts said."""

Play = Callable[..., Awaitable[list[Rewards]]]
"""Has groups judged. ``own`` is each rollout's own reward, and ``about`` the other columns of each row."""

NOTHING: Mapping[str, Any] = {}


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


class Characters:
    """A tokenizer to which a character is a token."""

    eos_token_id, pad_token_id = 0, 0

    def decode(self, tokens: Sequence[int], *_: Any, skip_special_tokens: bool = False) -> str:
        return "".join(chr(int(token)) for token in tokens)

    def apply_chat_template(self, conversation: Any, **_: Any) -> Any:
        if conversation and isinstance(conversation[0], list):
            return [self.apply_chat_template(one) for one in conversation]
        return [*tokens_of("".join(message["content"] for message in conversation)), 0]


def tokens_of(text: str) -> list[int]:
    return [ord(letter) for letter in text]


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


def slime_sample(text: str, *, prompt: str = "Tell a joke.", status: str = "completed", **fields: Any) -> Any:
    """What the adapter reads of a sample of slime's."""
    state = SimpleNamespace(value=status)
    return SimpleNamespace(prompt=prompt, response=text, status=state, **{"metadata": {}, "label": None, **fields})


def slime(judge: calipers.Judge, **settings: Any) -> Play:
    reward = group_rm(judge, **settings)

    async def play(groups: Groups, *, about: Mapping[str, Any] = NOTHING) -> list[Rewards]:
        samples: list[list[Any]] = [[] for _ in groups]
        for number, prompt, text in rows_of(groups):
            samples[number].append(slime_sample(text, prompt=prompt, group_index=number, metadata=about))
        return [await reward(SimpleNamespace(group_rm=True), group) for group in samples]

    return play


class SkyGenerator:
    """A generator of SkyRL's form, whose rollouts say the ``texts`` of the batch and have its ``own`` rewards."""

    tokenizer = Characters()

    async def generate(self, input_batch: Any, disable_tqdm: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - theirs
        said = {"response_ids": list(map(tokens_of, input_batch["texts"])), "rewards": list(input_batch["own"])}
        return {**said, **input_batch.get("more", {})}


def sky(judge: calipers.Judge, **settings: Any) -> Play:
    generator = skyrl.judged(SkyGenerator, judge, **settings)()

    async def play(groups: Groups, *, own: float = 0.0, about: Mapping[str, Any] = NOTHING) -> list[Rewards]:
        rows = rows_of(groups)
        batch = {
            "prompts": [[{"role": "user", "content": prompt}] for _, prompt, _ in rows],
            "trajectory_ids": [SimpleNamespace(instance_id=str(number)) for number, *_ in rows],
            "env_extras": [about] * len(rows),
            "texts": [text for *_, text in rows],
            "own": [own] * len(rows),
        }
        return regrouped(groups, (await generator.generate(batch))["rewards"])

    return play


def easyr1(judge: calipers.Judge, **settings: Any) -> Play:
    reward = batch_reward(judge, **settings)

    async def play(groups: Groups, *, about: Mapping[str, Any] = NOTHING) -> list[Rewards]:
        rows = [
            {"response": text, "ground_truth": {"id": number, "prompt": prompt, **about}}
            for number, prompt, text in rows_of(groups)
        ]
        return regrouped(groups, [one["overall"] for one in await asyncio.to_thread(reward, rows)])

    return play


def swift(judge: calipers.Judge, **settings: Any) -> Play:
    reward = ms_swift.JudgeReward(JudgedRun(judge, **settings), size=2)

    async def play(groups: Groups, *, about: Mapping[str, Any] = NOTHING) -> list[Rewards]:
        rows = rows_of(groups)
        given = await reward(
            [text for *_, text in rows],
            messages=[conversation(prompt, text) for _, prompt, text in rows],
            prompt_id=[str(number) for number, *_ in rows],
            request_id=[str(number) for number in range(len(rows))],
            **{name: [value] * len(rows) for name, value in about.items()},
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


def cookbook(judge: calipers.Judge, **settings: Any) -> Play:
    async def play(groups: Groups, *, own: float = 0.0) -> list[Rewards]:
        class Inner:
            async def compute_group_rewards(self, trajectory_group: Any, env_group: Any) -> Any:
                return [(own, {})] * len(trajectory_group)

        def messages(rollout: Any, _: Any) -> Any:
            return [{"role": "assistant", "content": rollout.transitions[0].text}]

        rewards: list[Rewards] = []
        for _, texts in groups:  # a builder of its own for each group, as the cookbook has them
            builder = tinker.JudgedGroup(Inner(), judge, conversation=messages, **settings)
            rollouts = [SimpleNamespace(transitions=[SimpleNamespace(reward=0.0, text=text)]) for text in texts]
            rewards.append([one for one, _ in await builder.compute_group_rewards(rollouts, [None] * len(texts))])
        return rewards

    return play


def trace_of(text: str, *, number: int = 0, own: float = 0.0, ok: bool = True) -> Any:
    """What the adapter touches of a trace of verifiers."""
    dumped = SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": text})
    branch = SimpleNamespace(messages=[dumped], tools=[], trainable=True)
    trace = SimpleNamespace(id=f"t{number}-{text}", ok=ok, last_error=None, rewards={}, info={}, branches=[branch])
    trace.reward, trace.agent = own, SimpleNamespace(trainable=True)
    trace.record_reward = trace.rewards.__setitem__
    return trace


def episode(judge: calipers.Judge, **settings: Any) -> Play:
    run = JudgedRun(judge, min_scored=1, **settings)

    async def play(groups: Groups, *, own: float = 0.0) -> list[Rewards]:
        rewards: list[Rewards] = []
        for number, (_, texts) in enumerate(groups):
            traces = [trace_of(text, number=at, own=own) for at, text in enumerate(texts)]
            await verifiers.judge_episode(run, SimpleNamespace(id=str(number), traces=traces))
            rewards.append([None if (one := trace.rewards["judge"]) is None else own + one for trace in traces])
        return rewards

    return play


def agent_call(*texts: str, answered: bool = True) -> dict[str, Any]:
    """Agent-Lightning's record of a model call: prompt, then assistant and user in turns; the last is the reply."""
    roles = ["user", *(("assistant", "user") * len(texts))]
    messages = [{"role": role, "content": text} for role, text in zip(roles, ("Tell a joke.", *texts), strict=False)]
    response = {"choices": [{"message": messages.pop()}]} if answered else {"error": "scripted"}
    return {"event_type": "model_request", "data": {"request": {"messages": messages}, "response": response}}


@dataclass
class AgentRollout:
    """What the adapter touches of Agent-Lightning's completed rollouts."""

    data_id: str
    events: Sequence[Any]
    final_reward: float | None = None
    triplets: Sequence[Any] = (SimpleNamespace(model_copy=lambda update: SimpleNamespace(**update)),)

    def model_copy(self, *, update: Mapping[str, Any]) -> AgentRollout:
        return AgentRollout(**{**vars(self), **update})


def step_of_rollouts(judge: calipers.Judge, **settings: Any) -> Play:
    run = JudgedRun(judge, min_scored=agent_lightning.MIN_SCORED, **settings)

    async def play(groups: Groups, *, own: float | None = None) -> list[Rewards]:
        step = [AgentRollout(str(number), [agent_call(text)], own) for number, _, text in rows_of(groups)]
        done = await asyncio.to_thread(agent_lightning.rewarded, run, step)
        return regrouped(groups, [one.final_reward for one in done])

    return play


class Tensor(list[Any]):
    """As much of a tensor as AReaL's adapter reads."""

    def tolist(self) -> list[Any]:
        return list(self)

    def __add__(self, other: Any) -> Any:
        return Tensor(one + other for one in self)


def areal_episode(prompt: str, text: str, own: float = 0.0) -> dict[str, Any]:
    """The tensors of a rollout of AReaL: a prompt that was given, and a text that was sampled."""
    tokens, mask = tokens_of(prompt + text), [0] * len(prompt) + [1] * len(text)
    return {"input_ids": [Tensor(tokens)], "loss_mask": [Tensor(mask)], "rewards": Tensor([own])}


def areal_reward(*_: object, **__: object) -> float:
    """A ``reward_fn``, which AReaL calls in another process."""
    return 1.0


def workflow(judge: calipers.Judge, **settings: Any) -> Play:
    class Once:
        tokenizer = Characters()

        async def arun_episode(self, waiting: list[Any], data: Any) -> Any:
            return areal_episode(data["messages"][0]["content"], *waiting.pop(0))

    joining = SimpleNamespace(concat_padded_tensors=lambda totals: [one["rewards"][0] for one in totals])
    made: dict[int, Any] = {}

    async def play(groups: Groups, *, own: float = 0.0, about: Mapping[str, Any] = NOTHING) -> list[Rewards]:
        rewards: list[Rewards] = []
        for number, (prompt, texts) in enumerate(groups):
            if len(texts) not in made:
                made[len(texts)] = areal.judged_group(Once, judge, size=len(texts), **settings)
            data = {**about, "messages": [{"role": "user", "content": prompt}], "id": str(number)}
            with patch.dict(sys.modules, {"areal.utils.data": joining}):  # AReaL is not here
                done = await made[len(texts)]().arun_episode([(text, own) for text in texts], data)
            rewards.append([None] * len(texts) if done is None else done)
        return rewards

    return play


@dataclass(frozen=True)
class Adapter:
    """``partly`` are the rewards of [20, unscored, 90], ``down`` those of a pair that the judge failed to judge (None:
    an error). ``alone`` is the reward of a group of one (None: an error). ``rubrics`` and ``own`` say whether a row
    may have a rubric, and a rollout a reward of its own.
    """

    make: Callable[..., Play]
    partly: Rewards
    down: Rewards | None
    name: str = "0"
    alone: float | None = 0.5
    rubrics: bool = False
    own: bool = False


EVEN = [0.5, 0.5]
ADAPTERS: dict[str, Adapter] = {
    "trl": Adapter(trl, [None] * 3, [None] * 2, "step 1, rows 1-2", alone=None),
    "slime": Adapter(slime, [0.5] * 3, EVEN, rubrics=True),
    "skyrl": Adapter(sky, [0.5] * 3, EVEN, alone=0.0, rubrics=True, own=True),
    "easyr1": Adapter(easyr1, [0.5] * 3, EVEN, rubrics=True),
    "ms-swift": Adapter(swift, [None] * 3, [None] * 2, rubrics=True),
    "cohort": Adapter(cohort, [0.5] * 3, EVEN),
    "tinker": Adapter(cookbook, [0.2, 0.55, 0.9], [0.0, 0.0], "", own=True),
    "verifiers": Adapter(episode, [0.2, None, 0.9], None, own=True),
    "agent-lightning": Adapter(step_of_rollouts, [0.2, None, 0.9], EVEN, alone=None),
    "areal": Adapter(workflow, [None] * 3, [None] * 2, rubrics=True, own=True),
}


class Seen:
    """A watcher of the judge that keeps the groups it is shown."""

    def __init__(self) -> None:
        self.groups: list[Any] = []

    def seen(self, group: Any, result: Any) -> Any:
        self.groups.append(group)
        return result
