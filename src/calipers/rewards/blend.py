"""The judge's reward put together with one the trajectory already had (a verifier's, say), without either being invented.

Where one of the two is missing, so is the blend: half a reward is another reward. Not responsible for checks that rule a
trajectory out (``calipers.Hybrid``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, TypeAlias

Blend: TypeAlias = Literal["sum", "weighted", "lexicographic"]


def blended(
    judged: Sequence[float | None], own: Sequence[float | None], *, how: Blend, weight: float = 0.5
) -> tuple[float | None, ...]:
    """One reward per trajectory from the judge's and its own; None where either is None.

    "sum" adds them; "weighted" is ``(1 - weight) * own + weight * judged``; in "lexicographic" the own reward decides, and
    the judge only among equals: judged rewards are squeezed into what lies below the smallest gap between own ones (half
    of it); where all own ones are equal, it is added to them.
    """
    pairs = list(zip(judged, own, strict=True))
    if how == "sum":
        return tuple(None if a is None or b is None else a + b for a, b in pairs)
    if how == "weighted":
        return tuple(None if a is None or b is None else weight * a + (1 - weight) * b for a, b in pairs)
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    room = _room([b for _, b in known])
    if room is None or not known:
        return tuple(None if a is None or b is None else a + b for a, b in pairs)
    low, high = min(a for a, _ in known), max(a for a, _ in known)
    spread = high - low or 1.0  # divided by first: scores may lie as close together as floats can
    return tuple(None if a is None or b is None else b + room * ((a - low) / spread) for a, b in pairs)


def _room(own: Sequence[float]) -> float | None:
    """Half the smallest gap between different rewards; None where all are equal."""
    levels = sorted(set(own))
    gaps = [upper - lower for lower, upper in pairwise(levels)]
    return min(gaps) / 2 if gaps else None
