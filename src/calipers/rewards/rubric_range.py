"""Maps rubric scores to rewards without clipping: of two negative scores, the lower one gets the lower reward.

HealthBench's quotient has no fixed lower bound, but each rubric has one: every penalty applies, and no other criterion
is met.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from calipers.rewards.identity import map_to_reward_range
from calipers.rubric import Grading
from calipers.rubric.formulas import lowest_score
from calipers.types import RenderedGroup, Scores


@dataclass(frozen=True, slots=True)
class RubricRange:
    """Maps the scores that the group's rubrics can give, from the least possible to 1, linearly to ``reward_range``.

    Advantages that are normalised by the group equal those of the scores. Without penalties in any rubric, the least
    possible score is 0. With ``Grading.reward`` "score", the reward is the score unchanged.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)
    grading: Grading = field(default_factory=Grading)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """Return one reward per candidate; None stays None, and equal scores give bit-equal rewards."""
        if self.grading.reward == "score":
            return scores.values
        least = [lowest_score(rubric, self.grading.normaliser) for rubric in view.rubrics if rubric is not None]
        worst = min([*least, 0.0])
        shares = (
            None if value is None else min(max((value - worst) / (1.0 - worst), 0.0), 1.0) for value in scores.values
        )
        return map_to_reward_range(shares, self.reward_range)
