"""A run of a ledger as it is now, read again and again while the run writes: counts, failures, spend, health, alarms.

Every reading opens the ledger anew, only to read, and reads only what is new in it, so that following a run for weeks
takes no more memory than its last groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from calipers.ledger import read_ledger
from calipers.ledger.answers import RecordedRun
from calipers.ledger.contents import results_since
from calipers.monitoring.alarms import Alarm, early_alarms, raised_alarms
from calipers.report.recorded import WINDOW, Tally
from calipers.report.sources import Judged, RunReader

_GROUPS_AT_ONCE: Final = 2000


@dataclass(slots=True)
class RunState:
    """What is known of a followed run.

    ``failed_calls`` counts the calls without an answer by kind, ``waiting`` the answers about groups that are not
    finished. ``since_begun`` and ``since_answer`` are in seconds, or None if unknown. ``caught_up`` is False while
    recorded groups are still to be read. ``early`` are alarms that too few groups are there to raise.
    """

    run: RecordedRun
    tally: Tally = field(default_factory=Tally)
    failed_calls: Counter[str] = field(default_factory=Counter)
    waiting: int = 0
    since_begun: float | None = None
    since_answer: float | None = None
    caught_up: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict)
    alarms: Sequence[Alarm] = ()
    early: Sequence[Alarm] = ()


class FollowedRun:
    """A run of the ledger at ``location``: the one with number ``run``, by default always the latest.

    ``now`` is passed in for tests.
    """

    def __init__(
        self,
        location: str,
        run: int | None = None,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._location = location
        self._run = run
        self._now = now
        self._state: RunState | None = None
        self._cursor = 0
        self._unfinished = 0
        self._finished: set[int] = set()

    def read(self) -> RunState | None:
        """Return the state of the run as the ledger has it now; None if no run is recorded in it yet.

        Raises LedgerError if the ledger cannot be read, or has no such run.
        """
        with read_ledger(self._location) as ledger:
            if not ledger.runs_recorded or (self._run is None and not ledger.rows("SELECT 1 FROM runs LIMIT 1")):
                return None
            run = RunReader(ledger, self._run)
            state = self._state
            if state is None or state.run.id != run.recorded.id:
                state = self._begin(run)
            state.run = run.recorded
            self._read_groups(run, state)
            self._read_calls(run, state)
        state.metrics = state.tally.metrics()
        state.alarms = raised_alarms(state.metrics)
        state.early = early_alarms(state.metrics)
        return state

    def _begin(self, run: RunReader) -> RunState:
        first = run.ledger.rows("SELECT min(rowid) FROM groups WHERE run = ?", (run.recorded.id,))[0][0]
        self._cursor = 0 if first is None else first - 1
        self._unfinished = 0
        self._finished.clear()
        self._state = RunState(run.recorded)
        return self._state

    def _read_groups(self, run: RunReader, state: RunState) -> None:
        found = results_since(run.ledger, run.recorded.id, self._cursor, most=_GROUPS_AT_ONCE)
        for number, (rowid, position, result) in enumerate(found, start=1):
            is_last = len(found) - number < WINDOW
            state.tally.add(run.judged(0, result, position) if is_last else Judged(0, result), in_window=is_last)
            self._cursor = rowid
            self._finished.add(position)
        while self._unfinished in self._finished:
            self._finished.discard(self._unfinished)
            self._unfinished += 1
        state.caught_up = len(found) < _GROUPS_AT_ONCE

    def _read_calls(self, run: RunReader, state: RunState) -> None:
        """Read what is known of unfinished groups, and the failed calls, whose number grows while a judge is down."""
        ledger, number = run.ledger, run.recorded.id
        waiting = (
            "SELECT count(*) FROM asks WHERE run = ? AND position >= ? AND NOT EXISTS"
            " (SELECT 1 FROM groups WHERE groups.run = asks.run AND groups.position = asks.position)"
        )
        state.waiting = int(ledger.rows(waiting, (number, self._unfinished))[0][0])
        kinds = ledger.rows("SELECT kind, count(*) FROM failed_calls WHERE run = ? GROUP BY kind", (number,))
        state.failed_calls = Counter({str(kind): count for kind, count in kinds})
        latest = ledger.rows("SELECT answered_at FROM answers ORDER BY rowid DESC LIMIT 1")
        state.since_begun = self._seconds_since(run.began)
        state.since_answer = self._seconds_since(latest[0][0]) if latest else None

    def _seconds_since(self, recorded: object) -> float | None:
        try:
            then = datetime.fromisoformat(str(recorded))
        except ValueError:
            return None
        return max(0.0, (self._now() - then).total_seconds()) if then.tzinfo else None
