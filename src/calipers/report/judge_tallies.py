"""What results and ledgers say of their judges, counted while a report's groups are read: sums only, never the groups.

Of agreement with gold, only how far rewards order candidates as gold does; fidelity needs a calibration
(``judge_files``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from calipers.judging.audit import disagreement
from calipers.report.flags import is_flipped, ratings_of
from calipers.study.intervals import t_quantile
from calipers.types.encoding import measured_number

_MOST_JUDGES: Final = 100
"""Judges that are counted one by one; a server that names another model in each answer is not a thousand judges."""
_OTHERS: Final = "other judges"
_EDGE: Final = 1e-12


@dataclass(slots=True)
class Sum:
    """A sum of numbers of which some are unknown: ``total`` of ``known``, and how many are ``unknown``."""

    total: float = 0.0
    known: int = 0
    unknown: int = 0

    def add(self, value: object) -> None:
        """Add a number, or count that it is unknown."""
        number = measured_number(value)
        if number is None:
            self.unknown += 1
        else:
            self.total += number
            self.known += 1

    def to_list(self) -> list[float | None]:
        """Return total (None if nothing is known), the number of known values and of unknown ones, for a report."""
        return [self.total if self.known else None, self.known, self.unknown]


@dataclass(slots=True)
class Agreement:
    """How far rewards agree with gold, over groups: sums of Somers' D within each group in which it is known."""

    groups: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, members: Sequence[Mapping[str, Any]]) -> None:
        """Add a group's trajectories; one without gold that differs, or without rewards, tells nothing."""
        gold = {one["id"]: one["gold"] for one in members if one.get("gold") is not None}
        against = disagreement({one["id"]: one["reward"] for one in members}, gold) if gold else None
        if against is not None:
            self.groups += 1
            self.total += 1 - 2 * against
            self.squares += (1 - 2 * against) ** 2

    def to_list(self) -> list[float | None]:
        """Return the mean with its 95 % t-interval within -1 and 1, and of how many groups, for a report."""
        if not self.groups:
            return [None, None, None, 0]
        mean = self.total / self.groups
        if self.groups < 2:
            return [mean, None, None, self.groups]
        variance = max(0.0, self.squares - self.groups * mean**2) / (self.groups - 1)
        half = t_quantile(0.975, self.groups - 1) * math.sqrt(variance / self.groups)
        return [mean, max(-1.0, mean - half), min(1.0, mean + half), self.groups]


@dataclass(slots=True)
class JudgeTally:
    """The questions to a judge in a report's source, counted by how they ended.

    ``turned`` counts groups whose candidates it saw in several orders, ``flipped`` those in which the order changed its
    preference. ``agreed`` and ``spread`` are sums over two calls about the same candidates, whose ratio is the judge's
    repeatability.
    """

    questions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    cut_off: int = 0
    missing: int = 0
    canaries: int = 0
    canaries_won: int = 0
    cost: Sum = field(default_factory=Sum)
    tokens: Sum = field(default_factory=Sum)
    latency: Sum = field(default_factory=Sum)
    groups: int = 0
    turned: int = 0
    flipped: int = 0
    repeated: int = 0
    agreed: float = 0.0
    spread: float = 0.0

    def add(self, questions: Sequence[Mapping[str, Any]]) -> None:
        """Add the questions to this judge about one group."""
        self.groups += 1
        for one in questions:
            self._add_question(one)
        if is_turned(questions):
            self.turned += 1
            self.flipped += is_flipped(questions)
        self._add_repeats(questions)

    def _add_question(self, one: Mapping[str, Any]) -> None:
        self.questions += 1
        self.causes[one["cause"]] += 1
        (self.failures if one["failed"] else self.outcomes)[one["outcome"]] += 1
        self.missing += len(one["missing"])
        if isinstance(canary := one["canary"], Mapping):
            self.canaries += 1
            self.canaries_won += canary.get("won") is True
        answer = one["answer"]
        if answer is None:
            return
        self.cut_off += answer.get("finish_reason") == "length"
        self.cost.add(answer.get("cost_usd"))
        self.latency.add(answer.get("latency"))
        used = [measured_number(answer.get(f"{name}_tokens")) for name in ("input", "output")]
        self.tokens.add(None if None in used else sum(number or 0.0 for number in used))

    def _add_repeats(self, questions: Sequence[Mapping[str, Any]]) -> None:
        """Add the products of successive calls that rated the same candidates, less the means of each call."""
        last: dict[frozenset[str], Mapping[str, float]] = {}
        found = False
        for one in questions:
            for values in ratings_of(one["judgments"]).values():
                key = frozenset(values)
                if (before := last.get(key)) is not None and len(key) > 1:
                    found = True
                    self._add_two(before, values)
                last[key] = values
        self.repeated += found

    def _add_two(self, one: Mapping[str, float], other: Mapping[str, float]) -> None:
        first, second = (sum(values.values()) / len(values) for values in (one, other))
        for name, value in one.items():
            a, b = value - first, other[name] - second
            self.agreed += a * b
            self.spread += (a * a + b * b) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the tally as plain data for the page."""
        return {
            "questions": self.questions,
            "groups": self.groups,
            "outcomes": dict(self.outcomes),
            "failures": dict(self.failures),
            "causes": dict(self.causes),
            "cut_off": self.cut_off,
            "missing": self.missing,
            "canaries": [self.canaries_won, self.canaries],
            "cost": self.cost.to_list(),
            "tokens": self.tokens.to_list(),
            "latency": self.latency.to_list(),
            "flips": [self.flipped, self.turned],
            "repeated": self.repeated,
            "repeatability": self.agreed / self.spread if self.spread > _EDGE else None,
        }


def is_turned(questions: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the same candidates of a report's group were shown to a judge in several orders."""
    orders: dict[frozenset[str], set[tuple[str, ...]]] = {}
    for one in questions:
        shown = tuple(name for name in one["order"] if name is not None)
        if len(shown) > 1 and not one["failed"]:
            orders.setdefault(frozenset(shown), set()).add(shown)
    return any(len(found) > 1 for found in orders.values())


