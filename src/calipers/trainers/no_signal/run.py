"""A judge at work for one run of a trainer: what every adapter does around judging, and when the run has to end.

Lost groups are told in the log (``losses``). A judge whose every call was refused for good ends the run with a ConfigError,
and ``patience`` lost groups in a row end it with a CalipersError, or by calling ``stop``. Not responsible for what a lost
group is to an engine, nor for what an engine makes of an exception (the adapters, ``docs/trainers/README.md``).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import CalipersError, ConfigError
from calipers.judging.judge import Judge
from calipers.trainers.no_signal.lost_groups import LostGroupLog, cause, line_of, named, one_line
from calipers.trainers.no_signal.rewards import unscored
from calipers.trainers.process.once import once_per_process
from calipers.types import GroupResult, TrajectoryGroup

Stop: TypeAlias = Callable[[], object]
"""What asks a trainer to end its run."""

Score: TypeAlias = Callable[[TrajectoryGroup], Awaitable[GroupResult]]
"""``Judge.score_group``, or whatever else judges a whole group."""


def interrupt() -> None:
    """End this process as Ctrl-C would: a ``stop`` for engines that go on after any exception of a rollout's.

    A process that a script started in the background ignores Ctrl-C, and is terminated.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGINT)


def require_patience(patience: int | None, stop: Stop | None) -> None:
    """Raise ConfigError for a ``patience`` or a ``stop`` that cannot be one."""
    require_whole(patience=patience)
    require_above_zero(patience=patience)
    require_callable(stop=stop)


class JudgedRun:
    """``judge`` as one run has it. A group is lost when fewer than ``needed`` of its members have a reward (None: all of them).

    After ``patience`` lost groups in a row, without one that was not, ``stop`` is called, once; without ``stop`` the run is
    over: this and every further call raises CalipersError, before anything is asked. None: nothing is counted. When every
    call of a batch was refused for good and the judge never answered, ``stop`` is called, and ConfigError raised by this and
    every further call. ``then`` says in the log what becomes of a lost group. Safe to use from several event loops.

    Raises ConfigError for settings that cannot work.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        patience: int | None = None,
        stop: Stop | None = None,
        needed: int | None = None,
        then: str = "",
        log: LostGroupLog | None = None,
    ) -> None:
        require_patience(patience, stop)
        self.judge = judge
        self._patience, self._stop = patience, stop
        self._needed, self._then = needed, then
        self._log = log or LostGroupLog()
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._out: str | None = None
        self._stopped = False
        self._ended: tuple[type[CalipersError], str] | None = None

    async def score(self, groups: Sequence[Any]) -> list[GroupResult]:
        """A batch's results, in its order. Raises as the class says, and what ``Judge.score_groups`` raises."""
        self.require_running()
        results = self.judge.score_groups(groups, concurrency=max(1, len(groups)), ordered=True)
        return await self.saw([result async for result in results])

    async def score_group(self, group: object) -> GroupResult:
        """Likewise, of one group."""
        self.require_running()
        return (await self.saw([await self.judge.score_group(group)]))[0]

    def around(self, score: Score) -> Score:
        """``score`` as part of this run, for who gathers groups."""

        async def scoring(group: TrajectoryGroup) -> GroupResult:
            self.require_running()
            return (await self.saw([await score(group)]))[0]

        return scoring

    async def saw(self, results: list[GroupResult]) -> list[GroupResult]:
        """Take in a batch's ``results``, and hand them on. Raises as the class says."""
        await self.require_answering()
        for result in results:
            self._take(result)
        self._end_if_out()
        self.require_running()
        return results

    async def require_answering(self) -> None:
        """Raise ConfigError, having called ``stop``, where every call was refused for good."""
        try:
            await self.judge.require_answering()
        except ConfigError as error:
            self.refused(error)
            raise

    def refused(self, error: ConfigError) -> None:
        """Nothing will ever be scored: the run is over, ``stop`` is called, and every further call raises ConfigError."""
        self._end(ConfigError, str(error))

    def lost(self, line: str, *, why: str) -> None:
        """A group is lost, which ``line`` tells; losses are counted by ``why``. Raises nothing by itself."""
        self._count(line, why=why)
        self._end_if_out()

    def lost_before_judging(self, name: str, why: str) -> None:
        """A group is lost before it was judged. Raises nothing by itself."""
        self.lost(f"group {named(name)} is lost{', ' + self._then if self._then else ''}: {one_line(why)}", why=why)

    def went_well(self) -> None:
        """A group was judged."""
        with self._lock:
            self._in_a_row = 0
        self._log.passed()

    @property
    def ended(self) -> str | None:
        """What ended the run, None while it goes on."""
        return None if self._ended is None else self._ended[1]

    def require_running(self) -> None:
        """Raise what ended the run, if it ended."""
        if self._ended is not None:
            kind, told = self._ended
            raise kind(told)

    def _take(self, result: GroupResult) -> None:
        missing, total = unscored(result.trajectories), len(result.trajectories)
        needed = total if self._needed is None else min(self._needed, total)
        if total - len(missing) < needed:
            self._count(line_of(result, then=self._then), why=cause(missing))
            return
        if missing:
            self._log.add(line_of(result), why=cause(missing))
        if result.judge_calls:  # a group that nobody was asked about tells nothing of the judge
            self.went_well()

    def _count(self, line: str, *, why: str) -> None:
        self._log.add(line, why=why)
        with self._lock:
            self._in_a_row += 1
            if self._in_a_row == self._patience:
                self._out = (
                    f"{self._patience} groups in a row were lost (patience={self._patience}), the last because {why}"
                )

    def _end_if_out(self) -> None:
        """Once the whole batch is told of."""
        with self._lock:
            told, self._out = self._out, None
        if told is not None:
            self._end(None if self._stop is not None else CalipersError, told)

    def _end(self, kind: type[CalipersError] | None, told: str) -> None:
        """The run is over; with ``kind`` everything from here on raises it."""
        with self._lock:
            first, self._stopped = not self._stopped, True
            if kind is not None:
                self._ended = self._ended or (kind, told)
        if first:
            self._log.close(f"the run {'is asked to stop' if self._stop is not None else 'ends'}: {one_line(told)}")
            if self._stop is not None:
                self._stop()


@once_per_process(maxsize=32)
def shared_run(
    judge: Judge, patience: int | None = None, stop: Stop | None = None, needed: int | None = None, then: str = ""
) -> JudgedRun:
    """The run of these arguments: one a process, for adapters that are made anew for every group."""
    return JudgedRun(judge, patience=patience, stop=stop, needed=needed, then=then)
