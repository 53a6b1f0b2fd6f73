"""Biases of a simulated judge towards features of answers and positions, in units that can be measured again.

Not responsible for the features (``features``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import ConfigError
from calipers.testing.biases import Bias
from calipers.testing.bounds import require_finite
from calipers.testing.features import TEXT_FEATURES, FeatureOf, TextFeature, text_feature
from calipers.testing.question import Question


@dataclass(frozen=True, slots=True)
class Preference(Bias):
    """Adds ``per_unit`` for each unit of a ``feature`` that a candidate has more than the mean of its group.

    ``feature`` is a name of ``features.text_feature``, such as "markdown", or a function from the view to a number per
    candidate. The mean is over all distinct candidates of the group, also those that this question omits.
    """

    feature: TextFeature | FeatureOf
    per_unit: float

    def __post_init__(self) -> None:
        require_finite("Preference per_unit", self.per_unit)
        if isinstance(self.feature, str) and self.feature not in TEXT_FEATURES:
            raise ConfigError(f"Preference feature must be one of {', '.join(TEXT_FEATURES)}, not {self.feature!r}")

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        measure = text_feature(self.feature) if isinstance(self.feature, str) else self.feature
        values = measure(question.request.view)
        mean = math.fsum(values) / len(values)
        own = [values[item] - mean for item in question.request.ask.order]
        return [opinion + self.per_unit * value for opinion, value in zip(opinions, own, strict=True)]


@dataclass(frozen=True, slots=True)
class PositionCurve(Bias):
    """Adds to the opinion on a candidate what its position in the list is worth: 0 on average over the list.

    A straight line runs over the positions: ``slope`` is its last value less its first, and ``first`` and ``last`` are
    how far the first and the last position are above the line. All are in the units of opinions.
    """

    slope: float = 0.0
    first: float = 0.0
    last: float = 0.0

    def __post_init__(self) -> None:
        for name in ("slope", "first", "last"):
            require_finite(f"PositionCurve {name}", getattr(self, name))

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        size = len(opinions)
        if size < 2:
            return list(opinions)
        return [
            opinion
            + self.slope * (place / (size - 1) - 0.5)
            + self.first * ((place == 0) - 1 / size)
            + self.last * ((place == size - 1) - 1 / size)
            for place, opinion in enumerate(opinions)
        ]


@dataclass(frozen=True, slots=True)
class UnevenSpread(Bias):
    """Multiplies all opinions on a group by a factor of the group: log-normal, with the mean 1.

    ``log_sd`` is the standard deviation of the factor's logarithm. The judge sees large differences in some groups, and
    hardly any in others, so some groups are tied and others spread out. Opinions should be around 0.
    """

    log_sd: float

    def __post_init__(self) -> None:
        require_finite("UnevenSpread log_sd", self.log_sd, least=0)

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        factor = math.exp(question.by_group().gauss(0, self.log_sd) - self.log_sd**2 / 2)
        return [factor * opinion for opinion in opinions]
