"""How many calls in flight pay off: a rule on their latencies, without clock, loop or lock.

Answers per second are calls in flight divided by latency (Little's law), so the latencies at two limits show whether
the higher limit pays off. It does on a server that batches, although each call gets slower; it does not on a server
that queues. Latencies have heavy tails, so a limit is judged by the median over a *cohort* of calls that began under
it. The median is known once most of them have ended: the longest need not end, and do not bias it. Not responsible for
admitting calls (``concurrency``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

_LEAST_SAMPLES = 16
_ENDED = 0.75
"""A cohort's median is known once this share has ended, because calls still in flight take longer."""
_GAIN = 1.15
"""A higher limit is better if it brings this many times the answers per second; medians are not more exact."""
_SEARCH_UP_TO = 4.0
"""The search ends at so many times the best limit, if nothing above it was better."""
_HEADROOM = 1.5
"""The chosen limit exceeds the best measured one: calls too many cost some latency, calls too few cost throughput."""
_LATENCY_RISE = 2.0
"""If latency at the chosen limit rises so much, the search starts again at once."""
_LOWEST_RESTART = 1 / 8
"""It then starts no lower than this share: latency may have risen because questions are longer now."""
_COHORTS_HELD = 40
"""Cohorts after which the search starts again anyway."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A call that began: its cohort, and whether it counts there (all calls that were allowed were in flight)."""

    cohort: int
    counts: bool


@dataclass(slots=True)
class _Cohort:
    size: int
    began: int = 0
    ended: list[float] = field(default_factory=list)

    def median(self) -> float | None:
        """Over all calls that began, once it is known."""
        if self.began < self.size or len(self.ended) < _ENDED * self.began:
            return None
        return sorted(self.ended)[self.began // 2]


class AdaptiveLimit:
    """Finds a ``limit`` from 1 to ``most``, beginning at ``start``: doubles it while that pays off, then watches it."""

    def __init__(self, *, start: int, most: int) -> None:
        self._most = most
        self._level = float(start)
        self._number = 0
        self._since_refusal = 0
        self._cohort = _Cohort(0)
        self._search_from(self._level)

    @property
    def limit(self) -> int:
        """Calls in flight that are allowed now."""
        return int(self._level)

    def began(self, *, crowded: bool) -> Ticket:
        """A call begins; ``crowded``: no further call may begin."""
        counts = crowded and self._cohort.began < self._cohort.size
        self._cohort.began += counts
        return Ticket(self._number, counts)

    def ended(self, ticket: Ticket, seconds: float) -> None:
        """The call was answered, or timed out, after ``seconds``."""
        if ticket.counts and ticket.cohort == self._number:
            self._cohort.ended.append(seconds)
            self._judge()

    def lost(self, ticket: Ticket) -> None:
        """The call ended in a way that says nothing about load."""
        if ticket.counts and ticket.cohort == self._number:
            self._cohort.began -= 1

    def refused(self, ticket: Ticket) -> None:
        """The server refused the call as too many. The limit falls once for all calls that began before."""
        if ticket.cohort >= self._since_refusal:
            self._refused = True
            self._searching = False
            self._to(self._level * (0.85 if self._reference is not None else 0.7))
            self._since_refusal = self._number
        else:
            self.lost(ticket)

    def _search_from(self, level: float) -> None:
        self._searching = True
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
        if self._searching:
            self._search(self._level / max(median, 1e-9))
        else:
            self._hold(median)

    def _search(self, rate: float) -> None:
        if self._best is None or rate > _GAIN * self._best[1]:
            self._best = (self._level, rate)
        best = self._best[0]
        if self._level >= min(_SEARCH_UP_TO * best, self._most):
            self._searching = False
            self._to(best * _HEADROOM)
        else:
            self._to(self._level * 2)

    def _hold(self, median: float) -> None:
        self._held += 1
        if self._reference is not None and median > _LATENCY_RISE * self._reference:
            # Where latency would be as before, if waiting calls are the reason that it rose.
            self._search_from(self._level * max(self._reference / median, _LOWEST_RESTART))
            return
        if self._held >= _COHORTS_HELD:
            self._search_from(self._level / 2)
            return
        self._reference = median if self._reference is None else 0.8 * self._reference + 0.2 * median
        # If the server refuses calls, its capacity is approached from below.
        self._to(self._level + max(1.0, 0.02 * self._level) if self._refused else self._level)
