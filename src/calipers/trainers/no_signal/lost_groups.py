"""Lost groups in the log: one line each, and once there are many, a summary a minute with counts and reasons.

Not responsible for which groups are lost, or for what follows from that (``run``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from calipers.trainers.no_signal.rewards import unscored
from calipers.types import GroupResult, TrajectoryResult
from calipers.types.encoding import encodable, printable

_log = logging.getLogger(__name__)

Emit: TypeAlias = Callable[[str], object]
"""Where lines go, such as a logger's method."""

LINES_PER_MINUTE: Final = 10
"""Further losses of a minute are counted, and summarised when it is over."""

_MINUTE: Final = 60.0
_MAX_LENGTH: Final = 500
"""Characters of a line's reasons: a server may have a lot to say."""
_MAX_IDS: Final = 4
"""Members that are listed by id; of more, only the number is given."""
_MAX_REASONS: Final = 3
"""Different reasons in a line."""
_MAX_COUNTED: Final = 100
"""Different reasons that are counted apart; further ones are counted together."""


def lost_line(result: GroupResult, *, consequence: str = "") -> str:
    """What a group lost and why, in one line; ``consequence`` says what becomes of it."""
    missing, total = unscored(result.trajectories), len(result.trajectories)
    head = (
        f"{result.status} group {one_line(result.group_id, 80)}: {len(missing)} of {total} rollouts could not be scored"
    )
    return f"{head}{', ' + consequence if consequence else ''}: {reasons(missing, total)}"


def reasons(missing: Sequence[TrajectoryResult], total: int) -> str:
    """Why members have no score: each reason once, with the members it holds for; bounded in length."""
    ids: dict[str, list[str]] = {}
    for one in missing:
        ids.setdefault(f"{one.status}: {one.reason}", []).append(one.id)
    listed = [f"{_members(names, total)} {why}" for why, names in list(ids.items())[:_MAX_REASONS]]
    if len(ids) > _MAX_REASONS:
        listed.append(f"{len(ids) - _MAX_REASONS} further reasons")
    return one_line("; ".join(listed))


def cause(missing: Sequence[TrajectoryResult]) -> str:
    """Why members have no score, whichever members: losses are counted by this."""
    found = dict.fromkeys(f"{one.status}: {one.reason}" for one in missing)
    return one_line("; ".join(list(found)[:_MAX_REASONS]))


def one_line(text: str, longest: int = _MAX_LENGTH) -> str:
    """``text`` as one line of at most ``longest`` characters, without control characters."""
    line = printable(" ".join(encodable(text).split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _members(names: list[str], total: int) -> str:
    if len(names) <= _MAX_IDS:
        return ", ".join(names)
    return "all" if len(names) == total else f"{len(names)} of them"


class LostGroupLog:
    """Emits the first ten lines of a minute; the rest of the minute becomes one summary, with counts by reason.

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
        """Log one loss: ``line`` if the minute has room for it, else it is counted under ``why``."""
        lines = self._due()
        with self._lock:
            if self._lines < LINES_PER_MINUTE:
                self._lines += 1
                lines.append(line)
            else:
                known = why in self._counts or len(self._counts) < _MAX_COUNTED
                self._counts[why if known else "other reasons"] += 1
        self._write(lines)

    def flush_if_due(self) -> None:
        """Write the summary of a minute that is over; called when a group went well, as no further loss may come."""
        if self._counts:
            self._write(self._due())

    def close(self, last: str) -> None:
        """Write what is still counted, then ``last``."""
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
