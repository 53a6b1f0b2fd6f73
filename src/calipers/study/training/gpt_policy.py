"""The GPT as a policy of a study: pre-trained on the spot, then trained with real GRPO. Needs PyTorch.

In the first part of pre-training responses have at most one filler. Attention then finds the digit that is asked for
within some hundred steps; among long responses it takes thousands.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own name for it
from numpy.typing import NDArray

from calipers.study.training.gpt import Parameters, gumbel_noise, new_policy, response_logits, response_mask, sample
from calipers.study.training.grpo import Learner, kl_between
from calipers.study.training.rollouts import EVALUATION, POLICY, Rollouts, generator_of, response_figures, seed_of
from calipers.study.training.settings import Arm, Pretraining, Size, Study
from calipers.study.training.task import RESPONSE_LENGTH, Tokens, draw_prompts, draw_responses, features

_WARM_UP: Final = 50
_COOL_DOWN: Final = 0.3
_SHORT_FILLERS: Final = 1


class GptPolicy:
    """The GPT in an arm's run with ``seed``, from the first policy of that seed, which is kept in ``folder``."""

    def __init__(self, study: Study, arm: Arm, seed: int, folder: Path) -> None:
        torch.set_num_threads(1)  # the same digits on any number of cores; runs are what is made at the same time
        self._study, self._seed = study, seed
        self._learner = Learner(first_policy(study, seed, folder), study.gpt, arm.training)

    def respond(self, prompts: Tokens, seed: int) -> Rollouts:
        """Sample a response to each of the prompts."""
        noise = gumbel_noise(len(prompts), seed)
        responses = sample(self._learner.parameters, self._study.gpt, torch.from_numpy(prompts), noise)
        return Rollouts.of(prompts, responses.numpy())

    def learn(self, rollouts: Rollouts, advantages: NDArray[Any]) -> dict[str, float]:
        """Make the step's updates of the GPT."""
        on_tensor = torch.from_numpy(advantages.astype(np.float32))
        asked, responses = torch.from_numpy(rollouts.prompts), torch.from_numpy(rollouts.responses)
        return asdict(self._learner.step(asked, responses, on_tensor))

    def evaluate(self) -> dict[str, float]:
        """Return the figures of the answers to held-out prompts, one each; arms of a seed share the sampling noise."""
        prompts = draw_prompts(self._study.evaluation.prompts, generator_of(self._seed, EVALUATION))
        asked, noise = torch.from_numpy(prompts), gumbel_noise(len(prompts), seed_of(self._seed, EVALUATION))
        now, size = self._learner.parameters, self._study.gpt
        responses = sample(now, size, asked, noise)
        kl = kl_between(now, self._learner.initial, size, asked, responses)
        return {**response_figures(features(prompts, responses.numpy())), "kl": kl}


def first_policy(study: Study, seed: int, folder: Path) -> Parameters:
    """Return the pre-trained first policy of a study's runs with ``seed``; it is made once, and kept in ``folder``."""
    policy_seed = seed if study.pretraining.seed is None else study.pretraining.seed
    key = json.dumps([asdict(study.gpt), asdict(study.pretraining), policy_seed], sort_keys=True)
    path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.pt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        torch.save(pretrain(study.gpt, study.pretraining, seed_of(policy_seed, POLICY)), part)
        part.replace(path)
    parameters: Parameters = torch.load(path, weights_only=True)
    return parameters


def pretrain(size: Size, how: Pretraining, seed: int) -> Parameters:
    """Return a pre-trained GPT; the same ``seed`` gives the same one, to the bit, on the same machine."""
    torch.set_num_threads(1)
    parameters = {name: value.requires_grad_() for name, value in new_policy(size, seed).items()}
    optimizer = torch.optim.AdamW(parameters.values(), lr=how.learning_rate, betas=(0.9, 0.95), fused=True)
    generator = np.random.default_rng([seed, 1])
    for step in range(how.steps):
        for group in optimizer.param_groups:
            group["lr"] = how.learning_rate * _share_of_rate(step, how.steps)
        most = {"most_fillers": _SHORT_FILLERS} if step < how.short * how.steps else {}
        prompts = draw_prompts(how.batch, generator)
        responses = torch.from_numpy(draw_responses(prompts, generator, how.right, **most))
        mask = response_mask(responses)
        longest = min(int(mask.sum(dim=1).max()), RESPONSE_LENGTH)
        responses, mask = responses[:, :longest], mask[:, :longest]
        logits = response_logits(parameters, size, torch.from_numpy(prompts), responses)
        losses = F.cross_entropy(logits.flatten(0, 1), responses.flatten(), reduction="none")
        loss = (losses * mask.flatten()).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        optimizer.step()
    return {name: value.detach() for name, value in parameters.items()}


def _share_of_rate(step: int, steps: int) -> float:
    """Return the learning rate of pre-training's ``step`` relative to the highest: up, constant, down to 0."""
    return min(1.0, (step + 1) / _WARM_UP, (steps - step) / (_COOL_DOWN * steps))
