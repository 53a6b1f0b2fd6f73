"""The reward is the rank within the group: only the order of the scores has an effect, not their distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.rewards.identity import mapped
from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class Rank:
    """Spread ranks evenly over ``reward_range``: the best gets its upper end, the worst its lower, equals the middle.

    A single candidate with a score, or equal scores only, have no rank: they get the middle of the range.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """One reward per candidate; None stays None."""
        known = [value for value in scores.values if value is not None]
        return mapped((None if one is None else share_beaten(one, known) for one in scores.values), self.reward_range)


def share_beaten(value: float, values: Sequence[float]) -> float:
    """The share of the others in ``values`` that are less than ``value``, an equal one counting half; 0.5 without
    others.
    """
    others = len(values) - 1
    if not others:
        return 0.5
    return (sum(one < value for one in values) + (sum(one == value for one in values) - 1) / 2) / others
