"""The reward is the score scaled so that every group fills the range. It is unsafe, and exists for comparison only.

Four nearly equal answers get the same spread of rewards as a group in which one answer succeeds and three fail, so
noise becomes as large as signal. ``rank`` does less harm, and ``score`` none.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class MinMax:
    """Scales the scores of each group to ``reward_range``; if all are equal, the reward is the middle of the range."""

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """Return one reward per candidate; None stays None."""
        low, high = self.reward_range
        known = [value for value in scores.values if value is not None]
        if not known:
            return (None,) * len(scores.values)
        least, most = min(known), max(known)
        if most == least:
            return tuple(None if value is None else low + (high - low) / 2 for value in scores.values)
        return tuple(
            None if value is None else low + (high - low) * (value - least) / (most - least) for value in scores.values
        )
