"""Audits a share of finished groups with a second judge or a check: rising disagreement is a sign of reward hacking.

The audit never makes, delays or fails a reward: it works on a thread of its own, drops groups when its queue is full,
and reports its own failures in ``summary`` only.
"""

from __future__ import annotations

import asyncio
import queue
import random
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, Self, TypeAlias

from calipers.config.arguments import require_callable, require_share_of_groups, require_whole
from calipers.errors import ConfigError, without_exit
from calipers.judging.judge import Judge
from calipers.ledger import group_digest
from calipers.monitoring.alarms import Rise
from calipers.monitoring.review import ReviewQueue
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, Verdict
from calipers.types.encoding import measured_number

Opinion: TypeAlias = Mapping[str, float | None]
"""The second opinion on each trajectory, by id; None if it is unknown."""

MOST_WAITING: Final = 64
"""How many groups may wait for the audit; further ones are dropped."""
_COUNTS: Final = ("audited", "compared", "dropped", "failed")


@dataclass(frozen=True, slots=True)
class AuditSummary:
    """The state of an audit. ``failed`` opinions are missing, and no number.

    ``disagreement`` is the mean over the ``compared`` groups, None before the first. ``changed_at`` are the numbers of
    the compared groups at which a rise of disagreement was detected.
    """

    audited: int = 0
    compared: int = 0
    dropped: int = 0
    failed: int = 0
    disagreement: float | None = None
    changed_at: tuple[int, ...] = ()
    last_error: str | None = None


