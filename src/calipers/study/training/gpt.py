"""The policy: a tiny causal transformer, as functions of its parameters.

A pre-LN GPT with learned positions, as in GPT-2 (Radford et al. 2019). Functions of a table of tensors rather than a
module: a copy is a dictionary, and the whole forward pass is on this page. Needs PyTorch.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own name for it

from calipers.study.training.settings import Size
from calipers.study.training.task import END, PAD, PROMPT_LENGTH, RESPONSE_LENGTH, TEXTS

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
    parameters: Parameters = {
        "tokens": drawn(len(TEXTS), wide, scale=0.5),
        "places": drawn(PROMPT_LENGTH + RESPONSE_LENGTH, wide, scale=0.5),
    }
    for layer in range(size.layers):
        shapes = {"attend": (wide, 3 * wide), "attended": (wide, wide), "expand": (wide, hidden)}
        shapes["contract"] = (hidden, wide)
        for name, (rows, columns) in shapes.items():
            parameters[f"{layer}.{name}"] = drawn(rows, columns, scale=1 / math.sqrt(rows))
            parameters[f"{layer}.{name}.bias"] = torch.zeros(columns)
        for name in ("norm1", "norm2"):
            parameters |= {f"{layer}.{name}": torch.ones(wide), f"{layer}.{name}.bias": torch.zeros(wide)}
    parameters |= {"norm": torch.ones(wide), "norm.bias": torch.zeros(wide)}
    parameters["logits"] = drawn(wide, len(TEXTS), scale=1 / math.sqrt(wide))
    return parameters


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
        weights = {name: parameters[f"{layer}.{name}"] for name in _LAYER}
        asked = _normed(state, weights["norm1"], weights["norm1.bias"]) @ weights["attend"] + weights["attend.bias"]
        query, key, value = asked.view(rows, count, 3, size.heads, -1).permute(2, 0, 3, 1, 4)
        if cache is not None:
            cache[layer, 0, :, :, start : start + count] = key
            cache[layer, 1, :, :, start : start + count] = value
            key, value = cache[layer, 0, :, :, : start + count], cache[layer, 1, :, :, : start + count]
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=start == 0)
        joined = attended.transpose(1, 2).reshape(rows, count, size.width)
        state = state + joined @ weights["attended"] + weights["attended.bias"]
        wide = _normed(state, weights["norm2"], weights["norm2.bias"]) @ weights["expand"] + weights["expand.bias"]
        state = state + F.gelu(wide, approximate="tanh") @ weights["contract"] + weights["contract.bias"]
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
    sequences = torch.cat([prompts, responses], dim=1)
    return forward(parameters, size, sequences[:, :-1])[:, prompts.shape[1] - 1 :]


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
    drawn = torch.full((len(prompts), RESPONSE_LENGTH), PAD)
    alive = torch.arange(len(prompts))
    cache = new_cache(size, len(prompts))
    with torch.no_grad():
        logits = forward(parameters, size, prompts, cache)[:, -1]
        for place in range(RESPONSE_LENGTH):
            token = (logits + noise[alive, place]).argmax(dim=1)
            drawn[alive, place] = token
            if place == RESPONSE_LENGTH - 1:
                break
            if place % _LEAVE_EVERY == _LEAVE_EVERY - 1:
                going_on = (drawn[alive] != END).all(dim=1)
                alive, token, cache = alive[going_on], token[going_on], cache[:, :, going_on]
                if not len(alive):
                    break
            logits = forward(parameters, size, token[:, None], cache, prompts.shape[1] + place)[:, -1]
    ended = (drawn == END).cumsum(dim=1)
    return torch.where((ended == 0) | ((ended == 1) & (drawn == END)), drawn, PAD)
