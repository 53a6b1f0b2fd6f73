"""Held-out prompts: what a policy answers, and how far it is from the first policy. Needs PyTorch."""

from __future__ import annotations

import torch

from calipers.study.training.grpo import kl_between
from calipers.study.training.measures import response_figures
from calipers.study.training.policy import Parameters, gumbel_noise, sample
from calipers.study.training.seeds import EVALUATION, seed_of
from calipers.study.training.settings import TrainingStudy
from calipers.study.training.starts import held_out_prompts
from calipers.study.training.task import features


def evaluate(parameters: Parameters, initial: Parameters, study: TrainingStudy, seed: int) -> dict[str, float]:
    """Return the figures of a policy's answers to the run's held-out prompts, one answer each, and ``kl``.

    ``kl`` is the divergence from the ``initial`` policy in nats per response. All arms of a seed have the same prompts
    and the same sampling noise.
    """
    prompts = held_out_prompts(study.evaluation.prompts, seed)
    asked = torch.from_numpy(prompts)
    responses = sample(parameters, study.policy, asked, gumbel_noise(len(prompts), seed_of(seed, EVALUATION)))
    kl = kl_between(parameters, initial, study.policy, asked, responses)
    return {**response_figures(features(prompts, responses.numpy())), "kl": kl}
