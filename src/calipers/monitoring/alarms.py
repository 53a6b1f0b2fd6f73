"""Compare health metrics with thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from calipers.config.option import nearest_name
from calipers.errors import ConfigError
from calipers.monitoring.health import METRICS


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm about a health metric: ``metric`` is above (or below) a threshold, over at least ``groups`` groups.

    ``advice`` is a sentence for people. Raises ConfigError unless the metric is a Monitor's, with one finite threshold.
    """

    metric: str
    above: float | None = None
    below: float | None = None
    groups: int = 32
    advice: str = ""

    def __post_init__(self) -> None:
        bounds = [value for value in (self.above, self.below) if value is not None]
        if len(bounds) != 1 or not math.isfinite(bounds[0]):
            raise ConfigError(f"the alarm on {self.metric} needs one threshold: above= or below=")
        if self.metric not in METRICS:
            names = [name.removeprefix("judge/") for name in METRICS]
            near = nearest_name(str(self.metric).removeprefix("judge/"), names)
            hint = f"did you mean judge/{near}?" if near else "docs/health.md lists all metrics"
            raise ConfigError(f"no monitor has the metric {self.metric!r}: {hint}")

    def is_crossed(self, metrics: Mapping[str, float]) -> bool:
        """Return whether ``metrics`` cross the alarm's threshold, of however few groups; a missing metric does not."""
        value = metrics.get(self.metric, math.nan)
        return value > self.above if self.above is not None else self.below is not None and value < self.below

    def message(self, metrics: Mapping[str, float]) -> str:
        """Return the metric's alarm as text: metric, value, threshold, advice."""
        side = f"above {self.above:g}" if self.above is not None else f"below {self.below:g}"
        advice = f": {self.advice}" if self.advice else ""
        return f"{self.metric} is {metrics[self.metric]:.3g}, {side}{advice}"


DEFAULT_ALARMS: Final[tuple[Alarm, ...]] = (
    Alarm("judge/parse_failure_rate", above=0.05, advice="the judge's replies cannot be read; see calipers doctor"),
    Alarm("judge/failure_rate", above=0.05, advice="calls fail; results name the reason"),
    Alarm("judge/abstention_rate", above=0.1, advice="many trajectories get no reward; results name the reason"),
    Alarm("judge/abstention_length_correlation", above=0.3, advice="long trajectories lose their rewards"),
    Alarm("judge/abstention_length_correlation", below=-0.3, advice="short trajectories lose their rewards"),
    Alarm("judge/order_flip_rate", above=0.35, advice="order decides as much as content; raise orders"),
    Alarm("judge/position_correlation", above=0.3, advice="the last shown wins; set orders to an even number"),
    Alarm("judge/position_correlation", below=-0.3, advice="the first shown wins; set orders to an even number"),
    Alarm("judge/flat_group_rate", above=0.5, advice="most groups have no gradient"),
    Alarm("judge/length_correlation", above=0.6, advice="the judge prefers long answers, or the policy pads"),
    Alarm("judge/markdown_correlation", above=0.6, advice="the judge prefers formatted answers"),
    Alarm("judge/canary_win_rate", above=0.1, advice="the judge rewards decoy answers"),
    Alarm("judge/attack_rate", above=0.02, advice="the policy addresses its judge; see attacks in the results"),
    Alarm("judge/served_change_rate", above=0.0, groups=8, advice="the server answers with another model or version"),
    Alarm("judge/audit_disagreement", above=0.35, groups=8, advice="a second judge disagrees; see the review queue"),
)  # fmt: skip
"""The alarms of a Monitor by default; docs/health.md gives the reason for each threshold."""


def crossed_alarms(
    metrics: Mapping[str, float], alarms: Sequence[Alarm] = DEFAULT_ALARMS
) -> tuple[list[Alarm], list[Alarm]]:
    """Return the alarms that the health metrics raise, and those that they would raise, were the groups not too few."""
    crossed = [alarm for alarm in alarms if alarm.is_crossed(metrics)]
    groups = metrics.get("judge/groups", 0)
    return [alarm for alarm in crossed if groups >= alarm.groups], [alarm for alarm in crossed if groups < alarm.groups]


@dataclass(frozen=True, slots=True)
class Rise:
    """A running test for a rise of the mean of values in [0, 1]; immutable, ``updated`` returns the next state.

    Deviations from the running mean, minus ``slack`` for noise, add up; when their sum has risen by more than ``limit``
    above its minimum, the mean has risen. With deviations of about 0.25, as audit disagreements have, limit 4 and slack
    0.05 give a false alarm about once in several thousand values, and detect a rise of 0.2 after about thirty. The
    first ``SETTLING`` values are only used to estimate the mean.
    """

    SLACK, LIMIT, SETTLING = 0.05, 4.0, 30

    count: int = 0
    mean: float = 0.0
    sum: float = 0.0
    lowest: float = 0.0

    @property
    def found(self) -> bool:
        """Whether the test has detected a rise of the mean."""
        return self.sum - self.lowest > self.LIMIT

    def updated(self, value: float) -> Self:
        """Return the state of the alarm's change test after one more finite value of the metric."""
        count = self.count + 1
        mean = self.mean + (value - self.mean) / count
        if count <= self.SETTLING:
            return replace(self, count=count, mean=mean)
        total = self.sum + value - mean - self.SLACK
        return replace(self, count=count, mean=mean, sum=total, lowest=min(self.lowest, total))
