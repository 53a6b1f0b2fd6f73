"""Learns a judge's position bias from pairs that it compared in both orders, and corrects judgments for it.

No labels are used. A judge that answers "first" in both orders followed the position. So the share of "first" verdicts
that the swapped question contradicts measures how weak "first" is as evidence, and likewise for "second". A verdict in
one order is replaced by the average verdict expected of both orders. (Wang et al., arXiv 2305.17926, use the
contingency of swapped verdicts to average orders; here it weighs a single order.) It does not correct errors that both
orders share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias

from calipers.aggregators.position_bias import PositionBias
from calipers.interfaces import Aggregator
from calipers.types import Comparison, Judgment, Rating, Scores

PairVerdict: TypeAlias = Literal["first", "second", "tie"]
"""Which trajectory of a pair the judge prefers: that shown first, that shown second, or neither."""

_FEWEST = 10
"""The least number of pairs judged in both orders from which a bias is learned."""

_CAUTION = 0.5
"""A bias counts only if its square exceeds this many times its sampling variance. This value and that of ``doubt`` were
chosen so that a single order predicts both orders best, without labels, on pairs that are not in
docs/calibration-figures.md#what-was-measured.
"""


@dataclass(frozen=True, slots=True)
class PairBias:
    """How often a judge contradicts its verdict "first", and its verdict "second", if the pair is shown in reverse.

    The rates, from 0 to 1, are estimated from ``pairs`` pairs judged in both orders. ``first_rate`` is the share of
    "first" among verdicts that are no tie.
    """

    pairs: int
    first_rate: float
    first_contradicted: float
    second_contradicted: float

    @classmethod
    def learn(cls, verdicts: Iterable[tuple[PairVerdict, PairVerdict]]) -> Self | None:
        """Estimate a judge's position bias, which is used to aggregate comparisons, from pairs judged in both orders.

        Returns None if fewer than 10 pairs have no tie.
        """
        counts = Counter(left if left == right else "agree" for left, right in verdicts if "tie" not in (left, right))
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
        """Return the margin that stands for one verdict when comparisons are aggregated into scores.

        It is the mean margin to be expected if the pair were judged in both orders: from -1 to 1, above 0 if the
        candidate shown first is preferred.
        """
        return {"first": 1 - self.first_contradicted, "second": self.second_contradicted - 1, "tie": 0.0}[verdict]

    def swap_share(self, verdict: PairVerdict, *, doubt: float = 0.15, calls: float = 1.75) -> float:
        """Return the share (0-1) of pairs with this verdict to ask again before comparisons are aggregated.

        They are asked in the other order. Verdicts that are contradicted more often than ``doubt`` are asked again,
        those contradicted most often first, until the average is ``calls`` calls per pair. A tie is always asked again.
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


def verdict_of_comparison(comparison: Comparison) -> PairVerdict:
    """Return which candidate a comparison to be aggregated into scores prefers: the first, the second, or neither."""
    return "tie" if comparison.margin == 0 else "first" if comparison.margin > 0 else "second"


def _shrunk(first: int, contradicting: int) -> float:
    """Return the share of contradicting pairs with two "first" verdicts, shrunk to 0.5 as far as chance explains it.

    Positive-part shrinkage (James & Stein 1961; Baranchik 1964): a difference no larger than noise counts as no bias.
    """
    off = (first + 0.5) / (contradicting + 1) - 0.5
    if off == 0:
        return 0.5
    variance = 0.25 / max(contradicting, 1)
    return 0.5 + off * max(0.0, 1 - _CAUTION * variance / off**2)


@dataclass(frozen=True, slots=True)
class BiasCorrected:
    """Corrects ratings with the biases in ``positions`` and comparisons with those in ``pairs``, then aggregates them.

    From a rating, the bias of its position is subtracted. If a pair was asked in a single order, its verdict is
    replaced by the average verdict expected of both orders. ``positions`` and ``pairs`` map a judge's slot to its known
    bias; judgments of other slots stay unchanged. ``within`` is the aggregator. If a correction moves scores out of
    ``bounds``, all scores are shrunk towards their mean by the same factor.
    """

    within: Aggregator
    positions: Mapping[int, PositionBias]
    pairs: Mapping[int, PairBias]
    bounds: tuple[float, float] | None = None

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Return the scores that the aggregator ``within`` makes of the corrected judgments."""
        swapped = {(one.slot, one.second, one.first) for one in judgments if isinstance(one, Comparison)}
        corrected: list[Judgment] = []
        by_slot: dict[int, list[Rating]] = {}
        for judgment in judgments:
            match judgment:
                case Comparison() if (judgment.slot, judgment.first, judgment.second) not in swapped:
                    corrected.append(self._in_one_order(judgment))
                case Rating() if judgment.slot in self.positions:
                    by_slot.setdefault(judgment.slot, []).append(judgment)
                case _:
                    corrected.append(judgment)
        for slot, ratings in by_slot.items():
            corrected += self.positions[slot].without_bias(ratings)
        scores = self.within(corrected, n)
        return scores if self.bounds is None else shrink_into_bounds(scores, *self.bounds)

    def _in_one_order(self, comparison: Comparison) -> Comparison:
        bias = self.pairs.get(comparison.slot)
        if bias is None or comparison.margin == 0:
            return comparison
        return replace(comparison, margin=bias.margin(verdict_of_comparison(comparison)) * abs(comparison.margin))


def shrink_into_bounds(scores: Scores, low: float, high: float) -> Scores:
    """Return aggregated scores within the bounds.

    If one is outside, all are shrunk towards their mean by the same factor. Clipping would tie the scores that are
    outside.
    """
    known = [value for value in scores.values if value is not None]
    if not known or (min(known) >= low and max(known) <= high):
        return scores
    mean = min(max(sum(known) / len(known), low), high)
    most = max(max(known) - mean, 0.0), max(mean - min(known), 0.0)
    factor = min([1.0, *(room / gap for gap, room in zip(most, (high - mean, mean - low), strict=True) if gap > room)])
    return replace(
        scores,
        values=tuple(
            None if value is None else round(mean + factor * (value - mean), 6) + 0.0 for value in scores.values
        ),
        stderrs=tuple(None if stderr is None else round(factor * stderr, 6) for stderr in scores.stderrs),
    )
