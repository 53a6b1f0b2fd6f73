"""Logs lost groups of a training run: one line each; if there are many, a summary a minute with counts and reasons.

Not responsible for which groups are lost, or for the consequences (``run``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from calipers.trainers.no_signal.rewards import unscored_trajectories
from calipers.types import GroupResult, TrajectoryResult
from calipers.types.encoding import printable, without_lone_surrogates

_log = logging.getLogger(__name__)

Emit: TypeAlias = Callable[[str], object]
"""A function that writes a log line, such as a logger's method."""

LINES_PER_MINUTE: Final = 10
"""The most lines in a minute; further losses are counted, and summarised when the minute is over."""

_MINUTE: Final = 60.0
_MAX_LENGTH: Final = 500
"""The most characters for the reasons in a line, because a server's error message may be long."""
_MAX_IDS: Final = 4
"""The largest number of members that a line lists by id. For more members, the line states only their number."""
_MAX_REASONS: Final = 3
"""The largest number of different reasons in a line."""
_MAX_COUNTED: Final = 100
"""The largest number of reasons that are counted separately. Further reasons are counted together."""


def lost_group_line(result: GroupResult, *, consequence: str = "") -> str:
    """Return a line for the trainer's log with the members that a group lost, and why.

    ``consequence`` says what happens to their rewards.
    """
    missing, total = unscored_trajectories(result.trajectories), len(result.trajectories)
    head = (
        f"{result.status} group {one_line(result.group_id, 80)}: {len(missing)} of {total} rollouts could not be scored"
    )
    return f"{head}{', ' + consequence if consequence else ''}: {reasons_by_member(missing, total)}"


def reasons_by_member(missing: Sequence[TrajectoryResult], total: int) -> str:
    """Return, for the trainer's log, why members of a lost group have no score.

    Each reason is given once, with the ids of its members. The length is bounded.
    """
    ids: dict[str, list[str]] = {}
    for one in missing:
        ids.setdefault(f"{one.status}: {one.reason}", []).append(one.id)
    listed = [f"{_members(names, total)} {why}" for why, names in list(ids.items())[:_MAX_REASONS]]
    if len(ids) > _MAX_REASONS:
        listed.append(f"{len(ids) - _MAX_REASONS} further reasons")
    return one_line("; ".join(listed))


def cause_of_loss(missing: Sequence[TrajectoryResult]) -> str:
    """Return, for the trainer's log, why members of a lost group have no score, without their ids.

    Losses with the same text are counted together.
    """
    found = dict.fromkeys(f"{one.status}: {one.reason}" for one in missing)
    return one_line("; ".join(list(found)[:_MAX_REASONS]))


def one_line(text: str, longest: int = _MAX_LENGTH) -> str:
    """Return ``text`` as a line of the trainer's log: at most ``longest`` characters, without control characters."""
    line = printable(" ".join(without_lone_surrogates(text).split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _members(names: list[str], total: int) -> str:
    if len(names) <= _MAX_IDS:
        return ", ".join(names)
    return "all" if len(names) == total else f"{len(names)} of them"


class LostGroupLog:
    """Writes the first ten log lines of a minute; further lost groups become one summary, with counts by reason.

    Safe to use from several threads and event loops.
    """

    def __init__(self, emit: Emit = _log.warning, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._emit = emit
        self._clock = clock
        self._lock = threading.Lock()
        self._since = clock()
        self._lines = 0
        self._counts: Counter[str] = Counter()

    def add(self, line: str, *, why: str) -> None:
        """Write ``line`` about a lost group to the trainer's log.

        If the minute has ten lines already, the group is counted under ``why`` instead.
        """
        lines = self._due()
        with self._lock:
            if self._lines < LINES_PER_MINUTE:
                self._lines += 1
                lines.append(line)
            else:
                known = why in self._counts or len(self._counts) < _MAX_COUNTED
                self._counts[why if known else "other reasons"] += 1
        self._write(lines)

    def warn(self, line: str) -> None:
        """Write a warning about the trainer's whole run to its log."""
        self._write([one_line(line)])

    def flush_if_due(self) -> None:
        """Write the summary of a minute that is over to the trainer's log.

        This is called when a group succeeds, because no further loss may come.
        """
        if self._counts:
            self._write(self._due())

    def close(self, last: str) -> None:
        """Write the summary of the losses counted so far to the trainer's log, then the line ``last``."""
        with self._lock:
            lines = self._summary()
        self._write([*lines, last])

    def _due(self) -> list[str]:
        with self._lock:
            if self._clock() - self._since < _MINUTE:
                return []
            lines = self._summary()
            self._since, self._lines = self._clock(), 0
            return lines

    def _summary(self) -> list[str]:
        if not self._counts:
            return []
        most = self._counts.most_common(_MAX_REASONS)
        counted = [f"{count} × {why}" for why, count in most]
        if rest := self._counts.total() - sum(count for _, count in most):
            counted.append(f"{rest} for other reasons")
        line = f"{self._counts.total()} more groups lost trajectories: {'; '.join(counted)}"
        self._counts.clear()
        return [line]

    def _write(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._emit(line)
