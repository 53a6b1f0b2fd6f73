"""A training run's use of a judge: judging a batch, logging lost groups, and ending the run when nothing is learned.

Lost groups are logged (``lost_groups``). A judge that refuses every question permanently ends the run with a
ConfigError. ``patience`` lost groups in a row end the run with a CalipersError, or by calling ``stop``. Not responsible
for what a lost group means to an engine, or for what an engine does with an exception (the adapters,
``docs/trainers/README.md``).
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import CalipersError, ConfigError
from calipers.judging.judge import Judge
from calipers.trainers.no_signal.lost_groups import LostGroupLog, cause_of_loss, lost_group_line, one_line
from calipers.trainers.no_signal.rewards import unscored_trajectories
from calipers.trainers.process.once import once_per_process
from calipers.types import GroupResult, TrajectoryGroup

Stop: TypeAlias = Callable[[], object]
"""Asks a trainer to end its run."""

Score: TypeAlias = Callable[[TrajectoryGroup], Awaitable[GroupResult]]
"""Judges a whole group: ``Judge.score_group``, or a function like it."""

T = TypeVar("T")


def interrupt() -> None:
    """End this trainer's process as Ctrl-C would.

    This is a ``stop`` for engines that continue after any exception of a rollout.

    A process that a script started in the background ignores Ctrl-C, so it is terminated instead.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGINT)


def require_patience(patience: int | None, stop: Stop | None) -> None:
    """Raise ConfigError for an invalid ``patience`` or ``stop`` of a trainer's run."""
    require_whole(patience=patience)
    require_above_zero(patience=patience)
    require_callable(stop=stop)


