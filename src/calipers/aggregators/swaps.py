"""What one order of a pair is worth: a judge's leaning to a place, learned from pairs it judged in both orders.

No label is used. Where a judge says "first" in both orders, the place spoke; so the share of "first" that the swapped
question contradicts tells how weak evidence a "first" is, and likewise for "second". A single verdict is read as what
both orders would say on average. (The contingency of swapped verdicts: Wang et al., arXiv 2305.17926, use it to average
orders; here it weighs one.) Not responsible for asking, and no correction for errors both orders share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

Said: TypeAlias = Literal["first", "second", "tie"]
"""A verdict by place: the trajectory shown first is better, or the one shown second."""

_FEWEST = 10
"""Swapped pairs below which nothing is corrected."""

_CAUTION = 0.5
"""A lean counts only beyond this many times its sampling variance. Chosen, like ``doubt``, by how well one order foretells
both: without labels, and on other pairs than those docs/calibration.md reports."""


@dataclass(frozen=True, slots=True)
class Swaps:
    """How likely the swapped question contradicts a "first" and a "second", from ``pairs`` pairs judged both ways.

    ``first_rate`` is the share of "first" among verdicts that are no tie. All are in 0-1.
    """

    pairs: int
    first_rate: float
    first_contradicted: float
    second_contradicted: float

    @classmethod
    def learn(cls, verdicts: Iterable[tuple[Said, Said]]) -> Self | None:
        """From (verdict in one order, verdict in the other) of each pair; None below 10 pairs without a tie."""
        counts = Counter(one if one == other else "agree" for one, other in verdicts if "tie" not in (one, other))
        pairs = counts.total()
        if pairs < _FEWEST:
            return None
        contradicting = counts["first"] + counts["second"]
        share = (contradicting + 1) / (pairs + 2)
        lean = _cautious(counts["first"], contradicting)
        first, second, agree = share * lean, share * (1 - lean), (1 - share) / 2
        rate = (2 * counts["first"] + counts["agree"]) / (2 * pairs)
        return cls(pairs, rate, first / (first + agree), second / (second + agree))

    def margin(self, said: Said) -> float:
        """What one verdict is worth for the trajectory shown first, in [-1, 1]: the mean verdict of both orders."""
        match said:
            case "first":
                return 1 - self.first_contradicted
            case "second":
                return self.second_contradicted - 1
            case "tie":
                return 0.0

    def swap_share(self, said: Said, *, doubt: float = 0.15, calls: float = 1.75) -> float:
        """Of pairs with this verdict, the share (0-1) whose swapped question is worth asking.

        Verdicts that are contradicted more often than ``doubt`` are worth it, the more doubtful kind first, until
        ``calls`` calls a pair are spent on average. A tie is always asked again.
        """
        if said == "tie":
            return 1.0
        rates = {"first": self.first_rate, "second": 1 - self.first_rate}
        chances = {"first": self.first_contradicted, "second": self.second_contradicted}
        left = calls - 1
        for kind in sorted(chances, key=lambda kind: -chances[kind]):
            share = min(1.0, left / rates[kind]) if chances[kind] > doubt and rates[kind] > 0 else 0.0
            if kind == said:
                return max(share, 0.0)
            left -= share * rates[kind]
        raise AssertionError(said)


def _cautious(first: int, contradicting: int) -> float:
    """The share of contradicting pairs that said "first" twice, drawn to one half as far as chance may explain it.

    Positive-part shrinkage (James & Stein 1961; Baranchik 1964): what is no more than noise is no lean at all.
    """
    off = (first + 0.5) / (contradicting + 1) - 0.5
    if off == 0:
        return 0.5
    variance = 0.25 / max(contradicting, 1)
    return 0.5 + off * max(0.0, 1 - _CAUTION * variance / off**2)


def both_orders(one: Said, other: Said) -> float:
    """The margin of two swapped verdicts for the trajectory shown first in ``one``: contradiction is a tie."""
    points = {"first": 1.0, "second": -1.0, "tie": 0.0}
    return (points[one] - points[other]) / 2
