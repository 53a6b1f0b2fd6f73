"""Judgments corrected for their judge's position bias before they are aggregated.

A rating loses the bias of its position; a verdict on a pair that was asked in one order counts for what both orders
would say on average. Not responsible for learning either (``position_bias``, ``pair_bias``).
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
    """Corrects ratings by their slot's ``positions`` and comparisons by its ``pairs``, then aggregates them ``within``.

    Judgments of other slots stay as they are. Scores that a correction moves off ``bounds`` are shrunk towards their
    mean, all by the same factor.
    """

    within: Aggregator
    positions: Mapping[int, PositionBias]
    pairs: Mapping[int, PairBias]
    bounds: tuple[float, float] | None = None

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """As ``within``."""
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
            corrected += self.positions[slot].without(ratings)
        scores = self.within(corrected, n)
        return scores if self.bounds is None else shrunk_into(scores, *self.bounds)

    def _in_one_order(self, comparison: Comparison) -> Comparison:
        bias = self.pairs.get(comparison.slot)
        if bias is None or comparison.margin == 0:
            return comparison
        return replace(comparison, margin=bias.margin(verdict_of(comparison)) * abs(comparison.margin))


def verdict_of(comparison: Comparison) -> PairVerdict:
    """Which of the two it says is better, by position."""
    return "tie" if comparison.margin == 0 else "first" if comparison.margin > 0 else "second"


def shrunk_into(scores: Scores, low: float, high: float) -> Scores:
    """Scores within the bounds: where one lies outside, all are shrunk towards their mean alike, so that none are
    tied.
    """
    known = [one for one in scores.values if one is not None]
    if not known or (min(known) >= low and max(known) <= high):
        return scores
    mean = min(max(sum(known) / len(known), low), high)
    most = max(max(known) - mean, 0.0), max(mean - min(known), 0.0)
    factor = min([1.0, *(room / one for one, room in zip(most, (high - mean, mean - low), strict=True) if one > room)])
    return Scores(
        tuple(None if one is None else round(mean + factor * (one - mean), 6) for one in scores.values),
        tuple(None if one is None else round(factor * one, 6) for one in scores.stderrs),
    )
