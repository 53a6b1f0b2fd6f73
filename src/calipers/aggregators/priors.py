"""What earlier answers teach about judges: their noise, their position bias, their weights in a panel.

Learned without labels. A run takes one snapshot when it begins and records it, so that it can be replayed. Not
responsible for where answers are recorded (``ledger``), nor for how priors are used (``judging.assembly``).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from calipers.aggregators.bias_correction import verdict_of
from calipers.aggregators.noise import Noise
from calipers.aggregators.pair_bias import PairBias, PairVerdict
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.resolution import usual_spread
from calipers.aggregators.two_way import fit
from calipers.types import Comparison, Judgment, Rating

if TYPE_CHECKING:
    import numpy as np

BySlot: TypeAlias = Mapping[int, Sequence[Judgment]]
"""Each slot's judgments about one group."""

_FEWEST_SHARED = 20
"""Groups that all judges of a panel must have scored before their weights differ."""


@dataclass(frozen=True, slots=True)
class JudgePriors:
    """What is known of one judge; None where there were too few answers. Field names are those of recorded settings.

    ``spread`` is its usual variance of true scores within a group, in squared units of the scores; ``places`` its
    position bias in lists, ``swaps`` in pairs.
    """

    noise: Noise | None = None
    spread: float | None = None
    places: PositionBias | None = None
    swaps: PairBias | None = None


@dataclass(frozen=True, slots=True)
class Priors:
    """What is known of each judge by slot, and the ``weights`` of the panel (None: equal), from ``groups`` groups."""

    judges: tuple[JudgePriors, ...]
    weights: tuple[float, ...] | None = None
    groups: int = 0

    @classmethod
    def learn(cls, groups: Iterable[BySlot], judges: int) -> Self:
        """From the judges' judgments about ``groups``."""
        known = list(groups)
        priors = tuple(_priors([one.get(slot, ()) for one in known]) for slot in range(judges))
        return cls(priors, _weights(known, judges) if judges > 1 else None, len(known))

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> Self:
        """From what ``to_dict`` gave, after JSON."""
        weights = recorded["weights"]
        judges = tuple(
            JudgePriors(
                None if one["noise"] is None else Noise(**one["noise"]),
                one["spread"],
                None if one["places"] is None else PositionBias(**one["places"]),
                None if one["swaps"] is None else PairBias(**one["swaps"]),
            )
            for one in recorded["judges"]
        )
        return cls(judges, None if weights is None else tuple(weights), recorded["groups"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def _priors(groups: Sequence[Sequence[Judgment]]) -> JudgePriors:
    rated = [[one for one in group if isinstance(one, Rating)] for group in groups]
    compared = [[one for one in group if isinstance(one, Comparison)] for group in groups]
    bias = PositionBias.learn(rated)
    # Position bias is not noise: standard errors are those of ratings without it.
    unbiased = [ratings if bias is None else bias.without(ratings) for ratings in rated]
    fits = [fit(ratings, 1 + max(one.item for one in ratings)) for ratings in unbiased if ratings]
    noise = Noise.learn([one.squares for one in fits], [one.freedom for one in fits])
    spread = None
    if noise is not None:
        seen = [statistics.variance(row.values()) for ratings in unbiased for row in _rows(ratings) if len(row) > 1]
        spread = usual_spread(math.fsum(seen) / len(seen), noise.variance)
    return JudgePriors(noise, spread, bias, PairBias.learn(pair for group in compared for pair in _swapped(group)))


def _rows(ratings: Sequence[Rating]) -> list[dict[int, float]]:
    table: dict[int, dict[int, float]] = {}
    for one in ratings:
        table.setdefault(one.presentation, {})[one.item] = one.value
    return list(table.values())


def _swapped(comparisons: Sequence[Comparison]) -> Iterable[tuple[PairVerdict, PairVerdict]]:
    """The verdicts on each pair that was asked in both orders, the first of each."""
    first: dict[tuple[int, int], Comparison] = {}
    for one in comparisons:
        first.setdefault((one.first, one.second), one)
    for (low, high), one in first.items():
        other = first.get((high, low))
        if low < high and other is not None:
            yield verdict_of(one), verdict_of(other)


def _weights(groups: Sequence[BySlot], judges: int) -> tuple[float, ...] | None:
    """Weights from the groups that all judges scored; None where they are too few."""
    import numpy as np  # noqa: PLC0415 - only panels need it

    from calipers.aggregators.panel_weights import learn_weights  # noqa: PLC0415 - likewise

    calls = [[_calls(group.get(slot, ())) for slot in range(judges)] for group in groups]
    shared = [rows for rows in calls if all(rows)]
    if len(shared) < _FEWEST_SHARED:
        return None
    members = 1 + max(item for rows in shared for own in rows for row in own for item in row)
    # The number of calls that each judge made about most groups; rarer repeats say little.
    depth = [statistics.median_low(len(rows[slot]) for rows in shared) for slot in range(judges)]
    arrays: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    for slot in range(judges):
        table = np.full((len(shared), depth[slot], members), np.nan)
        for group, rows in enumerate(shared):
            for call, row in enumerate(rows[slot][: depth[slot]]):
                table[group, call, list(row)] = list(row.values())
        arrays.append(table)
    return tuple(round(one, 6) for one in learn_weights(arrays).weights)


def _calls(judgments: Sequence[Judgment]) -> list[dict[int, float]]:
    """One judge's calls about a group as scores: ratings as they are, pairs as mean margins, an order at a time."""
    rows = _rows([one for one in judgments if isinstance(one, Rating)])
    if rows:
        return rows
    rounds: list[list[Comparison]] = []
    asked: dict[frozenset[int], int] = {}
    for one in judgments:
        if isinstance(one, Comparison):
            pair = frozenset((one.first, one.second))
            number = asked.get(pair, 0)
            asked[pair] = number + 1
            rounds += [[]] * (number + 1 - len(rounds))
            rounds[number] = [*rounds[number], one]
    return [_net(one) for one in rounds]


def _net(comparisons: Sequence[Comparison]) -> dict[int, float]:
    margins: dict[int, list[float]] = {}
    for one in comparisons:
        margins.setdefault(one.first, []).append(one.margin)
        margins.setdefault(one.second, []).append(-one.margin)
    return {item: statistics.fmean(own) for item, own in margins.items()}
