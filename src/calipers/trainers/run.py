"""A training run's use of a judge: judging an engine's rows, logging lost groups, ending a run that learns nothing.

What a lost group means to an engine, and what it does with an exception, is in ``docs/trainers/README.md``.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.judging.judge import Judge
from calipers.trainers.cohorts import Cohorts, MemberResult
from calipers.trainers.process import JudgeLike, as_judge, once_per_process
from calipers.trainers.rewards import NEUTRAL, unscored_trajectories
from calipers.trainers.rows import prompt_messages, read_rollout, rubric_with_reference
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult
from calipers.types.encoding import printable, without_lone_surrogates

_log = logging.getLogger("calipers.trainers")

Stop: TypeAlias = Callable[[], object]
"""Asks a trainer to end its run."""

Score: TypeAlias = Callable[[TrajectoryGroup], Awaitable[GroupResult]]
"""Judges a whole group: ``Judge.score_group``, or a function like it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a run goes on without a signal: it ends after ``groups`` lost groups in a row and ``minutes``.

    The minutes are those since the first of these groups was lost.
    """

    groups: int
    minutes: float = 0.0

    def __post_init__(self) -> None:
        require_whole(patience=self.groups)
        require_above_zero(patience=self.groups)


PATIENCE: Final = Patience(32, 10.0)
"""The default of every adapter."""

Lasting: TypeAlias = Patience | int | None
"""An adapter's ``patience``: a number is that of groups, without minutes; None means for ever."""


def interrupt() -> None:
    """End this process as Ctrl-C would: a ``stop`` for engines that continue after any exception of a rollout.

    A process that a script started in the background ignores Ctrl-C, so it is terminated instead.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGINT)


def require_settings(*, patience: Lasting = PATIENCE, stop: Stop | None = None) -> None:
    """Raise ConfigError unless these are valid arguments of an adapter."""
    if patience is not None and not isinstance(patience, Patience):
        Patience(patience)
    require_callable(stop=stop)


class JudgedRun:
    """A training run's use of ``judge``. Safe to use from several event loops.

    A group is lost if fewer than ``min_scored`` members have a reward, or, with None, if any member has none. When
    ``patience`` runs out, ``stop`` is called, once. Without ``stop`` the run is over: this and every further call
    raises CalipersError before the judge is asked. If every call of a batch was refused permanently and the judge has
    never answered, ``stop`` is called, and this and every further call raises ConfigError. ``consequence`` says in the
    log what happens to the rewards of a lost group. Raises ConfigError for invalid settings.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        patience: Lasting = PATIENCE,
        stop: Stop | None = None,
        min_scored: int | None = None,
        consequence: str = "",
        log: Callable[[str], object] = _log.warning,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        require_settings(patience=patience, stop=stop)
        self.judge = judge
        self._patience = Patience(patience) if isinstance(patience, int) else patience
        self._stop = stop
        self._min_scored, self._consequence = min_scored, consequence
        self._log = log
        self._clock = clock
        self._lock = threading.Lock()
        self._in_a_row, self._since = 0, 0.0
        self._stopped = False
        self._ended: CalipersError | None = None
        self._warnings = judge.settings.warnings

    async def score(self, groups: Sequence[Any]) -> list[GroupResult]:
        """Return the results of a batch of groups, in order. Raises as the class and ``Judge.score_groups`` do."""
        self.require_running()
        results = self.judge.score_groups(groups, concurrency=max(1, len(groups)), ordered=True)
        return await self.record([result async for result in results])

    def wrap(self, score: Score) -> Score:
        """Return ``score`` as a function that counts and logs its results in this run."""

        async def scoring(group: TrajectoryGroup) -> GroupResult:
            self.require_running()
            return (await self.record([await score(group)]))[0]

        return scoring

    async def record(self, results: list[GroupResult]) -> list[GroupResult]:
        """Count and log the ``results`` of a batch, and return them. Raises as the class says."""
        try:
            await self.judge.require_answering()
        except ConfigError as error:
            self.end(error)
            raise
        with self._lock:
            notes, self._warnings = self._warnings, ()
        for note in notes:
            self._log(one_line(note))
        if errors := [error for error in map(self._take, results) if error is not None]:
            self.end(errors[0])  # once the whole batch is logged
        self.require_running()
        return results

    def end(self, error: CalipersError) -> None:
        """End the run, once. Without ``stop``, and for a ConfigError (no group will ever be scored), every further call
        raises the error.
        """
        with self._lock:
            first, self._stopped = not self._stopped, True
            if self._stop is None or isinstance(error, ConfigError):
                self._ended = self._ended or error
        if first:
            self._log(one_line(f"the run {'is asked to stop' if self._stop is not None else 'ends'}: {error}"))
            try:
                if self._stop is not None:
                    self._stop()
            except SystemExit:  # it would end only this event loop, on which a trainer may wait for ever
                interrupt()

    def lost(self, line: str, *, why: str) -> None:
        """Log ``line`` about a lost group, and count the loss. This does not raise."""
        if error := self._count(line, why=why):
            self.end(error)

    def lost_before_judging(self, name: str, why: str) -> None:
        """Record a group that was lost before it was judged. This does not raise."""
        then = f", {self._consequence}" if self._consequence else ""
        self.lost(f"group {one_line(name, 80)} is lost{then}: {one_line(why)}", why=why)

    def succeeded(self) -> None:
        """Record a group that was judged."""
        with self._lock:
            self._in_a_row = 0

    @property
    def ended(self) -> str | None:
        """Return the reason why the run ended, or None while it continues."""
        return None if self._ended is None else str(self._ended)

    def require_running(self) -> None:
        """Raise the error that ended the run, if it ended."""
        if self._ended is not None:
            raise type(self._ended)(str(self._ended))

    def _take(self, result: GroupResult) -> CalipersError | None:
        """Count and log a group's result. Return the error that ends the run, if it does."""
        missing, total = unscored_trajectories(result.trajectories), len(result.trajectories)
        needed = total if self._min_scored is None else min(self._min_scored, total)
        lost = total - len(missing) < needed
        if missing:
            line = lost_group_line(result, consequence=self._consequence if lost else "")
            if lost:
                causes = dict.fromkeys(f"{row.status}: {row.reason}" for row in missing)
                return self._count(line, why=one_line("; ".join(list(causes)[:_MAX_REASONS])))
            self._log(line)
        if result.judge_calls:  # a group for which no judge was asked is no evidence that the judge works
            self.succeeded()
        return None

    def _count(self, line: str, *, why: str) -> CalipersError | None:
        self._log(line)
        with self._lock:
            now = self._clock()
            self._since = self._since if self._in_a_row else now
            self._in_a_row += 1
            limit = self._patience
            if limit is None or self._in_a_row < limit.groups or now - self._since < limit.minutes * 60:
                return None
            minutes = f" in {limit.minutes:g} minutes" if limit.minutes else ""
            return CalipersError(
                f"{self._in_a_row} groups in a row were lost{minutes} (patience={limit.groups}), the last because {why}"
            )