class JudgedRun:
    """A training run's use of ``judge``.

    A group is lost if fewer than ``min_scored`` members have a reward. If ``min_scored`` is None, it is lost if any
    member has none. After ``patience`` lost groups in a row ``stop`` is called, once. Without ``stop`` the run is over:
    this and every further call raises CalipersError before the judge is asked. ``patience=None`` counts nothing. If
    every call of a batch was refused permanently and the judge has never answered, ``stop`` is called, and this and
    every further call raises ConfigError. ``consequence`` says in the log what happens to the rewards of a lost group.
    What each result of the judge warns of, such as that it is not for training, is logged once, with the first.
    Safe to use from several event loops.

    Raises ConfigError for invalid settings.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        patience: int | None = None,
        stop: Stop | None = None,
        min_scored: int | None = None,
        consequence: str = "",
        log: LostGroupLog | None = None,
    ) -> None:
        require_patience(patience, stop)
        self.judge = judge
        self._patience, self._stop = patience, stop
        self._min_scored, self._consequence = min_scored, consequence
        self._log = log or LostGroupLog()
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._out_of_patience: str | None = None
        self._stopped = False
        self._ended: tuple[type[CalipersError], str] | None = None
        self._warnings = judge.settings.warnings

    async def score(self, groups: Sequence[Any]) -> list[GroupResult]:
        """Return the results of a trainer's batch of groups, in order.

        Raises the errors that the class describes, and those of ``Judge.score_groups``.
        """
        self.require_running()
        results = self.judge.score_groups(groups, concurrency=max(1, len(groups)), ordered=True)
        return await self.record([result async for result in results])

    async def score_group(self, group: object) -> GroupResult:
        """Return the result of a single group of the trainer. Raises as ``score`` does."""
        self.require_running()
        return (await self.record([await self.judge.score_group(group)]))[0]

    async def score_positions(
        self, groups: Sequence[Sequence[int]], asked: Sequence[Any], form: Callable[[GroupResult], Sequence[T]]
    ) -> list[T]:
        """Return an entry for each position of a trainer's batch.

        ``groups`` are the positions of each group's members. Together they cover the batch. ``asked`` are the groups
        themselves, and ``form`` turns a result into its members' entries.
        """
        found: dict[int, T] = {}
        for group, result in zip(groups, await self.score(asked), strict=True):
            found |= zip(group, form(result), strict=True)
        return [found[position] for position in range(len(found))]

    def wrap(self, score: Score) -> Score:
        """Return ``score`` as a function that counts and logs its results in this trainer's run.

        Code that collects groups calls it.
        """

        async def scoring(group: TrajectoryGroup) -> GroupResult:
            self.require_running()
            return (await self.record([await score(group)]))[0]

        return scoring

    async def record(self, results: list[GroupResult]) -> list[GroupResult]:
        """Count and log the ``results`` of a trainer's batch, and return them.

        Raises the errors that the class describes.
        """
        await self.require_answering()
        self._warn_once()
        for result in results:
            self._take(result)
        self._end_if_out_of_patience()
        self.require_running()
        return results

    def _warn_once(self) -> None:
        with self._lock:
            warnings, self._warnings = self._warnings, ()
        for warning in warnings:
            self._log.warn(warning)

    async def require_answering(self) -> None:
        """Call ``stop`` and raise ConfigError if the judge permanently refused every call in the trainer's run."""
        try:
            await self.judge.require_answering()
        except ConfigError as error:
            self.end(error)
            raise

    def end(self, error: ConfigError) -> None:
        """End the trainer's run because no group will ever be scored.

        ``stop`` is called, and every further call raises ConfigError.
        """
        self._end(ConfigError, str(error))

    def lost(self, line: str, *, why: str) -> None:
        """Record a lost group of the trainer: log ``line``, and count the loss under ``why``. This does not raise."""
        self._count(line, why=why)
        self._end_if_out_of_patience()

    def lost_before_judging(self, name: str, why: str) -> None:
        """Record a group of the trainer that was lost before it was judged. This does not raise."""
        then = f", {self._consequence}" if self._consequence else ""
        self.lost(f"group {one_line(name, 80)} is lost{then}: {one_line(why)}", why=why)

    def succeeded(self) -> None:
        """Record a group of the trainer that was judged."""
        with self._lock:
            self._in_a_row = 0
        self._log.flush_if_due()

    @property
    def ended(self) -> str | None:
        """Return the reason why the run ended, or None while it continues."""
        return None if self._ended is None else self._ended[1]

    def require_running(self) -> None:
        """Raise the error that ended the trainer's run, if it ended."""
        if self._ended is not None:
            kind, message = self._ended
            raise kind(message)

    def _take(self, result: GroupResult) -> None:
        missing, total = unscored_trajectories(result.trajectories), len(result.trajectories)
        needed = total if self._min_scored is None else min(self._min_scored, total)
        if total - len(missing) < needed:
            self._count(lost_group_line(result, consequence=self._consequence), why=cause_of_loss(missing))
            return
        if missing:
            self._log.add(lost_group_line(result), why=cause_of_loss(missing))
        if result.judge_calls:  # a group for which no judge was asked is no evidence that the judge works
            self.succeeded()

    def _count(self, line: str, *, why: str) -> None:
        self._log.add(line, why=why)
        with self._lock:
            self._in_a_row += 1
            if self._in_a_row == self._patience:
                lost = f"{self._patience} groups in a row were lost (patience={self._patience})"
                self._out_of_patience = f"{lost}, the last because {why}"

    def _end_if_out_of_patience(self) -> None:
        """End the run if ``patience`` groups in a row were lost. Called once the whole batch is logged."""
        with self._lock:
            message, self._out_of_patience = self._out_of_patience, None
        if message is not None:
            self._end(None if self._stop is not None else CalipersError, message)

    def _end(self, kind: type[CalipersError] | None, message: str) -> None:
        """End the run, once. If ``kind`` is given, every further call raises this error."""
        with self._lock:
            first, self._stopped = not self._stopped, True
            if kind is not None:
                self._ended = self._ended or (kind, message)
        if first:
            self._log.close(f"the run {'is asked to stop' if self._stop is not None else 'ends'}: {one_line(message)}")
            if self._stop is not None:
                self._stop()


@once_per_process(maxsize=32)
def shared_run(
    judge: Judge,
    patience: int | None = None,
    stop: Stop | None = None,
    min_scored: int | None = None,
    consequence: str = "",
) -> JudgedRun:
    """Return the JudgedRun of a trainer's process with these arguments.

    It is for adapters whose engine makes them anew for every group.
    """
    return JudgedRun(judge, patience=patience, stop=stop, min_scored=min_scored, consequence=consequence)
