"""Detect a change of a metric's mean: Page's cumulative sum test, in Hinkley's form for an unknown mean.

E. S. Page, Continuous inspection schemes, Biometrika 41 (1954); D. V. Hinkley, Inference about the change-point from
cumulative sum tests, Biometrika 58 (1971). Not responsible for what is measured, or for reporting it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from calipers.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Rise:
    """A running test for a rise of the mean of values in [0, 1]; immutable, ``updated`` returns the next state.

    Deviations from the running mean, minus ``slack`` for noise, add up; when their sum has risen by more than ``limit``
    above its minimum, the mean has risen. With deviations of about 0.25, as audit disagreements have, limit 4 and slack
    0.05 give a false alarm about once in several thousand values, and detect a rise of 0.2 after about thirty. The
    first ``settling`` values are only used to estimate the mean.
    """

    slack: float = 0.05
    limit: float = 4.0
    settling: int = 30
    count: int = 0
    mean: float = 0.0
    sum: float = 0.0
    lowest: float = 0.0

    def __post_init__(self) -> None:
        if not (self.slack >= 0 and self.limit > 0 and self.settling >= 1):
            raise ConfigError("a change test needs slack of at least 0, a limit above 0 and at least 1 settling value")

    @property
    def found(self) -> bool:
        """Whether the test has detected a rise of the mean."""
        return self.sum - self.lowest > self.limit

    def updated(self, value: float) -> Self:
        """Return the state of the alarm's change test after one more value of the metric. Raises ConfigError if the
        value is not finite.
        """
        if not math.isfinite(value):
            raise ConfigError(f"a change test takes finite values, not {value}")
        count = self.count + 1
        mean = self.mean + (value - self.mean) / count
        if count <= self.settling:
            return replace(self, count=count, mean=mean)
        total = self.sum + value - mean - self.slack
        return replace(self, count=count, mean=mean, sum=total, lowest=min(self.lowest, total))

    def reset(self) -> Self:
        """Return the alarm's change test in its initial state, before any value of the metric."""
        return replace(self, count=0, mean=0.0, sum=0.0, lowest=0.0)
