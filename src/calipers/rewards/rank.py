"""The reward is the rank within the group: what a judge says about distances does not count, only its order."""

from __future__ import annotations

from dataclasses import dataclass

from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class Rank:
    """Spread ranks evenly over ``reward_range``: the best gets its upper end, the worst its lower, equals the middle.

    Of a single candidate with a score, or of equal ones only, nothing can be said: the middle of the range.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """One reward per candidate; None stays None."""
        low, high = self.reward_range
        known = [value for value in scores.values if value is not None]
        return tuple(
            None if value is None else low + (high - low) * _share_beaten(value, known) for value in scores.values
        )


def _share_beaten(value: float, known: list[float]) -> float:
    others = len(known) - 1
    if not others:
        return 0.5
    return (sum(one < value for one in known) + (sum(one == value for one in known) - 1) / 2) / others
