"""Audits a share of finished groups with a second judge or a check: falling agreement is a sign of reward hacking.

The audit never makes, delays or fails a reward: it works on a thread of its own, drops groups when its queue is full,
and reports its own failures in ``summary`` only.
"""

from __future__ import annotations

import asyncio
import math
import queue
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import Any, Final, Self, TypeAlias

from calipers.aggregators.betting import lower_bound, upper_bound
from calipers.config.arguments import require_above_zero, require_callable, require_share_of_groups, require_whole
from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.monitoring.alarms import Rise
from calipers.monitoring.review import ReviewQueue
from calipers.types import GroupResult, Trajectory, TrajectoryGroup, Verdict
from calipers.types.encoding import finite_number, measured_number

Opinion: TypeAlias = Mapping[str, float | None]
"""The second opinion on each trajectory, by id; None if it is unknown."""

_WINDOW: Final = 64
LEAST_GROUPS: Final = 8
"""Over how many compared groups fidelity is measured, and the fewest from which on it may raise an alarm."""


_COUNTS: Final = ("audited", "compared", "dropped", "failed")


@dataclass(frozen=True, slots=True)
class AuditSummary:
    """The state of an audit. ``failed`` opinions are missing, and no number.

    ``disagreement`` is the mean over the ``compared`` groups, and ``fidelity`` that of the last 64 of them,
    with its 95 % bounds ``low`` and ``high``, each alone; None before the first. ``changed_at`` are the numbers of the
    compared groups at which a rise of disagreement was detected.
    """

    audited: int = 0
    compared: int = 0
    dropped: int = 0
    failed: int = 0
    disagreement: float | None = None
    fidelity: float | None = None
    low: float | None = None
    high: float | None = None
    changed_at: tuple[int, ...] = ()
    last_error: str | None = None


