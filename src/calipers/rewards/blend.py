"""Combines the judge's reward with a reward that the trajectory already had, such as that of a verifier.

If either reward is missing, so is the combined reward, because a single reward would mean something else. Not
responsible for checks that decide before a judge is asked (``calipers.Hybrid``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

Blend: TypeAlias = Literal["sum", "weighted", "lexicographic"]


def blend_rewards(
    judged: Sequence[float | None], own: Sequence[float | None], *, how: Blend, weight: float = 0.5
) -> tuple[float | None, ...]:
    """Return one reward per trajectory from the judge's reward and the trajectory's own; None if either is None.

    "sum" adds the two. "weighted" is ``(1 - weight) * own + weight * judged``. With "lexicographic", the own reward
    decides the order, and the judge's reward only orders trajectories with equal own rewards. To this end, the judge's
    rewards are scaled to half the smallest gap between different own rewards. If all own rewards are equal,
    "lexicographic" is "sum".
    """
    pairs = enumerate(zip(judged, own, strict=True))
    known = [(place, a, b) for place, (a, b) in pairs if a is not None and b is not None]
    levels = sorted({b for _, _, b in known})
    gaps = [upper - lower for lower, upper in pairwise(levels)]
    found: list[float | None] = [None] * len(own)
    for place, a, b in known:
        if how == "weighted":
            found[place] = weight * a + (1 - weight) * b
        elif how == "sum" or not gaps:
            found[place] = a + b
        else:
            low, high = min(one for _, one, _ in known), max(one for _, one, _ in known)
            # The division comes first, because scores may be as close together as floats can be.
            found[place] = b + min(gaps) / 2 * ((a - low) / (high - low or 1.0))
    return tuple(found)
