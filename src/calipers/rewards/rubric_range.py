"""Rubric scores to rewards without clipping: a response worse than bad stays worse.

HealthBench's quotient has no lower bound of its own, but each rubric has one: all penalties and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from calipers.rubric import Grading
from calipers.rubric.formulas import lowest
from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class RubricRange:
    """Stretch what the group's rubrics can give, from their least score to 1, linearly to ``reward_range``.

    Advantages that are normalised by the group are the same as those of the scores. A rubric without penalties has
    the reward equal its score in [0, 1]. With ``Grading.reward`` "score" the reward is the score as it is.
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
        low, high = self.reward_range
        return tuple(
            None if value is None else low + (high - low) * min(max((value - worst) / (best - worst), 0.0), 1.0)
            for value in scores.values
        )
