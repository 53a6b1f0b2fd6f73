"""The reward is the score, stretched to the range the trainer wants.

Not responsible for ties, ranks, gates or blends.
"""

from __future__ import annotations

from dataclasses import dataclass

from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class Identity:
    """Map a score in [0, 1] linearly to ``reward_range``; scores a hair outside (least squares) are the bound.

    Equal scores give bit-equal rewards, and None stays None.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """One reward per candidate."""
        low, high = self.reward_range
        return tuple(
            None if value is None else low + (high - low) * min(max(value, 0.0), 1.0) for value in scores.values
        )
