"""Lost groups in the log: one line each, naming it, and once there are many, how many and why.

Not responsible for which groups are lost, nor for what follows (``run``).
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

Tell: TypeAlias = Callable[[str], object]
"""Where lines go: a logger's method, say."""

IN_FULL: Final = 10
"""Lines a minute; what is lost beyond is counted, and told when the minute is over."""

_MINUTE: Final = 60.0
_LONGEST: Final = 500
"""Characters of a line's reasons: a server may have a lot to say."""
_NAMES: Final = 4
"""Members that are named by id; of more their number is told."""
_REASONS: Final = 3
"""Different reasons that a line tells."""
_KEPT: Final = 100
"""Different reasons that are counted; further ones are counted together."""


def line_of(result: GroupResult, *, then: str = "") -> str:
    """What a group lost and why, in one line; ``then`` says what becomes of it."""
    missing, total = unscored(result.trajectories), len(result.trajectories)
    head = f"{result.status} group {named(result.group_id)}: {len(missing)} of {total} rollouts could not be scored"
    return f"{head}{', ' + then if then else ''}: {reasons(missing, total)}"


def reasons(missing: Sequence[TrajectoryResult], total: int) -> str:
    """Why members are without a score, each reason once, with the members it is true of; bounded in length."""
    ids: dict[str, list[str]] = {}
    for one in missing:
        ids.setdefault(f"{one.status}: {one.reason}", []).append(one.id)
    told = [f"{_members(names, total)} {why}" for why, names in list(ids.items())[:_REASONS]]
    if len(ids) > _REASONS:
        told.append(f"{len(ids) - _REASONS} further reasons")
    return one_line("; ".join(told))


def cause(missing: Sequence[TrajectoryResult]) -> str:
    """Why members are without a score, whoever they are: what losses are counted by."""
    found = dict.fromkeys(f"{one.status}: {one.reason}" for one in missing)
    return one_line("; ".join(list(found)[:_REASONS]))


def named(group_id: str) -> str:
    """A group's name as a log may show it."""
    return one_line(group_id, 80)


def one_line(text: str, longest: int = _LONGEST) -> str:
    """``text`` in one line of at most ``longest`` characters, of which none commands a terminal."""
    line = printable(" ".join(encodable(text).split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _members(names: list[str], total: int) -> str:
    if len(names) <= _NAMES:
        return ", ".join(names)
    return "all" if len(names) == total else f"{len(names)} of them"


class LostGroupLog:
    """Tells what it is given, ten lines a minute; the rest of a minute is told as counts by reason when it is over.

    Safe to use from several threads and event loops.
    """

    def __init__(self, tell: Tell = _log.warning, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._lock = threading.Lock()
        self._since = clock()
        self._lines = 0
        self._untold: Counter[str] = Counter()

    def add(self, line: str, *, why: str) -> None:
        """One more: ``line`` if it is among the first of its minute, else one more of those that ``why`` explains."""
        told = self._due()
        with self._lock:
            if self._lines < IN_FULL:
                self._lines += 1
                told.append(line)
            else:
                known = why in self._untold or len(self._untold) < _KEPT
                self._untold[why if known else "other reasons"] += 1
        self._say(told)

    def passed(self) -> None:
        """Something went well: what was counted is told once its minute is over, for nothing else may come."""
        if self._untold:
            self._say(self._due())

    def close(self, last: str) -> None:
        """Tell what is still untold, and ``last``."""
        with self._lock:
            told = self._summary()
        self._say([*told, last])

    def _due(self) -> list[str]:
        with self._lock:
            if self._clock() - self._since < _MINUTE:
                return []
            told = self._summary()
            self._since, self._lines = self._clock(), 0
            return told

    def _summary(self) -> list[str]:
        if not self._untold:
            return []
        most = self._untold.most_common(_REASONS)
        counted = [f"{count} × {why}" for why, count in most]
        if rest := self._untold.total() - sum(count for _, count in most):
            counted.append(f"{rest} for other reasons")
        told = f"{self._untold.total()} more groups lost trajectories: {'; '.join(counted)}"
        self._untold.clear()
        return [told]

    def _say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._tell(line)
