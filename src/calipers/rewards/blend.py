"""The judge's reward combined with a reward that the trajectory already had, a verifier's for example.

Where one of the two is missing, so is the blend: one alone is another quantity. Not responsible for checks that decide
before a judge is asked (``calipers.Hybrid``).
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

    "sum" adds them; "weighted" is ``(1 - weight) * own + weight * judged``; in "lexicographic" the own reward decides,
    and the judge only among equals: judged rewards are scaled to half the smallest gap between different own rewards.
    Where all own rewards are equal, "lexicographic" is "sum".
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
            # Divided first: scores may be as close together as floats can be.
            found[place] = b + min(gaps) / 2 * ((a - low) / (high - low or 1.0))
    return tuple(found)
