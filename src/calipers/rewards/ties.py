"""Near ties made exact: candidates whose scores differ no more than noise get one bit-equal reward.

GRPO divides by the group's standard deviation, so that a tiny difference may become a large advantage; but a tie
removes signal, too. Off by default. Not responsible for groups that are all noise (``resolve``).
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
    """Give all scores that lie ``within`` so many standard errors of one another the mean of their rewards.

    No two further apart are made equal or change places.
    """

    inner: RewardTransform
    within: float

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """One reward per candidate; None stays None."""
        rewards = list(self.inner(scores, view))
        for cluster in near_tied(scores, within=self.within):
            known = [reward for item in cluster if (reward := rewards[item]) is not None]
            if len(known) == len(cluster) > 1:
                mean = round(math.fsum(known) / len(known), _DIGITS)
                mean = min(max(mean, min(known)), max(known))  # rounding must not pass a neighbour
                for item in cluster:
                    rewards[item] = mean
        return tuple(rewards)
