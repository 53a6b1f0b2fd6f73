"""Audits a share of finished groups with a second judge: growing disagreement is a sign of reward hacking.

The audit never makes, delays or fails a reward: it works on a thread of its own, drops groups when its queue is full,
and reports its own failures in ``summary`` only. Not responsible for deciding which judge is right.
"""

from __future__ import annotations

import asyncio
import queue
import random
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import Final, Self, TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.judging.judge import Judge
from calipers.monitoring.change import Rise
from calipers.monitoring.review import ReviewQueue
from calipers.types import GroupResult, TrajectoryGroup

Opinion: TypeAlias = Mapping[str, float | None]
"""The second judge's score of each trajectory, by id; None if it is unknown."""

_STOP: Final = None


@dataclass(frozen=True, slots=True)
class AuditSummary:
    """The state of an audit. ``disagreement`` is the mean over ``compared`` groups, or None before the first.

    ``changed_at`` are the numbers of the audited groups at which a rise of disagreement was detected.
    """

    audited: int = 0
    compared: int = 0
    dropped: int = 0
    failed: int = 0
    disagreement: float | None = None
    changed_at: tuple[int, ...] = ()
    last_error: str | None = None


class Auditor:
    """Gives a ``share`` (0-1) of finished groups to ``second`` for audit: a Judge of another family, or a Verifier.

    Pass an Auditor to ``Judge(records={"watchers": [...]})``, or ``offer`` groups to it. At most ``room`` groups wait;
    further groups are dropped and counted. On the audit's thread, ``on_disagreement`` is called with each group's
    disagreement (0-1), and ``on_change`` with the summary when ``change`` detects a rise. ``review`` collects disputed
    groups. Which groups are sampled depends on their content and ``seed``. Call ``close``, or use the Auditor in a
    ``with`` statement, to finish the queue.

    Raises ConfigError for options that cannot work.
    """

    def __init__(
        self,
        second: Judge | Verifier,
        *,
        share: float = 0.05,
        seed: int = 0,
        room: int = 64,
        change: Rise | None = None,
        on_disagreement: Callable[[float], None] | None = None,
        on_change: Callable[[AuditSummary], None] | None = None,
        review: ReviewQueue | None = None,
    ) -> None:
        if not 0 < share <= 1:
            raise ConfigError(f"share={share}: it must be a share of the groups, above 0 and at most 1")
        if not isinstance(second, Judge) and not callable(second):
            raise ConfigError(f"{second!r} is neither a Judge nor a Verifier (a function of a trajectory)")
        require_whole(room=room, seed=seed)
        require_above_zero(room=room)
        require_callable(on_disagreement=on_disagreement, on_change=on_change)
        self._second = second
        self._share = share
        self._seed = seed
        self._change = change or Rise()
        self._on_disagreement = on_disagreement
        self._on_change = on_change
        self._review = review
        self._waiting: queue.Queue[tuple[TrajectoryGroup, GroupResult] | None] = queue.Queue(room)
        self._lock = threading.Lock()
        self._summary = AuditSummary()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def summary(self) -> AuditSummary:
        """What the audit, in which a second judge judges finished groups again, has found so far."""
        return self._summary

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:
        """While judging, offer a finished group to the audit; return its result.

        The result has a warning once disagreement has risen.
        """
        if self._review is not None:
            self._review.seen(group, result)
        self.offer(group, result)
        changed = self._summary.changed_at
        if not changed:
            return result
        note = (
            f"alarm: since its group {changed[-1]}, the audit disagrees more with the rewards: look for reward hacking"
        )
        return replace(result, warnings=(*result.warnings, note))

    def offer(self, group: TrajectoryGroup, result: GroupResult) -> bool:
        """While judging, queue a finished group for the audit if it is sampled and the queue has room.

        Never waits, never raises. Returns whether the group was queued.
        """
        scored = sum(one.reward is not None for one in result.trajectories)
        if self._closed or scored < 2 or not self._is_sampled(group):
            return False
        try:
            self._waiting.put_nowait((group, result))
        except queue.Full:
            self._note(dropped=1)
            return False
        self._start()
        return True

    def close(self, timeout: float | None = 60.0) -> None:
        """At the end of judging, accept no more groups for the audit.

        Waits at most ``timeout`` seconds until the audit has finished its queue.
        """
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is None:
            return
        try:
            self._waiting.put(_STOP, timeout=timeout)
        except queue.Full:
            return  # a call of the audit hangs; its thread is a daemon and ends with the process
        thread.join(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_sampled(self, group: TrajectoryGroup) -> bool:
        digest = blake2b(digest_size=16)
        for one in group.trajectories:
            digest.update(repr(one.messages[-1:]).encode("utf-8", "replace"))
        drawn = random.Random(f"audit:{self._seed}:{group.group_id}:{digest.hexdigest()}")  # noqa: S311 - no secret
        return drawn.random() < self._share

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="calipers-audit", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            while (waiting := self._waiting.get()) is not _STOP:
                group, result = waiting
                try:
                    opinion = runner.run(self._opinion(group))
                    self._compare(group, result, opinion)
                except Exception as error:  # noqa: BLE001 - a user's verifier may fail in any way, and must fail no group
                    self._fail(error)

    async def _opinion(self, group: TrajectoryGroup) -> Opinion:
        if isinstance(self._second, Judge):
            judged = await self._second.score_group(group)
            return {one.id: one.score for one in judged.trajectories}
        verdicts = {one.id: self._second(one).met for one in group.trajectories}
        return {name: None if met is None else float(met) for name, met in verdicts.items()}

    def _compare(self, group: TrajectoryGroup, result: GroupResult, opinion: Opinion) -> None:
        by = disagreement({one.id: one.reward for one in result.trajectories}, opinion)
        if by is None:
            self._note(audited=1)
            return
        self._change = self._change.updated(by)
        risen = self._change.found
        if risen:
            self._change = self._change.reset()
        self._note(audited=1, by=by, risen=risen)
        if self._review is not None:
            self._review.disputed(group, result, opinion, by=by)
        if self._on_disagreement is not None:
            self._on_disagreement(by)
        if risen:
            sys.stderr.write(
                f"[calipers] alarm: the audit disagrees more with the rewards since its group {self._summary.audited}\n"
            )
            if self._on_change is not None:
                self._on_change(self._summary)

    def _fail(self, error: Exception) -> None:
        if self._summary.failed == 0:
            sys.stderr.write(f"[calipers] the audit failed for a group: {type(error).__name__}: {error}\n")
        self._note(failed=1, error=f"{type(error).__name__}: {error}")

    def _note(
        self,
        *,
        audited: int = 0,
        dropped: int = 0,
        failed: int = 0,
        by: float | None = None,
        risen: bool = False,
        error: str | None = None,
    ) -> None:
        with self._lock:
            old = self._summary
            compared = old.compared + (by is not None)
            mean = old.disagreement
            if by is not None:
                mean = by if mean is None else mean + (by - mean) / compared
            self._summary = AuditSummary(
                old.audited + audited,
                compared,
                old.dropped + dropped,
                old.failed + failed,
                mean,
                (*old.changed_at, old.audited + audited) if risen else old.changed_at,
                error or old.last_error,
            )


def disagreement(rewards: Opinion, audit: Opinion) -> float | None:
    """Return the share of pairs of trajectories that judging's rewards order differently than an audit's scores do.

    Pairs that the audit ties do not count, and a tie of rewards counts half. The result is in [0, 1], and 0.5 for
    rewards that are independent of the audit. It is (1 - d) / 2 with Somers' d of the rewards given the audit (R. H.
    Somers, American Sociological Review 27, 1962). None if the audit ties every pair.
    """
    both = [name for name, value in audit.items() if value is not None and rewards.get(name) is not None]
    against = pairs = 0.0
    for one, other in combinations(both, 2):
        apart = (audit[one] or 0.0) - (audit[other] or 0.0)
        if apart:
            gap = (rewards[one] or 0.0) - (rewards[other] or 0.0)
            pairs += 1
            against += 0.5 if gap == 0 else float((gap > 0) != (apart > 0))
    return against / pairs if pairs else None
