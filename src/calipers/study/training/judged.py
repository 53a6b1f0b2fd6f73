"""What judging made of a step's rollouts, and the weights that follow from the standard errors of their scores.

Not responsible for asking the judge (``rewarding``), for the formula of reliability (``simulation.treatment``), or for
what is multiplied (``grpo``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calipers.study.simulation.treatment import reliability
from calipers.types import GroupResult


@dataclass(frozen=True, slots=True)
class Judged:
    """What judging made of a step's rollouts, in their order.

    ``rewards`` go to the trainer. ``weights`` (0 to 1) multiply the advantages; None leaves them as they are.
    ``unscored`` is the share of the rollouts that the judge gave no reward, whatever it became.
    """

    rewards: list[float | None]
    weights: list[float] | None
    unscored: float


def reliability_weights(results: Sequence[GroupResult]) -> list[float]:
    """Return √R for each group's result, 0 to 1, with R = max(0, 1 - mean squared standard error / variance).

    The mean and the variance (ddof 1) are those of the rollouts that have a score. A group with a score whose standard
    error is unknown has the weight 1, as without weights: unknown is not zero.
    """
    return [_weight(result) for result in results]


def _weight(result: GroupResult) -> float:
    scored = [one for one in result.trajectories if one.score is not None]
    errors = [one.stderr for one in scored if one.stderr is not None]
    if len(errors) < len(scored):
        return 1.0
    scores = np.array([one.score for one in scored], dtype=float)
    return float(np.sqrt(reliability(scores, stderr=np.array(errors)))[0]) if len(scores) > 1 else 0.0
