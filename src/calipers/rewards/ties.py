"""Near ties made exact: candidates whose scores differ no more than noise get one bit-equal reward.

GRPO divides by the group's standard deviation, so that a hair's breadth may become a full-sized advantage; but a tie takes
signal away, too. Off unless asked for. Not responsible for groups that are all noise (``resolve``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from calipers.interfaces import RewardTransform
from calipers.rewards.near import near_tied
from calipers.types import RenderedGroup, Scores

_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Ties:
    """Give each chain of scores ``within`` so many standard errors of one another the mean of its rewards."""

    inner: RewardTransform
    within: float

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """One reward per candidate; None stays None."""
        rewards = list(self.inner(scores, view))
        for chain in near_tied(scores, within=self.within):
            known = [reward for item in chain if (reward := rewards[item]) is not None]
            if len(known) == len(chain) > 1:
                mean = round(math.fsum(known) / len(known), _DIGITS)
                for item in chain:
                    rewards[item] = mean
        return tuple(rewards)
