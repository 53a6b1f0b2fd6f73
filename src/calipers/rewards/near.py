"""Which scores are so near one another that their order says nothing.

Not responsible for what is done with them (``ties``, ``length``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from calipers.types import Scores


def near_tied(scores: Scores, *, within: float) -> list[list[int]]:
    """Chains of candidates, best first, each no further from the next than ``within`` standard errors of their difference.

    A candidate without a score is in none; one whose error is not known is near only to its equals. Chains may be long
    where scores are dense: the ends of one may differ by more than ``within``.
    """
    known = [(value, item) for item, value in enumerate(scores.values) if value is not None]
    chains: list[list[int]] = []
    last: tuple[float, int] | None = None
    for value, item in sorted(known, key=lambda one: (-one[0], one[1])):
        if last is not None and last[0] - value <= within * _error(scores.stderrs, last[1], item):
            chains[-1].append(item)
        else:
            chains.append([item])
        last = (value, item)
    return chains


def _error(stderrs: Sequence[float | None], one: int, other: int) -> float:
    """The standard error of the difference of two scores; 0 where it is not known."""
    first, second = stderrs[one], stderrs[other]
    return 0.0 if first is None or second is None else math.hypot(first, second)
