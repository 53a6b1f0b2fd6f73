"""What judging made of a step's rollouts.

Not responsible for asking the judge (``rewarding``), for weights (``calipers.trainers.weights``), or for what is
multiplied (``grpo``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Judged:
    """What judging made of a step's rollouts, in their order.

    ``rewards`` go to the trainer. ``weights`` (0 to 1) multiply the advantages; None leaves them as they are.
    ``unscored`` is the share of the rollouts that the judge gave no reward, whatever it became.
    """

    rewards: list[float | None]
    weights: list[float] | None
    unscored: float
