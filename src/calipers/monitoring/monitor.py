"""Monitor a judge during a run: health metrics over the last groups, and alarms.

Pass the monitor to ``Judge(records={"watchers": [...]})``. It changes nothing that is recorded: warnings of alarms are
on the results that the caller gets, never in the ledger, because they depend on earlier groups. Not responsible for the
metrics (``health``) or the thresholds (``alarms``).
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.monitoring.alarms import DEFAULT_ALARMS, Alarm, raised_alarms
from calipers.monitoring.answers import Answer, answer_for_metrics
from calipers.monitoring.health import health
from calipers.types import Completion, GroupResult, JudgeRequest, Reading, TrajectoryGroup

Observer: TypeAlias = Callable[[JudgeRequest, Completion, Reading], None]
OnAlarm: TypeAlias = Callable[[Alarm, Mapping[str, float]], None]

_UNFINISHED = 4096
"""The largest number of unfinished groups whose answers are stored: a result may never come, as when its iterator was
closed.
"""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A finished group's result, with the judge's answers about that group."""

    result: GroupResult
    answers: tuple[Answer, ...]


class Monitor:
    """Reports health metrics over the last ``window`` groups, computed after every ``every`` finished groups.

    An alarm is printed to stderr when it is raised for the first time (not with ``quiet``). ``on_alarm`` is called with
    the alarm and the metrics each time the alarm is raised again after it had ended. While an alarm lasts, its text is
    in every result's ``warnings``. Safe to use from several threads and event loops; one monitor may watch several
    judges.
    """

    def __init__(
        self,
        *,
        window: int = 256,
        every: int = 32,
        alarms: Sequence[Alarm] = DEFAULT_ALARMS,
        on_alarm: OnAlarm | None = None,
        quiet: bool = False,
    ) -> None:
        require_whole(window=window, every=every)
        require_above_zero(window=window, every=every)
        require_callable(on_alarm=on_alarm)
        self._alarms = tuple(alarms)
        self._every = every
        self._on_alarm = on_alarm
        self._quiet = quiet
        self._lock = threading.Lock()
        self._pending: dict[str, list[Answer]] = defaultdict(list)
        self._window: deque[_Seen] = deque(maxlen=window)
        self._batch: list[_Seen] = []
        self._disagreements: deque[float] = deque(maxlen=window)
        self._since = 0
        self._lasting: tuple[Alarm, ...] = ()
        self._warnings: tuple[str, ...] = ()
        self._printed: set[Alarm] = set()

    def observe(self, request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        """Record a judge's answer for the health metrics; usable as ``Judge(records={"observer": ...})``."""
        answer = answer_for_metrics(request, completion, reading)
        with self._lock:
            self._pending[answer.group_id].append(answer)
            if len(self._pending) > _UNFINISHED:
                del self._pending[next(iter(self._pending))]

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:  # noqa: ARG002 - the interface requires it
        """Record a group's result for the health metrics, and return the result with the current alarms among its
        warnings.
        """
        with self._lock:
            finished = _Seen(result, tuple(self._pending.pop(result.group_id, ())))
            self._window.append(finished)
            self._batch.append(finished)
            del self._batch[:-_UNFINISHED]  # bounds memory if nobody calls batch()
            self._since += 1
            due = self._since >= self._every
            self._since = 0 if due else self._since
        if due:
            self._check_alarms()
        return replace(result, warnings=(*result.warnings, *self._warnings)) if self._warnings else result

    def disagreed(self, by: float) -> None:
        """Record an audit's disagreement about a group (0-1) for the health metrics; usable as
        ``Auditor(on_disagreement=...)``.
        """
        with self._lock:
            self._disagreements.append(by)

    def metrics(self) -> dict[str, float]:
        """Return health metrics over the window; unknown values have no key."""
        with self._lock:
            seen, disagreements = list(self._window), list(self._disagreements)
        return _health(seen, disagreements)

    def batch(self) -> dict[str, float]:
        """Return health metrics of the groups finished since the last call, for a trainer to log at each step."""
        with self._lock:
            seen, self._batch = self._batch, []
            disagreements = list(self._disagreements)
        return _health(seen, disagreements)

    def _check_alarms(self) -> None:
        metrics = self.metrics()
        lasting = tuple(raised_alarms(metrics, self._alarms))
        with self._lock:
            begun = [alarm for alarm in lasting if alarm not in self._lasting]
            fresh = [alarm for alarm in begun if alarm not in self._printed]
            self._printed.update(fresh)
            self._lasting = lasting
            self._warnings = tuple(f"alarm: {alarm.message(metrics)}" for alarm in lasting)
        for alarm in [] if self._quiet else fresh:
            sys.stderr.write(f"[calipers] alarm: {alarm.message(metrics)}\n")
        if self._on_alarm is not None:
            for alarm in begun:
                self._on_alarm(alarm, metrics)


def _health(seen: Sequence[_Seen], disagreements: Sequence[float]) -> dict[str, float]:
    # A prompt in another epoch has the same group id but other rollouts, so every group gets a new id here.
    results = [replace(finished.result, group_id=str(number)) for number, finished in enumerate(seen)]
    answers = [
        replace(answer, group_id=str(number)) for number, finished in enumerate(seen) for answer in finished.answers
    ]
    return health(results, answers, disagreements=disagreements)


def combined_observer(*observers: Observer | None) -> Observer | None:
    """Return a single observer for monitoring that calls every observer given in turn; None if there are none."""
    present = [observer for observer in observers if observer is not None]
    if len(present) <= 1:
        return present[0] if present else None

    def call_all(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        for observer in present:
            observer(request, completion, reading)

    return call_all
