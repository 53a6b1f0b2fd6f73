"""A run of a ledger as it is now, read again and again while the run writes: counts, failures, spend, health, alarms.

Every reading opens the ledger anew, only to read, and reads only what is new in it, so that following a run for weeks
takes no more memory than its last groups. Not responsible for showing it (``cli``).
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from calipers.inputs import as_group
from calipers.ledger import LedgerReader
from calipers.ledger.answers import RecordedRun, find_run
from calipers.ledger.contents import recorded_group, recorded_questions, results_since
from calipers.monitoring.alarms import Alarm, raised_alarms
from calipers.monitoring.answers import Answer
from calipers.monitoring.health import health
from calipers.monitoring.staleness import NewestVersion
from calipers.report.recorded import UNRECORDED, recorded_answers, recorded_result
from calipers.report.sources import Judged
from calipers.types import GroupResult, Usage

WINDOW: Final = 256
"""Groups that health metrics are computed of: as many as a ``Monitor`` has by default."""
_GROUPS_AT_ONCE: Final = 2000
_LATELY: Final = 20.0
"""The period in seconds over which the present rate is measured."""


@dataclass(slots=True)
class RunState:
    """What is known of a followed run. Rates are groups a second; ``lately`` is None until two readings differ in time.

    ``groups`` and ``trajectories`` count by status, ``reasons`` the trajectories without a score by "status: reason",
    ``failed_calls`` the calls without an answer by kind. ``usage`` is the sum over finished groups. ``waiting`` counts
    the answers about groups that are not finished. ``since_begun`` and ``since_answer`` are in seconds, or None if
    unknown. ``caught_up`` is False while recorded groups are still to be read.
    """

    run: RecordedRun
    groups: Counter[str] = field(default_factory=Counter)
    trajectories: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    failed_calls: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))
    waiting: int = 0
    since_begun: float | None = None
    since_answer: float | None = None
    lately: float | None = None
    caught_up: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)
    alarms: Sequence[Alarm] = ()

    def add(self, result: GroupResult) -> None:
        """Count the result of a finished group of the run."""
        self.groups[result.status] += 1
        for one in result.trajectories:
            self.trajectories[one.status] += 1
            if one.reason:
                self.reasons[f"{one.status}: {one.reason}"] += 1
        self.answers += result.judge_calls
        if result.attempts or result.judge_calls:
            self.usage = Usage.total([self.usage, result.usage])


class FollowedRun:
    """A run of the ledger at ``location``: the one with number ``run``, by default always the latest.

    ``clock`` and ``now`` are passed in for tests.
    """

    def __init__(
        self,
        location: str,
        run: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._location = location
        self._run = run
        self._clock = clock
        self._now = now
        self._state: RunState | None = None
        self._cursor = 0
        self._unfinished = 0
        self._finished: set[int] = set()
        self._window: deque[tuple[GroupResult, list[Answer]]] = deque(maxlen=WINDOW)
        self._recent: deque[tuple[float, int]] = deque(maxlen=10_000)
        self._newest = NewestVersion()

    def read(self) -> RunState | None:
        """Return the state of the run as the ledger has it now; None if no run is recorded in it yet.

        Raises LedgerError if the ledger cannot be read, or has no such run.
        """
        with LedgerReader(self._location) as ledger:
            if not ledger.runs_recorded or (self._run is None and not ledger.rows("SELECT 1 FROM runs LIMIT 1")):
                return None
            run = find_run(ledger, self._run)
            if self._state is None or self._state.run.id != run.id:
                self._begin(ledger, run)
            state = self._state
            assert state is not None  # noqa: S101 - set by _begin
            state.run = run
            self._read_groups(ledger, state)
            self._read_calls(ledger, state)
        if state.caught_up:
            self._measure_rate(state)
        results, answers = [one for one, _ in self._window], [one for _, some in self._window for one in some]
        metrics = health(results, answers) if results else {}
        state.metrics = {name: value for name, value in metrics.items() if name != UNRECORDED}
        state.alarms = raised_alarms(state.metrics)
        return state

    def _begin(self, ledger: LedgerReader, run: RecordedRun) -> None:
        first = ledger.rows("SELECT min(rowid) FROM groups WHERE run = ?", (run.id,))[0][0]
        self._state = RunState(run)
        self._cursor = 0 if first is None else first - 1
        self._unfinished = 0
        self._finished.clear()
        self._window.clear()
        self._recent.clear()
        self._newest = NewestVersion()

    def _read_groups(self, ledger: LedgerReader, state: RunState) -> None:
        found = results_since(ledger, state.run.id, self._cursor, most=_GROUPS_AT_ONCE)
        for number, (rowid, position, result) in enumerate(found, start=1):
            state.add(recorded_result(result))
            if len(found) - number < WINDOW:
                self._remember(ledger, state, position, result)
            self._cursor = rowid
            self._finished.add(position)
        while self._unfinished in self._finished:
            self._finished.discard(self._unfinished)
            self._unfinished += 1
        state.caught_up = len(found) < _GROUPS_AT_ONCE

    def _remember(self, ledger: LedgerReader, state: RunState, position: int, result: Mapping[str, Any]) -> None:
        """Add a finished group to those that the health metrics are computed of."""
        group = as_group(recorded_group(ledger, state.run.id, position))
        questions = tuple(recorded_questions(ledger, state.run.id, position))
        reasoning = str(state.run.settings.get("question", {}).get("reasoning", "hidden"))
        judged = Judged(0, result, group, group, questions, reasoning=reasoning)
        # A prompt in another epoch has the same group id but other rollouts, so every group gets an id of its own here.
        own = {**result, "group_id": str(position)}
        answers = recorded_answers(judged, begun=_begun_at(ledger, state.run.id))
        self._window.append(
            (self._newest.dated(recorded_result(own)), [replace(one, group_id=str(position)) for one in answers])
        )

    def _read_calls(self, ledger: LedgerReader, state: RunState) -> None:
        """Read what is known of unfinished groups, and the failed calls, whose number grows while a judge is down."""
        waiting = (
            "SELECT count(*) FROM asks WHERE run = ? AND position >= ? AND NOT EXISTS"
            " (SELECT 1 FROM groups WHERE groups.run = asks.run AND groups.position = asks.position)"
        )
        state.waiting = int(ledger.rows(waiting, (state.run.id, self._unfinished))[0][0])
        if ledger.has_table("failed_calls"):
            kinds = ledger.rows("SELECT kind, count(*) FROM failed_calls WHERE run = ? GROUP BY kind", (state.run.id,))
            state.failed_calls = Counter({str(kind): count for kind, count in kinds})
        latest = ledger.rows("SELECT answered_at FROM answers ORDER BY rowid DESC LIMIT 1")
        state.since_begun = self._seconds_since(_begun_at(ledger, state.run.id))
        state.since_answer = self._seconds_since(latest[0][0]) if latest else None

    def _seconds_since(self, recorded: object) -> float | None:
        try:
            then = datetime.fromisoformat(str(recorded))
        except ValueError:
            return None
        return max(0.0, (self._now() - then).total_seconds()) if then.tzinfo else None

    def _measure_rate(self, state: RunState) -> None:
        now = self._clock()
        self._recent.append((now, state.groups.total()))
        while len(self._recent) > 2 and self._recent[0][0] < now - _LATELY:
            self._recent.popleft()
        (since, before), (_, done) = self._recent[0], self._recent[-1]
        state.lately = (done - before) / (now - since) if now > since else None


def _begun_at(ledger: LedgerReader, run: int) -> str:
    return str(ledger.rows("SELECT started_at FROM runs WHERE id = ?", (run,))[0][0])
