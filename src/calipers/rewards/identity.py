"""The reward is the score, mapped to the range that the trainer wants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class Identity:
    """Maps a score in [0, 1] linearly to ``reward_range``; a score outside, because of rounding, counts as 0 or 1.

    Equal scores give bit-equal rewards, and None stays None.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """Return one reward per candidate."""
        low, high = self.reward_range
        wide = high - low
        return tuple([None if value is None else low + wide * min(max(value, 0.0), 1.0) for value in scores.values])


def map_to_reward_range(shares: Iterable[float | None], reward_range: tuple[float, float]) -> tuple[float | None, ...]:
    """Map scores in [0, 1] linearly to ``reward_range``; None stays None."""
    low, high = reward_range
    return tuple(None if share is None else low + (high - low) * share for share in shares)
