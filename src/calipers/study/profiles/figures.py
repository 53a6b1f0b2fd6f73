"""A measured number with its interval and the observations behind it.

Not responsible for measuring (``measures``), or for what is measured (``profile``).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured ``value`` with its 95 % interval from ``low`` to ``high``.

    It rests on ``n`` observations (scores, pairs or answers) in ``groups`` groups, which are resampled for the
    interval. ``value`` is None where the data could not show it: then ``reason`` says why. An interval is None below
    two groups.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    groups: int = 0
    reason: str = ""

    @property
    def known(self) -> bool:
        """Whether the figure was measured."""
        return self.value is not None

    def covers(self, value: float, *, slack: float = 0.0) -> bool:
        """Return whether the figure's interval, widened by ``slack`` on each side, contains ``value``.

        Without an interval, return whether ``value`` is the figure's own value within ``slack``.
        """
        if self.value is None:
            return False
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        return low - slack <= value <= high + slack


def untold(reason: str) -> Figure:
    """Return a profile's figure that the data could not show, with the ``reason``."""
    return Figure(None, reason=reason)
