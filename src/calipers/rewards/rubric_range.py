"""Rubric scores to rewards without clipping: of two negative scores, the lower one gets the lower reward.

HealthBench's quotient has no fixed lower bound, but each rubric has one: all penalties and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from calipers.rewards.identity import mapped
from calipers.rubric import Grading
from calipers.rubric.formulas import lowest
from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class RubricRange:
    """Map the scores that the group's rubrics can give, from their least to 1, linearly to ``reward_range``.

    Advantages that are normalised by the group are the same as those of the scores. With a rubric without penalties the
    reward is the score in [0, 1]. With ``Grading.reward`` "score" the reward is the score as it is.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)
    grading: Grading = field(default_factory=Grading)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """One reward per candidate; None stays None, and equal scores give bit-equal rewards."""
        if self.grading.reward == "score":
            return scores.values
        formula = self.grading.formula
        least = (
            [0.0] if formula == "rar_implicit" else [lowest(one, formula) for one in view.rubrics if one is not None]
        )
        floor = [self.grading.floor] if self.grading.on_missing == "floor" else []
        worst, best = min([*least, *floor, 0.0]), max([*floor, 1.0])
        shares = (None if one is None else min(max((one - worst) / (best - worst), 0.0), 1.0) for one in scores.values)
        return mapped(shares, self.reward_range)
