"""Calibrates a judge again during a run, on the current policy's rollouts: how far its scores still agree.

A share of the groups of every so many steps goes to a second judge, or a check that knows the truth. It never makes,
delays or fails a reward.
"""

from __future__ import annotations

import math
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self, runtime_checkable

from calipers.aggregators.betting import lower_bound, upper_bound
from calipers.config.arguments import require_above_zero, require_callable, require_share_of_groups, require_whole
from calipers.errors import ConfigError
from calipers.judging.aside import Aside
from calipers.judging.audit import Opinion, is_drawn, opinion_of
from calipers.judging.judge import Judge
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, Verdict
from calipers.types.encoding import finite_number, measured_number

LEAST_GROUPS: Final = 8
"""The fewest compared groups about which the alarm says anything."""


@runtime_checkable
class AnsweredLater(Protocol):
    """Somebody whose opinions come when they come, such as people.

    ``ask`` takes a group with the judge's scores; ``answers`` returns the scores and the opinion of every group that
    has been answered by now, by a name, oldest first. Both are called on a thread of their own, and may raise.
    """

    def ask(self, group: TrajectoryGroup, scores: Opinion) -> None: ...

    def answers(self) -> Mapping[str, tuple[Opinion, Opinion]]: ...


@dataclass(frozen=True, slots=True)
class RecalibrationSummary:
    """The state of a recalibration. ``fidelity`` is the mean over the last ``groups`` compared groups, None before the
    first; ``low`` and ``high`` are its 95 % bounds, each alone. ``failed`` opinions are missing, and no number.
    """

    sampled: int = 0
    dropped: int = 0
    failed: int = 0
    groups: int = 0
    fidelity: float | None = None
    low: float | None = None
    high: float | None = None
    last_error: str | None = None


