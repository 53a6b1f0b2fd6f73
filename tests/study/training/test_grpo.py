"""One step of GRPO for the GPT: the loss as written down."""

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
from calipers.study.training.grpo import Learner, kl_between  # noqa: E402 - PyTorch is there
from calipers.study.training.settings import Size, Training  # noqa: E402
from calipers.study.training.task import END, RESPONSE_LENGTH, draw_prompts  # noqa: E402

SIZE = Size(layers=1, width=16, heads=2, hidden=16)


def rollouts(parameters: Any, groups: int = 3, size: int = 4):
    prompts = torch.from_numpy(np.repeat(draw_prompts(groups, np.random.default_rng(0)), size, axis=0))
    responses = sample(parameters, SIZE, prompts, gumbel_noise(groups * size, 1))
    given = torch.linspace(-1, 1, groups * size)
    return prompts, responses, given


def first_policy() -> Any:
    made = new_policy(SIZE, 2)
    made["logits"][:, END] += 0.3
    return made


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
    prompts = torch.from_numpy(draw_prompts(1, np.random.default_rng(3)))
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
