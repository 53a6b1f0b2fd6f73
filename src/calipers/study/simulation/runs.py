"""The loop of a simulation: sample, judge, compute advantages, step; and the curves that it leaves.

Not responsible for comparing arms (``summary``) or for files (``configuration``, ``results``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calipers.errors import ConfigError
from calipers.study.simulation.advantages import advantages
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.audit import audit
from calipers.study.simulation.draws import Draws
from calipers.study.simulation.grpo import Learner
from calipers.study.simulation.judge import judge_responses
from calipers.study.simulation.policy import Policy
from calipers.study.simulation.settings import Arm
from calipers.study.simulation.treatment import group_weights, rewards_of

TOGETHER = 32
"""Runs that are computed together: enough to hide Python's own time, few enough to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Curves:
    """An arm's curves: ``steps`` (T,), and for each name an array (runs, T)."""

    steps: tuple[int, ...]
    by_name: Mapping[str, Array]


def run_arm(
    arm: Arm, *, seeds: Sequence[int], steps: int, every: int = 1, done: Callable[[int], object] = lambda _: None
) -> Curves:
    """Return the curves of an arm's runs, one for each seed.

    Curves have a point before the first step, then one every ``every`` steps, and one after the last. ``done`` is
    called with the number of steps that were made, over all runs, since it was last called. Raises ConfigError for runs
    whose policy leaves what numbers can hold.
    """
    recorded = tuple(sorted({*range(0, steps, every), steps}))
    parts = [
        _run(arm, seeds[start : start + TOGETHER], steps, recorded, done) for start in range(0, len(seeds), TOGETHER)
    ]
    return Curves(recorded, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _run(
    arm: Arm, seeds: Sequence[int], steps: int, recorded: Sequence[int], done: Callable[[int], object]
) -> dict[str, Array]:
    policy, draws = Policy(arm.policy), Draws(seeds)
    learner = Learner.start(policy, arm.grpo, len(seeds))
    points: list[dict[str, Array]] = []
    for step in range(steps):
        point = _expected(policy, learner.theta) if step in recorded else None
        kinds = draws.uniform("prompts", arm.grpo.groups)
        uniforms = draws.uniform("responses", policy.draws, arm.grpo.groups, arm.grpo.size)
        responses = policy.respond(learner.theta, kinds, uniforms)
        judged = judge_responses(arm, policy, responses, draws)
        rewards = rewards_of(arm, judged, responses)
        gained = advantages(rewards, scale=arm.grpo.scale, epsilon=arm.grpo.epsilon)
        gained = gained * group_weights(arm, judged, responses)
        if point is not None:
            points.append(point | audit(responses, judged.scores, gained))
        with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is found below
            learner.update(responses, gained)
        if not np.isfinite(learner.theta).all():
            raise ConfigError(
                f"arm {arm.name!r}: in step {step + 1} its policy left what numbers can hold: lower learning_rate, or "
                "kl, under grpo"
            )
        done(len(seeds))
    points.append(_expected(policy, learner.theta))
    unknown = np.full(len(seeds), np.nan)
    names = list(dict.fromkeys(name for point in points for name in point))
    return {name: np.stack([point.get(name, unknown) for point in points], axis=1) for name in names}


def _expected(policy: Policy, theta: Array) -> dict[str, Array]:
    found = policy.expectations(theta)
    return {name: getattr(found, name) for name in found.__slots__}
