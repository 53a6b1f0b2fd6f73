"""The whole loop with verifiers' and prime-rl's parts on a CPU: rollouts, the judge, GRPO, a better policy, a figure.

    PYTHONPATH=PRIME_RL/src:PRIME_RL/packages/prime-rl-configs/src python examples/prime_rl_loop.py [FOLDER]

Needs verifiers 0.4, torch, transformers, prime-rl's source (it is on no package index), and matplotlib for the figure.
prime-rl's trainer and vLLM need GPUs, and were not run here. What is run: verifiers' own episodes of the environment in
prime_rl_words.py, which calipers scores; prime-rl's loader, on prime_rl_words.toml; and prime-rl's own `grpo`, which
gives each rollout its advantage. In place of vLLM and the trainer, the one-layer policy of tiny.py answers and learns.

On GPUs: the command in prime_rl_words.toml. Nothing of this file is needed there.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from prime_rl.configs.algorithm import GRPOAlgoConfig
from prime_rl.configs.rl import RLConfig
from prime_rl.orchestrator.algo import ALGORITHM_CLASSES
from prime_rl.orchestrator.algo.base import iter_trainable_traces
from prime_rl.utils.config import cli
from prime_rl_words import HELD_OUT, Judged
from tiny import ASKED, Policy, draw, fitting, served

CONFIG = Path(__file__).with_suffix(".toml").with_stem("prime_rl_words")
PROMPTS, STEPS = 4, 40


def truth(policy: Policy) -> float:
    """Return the mean truth of answers to prompts that are not trained on."""
    prompts = [prompt for asked in ASKED.values() for prompt in asked[-HELD_OUT:]]
    values = [fitting(prompt, answer) for prompt in prompts for answer in policy.answers(prompt, 16)]
    return sum(values) / len(values)


async def advantages(policy: Policy, episodes: Sequence[Any]) -> list[tuple[str, str, float]]:
    """Return prompt, answer and prime-rl's advantage of each rollout that it trains on."""
    for trace in (trace for episode in episodes for trace in episode.traces):
        for node in trace.nodes:  # what prime-rl's own client of vLLM fills in
            node.token_ids = policy.tokens(str(node.message.content))["input_ids"]
            node.mask = [node.sampled] * len(node.token_ids)
            node.logprobs = [0.0] * len(node.token_ids) if node.sampled else []
    grpo = ALGORITHM_CLASSES["grpo"](GRPOAlgoConfig(), None)
    for episode in episodes:  # group_size = 1: the siblings are those of the episode
        await grpo.score_group([episode])
    found = []
    for _, trace in iter_trainable_traces(list(episodes)):
        prompt, answer = trace.nodes[0], trace.nodes[-1]
        found.append((str(prompt.message.content), str(answer.message.content), float(answer.advantages[0])))
    return found


async def trained(policy: Policy, config: Any, url: str) -> list[float]:
    """Train the policy on episodes of the configured environment; return the mean reward of each step."""
    client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY_NEEDED")
    context = vf.ModelContext(client=client, model="tiny", sampling=vf.SamplingConfig())
    env, history = Judged(config), []
    tasks = list(env.taskset)
    async with env.serving():
        for step in range(STEPS):
            batch = [tasks[(PROMPTS * step + place) % len(tasks)] for place in range(PROMPTS)]
            episodes = [await env.run_episode(task, context) for task in batch]
            policy.learn(await advantages(policy, episodes))
            rewards = [trace.reward for episode in episodes for trace in episode.traces]
            history.append(sum(rewards) / len(rewards))
    return history


def main(folder: str = "prime_rl_loop") -> None:
    """Run the loop, print what came of it, and write the figure."""
    config = cli(RLConfig, args=["@", str(CONFIG)])
    source = config.orchestrator.train.source[0]
    print(f"{CONFIG.name} is accepted by prime-rl's loader: episodes of {source.env.n} rollouts")
    policy = Policy()
    before = truth(policy)
    with served(policy.answer) as url:
        rewards = asyncio.run(trained(policy, source.env, url))
    after = truth(policy)
    print(f"truth on held-out scenarios: {before:.2f} before, {after:.2f} after {len(rewards)} steps")
    draw(rewards, before, after, Path(folder) / "loop.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
