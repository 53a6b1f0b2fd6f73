"""The reward is the score scaled so that every group fills the range. Unsafe, and here for comparison only.

Four near-equal answers get the same spread of rewards as a group in which one succeeds and three fail: noise becomes as
large as signal before GRPO divides by anything. ``rank`` does less harm, ``score`` none.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class MinMax:
    """Scale each group's scores to ``reward_range``; equal scores get its middle."""

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """One reward per candidate; None stays None."""
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
