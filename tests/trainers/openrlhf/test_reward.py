"""OpenRLHF's two ways in, through its own executors, its own fan-out of a prompt and its own advantage code.

What needs vllm or flash-attn to be imported is taken from the installed source, function by function
(``engine_source``).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers.openrlhf import CallGroup, agent_executor, current_group
from engine_contract import require_exact_ties, require_failures_without_effect
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer, error
from trainer_adapters import Characters, tokens_of


async def test_calls_made_in_one_breath_by_one_task_are_a_group() -> None:
    together: dict[Any, CallGroup] = {}

    async def prompt(count: int) -> list[Any]:
        groups = [current_group(together) for _ in range(count)]
        await asyncio.sleep(0)
        return groups

    first, second = await asyncio.gather(prompt(3), prompt(2))
    assert len({id(group) for group in first}) == 1
    assert (first[0].size, second[0].size) == (3, 2)
    assert (await prompt(1))[0].size == 1


# --- inside OpenRLHF --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Any:
    """OpenRLHF's executors, its fan-out of a prompt, its experiences and its advantages, as they are installed."""
    agent = pytest.importorskip("openrlhf.utils.agent", reason="OpenRLHF is not installed (.ci/engines)")
    torch = pytest.importorskip("torch", reason="torch is not installed (.ci/engines)")
    from engine_source import folder_of, loaded, taken  # noqa: PLC0415 - for installed engines only

    trainer = folder_of("openrlhf") / "trainer"
    experience = loaded(trainer / "ppo_utils/experience.py").Experience
    penalties = loaded(trainer / "ppo_utils/length_penalty.py").apply_length_penalties
    models = taken(folder_of("openrlhf") / "models/utils.py", "compute_reward", torch=torch)
    fan_out = taken(
        trainer / "ray/vllm_engine.py",
        "RolloutRayActor.generate_responses",
        "_load_agent_executor",
        asyncio=asyncio,
        AgentExecutorBase=agent.AgentExecutorBase,
    )
    samples = taken(
        trainer / "ppo_utils/samples_generator.py",
        "SamplesGenerator._process_response_into_experience",
        torch=torch,
        Experience=experience,
    )
    maker = taken(
        trainer / "ppo_utils/experience_maker.py",
        "RemoteExperienceMaker.compute_advantages_and_returns",
        "RemoteExperienceMaker.get_cumulative_returns",
        "RemoteExperienceMaker.make_experience",
        torch=torch,
        time=time,
        logger=logging.getLogger("openrlhf"),
        ray=SimpleNamespace(put=lambda value: value),
        itertools=itertools,
        apply_length_penalties=penalties,
        compute_reward=models.compute_reward,
    )
    return SimpleNamespace(agent=agent, torch=torch, fan_out=fan_out, samples=samples, maker=maker)


class Tokenizer(Characters):
    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        import torch  # noqa: PLC0415 - as the engine's tokenizers do

        return {"input_ids": torch.tensor([tokens_of(text)])}


