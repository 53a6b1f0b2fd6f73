"""The simulator's advantages and step against TRL's and verl's own code: GRPOTrainer, and verl's core algorithms.

The policy is written down again in torch, so that both trainers' losses are differentiated by autograd. Needs TRL or
verl, as .ci/run installs them.
"""

from __future__ import annotations

import math
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.study.simulation.advantages import advantages
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.grpo import Learner
from calipers.study.simulation.policy import Policy, Responses
from calipers.study.simulation.settings import Arm, GrpoSettings, PolicySettings
from simulated import first_batch

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]
with_trl = pytest.mark.skipif(find_spec("trl") is None, reason="TRL is not installed (pip install 'calipers[trl]')")
with_verl = pytest.mark.skipif(find_spec("verl") is None, reason="verl is not installed (pip install 'calipers[verl]')")

GROUPS, SIZE = 12, 6
MOVED = np.array([[0.3, -0.2, 0.5, 1.0, 0.7, -0.4, 0.6]])
POLICY = PolicySettings(criteria=2, flattery_effect=-0.7, length_effect=0.2, ease=0.6)


def rewards_with_gaps() -> Array:
    """Rewards of a batch: some missing, a group of equal ones, one with a single reward, one with none."""
    dice = np.random.default_rng(4)
    found = np.round(dice.random((1, GROUPS, SIZE)), 2)
    found[dice.random(found.shape) < 0.15] = math.nan
    found[0, 0], found[0, 1], found[0, 2] = 0.25, math.nan, math.nan
    found[0, 2, 3] = 0.7
    return found


# --- TRL ------------------------------------------------------------------------------------------------------------


def run_trl(folder: Path, rewards: Array, **settings: Any) -> Any:
    """One step of GRPOTrainer, whose reward function gives these rewards, None for NaN."""
    from trl_runs import tokenizer, train  # noqa: PLC0415 - needs TRL

    words = tokenizer()
    flat = [None if np.isnan(one) else float(one) for one in rewards.ravel()]

    def rollouts(given: Any, _: Any) -> dict[str, Any]:
        texts = [f"w{number // 80} w{number % 80} <eos>" for number in range(len(given))]
        ids = [words(text)["input_ids"] for text in (*given, *texts)]
        return {"prompt_ids": ids[: len(given)], "completion_ids": ids[len(given) :], "logprobs": None}

    return train(
        [lambda **_: flat],
        folder,
        columns={"prompt": [f"w{number}" for number in range(GROUPS)]},
        made_with={"rollout_func": rollouts},
        num_generations=SIZE,
        per_device_train_batch_size=GROUPS * SIZE,
        shuffle_dataset=False,
        **settings,
    )


@with_trl
@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_advantages_are_trl_s(scale: Any, tmp_path: Path) -> None:
    rewards = rewards_with_gaps()
    theirs = run_trl(tmp_path, rewards, scale_rewards=scale).advantages
    ours = advantages(rewards, scale=scale, epsilon=1e-4).ravel()
    assert ours.tolist() == pytest.approx(theirs, rel=1e-4, abs=2e-6)
    assert np.abs(ours).max() > 0.3


@with_trl
@pytest.mark.parametrize(("kl", "divergence"), [(0.0, "weighted"), (0.3, "weighted"), (0.3, "plain")])
def test_the_step_is_that_of_trl_s_loss(kl: float, divergence: str, tmp_path: Path) -> None:
    """GRPOTrainer's own loss on the simulator's policy: clipped ratios, divergence penalty, a constant as divisor."""
    import torch  # noqa: PLC0415 - comes with TRL

    policy, responses, gained = batch()
    theta = torch.tensor(MOVED[0], dtype=torch.float64, requires_grad=True)
    old, first = (torch.tensor(tokens(policy.log_probs(at, responses))) for at in (MOVED - 0.25, 0 * MOVED))
    count = gained.size
    found: list[Any] = []

    def differentiate(trainer: Any) -> None:
        now = torch_log_probs(torch, theta, policy, responses)
        trainer._get_per_token_logps_and_entropies = lambda *_, **__: (now, torch.zeros_like(now), None)
        trainer.current_gradient_accumulation_steps = 1
        trainer.beta = kl  # in its settings it would have a reference model loaded
        inputs = {name: torch.zeros(count, 1) for name in ("prompt_ids", "prompt_mask")}
        inputs |= {"completion_ids": torch.zeros(count, 6), "completion_mask": torch.ones(count, 6)}
        inputs |= {"advantages": torch.tensor(gained.ravel()), "old_per_token_logps": old, "ref_per_token_logps": first}
        trainer._compute_loss(trainer.model, inputs).backward()
        del trainer._get_per_token_logps_and_entropies
        trainer.beta = 0.0
        found.append(theta.grad)

    settings: dict[str, Any] = {"loss_type": "dr_grpo", "epsilon": 0.2, "max_completion_length": 6}
    settings["use_bias_correction_kl"] = divergence == "weighted"
    from trl_runs import train  # noqa: PLC0415 - needs TRL

    train([lambda prompts, **_: [0.0] * len(prompts)], tmp_path, changed=differentiate, **settings)
    ours = our_gradient(policy, responses, gained, kl=kl, divergence=divergence)
    assert (-6 * found[0]).tolist() == pytest.approx(ours.tolist(), rel=1e-9, abs=1e-12)


# --- verl -----------------------------------------------------------------------------------------------------------