class Auditor:
    """Asks ``second`` about a ``share`` (0-1) of the finished groups: a Judge of another family, its name, or a check.

    A check is a function of a trajectory that returns a Verdict, a number, or None. Pass an Auditor to
    ``Judge(records={"watchers": [...]})``. Which groups are drawn follows from their content and ``seed``. Groups of a
    ``split`` are not trained on, and are left out. At most ``room`` groups wait; further ones are dropped and counted.

    An alarm begins when disagreement rises, and when fidelity, with its upper bound over the last 64 compared groups,
    is more than ``drop`` below ``calibrated``, the ``advantage_fidelity`` of a calibration.
    It is printed, it is in the results' ``warnings``, and ``on_alarm`` is called with the summary. On the audit's
    thread, ``on_disagreement`` is called with each group's disagreement (0-1). ``review`` collects disputed groups.
    Call ``close``, or use the Auditor in a ``with`` statement, to finish the queue. Raises ConfigError for options that
    cannot work.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        second: Judge | str | Callable[[Trajectory], Verdict | bool | float | None],
        *,
        share: float = 0.05,
        calibrated: float | None = None,
        drop: float = 0.1,
        seed: int = 0,
        room: int = 64,
        on_disagreement: Callable[[float], object] | None = None,
        on_alarm: Callable[[AuditSummary], object] | None = None,
        review: ReviewQueue | None = None,
    ) -> None:
        require_share_of_groups(share)
        require_whole(room=room, seed=seed)
        require_above_zero(room=room)
        require_callable(on_disagreement=on_disagreement, on_alarm=on_alarm)
        for name, value, least in (("calibrated", calibrated, -1), ("drop", drop, 0)):
            number = finite_number(value)
            if value is not None and (number is None or not least <= number <= 1):
                raise ConfigError(f"{name}={value!r}: it must be a number from {least} to 1, as fidelity is")
        second = Judge(second) if isinstance(second, str) else second
        if not isinstance(second, Judge) and not callable(second):
            raise ConfigError(f"{second!r} is neither a Judge nor a check (a function of a trajectory)")
        self._second, self._share, self._seed = second, share, seed
        self._calibrated, self._drop, self._change = calibrated, drop, Rise()
        self._on_disagreement, self._on_alarm, self._review = on_disagreement, on_alarm, review
        self._waiting: queue.Queue[tuple[TrajectoryGroup, GroupResult] | None] = queue.Queue(room)
        self._recent: deque[float] = deque(maxlen=_WINDOW)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._warnings: dict[str, str] = {}
        self._summary = AuditSummary()

    @property
    def summary(self) -> AuditSummary:
        """What the audit has found so far."""
        return self._summary

    def metrics(self) -> dict[str, float]:
        """Return the agreement now as ``{"judge/...": value}`` for a trainer's log; unknown values have no key."""
        now = self._summary
        found = {
            "fidelity_now": now.fidelity, "fidelity_low": now.low, "fidelity_high": now.high,
            "fidelity_calibrated": self._calibrated, "audit_compared": now.compared, "audit_failed": now.failed,
        }  # fmt: skip
        return {f"judge/{name}": float(value) for name, value in found.items() if value is not None}

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:
        """Offer a finished group to the audit, and return its result, with a warning of every alarm so far.

        Never waits, never raises.
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
        if not self._warnings:
            return result
        return replace(result, warnings=(*result.warnings, *self._warnings.values()))

    def close(self, timeout: float | None = 60.0) -> None:
        """Take no more groups for the audit, and wait at most ``timeout`` seconds until its queue is finished."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is None:
            return
        try:
            self._waiting.put(None, timeout=timeout)
        except queue.Full:
            return  # the work hangs; its thread is a daemon and ends with the process
        thread.join(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_drawn(self, group: TrajectoryGroup, result: GroupResult) -> bool:
        if "split" in group.extra or sum(one.reward is not None for one in result.trajectories) < 2:
            return False
        digest = blake2b(digest_size=16)
        for one in group.trajectories:
            digest.update(repr(one.messages[-1:]).encode("utf-8", "replace"))
        content = f"{group.group_id}:{digest.hexdigest()}"
        drawn = random.Random(f"audit:{self._seed}:{group.extra.get('step')}:{content}")  # noqa: S311 - no secret
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
            opinion: Opinion = {one.id: one.score for one in judged.trajectories}
            if all(score is None for score in opinion.values()):
                raise ConfigError("the second judge gave no score")
        else:
            opinion = {one.id: _number(self._second(one)) for one in group.trajectories}
        by = disagreement({one.id: one.reward for one in result.trajectories}, opinion)
        fidelity = group_fidelity({one.id: one.score for one in result.trajectories}, opinion)
        self._note(audited=1)
        if by is not None:
            self._compared(by, fidelity)
            if self._review is not None:
                self._review.disputed(group, result, opinion, by=by)
            if self._on_disagreement is not None:
                self._on_disagreement(by)

    def _compared(self, by: float, fidelity: float | None) -> None:
        old = self._summary
        compared, before = old.compared + 1, by if old.disagreement is None else old.disagreement
        found: dict[str, Any] = {"disagreement": before + (by - before) / compared}
        self._recent.extend([] if fidelity is None else [fidelity])
        if self._recent:
            half = [(1 + value) / 2 for value in self._recent]
            center = math.fsum(half) / len(half)  # the bounds are of a judge that does not change, and may miss it
            low, high = min(lower_bound(half), center), max(upper_bound(half), center)
            found |= {"fidelity": 2 * center - 1, "low": 2 * low - 1, "high": 2 * high - 1}
        self._change = self._change.updated(by)
        if risen := self._change.found:
            self._change = self._change.reset()
            found["changed_at"] = (*old.changed_at, compared)
        self._note(compared=1, **found)
        now = self._summary
        if risen:
            self._alarm("change", f"since its group {compared}, the audit disagrees more with the rewards")
        enough = self._calibrated is not None and now.high is not None and len(self._recent) >= LEAST_GROUPS
        if not enough or (now.high or 0.0) >= (self._calibrated or 0.0) - self._drop:
            self._warnings = {key: text for key, text in self._warnings.items() if key != "fidelity"}
        elif "fidelity" not in self._warnings:
            figures = f"{now.fidelity or 0.0:.2f} (at most {now.high or 0.0:.2f})"
            where = f"and {self._calibrated} where it was calibrated"
            self._alarm("fidelity", f"on current rollouts the judge's fidelity is {figures}, {where}")

    def _alarm(self, kind: str, what: str) -> None:
        text = f"alarm: {what}: look for reward hacking"
        self._warnings = {**self._warnings, kind: text}
        sys.stderr.write(f"[calipers] {text}\n")
        if self._on_alarm is not None:
            self._on_alarm(self._summary)

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
    both = [name for name, value in audit.items() if value is not None and rewards.get(name) is not None]
    against = pairs = 0.0
    for one, other in combinations(both, 2):
        apart = (audit[one] or 0.0) - (audit[other] or 0.0)
        if apart:
            gap = (rewards[one] or 0.0) - (rewards[other] or 0.0)
            pairs += 1
            against += 0.5 if gap == 0 else float((gap > 0) != (apart > 0))
    return against / pairs if pairs else None


def group_fidelity(scores: Opinion, opinion: Opinion) -> float | None:
    """Return Pearson's correlation of a judge's scores with opinions about the same trajectories, by id.

    It is in [-1, 1], and 0 if all scores are equal. None with fewer than two known pairs, or for equal opinions.
    """
    pairs = [(scores.get(name), value) for name, value in opinion.items() if value is not None]
    known = [(score, value) for score, value in pairs if score is not None]
    if len(known) < 2:
        return None
    mean, other = (math.fsum(values) / len(known) for values in zip(*known, strict=True))
    ones, others = [score - mean for score, _ in known], [value - other for _, value in known]
    spread, apart = math.hypot(*ones), math.hypot(*others)
    if apart < 1e-9:
        return None
    together = math.fsum(x * y for x, y in zip(ones, others, strict=True))
    return 0.0 if spread < 1e-9 else max(-1.0, min(1.0, together / spread / apart))


def _number(opinion: object) -> float | None:
    """Return a check's opinion as a number. Raises TypeError for one that is none, or is too large to compute with."""
    opinion = opinion.met if isinstance(opinion, Verdict) else opinion
    if opinion is None:
        return None
    value = float(opinion) if isinstance(opinion, bool) else measured_number(opinion)
    if value is None:
        raise TypeError(f"the check returned {opinion!r}, which is neither a verdict nor a number to compute with")
    return value
