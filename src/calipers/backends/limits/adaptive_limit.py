"""How many calls in flight pay off: a rule over how long they took, without clock, loop or lock.

Answers a second are in flight divided by latency (Little's law), so latencies at two limits tell whether the higher one
is worth it. A server that batches gets slower under load and is worth it; one that queues is not. Latencies have heavy
tails, so a limit is judged by the median over a *cohort* of calls that began at it, which needs no more than most of
them to have ended: the longest are not waited for, and do not bias it. Not responsible for letting calls in
(``adaptive``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

_LEAST_SAMPLES = 16
_ENDED = 0.75
"""A cohort's median is known once this share has ended: what is still running takes longer than it."""
_GAIN = 1.15
"""A higher limit is better when it brings this many times the answers a second; medians are not that exact."""
_FRUITLESS = 4.0
"""How many times the best limit is tried without gain before it stands."""
_HEADROOM = 1.5
"""The limit kept is above the best one measured: a few calls queued cost latency, a few too little cost throughput."""
_RISE = 2.0
"""Latency at the kept limit that has risen so much is looked into at once."""
_DEEPEST = 1 / 8
"""How far down that look goes at most: latency may have risen because the questions are longer now."""
_HOLD = 40
"""Cohorts after which the limit is looked into anyway."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A call that began: in which cohort, and whether it counts there (there was no room to spare)."""

    cohort: int
    counts: bool


@dataclass(slots=True)
class _Cohort:
    size: int
    began: int = 0
    ended: list[float] = field(default_factory=list)

    def median(self) -> float | None:
        """Of all that began, once it is known."""
        if self.began < self.size or len(self.ended) < _ENDED * self.began:
            return None
        return sorted(self.ended)[self.began // 2]


class AdaptiveLimit:
    """Finds the ``limit`` between 1 and ``most`` from ``start``: doubles it while that pays, then keeps it under
    watch.
    """

    def __init__(self, *, start: int, most: int) -> None:
        self._most = most
        self._level = float(start)
        self._number = 0
        self._since_refusal = 0
        self._cohort = _Cohort(0)
        self._look_into(self._level)

    @property
    def limit(self) -> int:
        """Calls in flight that are allowed now."""
        return int(self._level)

    def began(self, *, crowded: bool) -> Ticket:
        """A call begins; ``crowded`` when it takes the last place."""
        counts = crowded and self._cohort.began < self._cohort.size
        self._cohort.began += counts
        return Ticket(self._number, counts)

    def ended(self, ticket: Ticket, seconds: float) -> None:
        """It got its answer, or was given up for taking too long, after ``seconds``."""
        if ticket.counts and ticket.cohort == self._number:
            self._cohort.ended.append(seconds)
            self._judge()

    def lost(self, ticket: Ticket) -> None:
        """It ended in a way that says nothing about load."""
        if ticket.counts and ticket.cohort == self._number:
            self._cohort.began -= 1

    def refused(self, ticket: Ticket) -> None:
        """The server said that it was too much. One step back for all calls that began before it."""
        if ticket.cohort >= self._since_refusal:
            self._refused = True
            self._climbing = False
            self._to(self._level * (0.85 if self._reference is not None else 0.7))
            self._since_refusal = self._number
        else:
            self.lost(ticket)

    def _look_into(self, level: float) -> None:
        self._climbing = True
        self._refused = False
        self._since_refusal = 0
        self._best: tuple[float, float] | None = None
        self._reference: float | None = None
        self._held = 0
        self._to(level)

    def _to(self, level: float) -> None:
        self._level = min(max(level, 1.0), float(self._most))
        self._number += 1
        self._cohort = _Cohort(max(_LEAST_SAMPLES, int(self._level / 2)))

    def _judge(self) -> None:
        median = self._cohort.median()
        if median is None:
            return
        if self._climbing:
            self._climb(self._level / max(median, 1e-9))
        else:
            self._hold(median)

    def _climb(self, rate: float) -> None:
        if self._best is None or rate > _GAIN * self._best[1]:
            self._best = (self._level, rate)
        best = self._best[0]
        if self._level >= min(_FRUITLESS * best, self._most):
            self._climbing = False
            self._to(best * _HEADROOM)
        else:
            self._to(self._level * 2)

    def _hold(self, median: float) -> None:
        self._held += 1
        if self._reference is not None and median > _RISE * self._reference:
            # Where latency would be as before, if calls that wait are what has made it longer.
            self._look_into(self._level * max(self._reference / median, _DEEPEST))
            return
        if self._held >= _HOLD:
            self._look_into(self._level / 2)
            return
        self._reference = median if self._reference is None else 0.8 * self._reference + 0.2 * median
        # Where the server refuses what is too much, its capacity is felt for from below.
        self._to(self._level + max(1.0, 0.02 * self._level) if self._refused else self._level)
