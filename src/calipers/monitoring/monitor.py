"""Watches a judge while it works: its health over the last groups, and alarms as they go off.

Give one to ``Judge(records={"watchers": [...])}``. It sees finished results and changes none of what is recorded: warnings of alarms are
on what the caller gets, never in the ledger, for they depend on what else was judged before. Not responsible for what
the numbers mean (``diagnostics``).
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.monitoring.alarms import DEFAULT_ALARMS, Alarm, sounding
from calipers.monitoring.answers import Answer, answer_of
from calipers.monitoring.health import health
from calipers.types import Completion, GroupResult, JudgeRequest, Reading, TrajectoryGroup

Observer: TypeAlias = Callable[[JudgeRequest, Completion, Reading], None]
OnAlarm: TypeAlias = Callable[[Alarm, Mapping[str, float]], None]

_UNFINISHED = 4096
"""Groups of which answers are kept for a result that may never come (its iterator was closed, say)."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A finished group and the answers about it."""

    result: GroupResult
    answers: tuple[Answer, ...]


class Monitor:
    """Health over the last ``window`` groups, looked at again after every ``every`` finished ones.

    An alarm is printed to stderr when it first goes off (``quiet`` leaves that out), and handed with the numbers to
    ``on_alarm`` each time it begins to; while it lasts, its text is on every result's ``warnings``. Safe to use from
    several threads and event loops; one monitor may watch several judges.
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
        """See an answer; has the shape of ``Judge(records={"observer": ...})``."""
        answer = answer_of(request, completion, reading)
        with self._lock:
            self._pending[answer.group_id].append(answer)
            if len(self._pending) > _UNFINISHED:
                del self._pending[next(iter(self._pending))]

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:  # noqa: ARG002 - the seam
        """See a result; gives it back, with what alarms there are among its warnings."""
        with self._lock:
            finished = _Seen(result, tuple(self._pending.pop(result.group_id, ())))
            self._window.append(finished)
            self._batch.append(finished)
            del self._batch[:-_UNFINISHED]  # for those who never take a batch
            self._since += 1
            due = self._since >= self._every
            self._since = 0 if due else self._since
        if due:
            self._look()
        return replace(result, warnings=(*result.warnings, *self._warnings)) if self._warnings else result

    def disagreed(self, by: float) -> None:
        """See how far an audit disagrees about one group (0-1); has the shape of ``Auditor(on_disagreement=...)``."""
        with self._lock:
            self._disagreements.append(by)

    def metrics(self) -> dict[str, float]:
        """Health over the window; what is not known has no key."""
        with self._lock:
            seen, disagreements = list(self._window), list(self._disagreements)
        return _health(seen, disagreements)

    def batch(self) -> dict[str, float]:
        """Health of the groups finished since the last call: what a trainer logs at each step."""
        with self._lock:
            seen, self._batch = self._batch, []
            disagreements = list(self._disagreements)
        return _health(seen, disagreements)

    def _look(self) -> None:
        metrics = self.metrics()
        lasting = tuple(sounding(metrics, self._alarms))
        with self._lock:
            begun = [alarm for alarm in lasting if alarm not in self._lasting]
            fresh = [alarm for alarm in begun if alarm not in self._printed]
            self._printed.update(fresh)
            self._lasting = lasting
            self._warnings = tuple(f"alarm: {alarm.told(metrics)}" for alarm in lasting)
        for alarm in [] if self._quiet else fresh:
            sys.stderr.write(f"[calipers] alarm: {alarm.told(metrics)}\n")
        if self._on_alarm is not None:
            for alarm in begun:
                self._on_alarm(alarm, metrics)


def _health(seen: Sequence[_Seen], disagreements: Sequence[float]) -> dict[str, float]:
    # A prompt comes back in another epoch under the same id, with other rollouts: they are not one group.
    results = [replace(one.result, group_id=str(number)) for number, one in enumerate(seen)]
    answers = [replace(answer, group_id=str(number)) for number, one in enumerate(seen) for answer in one.answers]
    return health(results, answers, disagreements=disagreements)


def together(*observers: Observer | None) -> Observer | None:
    """One observer that tells all of them, in turn; None where there is none."""
    present = [observer for observer in observers if observer is not None]
    if len(present) <= 1:
        return present[0] if present else None

    def tell(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        for observer in present:
            observer(request, completion, reading)

    return tell