@dataclass(slots=True)
class SourceTally:
    """The groups of a report's source, by how they ended; its judges are in ``judges`` by name.

    An answer that could not be used does not say which judge of a panel gave it, only which model was ``served``. The
    answers of which both are known tell whose that model is; None if it is several judges'.
    """

    groups: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    members: Counter[str] = field(default_factory=Counter)
    calls: Sum = field(default_factory=Sum)
    cost: Sum = field(default_factory=Sum)
    injected: int = 0
    gold: Agreement = field(default_factory=Agreement)
    asked: int = 0
    judges: dict[str, JudgeTally] = field(default_factory=dict)
    parts: dict[str, tuple[Sum, Sum, Sum]] = field(default_factory=dict)
    served: dict[str, str | None] = field(default_factory=dict)

    def add(self, detail: Mapping[str, Any]) -> None:
        """Add a group's details."""
        self.groups += 1
        self.statuses[detail["status"]] += 1
        self.members.update(one["status"] for one in detail["trajectories"])
        self.calls.add(detail["judge_calls"])
        self.cost.add((detail["usage"] or {}).get("cost_usd"))
        self.injected += "injected" in detail["flags"]
        self.gold.add(detail["trajectories"])
        if detail["questions"] is None:
            self._add_parts(detail["judges"])
            return
        self.asked += 1
        for one in detail["questions"]:
            self._learn_served(one)
        by_judge: dict[str, list[Mapping[str, Any]]] = {}
        for one in detail["questions"]:
            by_judge.setdefault(self._named(self._judge_of(one), self.judges), []).append(one)
        for name, questions in by_judge.items():
            self.judges.setdefault(name, JudgeTally()).add(questions)

    def _learn_served(self, one: Mapping[str, Any]) -> None:
        model = (one["answer"] or {}).get("served_model")
        if one["slot"] is None or not isinstance(model, str):
            return
        if model in self.served or len(self.served) < _MOST_JUDGES:
            judge = str(one["judge"])
            self.served[model] = judge if self.served.get(model, judge) == judge else None

    def _judge_of(self, one: Mapping[str, Any]) -> str | None:
        if one["slot"] is None and (judge := self.served.get(str(one["judge"]))) is not None:
            return judge
        return None if one["judge"] is None else str(one["judge"])

    def _add_parts(self, judges: Sequence[Mapping[str, Any]]) -> None:
        """Add what a result says of the judges of a panel, where no ledger says more."""
        for one in judges:
            name = self._named(one.get("judge"), self.parts)
            answers, scored, cost = self.parts.setdefault(name, (Sum(), Sum(), Sum()))
            answers.add(one.get("answers"))
            scored.add(one.get("scored"))
            usage = one.get("usage")
            cost.add(usage.get("cost_usd") if isinstance(usage, Mapping) else None)

    @staticmethod
    def _named(name: object, known: Mapping[str, object]) -> str:
        found = "judge not recorded" if name is None else str(name)[:400]
        return found if found in known or len(known) < _MOST_JUDGES else _OTHERS

    def to_dict(self, source: str) -> dict[str, Any]:
        """Return the tally of the source with this name as plain data for the page."""
        return {
            "kind": "judged",
            "source": source,
            "groups": self.groups,
            "asked": self.asked,
            "statuses": dict(self.statuses),
            "members": dict(self.members),
            "calls": self.calls.to_list(),
            "cost": self.cost.to_list(),
            "injected": self.injected,
            "gold": self.gold.to_list(),
            "judges": [{"name": name} | one.to_dict() for name, one in self.judges.items()],
            "parts": [[name, *(one.to_list() for one in sums)] for name, sums in self.parts.items()],
        }
