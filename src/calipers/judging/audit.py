"""Audits a share of finished groups with a second judge: growing disagreement is a sign of reward hacking.

The audit never makes, delays or fails a reward: it works on a thread of its own, drops groups when its queue is full,
and reports its own failures in ``summary`` only.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import Self, TypeAlias

from calipers.config.arguments import require_above_zero, require_callable, require_share_of_groups, require_whole
from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.judging.aside import Aside
from calipers.judging.judge import Judge
from calipers.monitoring.alarms import Rise
from calipers.monitoring.review import ReviewQueue
from calipers.types import GroupResult, TrajectoryGroup

Opinion: TypeAlias = Mapping[str, float | None]
"""The second judge's score of each trajectory, by id; None if it is unknown."""


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

    ``second`` may also be a judge's name. Pass an Auditor to ``Judge(records={"watchers": [...]})``, or ``offer``
    groups to it. At most ``room`` groups wait; further groups are dropped and counted. On the audit's thread,
    ``on_disagreement`` is called with each group's disagreement (0-1), and ``on_change`` with the summary when
    ``change`` detects a rise. ``review`` collects disputed groups. Which groups are sampled depends on their content
    and ``seed``. Call ``close``, or use the Auditor in a ``with`` statement, to finish the queue.

    Raises ConfigError for options that cannot work.
    """

    def __init__(
        self,
        second: Judge | Verifier | str,
        *,
        share: float = 0.05,
        seed: int = 0,
        room: int = 64,
        change: Rise | None = None,
        on_disagreement: Callable[[float], None] | None = None,
        on_change: Callable[[AuditSummary], None] | None = None,
        review: ReviewQueue | None = None,
    ) -> None:
        require_share_of_groups(share)
        if isinstance(second, str):
            second = Judge(second)
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
        self._aside = Aside(self._audit, name="calipers-audit", room=room, on_error=self._fail)
        self._lock = threading.Lock()
        self._summary = AuditSummary()

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
        if self._aside.closed or scored < 2 or not is_drawn(group, self._share, f"audit:{self._seed}"):
            return False
        taken = self._aside.offer((group, result))
        if not taken:
            self._note(dropped=1)
        return taken

    def close(self, timeout: float | None = 60.0) -> None:
        """At the end of judging, accept no more groups for the audit.

        Waits at most ``timeout`` seconds until the audit has finished its queue.
        """
        self._aside.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _audit(self, judged: tuple[TrajectoryGroup, GroupResult]) -> None:
        group, result = judged
        self._compare(group, result, await opinion_of(self._second, group))

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

    def _fail(self, error: BaseException) -> None:
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


def is_drawn(group: TrajectoryGroup, share: float, draw: str) -> bool:
    """Whether a finished group is of the ``share`` (0-1) that is drawn while judging, by its content and ``draw``."""
    digest = blake2b(digest_size=16)
    for one in group.trajectories:
        digest.update(repr(one.messages[-1:]).encode("utf-8", "replace"))
    drawn = random.Random(f"{draw}:{group.group_id}:{digest.hexdigest()}")  # noqa: S311 - no secret
    return drawn.random() < share


async def opinion_of(second: Judge | Verifier, group: TrajectoryGroup) -> Opinion:
    """Return the scores that a second judge, or a verifier's verdicts, give the trajectories of a judged group."""
    if isinstance(second, Judge):
        judged = await second.score_group(group)
        return {one.id: one.score for one in judged.trajectories}
    verdicts = {one.id: second(one).met for one in group.trajectories}
    return {name: None if met is None else float(met) for name, met in verdicts.items()}


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
