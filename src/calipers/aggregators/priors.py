"""What earlier answers show about the judges that gave them: noise, position bias, and weights in a panel.

Learned without labels. A run uses one snapshot, taken when it begins, and records it, so that the run can be replayed.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from calipers.aggregators.noise import Noise
from calipers.aggregators.pair_bias import PairBias, PairVerdict, verdict_of_comparison
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.two_way import fit_two_way, rows_of_ratings
from calipers.types import Comparison, Judgment, Rating

if TYPE_CHECKING:
    import numpy as np

BySlot: TypeAlias = Mapping[int, Sequence[Judgment]]
"""The judgments about one group, by the slot of the judge."""

_FEWEST_SHARED = 20
"""How many groups all judges of a panel must have scored before their weights may differ."""


@dataclass(frozen=True, slots=True)
class JudgePriors:
    """What earlier answers show about one judge; None where there were too few answers.

    Field names are those of recorded settings. ``spread`` is the usual variance of true scores within a group, in
    squared units of the scores. ``places`` is the judge's position bias in lists, ``swaps`` that in pairs.
    """

    noise: Noise | None = None
    spread: float | None = None
    places: PositionBias | None = None
    swaps: PairBias | None = None


@dataclass(frozen=True, slots=True)
class Priors:
    """What is known about each judge, by slot, and the panel's ``weights`` (None: equal), from ``groups`` groups."""

    judges: tuple[JudgePriors, ...]
    weights: tuple[float, ...] | None = None
    groups: int = 0

    @classmethod
    def learn(cls, groups: Iterable[BySlot], judges: int) -> Self:
        """Learn priors of ``judges`` judges, to aggregate ratings into scores, from judgments about ``groups``."""
        known = list(groups)
        priors = tuple(_priors([by_slot.get(slot, ()) for by_slot in known]) for slot in range(judges))
        return cls(priors, _weights(known, judges) if judges > 1 else None, len(known))

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> Self:
        """Read priors for aggregating ratings into scores from JSON data that ``to_dict`` returned."""
        weights = recorded["weights"]
        kinds = {"noise": Noise, "places": PositionBias, "swaps": PairBias}
        judges = []
        for prior in recorded["judges"]:
            known = {name: kind(**prior[name]) for name, kind in kinds.items() if prior[name] is not None}
            judges.append(JudgePriors(spread=prior["spread"], **known))
        return cls(tuple(judges), None if weights is None else tuple(weights), recorded["groups"])

    def to_dict(self) -> dict[str, Any]:
        """Return the priors for aggregating ratings into scores as plain data for JSON."""
        return asdict(self)


def _priors(groups: Sequence[Sequence[Judgment]]) -> JudgePriors:
    rated = [[rating for rating in group if isinstance(rating, Rating)] for group in groups]
    compared = [[comparison for comparison in group if isinstance(comparison, Comparison)] for group in groups]
    bias = PositionBias.learn(rated)
    # Position bias is not noise: standard errors are those of the ratings without it.
    unbiased = [ratings if bias is None else bias.without_bias(ratings) for ratings in rated]
    fits = [fit_two_way(ratings, 1 + max(rating.item for rating in ratings)) for ratings in unbiased if ratings]
    noise = Noise.learn([fit.squares for fit in fits], [fit.freedom for fit in fits])
    spread = None
    if noise is not None:
        seen = [
            statistics.variance(row.values())
            for ratings in unbiased
            for row in rows_of_ratings(ratings).values()
            if len(row) > 1
        ]
        spread = max(math.fsum(seen) / len(seen) - noise.variance, 0.0)
    return JudgePriors(
        noise, spread, bias, PairBias.learn(pair for group in compared for pair in _verdicts_in_both_orders(group))
    )


def _verdicts_in_both_orders(comparisons: Sequence[Comparison]) -> Iterable[tuple[PairVerdict, PairVerdict]]:
    """Yield the first two verdicts, one per order, on each pair that was asked in both orders."""
    first: dict[tuple[int, int], Comparison] = {}
    for comparison in comparisons:
        first.setdefault((comparison.first, comparison.second), comparison)
    for (low, high), comparison in first.items():
        swapped = first.get((high, low))
        if low < high and swapped is not None:
            yield verdict_of_comparison(comparison), verdict_of_comparison(swapped)


def _weights(groups: Sequence[BySlot], judges: int) -> tuple[float, ...] | None:
    """Learn the weights of a panel from the groups that all judges scored; None if they are too few."""
    import numpy as np  # noqa: PLC0415 - only panels need it

    from calipers.aggregators.panel_weights import learn_weights  # noqa: PLC0415 - likewise

    calls = [[_scores_by_call(group.get(slot, ())) for slot in range(judges)] for group in groups]
    shared = [rows for rows in calls if all(rows)]
    if len(shared) < _FEWEST_SHARED:
        return None
    members = 1 + max(item for rows in shared for of_judge in rows for row in of_judge for item in row)
    # The number of calls that each judge made about most groups. Further calls were made about few groups only.
    depth = [statistics.median_low(len(rows[slot]) for rows in shared) for slot in range(judges)]
    arrays: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    for slot in range(judges):
        table = np.full((len(shared), depth[slot], members), np.nan)
        for group, rows in enumerate(shared):
            for call, row in enumerate(rows[slot][: depth[slot]]):
                table[group, call, list(row)] = list(row.values())
        arrays.append(table)
    return tuple(round(weight, 6) for weight in learn_weights(arrays))


def _scores_by_call(judgments: Sequence[Judgment]) -> list[dict[int, float]]:
    """Return one judge's calls about a group as scores by candidate.

    Ratings are used as they are. Comparisons become mean margins, one row for each time that the pairs were asked.
    """
    if rows := rows_of_ratings(judgments):
        return list(rows.values())
    rounds: dict[int, list[Comparison]] = {}
    asked: Counter[frozenset[int]] = Counter()
    for judgment in judgments:
        if isinstance(judgment, Comparison):
            pair = frozenset((judgment.first, judgment.second))
            rounds.setdefault(asked[pair], []).append(judgment)
            asked[pair] += 1
    return list(map(_mean_margins, rounds.values()))


def _mean_margins(comparisons: Sequence[Comparison]) -> dict[int, float]:
    margins: dict[int, list[float]] = {}
    for comparison in comparisons:
        margins.setdefault(comparison.first, []).append(comparison.margin)
        margins.setdefault(comparison.second, []).append(-comparison.margin)
    return {item: statistics.fmean(shares) for item, shares in margins.items()}
