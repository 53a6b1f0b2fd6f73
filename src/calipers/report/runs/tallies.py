"""What a recorded run adds up to, and which alarms a monitor would have raised while it ran."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from calipers.ledger.contents import RecordedQuestion
from calipers.monitoring.alarms import Alarm, raised_alarms
from calipers.monitoring.answers import Answer
from calipers.monitoring.health import health
from calipers.types import GroupResult

_WINDOW: Final = 256
_EVERY: Final = 32
"""A monitor's defaults: alarms are about the last 256 groups, and looked at after every 32."""
_MOST_CHECKS: Final = 25
_MOST_ALARMS: Final = 60
_MOST_KINDS: Final = 40

Seen = tuple[GroupResult, Sequence[Answer]]
"""A group's result, and the judge's answers about the group; no two groups have the same id."""


def metrics_of(seen: Sequence[Seen]) -> dict[str, float]:
    """Return the health metrics of recorded groups, ``{"judge/...": value}``."""
    return health([result for result, _ in seen], [answer for _, own in seen for answer in own])


@dataclass(slots=True)
class Tally:
    """Counts of a recorded run, and its spend: None once a group's cost is unknown."""

    groups: int = 0
    answers: int = 0
    reused: int = 0
    usd: float | None = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    attacks: Counter[str] = field(default_factory=Counter)

    def add(self, result: GroupResult, answers: Sequence[Answer], questions: Sequence[RecordedQuestion]) -> None:
        """Count a group of the run."""
        self.groups += 1
        self.answers += len(answers)
        self.reused += sum(one.recorded for one in answers)
        self.input_tokens += result.usage.input_tokens
        self.output_tokens += result.usage.output_tokens
        cost = result.usage.cost_usd if result.attempts or result.judge_calls else 0.0
        self.usd = None if self.usd is None or cost is None else self.usd + cost
        self.statuses.update(one.status for one in result.trajectories)
        self.attacks.update(attack.kind for one in result.trajectories for attack in one.attacks)
        for question in questions:
            (self.failures if "kind" in question.detail else self.outcomes)[question.outcome] += 1

    def facts(self) -> list[list[str]]:
        """Return the run's sums, as labels and texts."""
        facts = [
            ["judged groups", f"{self.groups:,}"],
            ["answers", f"{self.answers:,}" + (f", {self.reused:,} from earlier runs" if self.reused else "")],
            ["tokens", f"{self.input_tokens:,} to the judge, {self.output_tokens:,} from it"],
        ]
        return [*facts, ["cost", "unknown" if self.usd is None else f"${self.usd:,.4g}"]]

    def counts(self) -> list[dict[str, Any]]:
        """Return the run's counts by kind, as tables."""
        tables = (
            ("responses", self.statuses),
            ("answers, by how they were read", self.outcomes),
            ("questions without an answer", self.failures),
            ("places that address the judge", self.attacks),
        )
        return [
            {"title": title, "rows": [[name, count] for name, count in found.most_common(_MOST_KINDS)]}
            for title, found in tables
            if found
        ]


class Alarms:
    """The default alarms of a monitor: the ledger itself records none.

    They are looked at as a monitor does, in runs of more than 800 groups (``expected``) less often, but so that
    every group counts.
    """

    def __init__(self, expected: int) -> None:
        self._every = min(_WINDOW, _EVERY * (-(-expected // (_EVERY * _MOST_CHECKS)) or 1))
        self._last: deque[Seen] = deque(maxlen=_WINDOW)
        self._lasting: dict[Alarm, dict[str, Any]] = {}
        self._count = 0
        self.raised: list[dict[str, Any]] = []

    def add(self, seen: Seen, step: int | None) -> None:
        """Add a group of the run; ``step`` is its step, if its groups have steps."""
        self._last.append(seen)
        self._count += 1
        if self._count % self._every:
            return
        metrics = metrics_of(list(self._last))
        lasting = raised_alarms(metrics)
        for alarm in [one for one in self._lasting if one not in lasting]:
            self._lasting.pop(alarm)["until"] = (self._count, step)
        for alarm in lasting:
            if alarm not in self._lasting:
                name = alarm.metric.removeprefix("judge/")
                begun = {"at": (self._count, step), "until": None, "name": name, "text": alarm.message(metrics)}
                self._lasting[alarm] = begun
                self.raised = [*self.raised, begun][:_MOST_ALARMS]
