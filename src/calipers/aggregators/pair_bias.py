"""Position bias in pairs, learned from pairs that a judge compared in both orders; it weighs verdicts of one order.

No label is used. A judge that says "first" in both orders followed the position; so the share of "first" that the
swapped question contradicts measures how weak the evidence of a "first" is, and likewise for "second". A verdict in one
order counts for what both orders would say on average. (Wang et al., arXiv 2305.17926, use the contingency of swapped
verdicts to average orders; here it weighs one.) Not responsible for asking, and no correction for errors that both
orders share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

PairVerdict: TypeAlias = Literal["first", "second", "tie"]
"""Which is better: the trajectory shown first, or the one shown second."""

_FEWEST = 10
"""Swapped pairs below which nothing is corrected."""

_CAUTION = 0.5
"""A bias counts only beyond this many times its sampling variance. Chosen, like ``doubt``, by how well one order
predicts both: without labels, and on other pairs than those that docs/calibration.md reports."""


@dataclass(frozen=True, slots=True)
class PairBias:
    """How likely the swapped question contradicts a "first" and a "second", from ``pairs`` pairs judged in both orders.

    ``first_rate`` is the share of "first" among verdicts that are no tie. All are in 0-1.
    """

    pairs: int
    first_rate: float
    first_contradicted: float
    second_contradicted: float

    @classmethod
    def learn(cls, verdicts: Iterable[tuple[PairVerdict, PairVerdict]]) -> Self | None:
        """From (verdict in one order, verdict in the other) of each pair; None below 10 pairs without a tie."""
        counts = Counter(one if one == other else "agree" for one, other in verdicts if "tie" not in (one, other))
        pairs = counts.total()
        if pairs < _FEWEST:
            return None
        contradicting = counts["first"] + counts["second"]
        share = (contradicting + 1) / (pairs + 2)
        bias = _shrunk(counts["first"], contradicting)
        first, second, agree = share * bias, share * (1 - bias), (1 - share) / 2
        rate = (2 * counts["first"] + counts["agree"]) / (2 * pairs)
        return cls(pairs, rate, first / (first + agree), second / (second + agree))

    def margin(self, verdict: PairVerdict) -> float:
        """The mean verdict of both orders, given one, for the trajectory shown first: in [-1, 1]."""
        match verdict:
            case "first":
                return 1 - self.first_contradicted
            case "second":
                return self.second_contradicted - 1
            case "tie":
                return 0.0

    def swap_share(self, verdict: PairVerdict, *, doubt: float = 0.15, calls: float = 1.75) -> float:
        """Of pairs with this verdict, the share (0-1) to ask about in the other order, too.

        Verdicts that are contradicted more often than ``doubt`` are asked, the more doubtful kind first, until
        ``calls`` calls a pair are spent on average. A tie is always asked again.
        """
        if verdict == "tie":
            return 1.0
        rates = {"first": self.first_rate, "second": 1 - self.first_rate}
        contradicted = {"first": self.first_contradicted, "second": self.second_contradicted}
        left = calls - 1
        for kind in sorted(contradicted, key=lambda kind: -contradicted[kind]):
            share = min(1.0, left / rates[kind]) if contradicted[kind] > doubt and rates[kind] > 0 else 0.0
            if kind == verdict:
                return max(share, 0.0)
            left -= share * rates[kind]
        raise AssertionError(verdict)


def _shrunk(first: int, contradicting: int) -> float:
    """The share of contradicting pairs that said "first" twice, shrunk to one half as far as chance may explain it.

    Positive-part shrinkage (James & Stein 1961; Baranchik 1964): what is no more than noise is no bias at all.
    """
    off = (first + 0.5) / (contradicting + 1) - 0.5
    if off == 0:
        return 0.5
    variance = 0.25 / max(contradicting, 1)
    return 0.5 + off * max(0.0, 1 - _CAUTION * variance / off**2)