@with_verl
@pytest.mark.parametrize("scale", ["group", "none"])
def test_advantages_are_verl_s_where_a_group_has_two_rewards(scale: Any) -> None:
    """Responses without a reward are left out of verl's batch; a group of one has its raw reward there, and is not."""
    import torch  # noqa: PLC0415 - comes with verl
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - needs verl

    rewards = rewards_with_gaps()
    rewards[0, 2] = math.nan
    known = ~np.isnan(rewards[0])
    uids = np.array([str(group) for group, _ in np.argwhere(known)], dtype=object)
    theirs, _ = get_adv_estimator_fn("grpo")(
        token_level_rewards=torch.tensor(rewards[0][known])[:, None],
        response_mask=torch.ones(int(known.sum()), 1),
        index=uids,
        norm_adv_by_std_in_grpo=scale == "group",
    )
    ours = advantages(rewards, scale=scale, epsilon=1e-6)[0]
    assert ours[known].tolist() == pytest.approx(theirs[:, 0].tolist(), rel=1e-5, abs=1e-6)
    assert (ours[~known] == 0).all()


@with_verl
@pytest.mark.parametrize("kl", [0.0, 0.3])
def test_the_step_is_that_of_verl_s_loss(kl: float) -> None:
    """verl's policy loss and its low-variance penalty on the simulator's policy, with token sums per response."""
    import torch  # noqa: PLC0415 - comes with verl
    from verl.trainer.ppo.core_algos import agg_loss, get_policy_loss_fn, kl_penalty  # noqa: PLC0415 - needs verl
    from verl.workers.config import ActorConfig  # noqa: PLC0415 - likewise

    policy, responses, gained = batch()
    theta = torch.tensor(MOVED[0], dtype=torch.float64, requires_grad=True)
    old, first = (torch.tensor(tokens(policy.log_probs(at, responses))) for at in (MOVED - 0.25, 0 * MOVED))
    now, mask = torch_log_probs(torch, theta, policy, responses), torch.ones(gained.size, 6)
    config = ActorConfig(
        strategy="fsdp", rollout_n=SIZE, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.2, clip_ratio_low=0.2,
        clip_ratio_high=0.2, clip_ratio_c=1e9,
    )  # fmt: skip
    loss, _ = get_policy_loss_fn("vanilla")(
        old_log_prob=old,
        log_prob=now,
        advantages=torch.tensor(gained.ravel())[:, None].expand(-1, 6),
        response_mask=mask,
        loss_agg_mode="seq-mean-token-sum",
        config=config,
    )
    penalty = agg_loss(kl_penalty(now, first, "low_var_kl"), mask, "seq-mean-token-sum")
    (loss + kl * penalty).backward()
    ours = our_gradient(policy, responses, gained, kl=kl, divergence="plain")
    assert (-theta.grad).tolist() == pytest.approx(ours.tolist(), rel=1e-9, abs=1e-12)


# --- the simulator's side -------------------------------------------------------------------------------------------


def batch() -> tuple[Policy, Responses, Array]:
    arm = Arm("a", policy=POLICY, grpo=GrpoSettings(groups=GROUPS, size=SIZE))
    policy, responses, scores = first_batch(arm)
    return policy, responses, advantages(scores, scale="group", epsilon=1e-4)


def our_gradient(policy: Policy, responses: Responses, gained: Array, *, kl: float, divergence: Any) -> Array:
    learner = Learner(policy, GrpoSettings(iterations=2, clip=0.2, kl=kl, divergence=divergence), MOVED.copy())
    old = policy.log_probs(MOVED - 0.25, responses)
    assert np.abs(np.exp(policy.log_probs(MOVED, responses) - old) - 1).max() > 0.2  # something is clipped
    return np.asarray(learner.gradient(responses, gained, old)[0])


def tokens(by_part: Array) -> Array:
    """Log-probabilities of parts (6, 1, B, G) as tokens of responses (B G, 6)."""
    return np.ascontiguousarray(by_part.reshape(6, -1).T)


def torch_log_probs(torch: Any, theta: Any, policy: Policy, responses: Responses) -> Any:
    """The policy once more, from its definition: a response's log-probabilities, (B G, 6), less what is constant."""
    settings, where = policy.settings, responses
    z = torch.tensor((policy.lengths - policy.mean_length) / policy.sd_length)
    logs = torch.log_softmax(torch.tensor(policy._log_base) + theta[0] * z, dim=0)
    places = torch.tensor((where.length[0].ravel() - settings.length_floor).astype(int))
    chosen = [logs[places] - torch.tensor(policy._log_base)[places]]
    own = [torch.tensor(one[0].ravel()) for one in where.optional]
    starts = [math.log(p / (1 - p)) for p in (settings.format, settings.flattery, settings.injection)]
    for number, (has, start) in enumerate(zip(own, starts, strict=True), 1):
        chosen.append(_chosen(torch, has, start + theta[number]))
    right = np.log(np.array(settings.quality) / (1 - np.array(settings.quality)))
    start = torch.tensor(np.repeat(right[where.kinds[0]], SIZE))
    features = settings.length_effect * torch.tensor(where.z[0].ravel()) + settings.flattery_effect * own[1]
    logit = start + features + settings.ease * theta[4]
    met = torch.tensor(where.met[0].ravel())
    chosen.append(met * torch.nn.functional.logsigmoid(logit) + (2 - met) * torch.nn.functional.logsigmoid(-logit))
    quality = torch.tensor(where.quality[0].ravel())
    start_of_confidence = math.log(settings.confidence / (1 - settings.confidence))
    logit = start_of_confidence + theta[5] + theta[6] * (1 - quality)
    chosen.append(_chosen(torch, torch.tensor(where.confidence[0].ravel()), logit))
    return torch.stack(chosen, dim=1)


def _chosen(torch: Any, has: Any, logit: Any) -> Any:
    positive, negative = torch.nn.functional.logsigmoid(logit), torch.nn.functional.logsigmoid(-logit)
    return has * positive + (1 - has) * negative