class Policy:
    """An engine whose rollouts say these texts, in this order; one that is None fails."""

    def __init__(self, texts: Sequence[str | None]) -> None:
        self.texts = list(texts)

    async def generate(self, tokens: list[int], sampling_params: Any, multi_modal_data: Any = None) -> Any:
        text = self.texts.pop(0)
        for _ in range(len(self.texts)):  # the last to begin is the first to finish
            await asyncio.sleep(0)
        if text is None:
            raise RuntimeError("the engine ran out of memory")
        output = SimpleNamespace(token_ids=tokens_of(text), text=text, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


async def rolled_out(
    engine: Any, executor: Any, texts: Sequence[str | None], prompt: str = "Joke!", *, turns: int = 1, label: str = ""
) -> list[Any]:
    """What OpenRLHF's rollout actor makes of a prompt: a response a sample. All samples' first turns come first."""
    actor: Any = Policy(texts)
    actor.executor = executor
    responses: list[Any] = await engine.fan_out.generate_responses(
        actor,
        prompt=prompt,
        label=label,
        sampling_params=SimpleNamespace(max_tokens=50, logprobs=None),
        max_length=500,
        hf_tokenizer=Tokenizer(),
        num_samples=len(texts) // turns,
    )
    return responses


def experiences(engine: Any, responses: Sequence[Any]) -> list[Any]:
    make = engine.samples._process_response_into_experience
    return [make(None, deepcopy(response), max_len=500) for response in responses]


def advantages(engine: Any, responses: Sequence[Any], estimator: str) -> list[float]:
    """What OpenRLHF trains on: the advantage of each response's last token."""
    made = experiences(engine, responses)
    for number, experience in enumerate(made):
        experience.index = [number]
        experience.kl = engine.torch.zeros(experience.action_mask.shape)
    advantage = SimpleNamespace(estimator=estimator, gamma=1.0, lambd=1.0, no_std_norm=False)
    rewarding = SimpleNamespace(clip_range=(-10, 10), overlong_buffer_len=None, stop_properly_penalty_coef=None)
    rollout = SimpleNamespace(n_samples_per_prompt=len(responses))
    args = SimpleNamespace(algo=SimpleNamespace(advantage=advantage), reward=rewarding, rollout=rollout)
    trainer = SimpleNamespace(
        strategy=SimpleNamespace(args=args),
        advantage_estimator=estimator,
        kl_ctl=SimpleNamespace(value=0.0),
        get_cumulative_returns=lambda *rest: engine.maker.get_cumulative_returns(None, *rest),
    )
    done = engine.maker.compute_advantages_and_returns(trainer, made)
    return [float(one.advantages[one.action_mask.bool()][-1]) for one in done]


PAIR = ("worth 20", "worth 90")


@pytest.mark.parametrize("estimator", ["group_norm", "dr_grpo", "rloo"])
async def test_openrlhf_trains_on_comparisons_and_never_on_a_failed_one(
    engine: Any, faulty: FaultyServer, estimator: str
) -> None:
    async def train(judge: Any, groups: Any) -> list[Any]:
        executor = agent_executor(judge)()
        prompts = ("Joke!", "Song!")
        waiting = [rolled_out(engine, executor, texts, prompts[number]) for number, texts in enumerate(groups)]
        return [advantages(engine, responses, estimator) for responses in await asyncio.gather(*waiting)]

    await require_failures_without_effect(faulty, train)
    await require_exact_ties(faulty, train)


async def test_a_file_of_two_lines_is_an_executor_that_judges_prompts_whole(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "agent.py"
    code = "from calipers.trainers.openrlhf import agent_executor\nAgentExecutor = agent_executor('embedded')\n"
    path.write_text(code, encoding="utf-8")
    executor = engine.fan_out._load_agent_executor(str(path))
    responses = await rolled_out(engine, executor, ["Oslo is the capital.", "No idea.", ""])
    rewards = [one["reward"] for one in responses]
    assert len(set(rewards)) > 1
    assert all(0 <= reward <= 1 for reward in rewards)


async def test_prompts_in_flight_together_are_not_mixed_even_if_they_are_equal(
    engine: Any, faulty: FaultyServer
) -> None:
    faulty.script(worth())
    executor = agent_executor(judge_at(faulty))()
    groups = await asyncio.gather(*(rolled_out(engine, executor, [f"worth {n}", "worth 90"]) for n in (10, 20, 30)))
    assert [[one["reward"] for one in group] for group in groups] == [[0.1, 0.9], [0.2, 0.9], [0.3, 0.9]]
    assert len(faulty.posts) == 3


async def test_a_rollout_that_fails_fails_its_prompt_as_in_openrlhf_and_leaves_no_one_waiting(
    engine: Any, faulty: FaultyServer
) -> None:
    faulty.script(worth())
    executor = agent_executor(judge_at(faulty))()
    with pytest.raises(RuntimeError, match="out of memory"):
        await rolled_out(engine, executor, ["worth 20", None, "worth 55"])
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    await asyncio.wait_for(asyncio.gather(*left), 10)
    assert [one["reward"] for one in await rolled_out(engine, executor, PAIR)] == [0.2, 0.9]


def instance(engine: Any, reward: Callable[[], float]) -> type:
    """An agent of two turns with a reward of its own."""

    class Agent(engine.agent.AgentInstanceBase):  # type: ignore[misc]  # the engine is not typed here
        def __init__(self) -> None:
            self.turns = 0

        async def step(self, state_dict: Any, **_: Any) -> dict[str, Any]:
            self.turns += 1
            done = self.turns == 2
            own = engine.torch.tensor(reward() if done else 0.0)
            return {"rewards": own, "environment_feedback": " [go on] ", "done": done, "extra_logs": {"turns": 2.0}}

    return Agent


async def test_an_agents_own_reward_is_kept_and_the_judge_sees_all_turns(engine: Any, faulty: FaultyServer) -> None:
    faulty.script(worth())
    own = iter((1.0, 0.25))
    executor = agent_executor(judge_at(faulty), agent=instance(engine, lambda: next(own)))()
    responses = await rolled_out(engine, executor, [*PAIR, "so", "so"], turns=2)
    texts = ["".join(map(chr, one["observation_tokens"])) for one in responses]
    judged = [0.2 if "worth 20" in text else 0.9 for text in texts]
    kept = [one["reward"] - score for one, score in zip(responses, judged, strict=True)]
    assert sorted(kept) == pytest.approx([0.25, 1.0])
    assert all(one["extra_logs"] == {"turns": 2.0} for one in responses)
    assert "[go on]" in str(faulty.posts[0]["messages"])
    executor = agent_executor(judge_at(faulty), agent=instance(engine, lambda: float("nan")))()
    with pytest.raises(InputError, match="a reward of nan"):
        await rolled_out(engine, executor, [*PAIR, "so", "so"], turns=2)


async def test_the_label_is_shown_as_a_reference_where_asked_for(engine: Any, faulty: FaultyServer) -> None:
    faulty.script(worth())
    for reference in (True, False):
        executor = agent_executor(judge_at(faulty), reference=reference)()
        await rolled_out(engine, executor, PAIR, label="The answer is 42.")
    assert ["The answer is 42." in str(post["messages"]) for post in faulty.posts] == [True, False]


async def test_a_judge_that_refuses_every_question_ends_the_run_by_either_way(
    engine: Any, faulty: FaultyServer
) -> None:
    """OpenRLHF catches no error of a rollout. Of the server's failures it makes rollouts without any reward."""
    faulty.script(error(404, "The model `judge` does not exist"))
    executor = agent_executor(judge_at(faulty))()
    for _ in range(2):
        with pytest.raises(ConfigError, match="every question was refused"):
            await rolled_out(engine, executor, PAIR)
    assert len(faulty.posts) == 1

    pytest.importorskip("msgspec", reason="the server's packages are not installed: pip install 'calipers[server]'")
    from served import served  # noqa: PLC0415 - needs the packages looked for above

    async with served(faulty, group_size=2) as server:
        responses = await rolled_out(engine, engine.agent.SingleTurnAgentExecutor(f"{server.url}/openrlhf"), PAIR)
    assert [one.get("reward") for one in responses] == [None] * 2
    sizes = SimpleNamespace(ring_attn_size=1, tensor_parallel_size=1)
    trainer = SimpleNamespace(strategy=SimpleNamespace(args=SimpleNamespace(ds=sizes)), reward_model_group=None)
    with pytest.raises(ValueError, match="reward_model_group is required when rewards are not precomputed"):
        engine.maker.make_experience(trainer, experiences(engine, responses))
