"""The GPT as a policy of a study: pre-trained on the spot, then trained with real GRPO. Needs PyTorch.

In the first part of pre-training responses have at most one filler. Attention then finds the digit that is asked for
within some hundred steps; among long responses it takes thousands.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own name for it
from numpy.typing import NDArray

from calipers.study.training.grpo import Learner, kl_between
from calipers.study.training.rollouts import EVALUATION, POLICY, Rollouts, generator_of, response_figures, seed_of
from calipers.study.training.settings import Arm, Pretraining, Size, Study
from calipers.study.training.task import (
    END,
    PAD,
    PROMPT_LENGTH,
    RESPONSE_LENGTH,
    TEXTS,
    Tokens,
    draw_prompts,
    draw_responses,
    features,
)

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
        given = torch.from_numpy(advantages.astype(np.float32))
        asked, responses = torch.from_numpy(rollouts.prompts), torch.from_numpy(rollouts.responses)
        return asdict(self._learner.step(asked, responses, given))

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
    own = seed if study.pretraining.seed is None else study.pretraining.seed
    key = json.dumps([asdict(study.gpt), asdict(study.pretraining), own], sort_keys=True)
    path = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.pt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        torch.save(pretrain(study.gpt, study.pretraining, seed_of(own, POLICY)), part)
        part.replace(path)
    found: Parameters = torch.load(path, weights_only=True)
    return found


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


Tensor: TypeAlias = Any
"""A torch.Tensor."""

Parameters: TypeAlias = dict[str, Tensor]
"""The policy's parameters by name."""


def new_policy(size: Size, seed: int) -> Parameters:
    """Return an untrained policy: float32 tensors on the CPU, drawn from ``seed``."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape: int, scale: float) -> Tensor:
        return torch.randn(*shape, generator=generator) * scale

    wide, hidden = size.width, size.hidden
    made: Parameters = {
        "tokens": drawn(len(TEXTS), wide, scale=0.5),
        "places": drawn(PROMPT_LENGTH + RESPONSE_LENGTH, wide, scale=0.5),
    }
    for layer in range(size.layers):
        shapes = {"attend": (wide, 3 * wide), "attended": (wide, wide), "expand": (wide, hidden)}
        shapes["contract"] = (hidden, wide)
        for name, (rows, columns) in shapes.items():
            made[f"{layer}.{name}"] = drawn(rows, columns, scale=1 / math.sqrt(rows))
            made[f"{layer}.{name}.bias"] = torch.zeros(columns)
        for name in ("norm1", "norm2"):
            made |= {f"{layer}.{name}": torch.ones(wide), f"{layer}.{name}.bias": torch.zeros(wide)}
    made |= {"norm": torch.ones(wide), "norm.bias": torch.zeros(wide)}
    made["logits"] = drawn(wide, len(TEXTS), scale=1 / math.sqrt(wide))
    return made


_LEAVE_EVERY: Final = 4
"""Steps of sampling after which rows that have ended are left out, which saves half of the work."""


def forward(parameters: Parameters, size: Size, tokens: Tensor, cache: Tensor | None = None, start: int = 0) -> Tensor:
    """Return the policy's logits for the token after each of ``tokens``, (rows, places, tokens of the vocabulary).

    ``cache``, as ``new_cache`` makes it, holds keys and values of the ``start`` places before, and gets those of
    ``tokens``. With a ``start`` above 0, ``tokens`` is a single place.
    """
    rows, count = tokens.shape
    state = F.embedding(tokens, parameters["tokens"]) + parameters["places"][start : start + count]
    for layer in range(size.layers):
        own = {name: parameters[f"{layer}.{name}"] for name in _LAYER}
        asked = _normed(state, own["norm1"], own["norm1.bias"]) @ own["attend"] + own["attend.bias"]
        query, key, value = asked.view(rows, count, 3, size.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            cache[layer, 0, :, :, start : start + count] = key
            cache[layer, 1, :, :, start : start + count] = value
            key, value = cache[layer, 0, :, :, : start + count], cache[layer, 1, :, :, : start + count]
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=start == 0)
        joined = attended.transpose(1, 2).reshape(rows, count, size.width)
        state = state + joined @ own["attended"] + own["attended.bias"]
        wide = _normed(state, own["norm2"], own["norm2.bias"]) @ own["expand"] + own["expand.bias"]
        state = state + F.gelu(wide, approximate="tanh") @ own["contract"] + own["contract.bias"]
    return _normed(state, parameters["norm"], parameters["norm.bias"]) @ parameters["logits"]


_LAYER = tuple(
    f"{name}{end}" for name in ("norm1", "attend", "attended", "norm2", "expand", "contract") for end in ("", ".bias")
)


def _normed(state: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(state, weight.shape, weight, bias)


def new_cache(size: Size, rows: int) -> Tensor:
    """Return room for the keys and values of ``rows`` sequences of the policy's greatest length."""
    places = PROMPT_LENGTH + RESPONSE_LENGTH
    return torch.empty(size.layers, 2, rows, size.heads, places, size.width // size.heads)


def response_logits(parameters: Parameters, size: Size, prompts: Tensor, responses: Tensor) -> Tensor:
    """Return the policy's logits before each token of ``responses``, (rows, tokens of a response, vocabulary)."""
    both = torch.cat([prompts, responses], dim=1)
    return forward(parameters, size, both[:, :-1])[:, prompts.shape[1] - 1 :]


def response_mask(responses: Tensor) -> Tensor:
    """Return which tokens of the policy's responses count, those up to the first END; float, (rows, tokens)."""
    ended = (responses == END).cumsum(dim=1)
    return ((ended == 0) | ((ended == 1) & (responses == END))).to(torch.float32)


def gumbel_noise(rows: int, seed: int) -> Tensor:
    """Return the noise that decides what the policy samples: (rows, RESPONSE_LENGTH, vocabulary), drawn from ``seed``.

    Two policies with the same noise sample alike where they think alike, so that paired runs differ less by chance.
    """
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(rows, RESPONSE_LENGTH, len(TEXTS), generator=generator)
    return -torch.log(-torch.log(uniform.clamp(1e-20, 1 - 1e-7)))


def sample(parameters: Parameters, size: Size, prompts: Tensor, noise: Tensor) -> Tensor:
    """Return a response of the policy to each of ``prompts``: (rows, RESPONSE_LENGTH), filled up with PAD.

    Samples at temperature 1: the largest sum of logit and Gumbel noise has the probability of the softmax (Gumbel
    1954). ``noise`` is as ``gumbel_noise`` returns it.
    """
    found = torch.full((len(prompts), RESPONSE_LENGTH), PAD)
    alive = torch.arange(len(prompts))
    cache = new_cache(size, len(prompts))
    with torch.no_grad():
        logits = forward(parameters, size, prompts, cache)[:, -1]
        for place in range(RESPONSE_LENGTH):
            token = (logits + noise[alive, place]).argmax(dim=1)
            found[alive, place] = token
            if place == RESPONSE_LENGTH - 1:
                break
            if place % _LEAVE_EVERY == _LEAVE_EVERY - 1:
                going_on = (found[alive] != END).all(dim=1)
                alive, token, cache = alive[going_on], token[going_on], cache[:, :, going_on]
                if not len(alive):
                    break
            logits = forward(parameters, size, token[:, None], cache, prompts.shape[1] + place)[:, -1]
    ended = (found == END).cumsum(dim=1)
    return torch.where((ended == 0) | ((ended == 1) & (found == END)), found, PAD)
