"""Rewards that a group's reliability makes smaller, for trainers that do not divide by the group's standard deviation.

That division undoes both (docs/rewards.md): it gives shrunk and weighted rewards the advantages of plain scores. Not
responsible for weights of advantages, which such trainers need instead (``trainers.weights``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.interfaces import RewardTransform
from calipers.rewards.identity import Identity
from calipers.rewards.magnitude import mean_of, rounded, scaled
from calipers.rewards.reliability import reliability_of
from calipers.types import Reliability, RenderedGroup, Scores

_DIGITS = 9
_NO_SPREAD = 1e-9
"""Values that differ by a smaller share of the largest of them are equal: such differences come from rounding."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Moves rewards towards their group's mean: m + R (r - m), with the reliability R of the group's scores.

    ``inner`` makes the rewards (None: scores mapped to ``reward_range``). A group whose reliability is unknown or
    assumed keeps its rewards.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)
    inner: RewardTransform | None = None

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """Return one reward per candidate; None stays None, and with R = 0 all are bit-equal."""
        rewards = (self.inner or Identity(self.reward_range))(scores, view)
        factor = estimated(reliability_of(scores))
        known = [reward for reward in rewards if reward is not None]
        if factor is None or not known:
            return rewards
        mean = rounded(mean_of(known), known)
        return tuple(None if reward is None else rounded(mean + factor * (reward - mean), known) for reward in rewards)


@dataclass(frozen=True, slots=True)
class Weighted:
    """Standardises scores within the group and multiplies them by a weight: √R (s - m) / sd, 0 if all are equal.

    For trainers that subtract the group's mean and divide by nothing, whose advantage this then is. Rewards are around
    0 and not in ``reward_range``. A group whose reliability is unknown or assumed has the weight 1.
    """

    reward_range: tuple[float, float] = (0.0, 1.0)

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:  # noqa: ARG002 - the seam
        """Return one reward per candidate; None stays None, and with R = 0 all are 0.0."""
        weight = weight_of(reliability_of(scores))
        return tuple(None if z is None else round(weight * z, _DIGITS) + 0.0 for z in standardised(scores.values))


def estimated(reliability: Reliability) -> float | None:
    """Return the reliability of scores if their noise was estimated from answers; None if it is unknown or assumed."""
    return reliability.value if reliability.basis in {"repeats", "learned"} else None


def weight_of(reliability: Reliability) -> float:
    """Return √R, the weight of a group's advantages or standardised scores, 0 to 1; 1 where R is not estimated.

    The correlation of scores with what they would be without noise is √R (the index of reliability, Kelley 1924), so
    that √R z is the regression of the noise-free z on the scores.
    """
    value = estimated(reliability)
    return 1.0 if value is None else math.sqrt(min(max(value, 0.0), 1.0))


def standardised(values: Sequence[float | None]) -> list[float | None]:
    """Return scores less their mean over their standard deviation (ddof 1), as rewards; 0.0 where nothing differs.

    None stays None; a single score is 0.0, and so are scores that differ by less than 1e-9 of the largest magnitude.
    """
    known = scaled([value for value in values if value is not None])
    if not known or max(known) - min(known) <= _NO_SPREAD * max(map(abs, known)):
        return [None if value is None else 0.0 for value in values]
    mean = math.fsum(known) / len(known)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in known) / (len(known) - 1))
    standard = iter([(score - mean) / deviation for score in known])
    return [None if value is None else next(standard) for value in values]
