"""The GPT: sampling agrees with the forward pass, pretraining repeats, and a step of GRPO has the loss as written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; .ci/run has a step with it")

from calipers.study.training.gpt import (  # noqa: E402
    forward,
    gumbel_noise,
    new_policy,
    response_logits,
    response_mask,
    sample,
)
from calipers.study.training.gpt_policy import pretrain  # noqa: E402
from calipers.study.training.grpo import Learner, kl_between  # noqa: E402 - PyTorch is there
from calipers.study.training.settings import Pretraining, Size, Training  # noqa: E402
from calipers.study.training.task import END, PAD, RESPONSE_LENGTH, draw_prompts, features  # noqa: E402

SIZE, DEEPER = Size(layers=1, width=16, heads=2, hidden=16), Size(layers=2, width=16, heads=2, hidden=24)


def prompts_of(count: int, seed: int = 0, each: int = 1) -> Any:
    return torch.from_numpy(np.repeat(draw_prompts(count, np.random.default_rng(seed)), each, axis=0))


def first_policy(size: Size = SIZE) -> Any:
    made = new_policy(size, 2)
    made["logits"][:, END] += 0.3  # so that rows end at all places, and are left out of later steps
    return made


def test_what_is_sampled_is_what_the_forward_pass_makes_most_likely_with_the_noise():
    parameters, asked, noise = first_policy(DEEPER), prompts_of(200), gumbel_noise(200, 2)
    responses = sample(parameters, DEEPER, asked, noise)
    chosen = (response_logits(parameters, DEEPER, asked, responses) + noise).argmax(dim=2)
    mask = response_mask(responses).bool()
    assert (chosen == responses)[mask].all()
    assert (responses[~mask] == PAD).all()
    lengths = mask.sum(dim=1)
    assert lengths.min() < 8
    assert lengths.max() == RESPONSE_LENGTH


@pytest.mark.slow
def test_pretraining_is_the_same_to_the_bit_and_learns_the_form():
    few = Pretraining(steps=30, batch=32, short=1.0)
    first, same, other = (pretrain(DEEPER, few, seed) for seed in (5, 5, 6))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["tokens"], other["tokens"])
    one = pretrain(DEEPER, Pretraining(steps=150, batch=32, short=1.0), 5)
    asked = prompts_of(300, 6)
    found = features(asked.numpy(), sample(one, DEEPER, asked, gumbel_noise(300, 7)).numpy())
    assert found.length.mean() < 8
    assert 0.2 < found.format.mean() < 0.8


# --- steps of GRPO


def rollouts(parameters: Any, groups: int = 3, size: int = 4):
    prompts = prompts_of(groups, each=size)
    responses = sample(parameters, SIZE, prompts, gumbel_noise(groups * size, 1))
    given = torch.linspace(-1, 1, groups * size)
    return prompts, responses, given


@pytest.mark.parametrize("loss", ["dr_grpo", "dapo", "grpo"])
def test_the_gradient_is_that_of_the_weighted_log_probabilities(loss: Any):
    start = first_policy()
    prompts, responses, given = rollouts(start)
    learner = Learner(start, SIZE, Training(loss=loss, learning_rate=0.0, max_norm=1e9))
    did = learner.step(prompts, responses, given)
    mine = {name: value.grad.clone() for name, value in learner.parameters.items()}

    fresh = {name: value.clone().requires_grad_() for name, value in start.items()}
    logs = torch.log_softmax(response_logits(fresh, SIZE, prompts, responses), dim=2)
    chosen = torch.gather(logs, 2, responses[:, :, None])[:, :, 0]
    mask = response_mask(responses)
    weighted = chosen * mask * given[:, None]
    if loss == "dr_grpo":
        objective = weighted.sum() / (len(mask) * RESPONSE_LENGTH)
    elif loss == "dapo":
        objective = weighted.sum() / mask.sum()
    else:
        objective = (weighted.sum(dim=1) / mask.sum(dim=1)).mean()
    (-objective).backward()
    for name, value in fresh.items():
        assert torch.allclose(mine[name], value.grad, atol=1e-6)
    norm = math.sqrt(sum(float((value.grad**2).sum()) for value in fresh.values()))
    assert did.norm == pytest.approx(norm, rel=1e-4)


def test_the_gradients_norm_is_bounded():
    start = first_policy()
    learner = Learner(start, SIZE, Training(max_norm=1e-3, learning_rate=0.0))
    did = learner.step(*rollouts(start))
    norm = math.sqrt(sum(float((value.grad**2).sum()) for value in learner.parameters.values()))
    assert did.norm > 0.01
    assert norm == pytest.approx(1e-3, rel=1e-2)


def test_sgd_moves_along_the_gradient_and_half_the_advantages_move_half_as_far():
    start = first_policy()
    prompts, responses, given = rollouts(start)

    def moved(optimizer: Any, share: float) -> Any:
        learner = Learner(start, SIZE, Training(learning_rate=0.1, optimizer=optimizer, max_norm=1e9))
        learner.step(prompts, responses, share * given)
        for name, value in learner.parameters.items():
            if optimizer == "sgd":
                assert torch.allclose(value, start[name] - 0.1 * value.grad, atol=1e-7)
        return torch.cat([(learner.parameters[name] - start[name]).flatten() for name in start]).norm().item()

    assert moved("sgd", 0.5) == pytest.approx(moved("sgd", 1.0) / 2, rel=1e-3)
    assert moved("adam", 0.5) == pytest.approx(moved("adam", 1.0), rel=0.1)


def test_the_kl_term_holds_the_policy_near_the_first_one():
    start = first_policy()

    def distance(kl: float) -> float:
        learner = Learner(start, SIZE, Training(learning_rate=3e-3, kl=kl))
        for _ in range(15):
            learner.step(*rollouts(start))
        prompts, responses, _ = rollouts(learner.parameters, groups=50)
        return kl_between(learner.parameters, learner.initial, SIZE, prompts, responses)

    assert 0 < distance(2.0) < distance(0.0) / 2


def test_kl_is_that_of_the_two_distributions():
    start = first_policy()
    other = {
        name: value + 0.05 * torch.sin(torch.arange(value.numel())).view(value.shape) for name, value in start.items()
    }
    prompts = prompts_of(1, 3)
    one_token = torch.full((1, RESPONSE_LENGTH), END)
    logs = [torch.log_softmax(forward(policy, SIZE, prompts)[0, -1], dim=0) for policy in (start, other)]
    wanted = float((logs[0].exp() * (logs[0] - logs[1])).sum())
    assert kl_between(start, other, SIZE, prompts, one_token) == pytest.approx(wanted, rel=1e-4)
    assert kl_between(start, start, SIZE, prompts, one_token) == 0


def test_clipping_bounds_what_a_second_update_can_do():
    start = first_policy()

    def moved(clip: float) -> float:
        learner = Learner(start, SIZE, Training(learning_rate=1e-2, updates=8, clip=clip))
        learner.step(*rollouts(start))
        return sum(float((learner.parameters[name] - start[name]).abs().sum().detach()) for name in start)

    assert moved(0.01) < moved(10.0) * 0.8
