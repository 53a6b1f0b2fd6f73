"""Pre-training of the policy on the spot: drawn prompts with drawn responses, some of them wrong.

In the first part of pre-training responses have at most one filler. Attention then finds the digit that is asked for
within some hundred steps; among long responses it takes thousands. Not responsible for the data (``task``) or for where
a pre-trained policy is kept (``starts``). Needs PyTorch.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own name for it

from calipers.study.training.policy import Parameters, new_policy, response_logits, response_mask
from calipers.study.training.settings import Pretraining, Size
from calipers.study.training.task import RESPONSE_LENGTH, draw_prompts, draw_responses

_WARM_UP = 50
_COOL_DOWN = 0.3
_SHORT_FILLERS = 1


def pretrain(size: Size, how: Pretraining, seed: int) -> Parameters:
    """Return a pre-trained policy; the same ``seed`` gives the same one, to the bit, on the same machine."""
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
        each = F.cross_entropy(logits.flatten(0, 1), responses.flatten(), reduction="none")
        loss = (each * mask.flatten()).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        optimizer.step()
    return {name: value.detach() for name, value in parameters.items()}


def _share_of_rate(step: int, steps: int) -> float:
    """Return the learning rate of pre-training's ``step`` relative to the highest: up, constant, down to 0."""
    return min(1.0, (step + 1) / _WARM_UP, (steps - step) / (_COOL_DOWN * steps))