class Recalibration:
    """Measures, every ``every`` steps, how a judge's scores agree with ``to`` on a ``share`` (0-1) of the groups.

    ``to`` is a Judge of another family, or its name; a function of a trajectory that returns a Verdict, a number, or
    None; or an object that answers later (``ask``, ``answers``). Pass a Recalibration to
    ``Judge(records={"watchers": [...]})``. Groups without a ``step`` are of every step; those of a ``split`` are not
    trained on, and left out. Which groups are drawn follows from their content and ``seed``. At most ``room`` wait.

    Fidelity is the correlation of scores and opinions within a group, as in ``calipers calibrate``, averaged over the
    last ``window`` compared groups. The alarm begins when its upper bound is more than ``drop`` below ``calibrated``,
    the fidelity of the calibration (``advantage_fidelity``): it is printed, it is in every result's ``warnings`` while
    it lasts, and ``on_alarm`` is called with the summary, on the recalibration's thread. Call ``close``, or use it in a
    ``with`` statement, to finish the queue. Raises ConfigError for options that cannot work.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        to: Judge | str | Callable[[Trajectory], Verdict | bool | float | None] | AnsweredLater,
        *,
        every: int = 50,
        share: float = 0.25,
        calibrated: float | None = None,
        drop: float = 0.1,
        window: int = 64,
        seed: int = 0,
        room: int = 64,
        on_alarm: Callable[[RecalibrationSummary], object] | None = None,
    ) -> None:
        require_whole(every=every, window=window, seed=seed, room=room)
        require_above_zero(every=every, window=window, room=room)
        require_callable(on_alarm=on_alarm)
        _require_shares(share=share, calibrated=calibrated, drop=drop)
        if isinstance(to, str):
            to = Judge(to)
        if not isinstance(to, Judge | AnsweredLater) and not callable(to):
            raise ConfigError(f"{to!r} is neither a Judge, nor a function of a trajectory, nor people to ask")
        self._to, self._every, self._share, self._seed = to, every, share, seed
        self._calibrated, self._drop, self._window, self._on_alarm = calibrated, drop, window, on_alarm
        self._lock = threading.Lock()
        self._summary = RecalibrationSummary()
        self._found: deque[float] = deque(maxlen=window)
        self._warning: str | None = None
        self._refused: set[str] = set()
        self._aside = Aside(self._work, name="calipers-recalibration", room=room, on_error=self._fail)

    @property
    def summary(self) -> RecalibrationSummary:
        """What the calibration on current rollouts, beside judging, has found so far."""
        return self._summary

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:
        """While judging, offer a finished group; return its result, with a warning while the alarm lasts."""
        if self._is_sampled(group, result):
            taken = self._aside.offer((group, {one.id: one.score for one in result.trajectories}))
            with self._lock:
                old = self._summary
                self._summary = replace(old, sampled=old.sampled + taken, dropped=old.dropped + (not taken))
        return result if self._warning is None else replace(result, warnings=(*result.warnings, self._warning))

    def look(self) -> None:
        """Have the answers of people read that came since the last group, beside judging. Returns at once."""
        if isinstance(self._to, AnsweredLater):
            self._aside.offer(None)

    def metrics(self) -> dict[str, float]:
        """Return the judge's fidelity now as metrics ``{"judge/...": value}`` for a trainer's log, unknown ones without
        a key; add them to those of a ``Monitor``.
        """
        self.look()
        now = self._summary
        found = {
            "fidelity_now": now.fidelity, "fidelity_low": now.low, "fidelity_high": now.high,
            "fidelity_groups": now.groups, "fidelity_calibrated": self._calibrated, "fidelity_failed": now.failed,
        }  # fmt: skip
        return {f"judge/{name}": float(value) for name, value in found.items() if value is not None}

    def close(self, timeout: float | None = 60.0) -> None:
        """At the end of judging, take no more groups, and wait at most ``timeout`` seconds for those that wait."""
        self.look()
        self._aside.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_sampled(self, group: TrajectoryGroup, result: GroupResult) -> bool:
        step = group.extra.get("step")
        if "split" in group.extra or (isinstance(step, int) and step % self._every):
            return False
        if sum(one.score is not None for one in result.trajectories) < 2:
            return False
        return is_drawn(group, self._share, f"recalibration:{self._seed}:{step}")

    async def _work(self, sampled: tuple[TrajectoryGroup, Opinion] | None) -> None:
        if isinstance(self._to, AnsweredLater):
            if sampled is not None:
                self._to.ask(*sampled)
            answered = [self._answered(*one) for one in self._to.answers().items()]  # later labels change earlier ones
            self._found = deque((one for one in answered if one is not None), maxlen=self._window)
        elif sampled is not None:
            group, scores = sampled
            found = group_fidelity(scores, await self._opinion(group))
            self._found.extend([] if found is None else [found])
        self._measure()

    def _answered(self, name: str, pair: tuple[Opinion, Opinion]) -> float | None:
        """Return the fidelity of one answered group; an opinion that is no number counts once as failed."""
        try:
            return group_fidelity(*pair)
        except (TypeError, ValueError) as error:
            if name not in self._refused:
                self._refused.add(name)
                self._fail(error)
            return None

    async def _opinion(self, group: TrajectoryGroup) -> Opinion:
        if isinstance(self._to, Judge):
            opinion = await opinion_of(self._to, group)
            if all(score is None for score in opinion.values()):
                self._fail(ConfigError("the second judge gave no score"))
            return opinion
        told: Any = self._to
        return {one.id: _number(told(one)) for one in group.trajectories}

    def _measure(self) -> None:
        values = list(self._found)
        half = [min(1.0, max(0.0, (1 + value) / 2)) for value in values]
        with self._lock:
            self._summary = replace(
                self._summary,
                groups=len(values),
                fidelity=math.fsum(values) / len(values) if values else None,
                low=2 * lower_bound(half) - 1 if values else None,
                high=2 * upper_bound(half) - 1 if values else None,
            )
        self._check_alarm(self._summary)

    def _check_alarm(self, now: RecalibrationSummary) -> None:
        if self._calibrated is None or now.high is None or now.groups < LEAST_GROUPS:
            return
        before, fell = self._warning, now.high < self._calibrated - self._drop
        text = (
            f"alarm: on current rollouts the judge's fidelity is {now.fidelity:.2f} (at most {now.high:.2f}; "
            f"{now.groups} groups), and {self._calibrated:.2f} where it was calibrated: look for reward hacking, and "
            "calibrate again"
        )
        self._warning = text if fell else None
        if fell and before is None:
            sys.stderr.write(f"[calipers] {text}\n")
            if self._on_alarm is not None:
                self._on_alarm(now)

    def _fail(self, error: BaseException) -> None:
        told = f"{type(error).__name__}: {error}"
        if self._summary.failed == 0:
            sys.stderr.write(f"[calipers] the recalibration failed for a group, whose opinion is missing: {told}\n")
        with self._lock:
            self._summary = replace(self._summary, failed=self._summary.failed + 1, last_error=told)


def group_fidelity(scores: Opinion, opinion: Opinion) -> float | None:
    """Return Pearson's correlation of a judge's scores with opinions about the same trajectories, by id.

    It is in [-1, 1], and 0 if all scores are equal. None with fewer than two known pairs, or for equal opinions. Raises
    ValueError for numbers that are too large to compute with, NaN among them.
    """
    pairs = [
        (score, value)
        for name, value in opinion.items()
        if value is not None and (score := scores.get(name)) is not None
    ]
    if len(pairs) < 2:
        return None
    for value in (one for pair in pairs for one in pair):
        if measured_number(value) is None:
            raise ValueError(f"{value} is too large to compute with, or no finite number")
    ones, others = (_centred(values) for values in zip(*pairs, strict=True))
    spread, apart = math.sqrt(math.fsum(x * x for x in ones)), math.sqrt(math.fsum(y * y for y in others))
    if apart < 1e-9:
        return None
    together = math.fsum(x * y for x, y in zip(ones, others, strict=True))
    return 0.0 if spread < 1e-9 else max(-1.0, min(1.0, together / spread / apart))


def _centred(values: tuple[float, ...]) -> list[float]:
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def _number(opinion: object) -> float | None:
    if isinstance(opinion, Verdict):
        opinion = opinion.met
    if opinion is None:
        return None
    value = float(opinion) if isinstance(opinion, bool) else finite_number(opinion)
    if value is None:
        raise TypeError(f"the check returned {opinion!r}, which is neither a number nor a verdict")
    return value


def _require_shares(*, share: float, calibrated: float | None, drop: float) -> None:
    require_share_of_groups(share)
    number = finite_number(drop)
    if number is None or not 0 <= number < 2:
        raise ConfigError(f"drop={drop!r}: it must be at least 0 and below 2, as a difference of correlations")
    if calibrated is not None and ((number := finite_number(calibrated)) is None or not -1 <= number <= 1):
        raise ConfigError(f"calibrated={calibrated!r}: it must be the fidelity of a calibration, from -1 to 1")
