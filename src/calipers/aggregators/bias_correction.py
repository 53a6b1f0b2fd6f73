"""Corrects judgments for their judge's position bias before they are aggregated.

From a rating, the bias of its position is subtracted. If a pair was asked in a single order, its verdict is replaced by
the average verdict expected of both orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.aggregators.pair_bias import PairBias, PairVerdict
from calipers.aggregators.position_bias import PositionBias
from calipers.interfaces import Aggregator
from calipers.types import Comparison, Judgment, Rating, Scores


@dataclass(frozen=True, slots=True)
class BiasCorrected:
    """Corrects ratings with the biases in ``positions`` and comparisons with those in ``pairs``, then aggregates them.

    ``positions`` and ``pairs`` map a judge's slot to its known bias; judgments of other slots stay unchanged.
    ``within`` is the aggregator. If a correction moves scores out of
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
        for one in judgments:
            match one:
                case Comparison() if (one.slot, one.first, one.second) not in swapped:
                    corrected.append(self._in_one_order(one))
                case Rating() if one.slot in self.positions:
                    by_slot.setdefault(one.slot, []).append(one)
                case _:
                    corrected.append(one)
        for slot, ratings in by_slot.items():
            corrected += self.positions[slot].without_bias(ratings)
        scores = self.within(corrected, n)
        return scores if self.bounds is None else shrink_into_bounds(scores, *self.bounds)

    def _in_one_order(self, comparison: Comparison) -> Comparison:
        bias = self.pairs.get(comparison.slot)
        if bias is None or comparison.margin == 0:
            return comparison
        return replace(comparison, margin=bias.margin(verdict_of_comparison(comparison)) * abs(comparison.margin))


def verdict_of_comparison(comparison: Comparison) -> PairVerdict:
    """Return which candidate a comparison to be aggregated into scores prefers: the first, the second, or neither."""
    return "tie" if comparison.margin == 0 else "first" if comparison.margin > 0 else "second"


def shrink_into_bounds(scores: Scores, low: float, high: float) -> Scores:
    """Return aggregated scores within the bounds.

    If one is outside, all are shrunk towards their mean by the same factor. Clipping would tie the scores that are
    outside.
    """
    known = [one for one in scores.values if one is not None]
    if not known or (min(known) >= low and max(known) <= high):
        return scores
    mean = min(max(sum(known) / len(known), low), high)
    most = max(max(known) - mean, 0.0), max(mean - min(known), 0.0)
    factor = min([1.0, *(room / one for one, room in zip(most, (high - mean, mean - low), strict=True) if one > room)])
    return replace(
        scores,
        values=tuple(None if one is None else round(mean + factor * (one - mean), 6) + 0.0 for one in scores.values),
        stderrs=tuple(None if one is None else round(factor * one, 6) for one in scores.stderrs),
    )
