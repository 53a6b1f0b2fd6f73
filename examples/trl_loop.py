"""The whole loop on a CPU, in seconds: scenarios, first rollouts, the judge, GRPO in TRL, a better policy, a figure.

    python examples/trl_loop.py [FOLDER]

Needs TRL (pip install '.[trl]'), and matplotlib for the figure. No key, no network, no download: what stands for
the policy, the judge and the writer of scenarios is in tiny.py. In earnest these three are names of models; every other
line stays.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import datasets
import trl
from tiny import LENGTH, Policy, WordJudge, draw, scenarios

import calipers
from calipers.scenarios import KINDS, Scenario, kind_of
from calipers.trainers.trl import reward_func

GROUP = 8


async def first_rollouts(policy: Policy, asked: Sequence[Scenario]) -> dict[str, list[float]]:
    """Return the judge's scores of a group of rollouts of each scenario."""
    groups = [
        {
            "group_id": one.id,
            "context": [{"role": "user", "content": one.text}],
            "trajectories": [
                {"id": str(place), "messages": [{"role": "assistant", "content": answer}]}
                for place, answer in enumerate(policy.answers(one.text, GROUP))
            ],
        }
        for one in asked
    ]
    found = {}
    async for result in calipers.Judge(WordJudge()).score_groups(groups, ordered=True):
        found[result.group_id] = [one.score for one in result.trajectories if one.score is not None]
    return found


def trained(policy: Policy, asked: Sequence[Scenario], folder: Path) -> list[float]:
    """Train the policy by the judge's rewards with TRL's GRPO; return the mean reward of each step."""
    config = trl.GRPOConfig(
        output_dir=str(folder), num_generations=GROUP, per_device_train_batch_size=4 * GROUP, max_steps=60,
        learning_rate=1e-2, lr_scheduler_type="constant", beta=0.0,
        max_completion_length=LENGTH, temperature=1.0, logging_steps=1, seed=7,
        generation_kwargs={"min_new_tokens": LENGTH}, gradient_checkpointing=False,
        save_strategy="no", report_to=[], use_cpu=True, bf16=False, disable_tqdm=True,
    )  # fmt: skip
    runner = trl.GRPOTrainer(
        model=policy.model,
        args=config,
        train_dataset=datasets.Dataset.from_dict({"prompt": [one.text for one in asked]}),
        reward_funcs=reward_func(calipers.Judge(WordJudge()), num_generations=GROUP, only_reward=True),
        processing_class=policy.tokens,
    )
    runner.train()
    return [float(entry["reward"]) for entry in runner.state.log_history if "reward" in entry]


def main(folder: str = "trl_loop") -> None:
    """Run the loop, print what came of each part, and write the figure."""
    parts = scenarios()
    policy = Policy()
    scores = asyncio.run(first_rollouts(policy, parts.train))
    kept = [one for one in parts.train if kind_of(scores[one.id], solved=0.5) == KINDS[0]]
    print(f"{len(parts.train)} scenarios for training, of which {len(kept)} are kept; {len(parts.validation)} held out")
    before = policy.truth(parts.validation)
    rewards = trained(policy, kept, Path(folder))
    after = policy.truth(parts.validation)
    print(f"truth on held-out scenarios: {before:.2f} before, {after:.2f} after {len(rewards)} steps")
    draw(rewards, before, after, Path(folder) / "loop.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
