"""The policy: sampling agrees with the forward pass, and transformers' GPT-2 computes the same."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")

from calipers.study.training.gpt import (  # noqa: E402 - PyTorch is there
    gumbel_noise,
    new_policy,
    response_logits,
    response_mask,
    sample,
)
from calipers.study.training.gpt_policy import pretrain  # noqa: E402
from calipers.study.training.settings import Pretraining, Size  # noqa: E402
from calipers.study.training.task import END, PAD, RESPONSE_LENGTH, draw_prompts, features  # noqa: E402

SIZE = Size(layers=2, width=16, heads=2, hidden=24)


def prompts(count: int, seed: int = 0):
    return torch.from_numpy(draw_prompts(count, np.random.default_rng(seed)))


def test_what_is_sampled_is_what_the_forward_pass_makes_most_likely_with_the_noise():
    parameters, asked, noise = new_policy(SIZE, 1), prompts(200), gumbel_noise(200, 2)
    parameters["logits"][:, END] += 0.3  # so that rows end at all places, and are left out of later steps
    responses = sample(parameters, SIZE, asked, noise)
    chosen = (response_logits(parameters, SIZE, asked, responses) + noise).argmax(dim=2)
    mask = response_mask(responses).bool()
    assert (chosen == responses)[mask].all()
    assert (responses[~mask] == PAD).all()
    lengths = mask.sum(dim=1)
    assert lengths.min() < 8
    assert lengths.max() == RESPONSE_LENGTH


@pytest.mark.slow
def test_pretraining_is_the_same_to_the_bit_and_learns_the_form():
    few = Pretraining(steps=30, batch=32, short=1.0)
    first, same, other = (pretrain(SIZE, few, seed) for seed in (5, 5, 6))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["tokens"], other["tokens"])
    one = pretrain(SIZE, Pretraining(steps=150, batch=32, short=1.0), 5)
    asked = prompts(300, 6)
    found = features(asked.numpy(), sample(one, SIZE, asked, gumbel_noise(300, 7)).numpy())
    assert found.length.mean() < 8
    assert 0.2 < found.format.mean() < 0.8
