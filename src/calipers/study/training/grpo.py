"""One step of GRPO (Shao et al. 2024): an update of the GPT from rollouts and their advantages.

The formulas are those of TRL 1.16's GRPOTrainer: the clipped ratio, the k3 estimate of KL times the ratio, and the ways
of averaging tokens that TRL calls ``loss_type``. Needs PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from calipers.study.training.gpt import Parameters, Tensor, response_logits, response_mask
from calipers.study.training.settings import Loss, Size, Training
from calipers.study.training.task import RESPONSE_LENGTH

_PARTS = 2
"""The parts of a batch that are computed one after another."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of GRPO did. ``loss`` is that of the first update, ``norm`` the gradient's norm before clipping.

    ``entropy`` is the policy's mean entropy per token, in nats.
    """

    loss: float
    norm: float
    entropy: float


@dataclass(slots=True)
class _Part:
    """Some rollouts of a batch, with the log-probabilities of their tokens before the first update (``old``)."""

    prompts: Tensor
    responses: Tensor
    given: Tensor
    mask: Tensor
    old: Tensor | None = None
    reference: Tensor | None = None


class Learner:
    """A policy in training: its parameters, the optimizer's state, and the initial policy for the KL term."""

    def __init__(self, initial: Parameters, size: Size, how: Training) -> None:
        self.size = size
        self.how = how
        self.initial = {name: value.detach().clone() for name, value in initial.items()}
        self.parameters = {name: value.detach().clone().requires_grad_() for name, value in initial.items()}
        self.optimizer = _optimizer(self.parameters, how)

    def step(self, prompts: Tensor, responses: Tensor, given: Tensor) -> Step:
        """Update the policy once or more with these rollouts and their advantages ``given``, and return what happened.

        ``prompts`` has a row for each response.
        """
        parts = [self._part(prompts, responses, given, rows) for rows in rows_by_length(responses, _PARTS)]
        tokens = float(sum(part.mask.sum() for part in parts))
        weights = [_token_weights(part.mask, self.how.loss, len(responses), tokens) for part in parts]
        steps = []
        for _ in range(self.how.updates):
            self.optimizer.zero_grad()
            loss = entropy = 0.0
            for part, weight in zip(parts, weights, strict=True):
                now, logits = _log_probabilities(self.parameters, self.size, part.prompts, part.responses)
                part.old = now.detach() if part.old is None else part.old
                part_loss = (self._loss(now, part) * weight).sum()
                part_loss.backward()
                loss += part_loss.item()
                entropy += _entropy(logits.detach(), part.mask)
            norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.how.max_norm)
            self.optimizer.step()
            steps.append(Step(loss, norm.item(), entropy / tokens))
        return steps[0]

    def _part(self, prompts: Tensor, responses: Tensor, given: Tensor, rows: Tensor) -> _Part:
        """Return some of the rollouts, cut to the longest of them."""
        mask = response_mask(responses[rows])
        mask = mask[:, : int(mask.sum(dim=1).max())]
        part = _Part(prompts[rows], responses[rows][:, : mask.shape[1]], given[rows], mask)
        if self.how.kl:
            with torch.no_grad():
                part.reference = _log_probabilities(self.initial, self.size, part.prompts, part.responses)[0]
        return part

    def _loss(self, now: Tensor, part: _Part) -> Tensor:
        """Return the loss of each token, (rows, tokens), before tokens are averaged."""
        advantage = part.given[:, None]
        ratio = torch.exp(now - part.old)
        clipped = ratio.clamp(1 - self.how.clip, 1 + self.how.clip)
        losses = -torch.min(ratio * advantage, clipped * advantage)
        if part.reference is None:
            return losses
        gap = part.reference - now
        return losses + self.how.kl * ratio * (torch.exp(gap) - gap - 1)


def _optimizer(parameters: Parameters, how: Training) -> torch.optim.Optimizer:
    if how.optimizer == "sgd":
        return torch.optim.SGD(parameters.values(), lr=how.learning_rate)
    return torch.optim.AdamW(parameters.values(), lr=how.learning_rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True)


def rows_by_length(responses: Tensor, parts: int) -> list[Tensor]:
    """Return the rows of ``responses`` in as many ``parts`` of similar length, as numbers of rows.

    A step of GRPO computes each part as wide as its longest response, which takes less time than the whole batch.
    """
    order = torch.argsort(response_mask(responses).sum(dim=1), stable=True)
    return [rows for rows in torch.tensor_split(order, parts) if len(rows)]


def _token_weights(mask: Tensor, loss: Loss, rollouts: int, tokens: float) -> Tensor:
    """Return the weight of each token in the GRPO loss of a batch with so many ``rollouts`` and ``tokens``."""
    match loss:
        case "dr_grpo":
            return mask / (rollouts * RESPONSE_LENGTH)
        case "dapo":
            return mask / tokens
        case "grpo":
            return mask / mask.sum(dim=1, keepdim=True) / rollouts


def _log_probabilities(parameters: Parameters, size: Size, prompts: Tensor, responses: Tensor) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each token of ``responses``, and the logits: (rows, tokens), (rows, tokens, V)."""
    logits = response_logits(parameters, size, prompts, responses)
    chosen = torch.gather(logits, 2, responses[:, :, None])[:, :, 0]
    return chosen - torch.logsumexp(logits, dim=2), logits


def _entropy(logits: Tensor, mask: Tensor) -> float:
    """Return the sum of the entropies of the tokens in ``mask``, in nats."""
    logs = torch.log_softmax(logits, dim=2)
    entropies = -(logs.exp() * logs).sum(dim=2)
    return float((entropies * mask).sum())


def kl_between(now: Parameters, then: Parameters, size: Size, prompts: Tensor, responses: Tensor) -> float:
    """Return the KL divergence of the policy ``now`` from the policy ``then``, in nats per response.

    The sum over tokens of the exact divergence of the two next-token distributions, averaged over ``responses``, which
    ``now`` sampled: an unbiased estimate of the divergence that GRPO's KL term bounds.
    """
    mask = response_mask(responses)
    with torch.no_grad():
        logs = torch.log_softmax(response_logits(now, size, prompts, responses), dim=2)
        then_logs = torch.log_softmax(response_logits(then, size, prompts, responses), dim=2)
        return float(((logs.exp() * (logs - then_logs)).sum(dim=2) * mask).sum() / len(mask))
