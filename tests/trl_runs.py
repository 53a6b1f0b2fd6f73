"""Runs of TRL's own trainers on a policy of random weights, made on the spot: a CPU, some seconds, and no download.

As a script, one process of a distributed run: python tests/trl_runs.py FOLDER JUDGE_URL
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import datasets
import pytest
import trl

from calipers import Judge
from calipers.errors import CalipersError, ConfigError
from calipers.trainers.process import installed_version
from calipers.trainers.trl import reward_func
from calipers.trainers.trl.ranks import Ranks
from calipers.trainers.trl.reward import AWAITS, EXCLUDES_MISSING
from tiny_policy import policy_of, tokenizer_of

PROMPTS = ("one plus one", "two plus two", "red or blue", "up or down")
WORDS = (*" ".join(PROMPTS).split(), *(f"w{number}" for number in range(80)))
TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
QWEN = Path(trl.__file__).with_name("chat_templates") / "qwen2_5.jinja"
"""A template with tools. TRL before 1.0 has none."""


def tokenizer(template: str = TEMPLATE) -> Any:
    return tokenizer_of(WORDS, template)


@dataclass(frozen=True)
class Run:
    """What a trainer did in all its steps: everyone's rewards by function, everyone's advantages, logged metrics."""

    rewards: dict[str, list[float]]
    advantages: list[float]
    metrics: dict[str, list[float]]
    completions: list[Any]


def train(
    functions: list[Callable[..., Any]],
    folder: Path,
    *,
    trainer: str = "GRPO",
    steps: int = 1,
    conversational: bool = False,
    columns: dict[str, list[Any]] | None = None,
    evaluate: bool = False,
    template: str = TEMPLATE,
    made_with: dict[str, Any] | None = None,
    **settings: Any,
) -> Run:
    """A run in which nothing is learned (the learning rate is 0), so that runs differ in rewards only."""
    prompts: list[Any] = list(PROMPTS)
    if conversational:
        prompts = [[{"role": "user", "content": prompt}] for prompt in prompts]
    data = datasets.Dataset.from_dict({"prompt": prompts, **(columns or {})})
    usual = {
        "output_dir": str(folder), "learning_rate": 0.0, "beta": 0.0, "max_steps": steps, "num_generations": 4,
        "per_device_train_batch_size": 16, "per_device_eval_batch_size": 16, "max_completion_length": 6,
        "gradient_checkpointing": False, "logging_steps": 1, "save_strategy": "no", "report_to": [],
        "use_cpu": True, "bf16": False, "disable_tqdm": True, "seed": 7,
    }  # fmt: skip
    given: dict[str, Any] = {
        "model": policy_of(tokenizer()),
        "reward_funcs": functions,
        "args": getattr(trl, f"{trainer}Config")(**usual | settings),
        "train_dataset": data,
        "eval_dataset": data,
        "processing_class": tokenizer(template),
    }
    runner = getattr(trl, f"{trainer}Trainer")(**given | (made_with or {}))
    if evaluate:
        runner.evaluate()
    else:
        runner.train()
    kept = getattr(runner, "_logs", None) or runner._textual_logs  # as it was before TRL 0.21
    logged = runner.state.log_history
    names = {name for entry in logged for name in entry}
    return Run(
        rewards={name: list(values) for name, values in kept["rewards"].items()},
        advantages=list(kept["advantages"]),
        metrics={name: [entry[name] for entry in logged if name in entry] for name in names},
        completions=list(kept["completion"]),
    )


def close(numbers: Sequence[float]) -> Any:
    """Equal to these as float32, which TRL works in."""
    return pytest.approx(list(numbers), rel=1e-4, abs=1e-5, nan_ok=True)


def advantages_of(
    rewards: Sequence[float], *, deviation: Callable[[list[float]], float] = stdev, epsilon: float = 1e-4
) -> Any:
    """(r - mean) / (std + epsilon) in each group of four, of the rows that have a reward; 0 for the others."""
    found = []
    for start in range(0, len(rewards), 4):
        group = rewards[start : start + 4]
        known = [reward for reward in group if not math.isnan(reward)]
        scale = deviation(known) + epsilon
        found += [0.0 if math.isnan(reward) else (reward - fmean(known)) / scale for reward in group]
    return close(found)


def main(folder: Path, url: str) -> None:
    """What each process of a distributed run does, and writes down. The server answers for each model in its own
    way.
    """
    found: dict[str, Any] = {}
    version = installed_version("trl") or EXCLUDES_MISSING

    def run(name: str, rewards: list[Callable[..., Any]], **settings: Any) -> None:
        settings = {"per_device_train_batch_size": 2, "steps_per_generation": 1, **settings}
        found[name] = asdict(train(rewards, folder / "run", **settings))

    def judged_by(model: str, *, only_reward: bool = False, blocking: bool = False, **options: Any) -> Any:
        judge = Judge(f"vllm/{model}", base_url=url, calls={"attempts": 1})
        possible = {
            "only_reward": only_reward and version >= EXCLUDES_MISSING,
            "blocking": blocking or version < AWAITS,
        }
        return reward_func(judge, num_generations=4, **possible, **options)  # type: ignore[arg-type]

    run("whole", [judged_by("plain", only_reward=True)], per_device_train_batch_size=4)
    run("split", [judged_by("plain", only_reward=True)])
    run("silent", [judged_by("silent", only_reward=True)])
    run("failing", [judged_by("failing", only_reward=True)])
    run("blocking", [judged_by("plain", only_reward=True, blocking=True)])
    run("two", [judged_by("plain", name="first"), judged_by("silent", name="second")])
    run("uneven", [judged_by("counted", only_reward=True)], per_device_train_batch_size=6)
    found["told"] = told_apart()
    try:
        run("refused", [judged_by("refused", only_reward=True)])
    except ConfigError as error:
        found["refused"] = str(error)
    (folder / f"{os.environ['RANK']}.json").write_text(json.dumps(found))


def told_apart() -> list[str]:
    """What each process hears when the second one cannot go on."""
    ranks = Ranks()

    async def second_fails() -> str:
        if ranks.rank:
            raise ConfigError("no such column")
        return "fine"

    try:
        return asyncio.run(ranks.exchange(second_fails()))
    except CalipersError as error:
        return [type(error).__name__, str(error)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
