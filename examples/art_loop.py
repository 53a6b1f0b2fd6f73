"""The whole loop by ART's own API on a CPU: scenarios, rollouts, the judge, GRPO, a better policy, a figure.

    python examples/art_loop.py [FOLDER]

Needs ART (pip install '.[art]' 'openai<3' torch transformers==5.2.0), and matplotlib for the figure. ART's own
are the model, its OpenAI client, `gather_trajectory_groups`, and what makes tokens and advantages of judged
groups. ART's own backends train with Unsloth or Megatron on a GPU, which was not run here. In their place stands
`TinyBackend`, which keeps ART's Backend protocol: it serves the one-layer policy of tiny.py, and takes GRPO's step.

On a GPU, `TinyBackend()` becomes `art.local.LocalBackend()`, BASE a model's name, and `WordJudge()` a judge's. The
other lines of `trained` stay.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

# Otherwise LiteLLM, which ART imports, fetches its price list from the network first.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import art
import torch
from art.preprocessing.tokenize import tokenize_trajectory_groups
from art.types import TrainResult
from tiny import Policy, WordJudge, draw, scenarios, served

import calipers
from calipers.scenarios import Scenario
from calipers.trainers.art import ruler_score_group

BASE = "tiny"
GROUP, PROMPTS, STEPS = 8, 3, 40


class TinyBackend:
    """ART's Backend protocol over a policy in this process."""

    def __init__(self) -> None:
        self.policy = Policy()
        self.policy.tokens.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
        self._step = 0
        self._open = ExitStack()

    async def register(self, model: Any) -> None:
        """Know a model; there is no more than one."""

    async def _prepare_backend_for_training(self, *_: Any) -> tuple[str, str]:
        return self._open.enter_context(served(self.policy.answer)), "no-key"

    def _model_inference_name(self, model: Any, step: int | None = None) -> str:
        del step
        return str(model.name)

    async def _get_step(self, model: Any) -> int:
        del model
        return self._step

    async def train(self, model: Any, trajectory_groups: Iterable[art.TrajectoryGroup], **_: Any) -> TrainResult:
        """Take GRPO's step by ART's own advantages of the groups."""
        del model
        losses = []
        for one in tokenize_trajectory_groups(self.policy.tokens, list(trajectory_groups), True, True):
            ids, said = torch.tensor([one.token_ids]), torch.tensor(one.assistant_mask[1:])
            chances = torch.log_softmax(self.policy.model(ids).logits[0, :-1], dim=-1)
            chosen = chances.gather(1, ids[0, 1:, None]).squeeze(1)
            losses.append(-one.advantage * (chosen * said).sum() / said.sum())
        if losses:
            self.policy.optimizer.zero_grad()
            torch.stack(losses).mean().backward()
            self.policy.optimizer.step()
        self._step += 1
        return TrainResult(self._step, {"trained": float(len(losses))})

    async def close(self) -> None:
        """End the server of the policy."""
        self._open.close()


async def rollout(model: Any, prompt: str) -> art.Trajectory:
    """Return a rollout: the prompt, and what the model answers through ART's client."""
    asked: Any = {"role": "user", "content": prompt}
    completion = await model.openai_client().chat.completions.create(model=model.get_inference_name(), messages=[asked])
    answer = completion.choices[0].message.content
    return art.Trajectory(messages_and_choices=[asked, {"role": "assistant", "content": answer}])


async def trained(model: Any, backend: Any, asked: Sequence[Scenario]) -> list[float]:
    """Train the model by the judge's rewards; return the mean reward of each step."""
    await model.register(backend)
    judge = calipers.Judge(WordJudge())
    rewards = []
    for step in range(STEPS):
        batch = [asked[(PROMPTS * step + place) % len(asked)] for place in range(PROMPTS)]
        groups = await art.gather_trajectory_groups(
            (art.TrajectoryGroup(rollout(model, one.text) for _ in range(GROUP)) for one in batch),
            after_each=lambda group: ruler_score_group(group, judge, swallow_exceptions=True),
            pbar_desc=None,
        )
        result = await backend.train(model, groups, learning_rate=1e-2)
        await model.log(groups, metrics=result.metrics, step=result.step, split="train")
        judged = [trajectory.reward for group in groups for trajectory in group]
        rewards.append(sum(judged) / len(judged))
    await backend.close()
    return rewards


def main(folder: str = "art_loop") -> None:
    """Run the loop, print what came of it, and write the figure."""
    parts, backend = scenarios(), TinyBackend()
    model: Any = art.TrainableModel(name="words", project="example", base_model=BASE, base_path=folder)
    before = backend.policy.truth(parts.validation)
    rewards = asyncio.run(trained(model, backend, parts.train))
    after = backend.policy.truth(parts.validation)
    print(f"truth on held-out scenarios: {before:.2f} before, {after:.2f} after {len(rewards)} steps")
    draw(rewards, before, after, Path(folder) / "loop.png")


if __name__ == "__main__":
    main(*sys.argv[1:2])
