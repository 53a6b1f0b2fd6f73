"""Judgments read with what is known of their judge's leaning to a place, before they are aggregated.

A rating loses what its place is worth; a verdict on a pair that was asked in one order only counts for what both orders
would say on average. Not responsible for learning either (``places``, ``swaps``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from calipers.aggregators.places import Places
from calipers.aggregators.swaps import Said, Swaps
from calipers.interfaces import Aggregator
from calipers.types import Comparison, Judgment, Rating, Scores


@dataclass(frozen=True, slots=True)
class OrderAware:
    """Corrects judgments by their slot's ``places`` and ``swaps``, then aggregates them ``within``.

    Slots without either are left as they are. Scores that a correction moves off ``bounds`` are drawn in, all alike.
    """

    within: Aggregator
    places: Mapping[int, Places]
    swaps: Mapping[int, Swaps]
    bounds: tuple[float, float] | None = None

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """As ``within``."""
        swapped = {(one.slot, one.second, one.first) for one in judgments if isinstance(one, Comparison)}
        read: list[Judgment] = []
        by_slot: dict[int, list[Rating]] = {}
        for one in judgments:
            match one:
                case Comparison() if (one.slot, one.first, one.second) not in swapped:
                    read.append(self._single(one))
                case Rating() if one.slot in self.places:
                    by_slot.setdefault(one.slot, []).append(one)
                case _:
                    read.append(one)
        for slot, ratings in by_slot.items():
            read += self.places[slot].without(ratings)
        scores = self.within(read, n)
        return scores if self.bounds is None else drawn_in(scores, *self.bounds)

    def _single(self, comparison: Comparison) -> Comparison:
        swaps = self.swaps.get(comparison.slot)
        if swaps is None or comparison.margin == 0:
            return comparison
        worth = swaps.margin(said(comparison))
        return replace(comparison, margin=worth * abs(comparison.margin))


def said(comparison: Comparison) -> Said:
    """The verdict by place."""
    return "tie" if comparison.margin == 0 else "first" if comparison.margin > 0 else "second"


def drawn_in(scores: Scores, low: float, high: float) -> Scores:
    """Scores within the bounds: where one lies outside, all are drawn towards their mean alike, so no tie is made."""
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
