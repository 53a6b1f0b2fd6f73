"""How a simulated judge turns opinions into the scores it gives: levels, verdicts on pairs, rankings.

Opinions may be on any scale; the scores are from 0 to 1. Pass one of these as the last bias. Not responsible for
opinions (``biases``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from calipers.errors import ConfigError
from calipers.testing.biases import Bias
from calipers.testing.bounds import require_finite, require_probability
from calipers.testing.question import Question


@dataclass(frozen=True, slots=True)
class Levels(Bias):
    """Gives only the ``scores`` (0-1, rising): an opinion gets the score of the interval of ``thresholds`` it is in.

    There is one threshold less than scores, rising. Opinions below the first threshold get the first score. So a judge
    can use few levels, unequally often, and tie many candidates.
    """

    scores: tuple[float, ...]
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        require_levels("Levels", self.scores, self.thresholds)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        return [self.scores[bisect_right(self.thresholds, opinion)] for opinion in opinions]


@dataclass(frozen=True, slots=True)
class PairLevels(Bias):
    """Compares two candidates: ``Levels`` of the first opinion less the second, and 1 less that for the second.

    With the scores 0, 0.5 and 1, the thresholds separate a loss, a tie and a win. A longer list is compared pair by
    pair, and a candidate gets its mean over all others; a candidate alone is compared with an opinion of 0.
    """

    scores: tuple[float, ...]
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        require_levels("PairLevels", self.scores, self.thresholds)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        if len(opinions) == 1:
            return [self._compared(opinions[0])]
        totals = [0.0] * len(opinions)
        for place, one in enumerate(opinions):
            for after in range(place + 1, len(opinions)):
                won = self._compared(one - opinions[after])
                totals[place] += won
                totals[after] += 1 - won
        return [total / (len(opinions) - 1) for total in totals]

    def _compared(self, gap: float) -> float:
        return self.scores[bisect_right(self.thresholds, gap)]


@dataclass(frozen=True, slots=True)
class Ranked(Bias):
    """Ranks the candidates: 1 for the highest opinion, 0 for the lowest, in equal steps and without ties.

    Of equal opinions, the one shown first is higher. A candidate alone gets 0.5.
    """

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        last = len(opinions) - 1
        best_first = sorted(range(len(opinions)), key=lambda place: -opinions[place])
        rank = {place: number for number, place in enumerate(best_first)}
        return [1 - rank[place] / last if last else 0.5 for place in range(len(opinions))]


def require_levels(name: str, scores: Sequence[float], thresholds: Sequence[float]) -> None:
    """Raise ConfigError unless a simulated judge's ``scores`` and ``thresholds`` rise and fit together."""
    if len(scores) != len(thresholds) + 1:
        raise ConfigError(f"{name} needs one threshold less than scores, not {len(thresholds)} for {len(scores)}")
    for score in scores:
        require_probability(f"{name} scores", score)
    for threshold in thresholds:
        require_finite(f"{name} thresholds", threshold)
    if any(one >= other for one, other in pairwise(scores)) or any(one > other for one, other in pairwise(thresholds)):
        raise ConfigError(f"{name} scores and thresholds must rise")
