"""Monitor a judge during a run: health metrics over the last groups, and alarms.

Pass the monitor to ``Judge(records={"watchers": [...]})``. It changes nothing that is recorded: warnings of alarms are
on the results that the caller gets, never in the ledger, because they depend on earlier groups.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import without_exit
from calipers.monitoring.alarms import DEFAULT_ALARMS, Alarm, crossed_alarms
from calipers.monitoring.answers import Answer, answer_for_metrics
from calipers.monitoring.health import health_in_steps
from calipers.monitoring.staleness import NewestVersion
from calipers.pacing import run_in_pieces
from calipers.types import Completion, GroupResult, JudgeRequest, Reading, TrajectoryGroup
from calipers.types.steps import Steps, run_steps

OnAlarm: TypeAlias = Callable[[Alarm, Mapping[str, float]], None]

_UNFINISHED = 4096
"""The largest number of unfinished groups whose answers are stored: a result may never come, if its iterator closes."""


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
    judges. ``batches=False`` saves memory where nobody calls ``batch``, which then reports no groups. With
    ``in_pieces``, for a server, alarms are computed on the running event loop in pieces of a millisecond, so they come
    some groups later.
    """

    def __init__(
        self,
        *,
        window: int = 256,
        every: int = 32,
        alarms: Sequence[Alarm] = DEFAULT_ALARMS,
        on_alarm: OnAlarm | None = None,
        quiet: bool = False,
        batches: bool = True,
        in_pieces: bool = False,
    ) -> None:
        require_whole(window=window, every=every)
        require_above_zero(window=window, every=every)
        require_callable(on_alarm=on_alarm)
        self._alarms = tuple(alarms)
        self._every = every
        self._on_alarm = on_alarm and without_exit(on_alarm)
        self._quiet = quiet
        self._batches = batches
        self._in_pieces = in_pieces
        self._newest = NewestVersion()
        self._checking: asyncio.Task[None] | None = None
        self._raised: Exception | None = None
        self._lock = threading.Lock()
        self._pending: dict[str, list[Answer]] = defaultdict(list)
        self._window: deque[_Seen] = deque(maxlen=window)
        self._batch: list[_Seen] = []
        self._disagreements: deque[float] = deque(maxlen=window)
        self._finished = 0
        self._lasting: list[Alarm] = []
        self._warnings: tuple[str, ...] = ()
        self._printed: set[Alarm] = set()

    def observe(self, request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        """Record a judge's answer for the health metrics; of a Judge that has it in ``watchers``."""
        answer = answer_for_metrics(request, completion, reading)
        with self._lock:
            self._pending[answer.group_id].append(answer)
            if len(self._pending) > _UNFINISHED:
                del self._pending[next(iter(self._pending))]

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:  # noqa: ARG002 - the interface requires it
        """Record a group's result for the health metrics, and return the result with the current alarms among its
        warnings. Raises what ``on_alarm`` raised; with ``in_pieces``, for the next group.
        """
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        with self._lock:
            finished = _Seen(self._newest.dated(result), tuple(self._pending.pop(result.group_id, ())))
            self._window.append(finished)
            if self._batches:
                self._batch.append(finished)
                del self._batch[:-_UNFINISHED]  # bounds memory if nobody calls batch()
            self._finished += 1
            due = self._finished % self._every == 0
        if due and not self._in_pieces:
            self._check_alarms(self.metrics())
        elif due and (self._checking is None or self._checking.done()):
            self._checking = asyncio.get_running_loop().create_task(self._check_alarms_in_pieces())
        return replace(result, warnings=(*result.warnings, *self._warnings)) if self._warnings else result

    def disagreed(self, by: float) -> None:
        """Record an audit's disagreement about a group (0-1) for the health metrics; usable as
        ``Auditor(on_disagreement=...)``.
        """
        with self._lock:
            self._disagreements.append(by)

    def metrics(self) -> dict[str, float]:
        """Return health metrics over the window; unknown values have no key."""
        return run_steps(self._metrics_in_steps())

    async def metrics_in_pieces(self) -> dict[str, float]:
        """Return ``metrics()``, computed in pieces of a millisecond, between which the event loop does other work."""
        return await run_in_pieces(self._metrics_in_steps())

    def batch(self) -> dict[str, float]:
        """Return health metrics of the groups finished since the last call, for a trainer to log at each step."""
        with self._lock:
            seen, self._batch = self._batch, []
            disagreements = list(self._disagreements)
        return run_steps(_health_in_steps(seen, disagreements))

    def _metrics_in_steps(self) -> Steps[dict[str, float]]:
        with self._lock:
            seen, disagreements = list(self._window), list(self._disagreements)
        return _health_in_steps(seen, disagreements)

    async def _check_alarms_in_pieces(self) -> None:
        metrics = await self.metrics_in_pieces()
        try:
            self._check_alarms(metrics)
        except Exception as error:  # noqa: BLE001 - raised for the next group: nobody awaits this task
            self._raised = error

    def _check_alarms(self, metrics: Mapping[str, float]) -> None:
        lasting, _ = crossed_alarms(metrics, self._alarms)
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


def _health_in_steps(seen: Sequence[_Seen], disagreements: Sequence[float]) -> Steps[dict[str, float]]:
    # A prompt in another epoch has the same group id but other rollouts, so every group gets a new id here.
    results: list[GroupResult] = []
    answers: list[Answer] = []
    for number, finished in enumerate(seen):
        name = str(number)
        results.append(replace(finished.result, group_id=name))
        answers += [replace(answer, group_id=name) for answer in finished.answers]
        yield
    return (yield from health_in_steps(results, answers, disagreements=disagreements))
