"""Batches of a simulation's responses, for tests of what follows from them."""

from __future__ import annotations

import numpy as np

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.draws import Draws
from calipers.study.simulation.judge import Judged, judge_responses
from calipers.study.simulation.policy import Policy, Responses
from calipers.study.simulation.settings import Arm


def first_batch(arm: Arm, *, runs: int = 1, groups: int | None = None) -> tuple[Policy, Responses, Array]:
    """The first policy, a batch of its responses, and their scores."""
    policy, responses, judged = first_judged(arm, runs=runs, groups=groups)
    return policy, responses, judged.scores


def first_judged(arm: Arm, *, runs: int = 1, groups: int | None = None) -> tuple[Policy, Responses, Judged]:
    """The same, and the standard errors of the scores."""
    policy, draws = Policy(arm.policy), Draws(range(runs))
    shape = (groups or arm.grpo.groups, arm.grpo.size)
    kinds, uniforms = draws.uniform("prompts", shape[0]), draws.uniform("responses", policy.draws, *shape)
    responses = policy.respond(np.zeros((runs, 7)), kinds, uniforms)
    return policy, responses, judge_responses(arm, policy, responses, draws)


def near(values: Array, expected: float, *, errors: float = 4.5) -> bool:
    """Whether the mean of independent values is within so many standard errors of what is expected."""
    flat = np.asarray(values, dtype=float).ravel()
    return bool(abs(flat.mean() - expected) <= errors * max(flat.std(ddof=1), 1e-12) / np.sqrt(flat.size))