_shared_run = once_per_process(maxsize=32)(JudgedRun)


def shared_run(judge: JudgeLike, patience: Lasting = PATIENCE, stop: Stop | None = None, **settings: Any) -> JudgedRun:
    """Return the process's JudgedRun with these arguments, for engines that make their adapter anew for every group."""
    return _shared_run(as_judge(judge), patience=patience, stop=stop, **settings)


# --- the rows of an engine's batch


@dataclass(frozen=True, slots=True)
class Row:
    """A rollout as an engine's adapter maps it. Rows with one ``key`` are judged against one another.

    ``member`` is a trajectory's object, or the text of an answer to ``prompt``, or None for no answer. ``name`` is the
    group's id, and ``extra`` what else is recorded with the group. ``reference`` is an answer that is added to a
    rubric of text. Rows of a group must not differ in ``prompt``, ``rubric`` and ``reference``.
    """

    key: Hashable
    member: Mapping[str, Any] | str | None
    prompt: Any = ()
    rubric: Any = None
    reference: Any = None
    name: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


async def judged(run: JudgedRun, rows: Sequence[Row], form: Callable[[GroupResult], Sequence[T]]) -> list[T]:
    """Judge an engine's ``rows`` group by group, and return an entry for each, in order.

    ``form`` turns a group's result into its members' entries. Raises InputError for rows of one group that differ in
    what they share, and for a prompt that cannot be read; otherwise as ``JudgedRun`` does.
    """
    groups: dict[Hashable, list[int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(row.key, []).append(position)
    asked = [group_of_rows(run.judge, [rows[at] for at in positions]) for positions in groups.values()]
    entries: dict[int, T] = {}
    for positions, result in zip(groups.values(), await run.score(asked), strict=True):
        entries |= zip(positions, form(result), strict=True)
    return [entries[position] for position in range(len(rows))]


def group_of_rows(judge: Judge, rows: Sequence[Row]) -> dict[str, Any]:
    """Return an engine's rows of one group as a group object of a groups file. Raises InputError as ``judged`` does."""
    first = rows[0]
    for attribute in ("prompt", "rubric", "reference"):
        if any(getattr(row, attribute) != getattr(first, attribute) for row in rows):
            raise InputError(
                f"the rollouts of group {one_line(str(first.key if first.name is None else first.name), 80)} have "
                f"different {attribute}s; only answers to the same prompt can be compared"
            )
    group = {
        "context": prompt_messages(first.prompt),
        "trajectories": [read_rollout(row.member, str(number)) for number, row in enumerate(rows, start=1)],
        "rubric": rubric_with_reference(judge, first.rubric, first.reference),
    }
    return {**group, **({} if first.name is None else {"group_id": first.name}), **first.extra}


def finite_reward(reward: Any, whose: str) -> float:
    """Return a reward of the engine's own. Raises InputError if it is not finite: it would reach its whole group."""
    number = float(reward or 0.0)
    if not math.isfinite(number):
        raise InputError(f"{whose} brings a reward of {number}, which would spoil the rewards of its whole group")
    return number


# --- engines that take a float per rollout and cannot take None: a group's rewards, or a constant for all


def run_for_floats(judge: JudgeLike, *, patience: Lasting = PATIENCE, stop: Stop | None = None) -> JudgedRun:
    """Return a JudgedRun in which a group is lost, and gets the constant, if any member is lost."""
    return JudgedRun(as_judge(judge), patience=patience, stop=stop, consequence="so all get the same reward")


def is_group_scored(member: MemberResult) -> bool:
    """Return whether the whole group was scored, so that the trainer gets the judge's reward, not the constant."""
    return member.group is not None and 0 < member.rewarded == len(member.group.trajectories)


def float_reward(member: MemberResult) -> float:
    """Return a member's reward for the trainer, or the constant if any member of its group is unscored."""
    return member.reward if member.reward is not None and is_group_scored(member) else NEUTRAL


def complete_cohorts(run: JudgedRun, *, size: int, deadline: float | None) -> Cohorts:
    """Return cohorts that judge a group only when all its rollouts have arrived: a float cannot say that a late member
    has no reward. The arguments are those of ``Cohorts``.
    """
    return Cohorts(
        run.wrap(run.judge.score_group),
        size=size,
        quorum=None,
        deadline=deadline,
        on_lost=run.lost_before_judging,
    )


# --- the log of lost groups

_MAX_LENGTH: Final = 500
_MAX_IDS: Final = 4
_MAX_REASONS: Final = 3


def lost_group_line(result: GroupResult, *, consequence: str = "") -> str:
    """Return a log line with the members that a group lost, and why; ``consequence`` is what follows for rewards."""
    missing, total = unscored_trajectories(result.trajectories), len(result.trajectories)
    head = (
        f"{result.status} group {one_line(result.group_id, 80)}: {len(missing)} of {total} rollouts could not be scored"
    )
    return f"{head}{', ' + consequence if consequence else ''}: {reasons_by_member(missing, total)}"


def reasons_by_member(missing: Sequence[TrajectoryResult], total: int) -> str:
    """Return each reason why members have no score once, with the members' ids. The length is bounded."""
    ids: dict[str, list[str]] = {}
    for row in missing:
        ids.setdefault(f"{row.status}: {row.reason}", []).append(row.id)
    listed = []
    for why, names in list(ids.items())[:_MAX_REASONS]:
        many = "all" if len(names) == total else f"{len(names)} of them"
        listed.append(f"{', '.join(names) if len(names) <= _MAX_IDS else many} {why}")
    if len(ids) > _MAX_REASONS:
        listed.append(f"{len(ids) - _MAX_REASONS} further reasons")
    return one_line("; ".join(listed))


def one_line(text: str, longest: int = _MAX_LENGTH) -> str:
    """Return ``text`` as a line of the trainer's log: at most ``longest`` characters, without control characters."""
    line = printable(" ".join(without_lone_surrogates(text).split()))
    return line if len(line) <= longest else line[: longest - 1] + "…"
