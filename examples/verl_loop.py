"""The whole loop with verl's parts on a CPU: scenarios, rollouts, a served judge, GRPO, a better policy, a figure.

    python examples/verl_loop.py [FOLDER]

Needs verl (pip install '.[verl,parquet]'), and matplotlib for the figure. verl's trainer needs a GPU and was not
run here. What is run of verl 0.9: its loader, on the settings of the launch script that this writes (FOLDER/train.sh),
and its GRPO advantages. The judge is the one of these settings, served here where verl would serve it.
In place of its rollouts and its actor, the one-layer policy of tiny.py samples and takes the step.

On a GPU, run FOLDER/train.sh, which names models. Nothing of this file is needed there.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from tiny import LENGTH, Policy, draw, opinion, scenarios, served
from transformers import GraniteConfig
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage
from verl.utils.config import validate_config

from calipers import Judge, run
from calipers.scenarios import Scenario
from calipers.scenarios.files import validation_path, write_split
from calipers.trainers.verl.agent_loop import require_groups, settings_in_config
from calipers.trainers.verl.judging import make_judge

GROUP, PROMPTS, STEPS = 8, 4, 50


def settings(data: Path, model: str, judge: str, url: str) -> dict[str, object]:
    """Return the settings of a run, whose rollouts are judged by a model that is served at ``url``."""
    rollout, actor = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
    return {
        "algorithm.adv_estimator": "grpo",
        "data.train_files": data,
        "data.val_files": validation_path(str(data)),
        "data.train_batch_size": PROMPTS,
        "data.max_prompt_length": 64,
        "data.max_response_length": LENGTH,
        "actor_rollout_ref.model.path": model,
        f"{rollout}.name": "vllm",
        f"{rollout}.n": GROUP,
        f"{rollout}.log_prob_micro_batch_size_per_gpu": 4,
        f"{actor}.ppo_mini_batch_size": PROMPTS,
        f"{actor}.ppo_micro_batch_size_per_gpu": 4,
        f"+{rollout}.agent.agent_loop_manager_class": "calipers.trainers.verl.AgentLoopManager",
        "+calipers.judge": f"vllm/{judge}",
        "+calipers.base_url": url,
        "trainer.n_gpus_per_node": 1,
        "trainer.total_training_steps": STEPS,
        "trainer.test_freq": -1,
        "trainer.val_before_train": "false",
        "trainer.logger": "[console]",
    }


def launch_script(given: Mapping[str, object]) -> str:
    """Return the script that trains with these settings on a GPU."""
    lines = (shlex.quote(f"{key}={value}") for key, value in given.items())
    return " \\\n  ".join(["#!/usr/bin/env bash\npython -m verl.trainer.main_ppo", *lines]) + "\n"


def composed(given: Mapping[str, object]) -> Any:
    """Return the settings as verl's own loader reads them. Raises what verl has against them."""
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer", overrides=[f"{key}={value}" for key, value in given.items()])
    validate_config(config, use_reference_policy=False, use_critic=False)
    OmegaConf.resolve(config)
    config.transfer_queue.enable = bool(config.trainer.use_v1)
    require_groups(config, settings_in_config(config))
    return config


def trained(policy: Policy, judge: Judge, asked: Sequence[Scenario]) -> list[float]:
    """Train the policy by the judge's rewards and verl's advantages; return the mean reward of each step."""
    history = []
    mask = torch.ones(PROMPTS * GROUP, LENGTH)
    for step in range(STEPS):
        batch = [asked[(PROMPTS * step + place) % len(asked)].text for place in range(PROMPTS)]
        answers = [policy.answers(text, GROUP) for text in batch]
        groups = [
            {
                "context": [{"role": "user", "content": text}],
                "trajectories": [[{"role": "assistant", "content": one}] for one in said],
            }
            for text, said in zip(batch, answers, strict=True)
        ]
        judged = run(judge.score_groups(groups, ordered=True))
        rewards = torch.zeros_like(mask)
        rewards[:, -1] = torch.tensor([row.reward for group in judged for row in group.trajectories])
        prompts = [text for text in batch for _ in range(GROUP)]
        advantages, _ = compute_grpo_outcome_advantage(rewards, mask, np.array(prompts))
        said = [answer for group in answers for answer in group]
        policy.learn(list(zip(prompts, said, advantages[:, 0].tolist(), strict=True)))
        history.append(float(rewards[:, -1].mean()))
    return history


def main(folder: str = "verl_loop") -> None:
    """Run the loop, print what came of it, and write the launch script and the figure."""
    out = Path(folder).absolute()
    out.mkdir(parents=True, exist_ok=True)
    parts, policy = scenarios(), Policy()
    write_split(parts, str(out / "train.parquet"), ())
    policy.tokens.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    policy.tokens.save_pretrained(out / "tiny")
    GraniteConfig(vocab_size=len(policy.tokens)).save_pretrained(out / "tiny")  # Qwen's would bring Qwen's own decoder
    given = settings(out / "train.parquet", "Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "http://localhost:8000/v1")
    script = launch_script(given)
    (out / "train.sh").write_text(script, encoding="utf-8")
    print(f"launch script, whose settings verl's loader accepts: {out / 'train.sh'}")
    before = policy.truth(parts.validation)
    with served(opinion, model=str(out / "tiny")) as url:
        config = composed(settings(out / "train.parquet", str(out / "tiny"), str(out / "tiny"), url))
        rewards = trained(policy, make_judge(settings_in_config(config)), parts.train)
    after = policy.truth(parts.validation)
    print(f"truth on held-out scenarios: {before:.2f} before, {after:.2f} after {len(rewards)} steps")
    draw(rewards, before, after, out / "loop.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
