"""The reward is the rank within the group: only the order of the scores has an effect, not their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.rewards.identity import map_to_reward_range
from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class Rank:
    """Maps ranks evenly to ``reward_range``: the best gets its upper end, the worst its lower end.

    A single candidate with a score, or a group of equal scores, has no ranks and gets the middle of the range.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """Return one reward per candidate; None stays None."""
        known = [value for value in scores.values if value is not None]
        return map_to_reward_range(
            (None if score is None else share_beaten(score, known) for score in scores.values), self.reward_range
        )


def share_beaten(value: float, values: Sequence[float]) -> float:
    """Return the share of the other ``values`` below ``value``, for rewards by rank or length; equal ones count half.

    It is 0.5 without others.
    """
    rivals = len(values) - 1
    if not rivals:
        return 0.5
    return (sum(rival < value for rival in values) + (sum(rival == value for rival in values) - 1) / 2) / rivals
