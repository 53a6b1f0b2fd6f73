"""A simulation of servers of rewards: groups arrive, gather, wait for a core and for the judge, and are answered.

Discrete events, with one queue for the core of each process and one for its calls to the judge, both first come, first
served. All rollouts of a group go to one process. What is not simulated: the network, and a judge that becomes slower
under load (its time is drawn from a log-normal distribution with the load's mean and 99th percentile).
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

from calipers.capacity.load import Load

_ARRIVED, _ASKED, _ANSWERED = range(3)
_ON_ARRIVAL: Final = 0.5
"""The share of a rollout's CPU that it takes when it arrives; the rest is judging its group and answering."""
_WARM_UP: Final = 0.2
"""The share of the simulated time whose groups are not counted: it begins with empty queues."""


@dataclass(frozen=True, slots=True)
class Waits:
    """What a simulation found. Times are seconds from a group's last rollout to its answers.

    ``p50`` and ``p99`` hold the judge's own time, ``over_p99`` does not. ``most_waiting`` rollouts waited at a time.
    ``core`` and ``slots`` are the shares of time that the busiest core, and all of the judge's slots, were in use.
    """

    groups: int
    p50: float
    p99: float
    over_mean: float
    over_p50: float
    over_p99: float
    most_waiting: int
    core: float
    slots: float


@dataclass(slots=True)
class _Group:
    process: int
    missing: int
    calls: list[float]
    """The seconds of each call that has not begun."""
    left: int
    whole_at: float = 0.0
    judge: float = 0.0
    """Seconds of the slowest call about the group."""


def simulate(load: Load, *, processes: int, slots: int, seconds: float = 300.0, seed: int = 0) -> Waits:
    """Return what groups waited that began in ``seconds``, with ``processes`` servers.

    They share ``slots`` of the judge equally, and each has at least one.
    """
    return _Simulation(load, processes, slots, seconds, random.Random(seed)).run()  # noqa: S311 - no secrets


class _Simulation:
    def __init__(self, load: Load, processes: int, slots: int, seconds: float, draw: random.Random) -> None:
        self._load, self._seconds, self._draw = load, seconds, draw
        each = max(1, slots // processes)
        self._slots = [[0.0] * each for _ in range(processes)]
        self._free = [0.0] * processes
        self._used = [0.0] * processes
        self._in_slots = 0.0
        self._sigma, self._mu = _log_normal(load.judge_seconds, load.judge_p99)
        self._cost = load.cpu_ms / 1000
        self._events: list[tuple[float, int, int, _Group]] = []
        self._numbered = 0
        self._waiting = self._most = 0
        self._found: list[tuple[float, float]] = []

    def run(self) -> Waits:
        for begins in _arrivals(self._load, self._seconds, self._draw):
            self._begin(begins)
        while self._events:
            now, _, kind, group = heapq.heappop(self._events)
            if kind == _ARRIVED:
                self._arrive(now, group)
            elif kind == _ASKED:
                self._ask(now, group)
            else:
                self._answer(now, group)
        return self._waits()

    def _begin(self, now: float) -> None:
        # All of a group is drawn when it begins, so that the same groups come to any number of processes.
        size, draw = self._load.group_size, self._draw
        calls = [draw.lognormvariate(self._mu, self._sigma) for _ in range(self._load.calls)]
        process = int(draw.random() * len(self._free))
        group = _Group(process, size, calls, len(calls))
        for _ in range(size):
            # The mean of the largest of n exponential times is their mean times (1 + 1/2 + ... + 1/n).
            later = self._draw.expovariate(1.0) * self._load.spread / _harmonic(size)
            self._push(now + later, _ARRIVED, group)

    def _arrive(self, now: float, group: _Group) -> None:
        """A rollout takes the core; the last one of its group makes it whole."""
        self._waiting += 1
        self._most = max(self._most, self._waiting)
        done = self._compute(now, group.process, self._cost * _ON_ARRIVAL)
        group.missing -= 1
        if group.missing == 0:
            group.whole_at = now
            for _ in range(self._load.calls):
                self._push(done, _ASKED, group)

    def _ask(self, now: float, group: _Group) -> None:
        """A call waits for a free slot of its process."""
        takes = group.calls.pop()
        ends = max(now, self._slots[group.process][0]) + takes
        heapq.heapreplace(self._slots[group.process], ends)
        self._in_slots += takes
        group.judge = max(group.judge, takes)
        self._push(ends, _ANSWERED, group)

    def _answer(self, now: float, group: _Group) -> None:
        """The last answer is read on the core, and all rollouts of the group are answered."""
        group.left -= 1
        if group.left:
            return
        size = self._load.group_size
        done = self._compute(now, group.process, self._cost * (1 - _ON_ARRIVAL) * size)
        self._waiting -= size
        if group.whole_at > self._seconds * _WARM_UP:
            self._found.append((done - group.whole_at, group.judge))

    def _compute(self, now: float, process: int, cost: float) -> float:
        """Return when the core of ``process`` has done work of ``cost`` seconds that arrives ``now``."""
        self._free[process] = max(now, self._free[process]) + cost
        self._used[process] += cost
        return self._free[process]

    def _push(self, at: float, kind: int, group: _Group) -> None:
        self._numbered += 1  # so that events of the same moment are in order
        heapq.heappush(self._events, (at, self._numbered, kind, group))

    def _waits(self) -> Waits:
        took = sorted(all_of for all_of, _ in self._found)
        over = sorted(all_of - judge for all_of, judge in self._found)
        slots = sum(len(one) for one in self._slots)
        return Waits(
            len(took),
            _quantile(took, 0.5),
            _quantile(took, 0.99),
            sum(over) / len(over) if over else math.nan,
            _quantile(over, 0.5),
            _quantile(over, 0.99),
            self._most,
            min(1.0, max(self._used) / self._seconds),
            min(1.0, self._in_slots / (slots * self._seconds)),
        )


def _arrivals(load: Load, seconds: float, draw: random.Random) -> Iterator[float]:
    """Yield when groups begin: bursts of ``load.burst`` as a Poisson process."""
    now = 0.0
    while True:
        now += draw.expovariate(load.groups_per_second / load.burst)
        if now > seconds:
            return
        for _ in range(load.burst):
            yield now


def _log_normal(mean: float, p99: float) -> tuple[float, float]:
    """Return sigma and mu of the log-normal distribution with this mean and 99th percentile.

    With z the normal 99th percentile: log(p99 / mean) = z · sigma - sigma² / 2, of which the smaller root is taken. A
    p99 above what any sigma gives is lowered to the highest possible.
    """
    z = NormalDist().inv_cdf(0.99)
    apart = min(math.log(p99 / mean), z * z / 2)
    sigma = z - math.sqrt(z * z - 2 * apart)
    return sigma, math.log(mean) - sigma * sigma / 2


def _harmonic(count: int) -> float:
    return sum(1 / one for one in range(1, count + 1))


def _quantile(values: list[float], share: float) -> float:
    """Return a quantile of sorted ``values``; nan if there are none."""
    return values[math.ceil(share * len(values)) - 1] if values else math.nan


def least_processes(load: Load, *, slots: int, within: float, seconds: float = 300.0, most: int = 64) -> int | None:
    """Return the fewest server processes with which 99 % of groups wait at most ``within`` seconds beside the judge.

    None if ``most`` are not enough, because the judge's ``slots`` are too few, for example.
    """
    for processes in range(max(1, load.processes - 1), most + 1):
        if simulate(load, processes=processes, slots=slots, seconds=seconds).over_p99 <= within:
            return processes
    return None
