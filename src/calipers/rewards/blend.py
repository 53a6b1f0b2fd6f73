"""Combines the judge's reward with a reward that the trajectory already had, such as that of a verifier.

If either reward is missing, so is the combined reward, because a single reward would mean something else. Not
responsible for checks that decide before a judge is asked (``calipers.Hybrid``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from calipers.rewards.reliable import standardised

Blend: TypeAlias = Literal["sum", "weighted", "lexicographic", "normalised"]

_DIGITS: Final = 9


def blend_rewards(
    judged: Sequence[float | None], own: Sequence[float | None], *, how: Blend, weight: float = 0.5
) -> tuple[float | None, ...]:
    """Return one reward per trajectory from the judge's reward and the trajectory's own; None if either is None.

    "sum" adds the two. "weighted" is ``(1 - weight) * own + weight * judged``. With "lexicographic", the own reward
    decides the order, and the judge's reward only orders trajectories with equal own rewards. To this end, the judge's
    rewards are scaled to half the smallest gap between different own rewards. If all own rewards are equal,
    "lexicographic" is "sum". "normalised" is "weighted" with standard scores: each part less its mean over its standard
    deviation, among the trajectories that have both; a part that is the same for all is 0. So a part's share of the
    variance is the same in every group where both differ, and rewards are around 0. If a reward would be too large for
    a float, all are None, because rewards of a part of the group would be biased.
    """
    if how == "normalised":
        complete = [a is not None and b is not None for a, b in zip(judged, own, strict=True)]
        parts = (
            standardised([one if has else None for one, has in zip(part, complete, strict=True)])
            for part in (judged, own)
        )
        return tuple(
            None if a is None or b is None else round(weight * a + (1 - weight) * b, _DIGITS) + 0.0
            for a, b in zip(*parts, strict=True)
        )
    pairs = enumerate(zip(judged, own, strict=True))
    known = [(place, a, b) for place, (a, b) in pairs if a is not None and b is not None]
    levels = sorted({b for _, _, b in known})
    half_gaps = [min((upper - lower) / 2, upper / 2 - lower / 2) for lower, upper in pairwise(levels)]
    found: list[float | None] = [None] * len(own)
    for place, a, b in known:
        if how == "weighted":
            found[place] = weight * a + (1 - weight) * b
        elif how == "sum" or not half_gaps:
            found[place] = a + b
        else:
            low, high = min(one for _, one, _ in known), max(one for _, one, _ in known)
            # The division comes first, because scores may be as close together as floats can be.
            found[place] = b + min(half_gaps) * ((a - low) / (high - low or 1.0))
    is_finite = all(one is None or math.isfinite(one) for one in found)
    return tuple(found) if is_finite else (None,) * len(found)


def undone_by_blend(kind: str | None, how: Blend | None) -> str | None:
    """Return a warning if a blend of rewards undoes what their ``kind`` does to each group; None if it does not.

    "normalised" standardises the judge's part in each group, and "lexicographic" stretches it to a fixed range in each
    group whose own rewards differ: both undo every map m + b (r - m) with b > 0.
    """
    if kind not in {"shrunk", "weighted", "min_max"} or how not in {"normalised", "lexicographic"}:
        return None
    where = "" if how == "normalised" else " in groups whose own rewards differ"
    but = "" if kind == "min_max" else ", but for groups whose reliability is 0"
    return (
        f"reward={kind!r} has no effect{where} beside blend={how!r}, which gives the judge's part of the reward the "
        f"same spread in each group{but}. Use blend='sum' or 'weighted', or leave the kind out (docs/rewards.md)"
    )