class Auditor:
    """Asks ``second`` about a ``share`` (0-1) of the finished groups: a Judge of another family, its name, or a check.

    A check is a function of a trajectory that returns a Verdict, a number, or None. Pass an Auditor to
    ``Judge(records={"watchers": [...]})``. Which groups are drawn follows from their content and ``seed``. Groups of a
    ``split`` are not trained on, and are left out.

    An alarm begins when disagreement rises. It is printed, it is in the results' ``warnings``, and ``on_alarm`` is
    called with the summary. On the audit's thread, ``on_disagreement`` is called with each group's disagreement (0-1).
    What either of them raises is raised for the next group, or by ``close``.
    ``review`` collects disputed groups. Call ``close``, or use the Auditor in a ``with`` statement, to finish the
    queue. Raises ConfigError for options that cannot work.
    """

    def __init__(
        self,
        second: Judge | str | Callable[[Trajectory], Verdict | bool | float | None],
        *,
        share: float = 0.05,
        seed: int = 0,
        on_disagreement: Callable[[float], object] | None = None,
        on_alarm: Callable[[AuditSummary], object] | None = None,
        review: ReviewQueue | None = None,
    ) -> None:
        require_share_of_groups(share)
        require_whole(seed=seed)
        require_callable(on_disagreement=on_disagreement, on_alarm=on_alarm)
        second = Judge(second) if isinstance(second, str) else second
        if not isinstance(second, Judge) and not callable(second):
            raise ConfigError(f"{second!r} is neither a Judge nor a check (a function of a trajectory)")
        self._second, self._share, self._seed, self._rise = second, share, seed, Rise()
        self._on_disagreement, self._on_alarm = (call and without_exit(call) for call in (on_disagreement, on_alarm))
        self._review = review
        self._waiting: queue.Queue[tuple[TrajectoryGroup, GroupResult] | None] = queue.Queue(MOST_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._alarm: str | None = None
        self._raised: Exception | None = None
        self._summary = AuditSummary()

    @property
    def summary(self) -> AuditSummary:
        """What the audit has found so far."""
        return self._summary

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:
        """Offer a finished group to the audit, and return its result, with a warning of the last alarm.

        Never waits, and raises only what ``on_alarm`` or ``on_disagreement`` raised.
        """
        if self._review is not None:
            self._review.seen(group, result)
        if not self._closed and self._is_drawn(group, result):
            try:
                self._waiting.put_nowait((group, result))
            except queue.Full:
                self._note(dropped=1)
            else:
                self._start()
        self._raise()
        return result if self._alarm is None else replace(result, warnings=(*result.warnings, self._alarm))

    def close(self, timeout: float | None = 60.0) -> None:
        """Take no more groups for the audit, and wait at most ``timeout`` seconds until its queue is finished."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is None:
            return
        try:
            self._waiting.put(None, timeout=timeout)
            thread.join(timeout)
        except queue.Full:
            pass  # the work hangs; its thread is a daemon and ends with the process
        self._raise()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_drawn(self, group: TrajectoryGroup, result: GroupResult) -> bool:
        if "split" in group.extra or sum(trajectory.reward is not None for trajectory in result.trajectories) < 2:
            return False
        drawn = random.Random(f"audit:{self._seed}:{group_digest(group)}")  # noqa: S311 - no secret
        return drawn.random() < self._share

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="calipers-audit", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            while (waiting := self._waiting.get()) is not None:
                try:
                    runner.run(self._audit(*waiting))
                except BaseException as error:  # noqa: BLE001 - a user's check may fail in any way, and ends nothing
                    text = f"{type(error).__name__}: {error}"
                    if self._summary.failed == 0:
                        sys.stderr.write(f"[calipers] the audit failed for a group, which counts as missing: {text}\n")
                    self._note(failed=1, last_error=text)

    async def _audit(self, group: TrajectoryGroup, result: GroupResult) -> None:
        if isinstance(self._second, Judge):
            judged = await self._second.score_group(group)
            opinion: Opinion = {trajectory.id: trajectory.score for trajectory in judged.trajectories}
            if all(score is None for score in opinion.values()):
                raise ConfigError("the second judge gave no score")
        else:
            opinion = {trajectory.id: _number(self._second(trajectory)) for trajectory in group.trajectories}
        self._note(audited=1)
        by = disagreement({trajectory.id: trajectory.reward for trajectory in result.trajectories}, opinion)
        if by is None:
            return
        self._compared(by)
        if self._review is not None:
            self._review.disputed(group, result, opinion, by=by)
        self._call(self._on_disagreement, by)

    def _compared(self, by: float) -> None:
        old = self._summary
        compared, mean = old.compared + 1, by if old.disagreement is None else old.disagreement
        self._note(compared=1, disagreement=mean + (by - mean) / compared)
        self._rise = self._rise.updated(by)
        if not self._rise.found:
            return
        self._rise = Rise()
        self._note(changed_at=(*old.changed_at, compared))
        since = f"since its group {compared}, the audit disagrees more with the rewards"
        self._alarm = f"alarm: {since}: look for reward hacking"
        sys.stderr.write(f"[calipers] {self._alarm}\n")
        self._call(self._on_alarm, self._summary)

    def _call(self, handler: Callable[[Any], object] | None, value: object) -> None:
        try:
            if handler is not None:
                handler(value)
        except Exception as error:  # noqa: BLE001 - raised where somebody waits, unlike in this thread
            self._note(failed=1, last_error=str(error))
            with self._lock:
                self._raised = self._raised or error

    def _raise(self) -> None:
        with self._lock:
            raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def _note(self, **found: Any) -> None:
        """Add to the summary's counts, and set its other fields."""
        with self._lock:
            counts = {name: getattr(self._summary, name) + found[name] for name in _COUNTS if name in found}
            self._summary = replace(self._summary, **(found | counts))


def disagreement(rewards: Opinion, audit: Opinion) -> float | None:
    """Return the share of pairs of trajectories that the rewards order differently than an audit's scores do.

    Pairs that the audit ties do not count, and a tie of rewards counts half. The result is in [0, 1], and 0.5 for
    rewards that are independent of the audit. It is (1 - d) / 2 with Somers' d of the rewards given the audit (R. H.
    Somers, American Sociological Review 27, 1962). None if the audit ties every pair.
    """
    in_both = [name for name, value in audit.items() if value is not None and rewards.get(name) is not None]
    against = pairs = 0.0
    for first, second in combinations(in_both, 2):
        apart = (audit[first] or 0.0) - (audit[second] or 0.0)
        if apart:
            gap = (rewards[first] or 0.0) - (rewards[second] or 0.0)
            pairs += 1
            against += 0.5 if gap == 0 else float((gap > 0) != (apart > 0))
    return against / pairs if pairs else None


def _number(opinion: object) -> float | None:
    """Return a check's opinion as a number. Raises TypeError for one that is none, or is too large to compute with."""
    opinion = opinion.met if isinstance(opinion, Verdict) else opinion
    if opinion is None:
        return None
    value = float(opinion) if isinstance(opinion, bool) else measured_number(opinion)
    if value is None:
        raise TypeError(f"the check returned {opinion!r}, which is neither a verdict nor a number to compute with")
    return value
