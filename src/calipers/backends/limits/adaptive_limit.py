"""The rule that chooses how many calls may be in flight, from their latencies. It has no clock, event loop or lock.

Answers per second are calls in flight divided by latency (Little's law), so the latencies at two limits show whether
the higher limit brings more answers per second. It does on a server that batches, although each call gets slower. It
does not on a server that queues. Latencies have heavy tails, so a limit is evaluated by the median over a *cohort* of
calls that began under this limit. The median is known once three quarters of these calls have ended. So the rule does
not wait for the longest calls, and they do not bias the median. Not responsible for admitting calls (``concurrency``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

_LEAST_SAMPLES = 16
_ENDED = 0.75
"""A cohort's median is known once this share of its calls has ended, because the calls still in flight take longer."""
_GAIN = 1.15
"""A higher limit is better if it multiplies the answers per second by more than this. Medians are not more exact."""
_SEARCH_UP_TO = 4.0
"""The search ends at this multiple of the best limit, if no higher limit was better."""
_HEADROOM = 1.5
"""The chosen limit is this multiple of the best measured limit: too many calls only add latency, too few lose
throughput.
"""
_LATENCY_RISE = 2.0
"""If latency at the chosen limit rises to this multiple, the search starts again at once."""
_LOWEST_RESTART = 1 / 8
"""A new search starts no lower than this share of the limit, because latency may have risen with longer questions."""
_COHORTS_HELD = 40
"""After this many cohorts the search starts again, even if latency has not risen."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A call in flight: its cohort, and whether its latency counts (only if the limit was fully used when it began)."""

    cohort: int
    counts: bool


@dataclass(slots=True)
class _Cohort:
    size: int
    began: int = 0
    ended: list[float] = field(default_factory=list)

    def median(self) -> float | None:
        """Return the median latency of all calls to the judge's server that began in this cohort, or None while too few
        have ended.
        """
        if self.began < self.size or len(self.ended) < _ENDED * self.began:
            return None
        return sorted(self.ended)[self.began // 2]


class AdaptiveLimit:
    """Chooses ``limit``, the number of calls to a judge's server that may be in flight, from 1 to ``most``.

    It begins at ``start``, doubles the limit while that brings more answers per second, and then watches the latency.
    """

    def __init__(self, *, start: int, most: int) -> None:
        self._most = most
        self._level = float(start)
        self._number = 0
        self._since_refusal = 0
        self._cohort = _Cohort(0)
        self._search_from(self._level)

    @property
    def limit(self) -> int:
        """Return how many calls may be in flight now."""
        return int(self._level)

    def call_began(self, *, limit_reached: bool) -> Ticket:
        """Record that a call to the server begins. ``limit_reached`` is True if no further call may begin now."""
        counts = limit_reached and self._cohort.began < self._cohort.size
        self._cohort.began += counts
        return Ticket(self._number, counts)

    def call_ended(self, ticket: Ticket, seconds: float) -> None:
        """Record that a call to the judge's server was answered, or timed out, after ``seconds``."""
        if ticket.counts and ticket.cohort == self._number:
            self._cohort.ended.append(seconds)
            self._judge()

    def call_lost(self, ticket: Ticket) -> None:
        """Record that a call ended in a way that shows nothing about the load of the judge's server."""
        if ticket.counts and ticket.cohort == self._number:
            self._cohort.began -= 1

    def call_refused(self, ticket: Ticket) -> None:
        """Record that the judge's server refused a call because it gets too many calls.

        Refusals of calls that began under the same limit lower the limit only once.
        """
        if ticket.cohort >= self._since_refusal:
            self._refused = True
            self._searching = False
            self._to(self._level * (0.85 if self._reference is not None else 0.7))
            self._since_refusal = self._number
        else:
            self.call_lost(ticket)

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
            # The limit falls by the factor by which latency rose. If calls that wait in the server's queue caused the
            # rise, latency falls back.
            self._search_from(self._level * max(self._reference / median, _LOWEST_RESTART))
            return
        if self._held >= _COHORTS_HELD:
            self._search_from(self._level / 2)
            return
        self._reference = median if self._reference is None else 0.8 * self._reference + 0.2 * median
        # If the server has refused calls, the limit rises slowly towards the server's capacity.
        self._to(self._level + max(1.0, 0.02 * self._level) if self._refused else self._level)


class QueueCap:
    """Caps the calls in flight to a judge's server so that few of them wait there, by what the server's gauges say.

    A server works no faster for a longer queue. ``limit`` falls by the calls that wait beyond an eighth of those that
    run, by our share of them if the server has other clients, and rises by an eighth while nothing waits.
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self.limit = most

    def saw(self, waiting: float, running: float, *, in_flight: int) -> None:
        """Record that so many calls of all clients wait at the judge's server and run, while ``in_flight`` are ours."""
        excess = waiting - max(1.0, running / 8)
        if excess > 0:
            ours = min(1.0, in_flight / (waiting + running))
            self.limit = max(1, min(self.limit, in_flight) - math.ceil(excess * ours))
        elif waiting == 0 and in_flight >= self.limit:
            self.limit = min(self._most, self.limit + max(1, self.limit // 8))
