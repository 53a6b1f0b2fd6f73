"""A load on servers of rewards, and what it needs by formula: processes, calls in flight, GPUs, memory, disk, money.

Every formula is stated at its property, and on docs/scale.md. Not responsible for waiting times (``queues``), for which
averages are not enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Final

from calipers.errors import ConfigError

BUSY: Final = 0.7
"""The share of a core that is planned for: above it, the time in a queue grows steeply."""
DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Groups that arrive, and what each costs. Defaults are measured, with the commands on docs/scale.md.

    ``groups_per_minute`` groups of ``group_size`` rollouts begin, ``burst`` at the same moment. The rollouts of a group
    arrive over ``spread`` seconds on average. A group is ``calls`` questions to the judge, which takes
    ``judge_seconds`` on average for each and ``judge_p99`` seconds for the slowest hundredth. ``cpu_ms`` is the
    server's CPU for a rollout. A question has ``input_tokens`` and ``output_tokens``; a GPU reads ``prefill`` and
    writes ``decode`` tokens a second. ``kilobytes`` of ledger are kept for a group. ``usd_in`` and ``usd_out`` are
    dollars for a million tokens; 0 for a model of one's own. Raises ConfigError for values that are not above 0.
    """

    groups_per_minute: float = 10_000.0
    group_size: int = 8
    burst: int = 1
    spread: float = 20.0
    calls: int = 1
    judge_seconds: float = 3.0
    judge_p99: float = 10.0
    cpu_ms: float = 0.5
    rollout_kilobytes: float = 29.0
    kilobytes: float = 30.0
    input_tokens: float = 5_000.0
    output_tokens: float = 400.0
    prefill: float = 20_000.0
    decode: float = 2_000.0
    usd_in: float = 0.0
    usd_out: float = 0.0

    def __post_init__(self) -> None:
        """Check every value."""
        for field in fields(self):
            value = getattr(self, field.name)
            free = field.name in {"usd_in", "usd_out", "spread"}
            if not math.isfinite(value) or value < 0 or (value == 0 and not free):
                raise ConfigError(f"{field.name}={value!r}: it must be a number {'not below' if free else 'above'} 0")
        if self.judge_p99 <= self.judge_seconds:
            raise ConfigError("judge_p99 must be above judge_seconds")

    @property
    def groups_per_second(self) -> float:
        """G / 60."""
        return self.groups_per_minute / 60

    @property
    def processes(self) -> int:
        """Server processes, each with a core: G / 60 · n · CPU of a rollout / 0.7, rounded up."""
        return math.ceil(self.groups_per_second * self.group_size * self.cpu_ms / 1000 / BUSY)

    @property
    def calls_in_flight(self) -> float:
        """Calls to the judge in flight on average, by Little's law: G / 60 · calls · seconds of a call."""
        return self.groups_per_second * self.calls * self.judge_seconds

    @property
    def gpus(self) -> float:
        """GPUs that judge: G / 60 · calls · (input / prefill + output / decode)."""
        each = self.input_tokens / self.prefill + self.output_tokens / self.decode
        return self.groups_per_second * self.calls * each

    @property
    def waiting(self) -> float:
        """Rollouts that wait on average, by Little's law: G / 60 · n · (spread · (1 - 1 / H) + seconds of a call).

        H = 1 + 1/2 + ... + 1/n. If rollouts take exponential times, each waits that share of the spread for others.
        """
        for_siblings = self.spread * (1 - 1 / sum(1 / one for one in range(1, self.group_size + 1)))
        return self.groups_per_second * self.group_size * (for_siblings + self.judge_seconds)

    @property
    def waiting_megabytes(self) -> float:
        """Memory for the rollouts that wait: their number · memory of one."""
        return self.waiting * self.rollout_kilobytes / 1000

    @property
    def gigabytes_a_day(self) -> float:
        """What a day adds to the ledger: G · 1440 · size of a group."""
        return self.groups_per_second * DAY * self.kilobytes / 1e6

    @property
    def usd_a_group(self) -> float:
        """Price of a group: calls · (input · price + output · price)."""
        return self.calls * (self.input_tokens * self.usd_in + self.output_tokens * self.usd_out) / 1e6

    def days(self, groups: float) -> float:
        """Days that so many groups take: groups / (G · 1440)."""
        return groups / (self.groups_per_second * DAY)
