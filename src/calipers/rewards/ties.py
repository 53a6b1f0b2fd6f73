"""Makes near ties exact: candidates whose scores differ by no more than noise get the same reward, bit by bit.

GRPO divides by the group's standard deviation, so a tiny difference may become a large advantage. A tie also removes
signal, however, so this is off by default.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.interfaces import RewardTransform
from calipers.rewards.magnitude import mean_of, rounded
from calipers.rewards.near_ties import near_tied_clusters
from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class Ties:
    """Gives candidates whose scores all differ by at most ``within`` standard errors the mean of their rewards.

    Candidates whose scores differ by more are never made equal, and never change order.
    """

    inner: RewardTransform
    within: float

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """Return one reward per candidate; None stays None."""
        rewards = list(self.inner(scores, view))
        for cluster in near_tied_clusters(scores, within=self.within):
            known = [reward for item in cluster if (reward := rewards[item]) is not None]
            if len(known) == len(cluster) > 1:
                mean = rounded(mean_of(known), known)
                mean = min(max(mean, min(known)), max(known))  # rounding must not pass a neighbour
                for item in cluster:
                    rewards[item] = mean
        return tuple(rewards)
