"""Results and answers of a run, rebuilt for health metrics from what its ledger or its result file recorded.

Values from files are checked here: one that is missing or of another type is None or absent, never zero.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast, get_args

from calipers.ledger.contents import RecordedQuestion
from calipers.monitoring.answers import Answer, Shape, candidate_shapes
from calipers.monitoring.health import health
from calipers.monitoring.staleness import NewestVersion
from calipers.report.questions import slots_of
from calipers.report.sources import Judged
from calipers.types import (
    UNKNOWN_RELIABILITY,
    Attack,
    AttackKind,
    Canary,
    CanaryKind,
    Cause,
    Certainty,
    ErrorBasis,
    GroupResult,
    GroupStatus,
    Outcome,
    Reliability,
    TrajectoryResult,
    TrajectoryStatus,
    Usage,
)
from calipers.types.encoding import measured_number

WINDOW: Final = 256
"""Groups that health metrics are computed of: as many as a ``Monitor`` has by default."""
_UNRECORDED: Final = "judge/truncated_rate"
"""The health metric that a ledger says nothing about."""
_UNKNOWN_JUDGE: Final = -1


@dataclass(slots=True)
class Tally:
    """What the groups of a run, or of a result file, add up to, and the last of them for health metrics.

    ``groups`` and ``trajectories`` count by status, ``reasons`` the trajectories without a score by "status: reason".
    ``answers`` and ``usage`` are sums over all groups.
    """

    groups: Counter[str] = field(default_factory=Counter)
    trajectories: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))
    window: deque[tuple[GroupResult, list[Answer]]] = field(default_factory=lambda: deque(maxlen=WINDOW))
    newest: NewestVersion = field(default_factory=NewestVersion)

    def add(self, judged: Judged, *, in_window: bool = True) -> None:
        """Count a group; with ``in_window``, it is also among the last, of which health metrics are computed."""
        result = recorded_result(judged.result)
        self.groups[result.status] += 1
        for one in result.trajectories:
            self.trajectories[one.status] += 1
            if one.reason:
                self.reasons[f"{one.status}: {one.reason}"] += 1
        self.answers += result.judge_calls
        if result.attempts or result.judge_calls:
            self.usage = Usage.total([self.usage, result.usage])
        if in_window:
            # A prompt in another epoch has the same group id but other rollouts, so each group has an id of its own.
            own = str(self.groups.total())
            answers = [replace(one, group_id=own) for one in recorded_answers(judged)]
            self.window.append((self.newest.dated(replace(result, group_id=own)), answers))

    def metrics(self, slot: int | None = None) -> dict[str, float]:
        """Return the health metrics of the last groups; with ``slot``, from the answers of this judge alone."""
        results = [result for result, _ in self.window]
        answers = [one for _, some in self.window for one in some if slot is None or one.slot == slot]
        found = health(results, answers) if results else {}
        return {name: value for name, value in found.items() if name != _UNRECORDED}


def recorded_result(result: Mapping[str, Any]) -> GroupResult:
    """Return a group's result from a line of a result file, or from a ledger's row. ``extra`` is left out.

    A status of another version is "failed", because nothing else is known of it.
    """
    status = result.get("status")
    return GroupResult(
        str(result.get("group_id")),
        cast("GroupStatus", status if status in get_args(GroupStatus) else "failed"),
        tuple(_trajectory(one) for one in _objects(result.get("trajectories"))),
        judge_calls=_count(result.get("judge_calls")),
        usage=_usage(result.get("usage")),
        warnings=tuple(str(one) for one in _list(result.get("warnings"))),
        attempts=_count(result.get("attempts")),
        unusable=_count(result.get("unusable")),
        reliability=recorded_reliability(result.get("reliability")),
    )


def recorded_answers(judged: Judged) -> list[Answer]:
    """Return the answers about a judged group as a ``Monitor`` has them; none if no ledger has its questions.

    Answers from before the run began are counted as taken from the ledger.
    """
    if judged.recorded is None:
        return []
    view = judged.shown()
    shapes = () if view is None else candidate_shapes(view)
    return [
        _answer(one, one.answer, _UNKNOWN_JUDGE if slot is None else slot, shapes, begun=judged.began)
        for one, slot in zip(judged.questions, slots_of(judged), strict=True)
        if one.answer is not None and one.outcome in get_args(Outcome)
    ]


def _answer(
    one: RecordedQuestion, answer: Mapping[str, Any], slot: int, shapes: tuple[Shape, ...], *, begun: str
) -> Answer:
    judgments = _objects(one.detail.get("judgments"))
    places = [_count(judgment.get("place")) for judgment in judgments if "value" in judgment]
    missing = one.detail.get("missing")
    shown = len(
        {*(str(judgment.get("item")) for judgment in judgments), *(missing if isinstance(missing, Mapping) else ())}
    )
    last = max(1, shown - 1, *places)
    first = judgments[0] if judgments else {}
    return Answer(
        "",
        slot,
        _count(first.get("presentation", one.number)),
        cast("Cause", one.cause),
        cast("Outcome", one.outcome),
        False,  # whether it was cut off: a ledger does not record it
        tuple(_ratings(judgments, last)),
        shapes if one.cause == "first" else (),
        _canary(one.detail.get("canary")),
        _usage(answer),
        measured_number(answer.get("latency")) or 0.0,
        max(1, _count(answer.get("attempts"))),
        recorded=str(answer.get("answered_at") or "") < begun,
        served=str(answer.get("served_model") or ""),  # without the server's version, which a ledger does not record
    )


def _ratings(judgments: Sequence[Mapping[str, Any]], last: int) -> list[tuple[int, float, float]]:
    """Return (candidate, relative position from 0 to 1, value) for each rating."""
    return [
        (_count(one["item"]), _count(one.get("place")) / last, value)
        for one in judgments
        if (value := measured_number(one.get("value"))) is not None and one.get("item") is not None
    ]


def _trajectory(one: Mapping[str, Any]) -> TrajectoryResult:
    status, reason = one.get("status"), one.get("reason")
    return TrajectoryResult(
        str(one.get("id")),
        cast("TrajectoryStatus", status if status in get_args(TrajectoryStatus) else "failed"),
        reward=measured_number(one.get("reward")),
        score=measured_number(one.get("score")),
        stderr=measured_number(one.get("stderr")),
        reason=reason if isinstance(reason, str) else None,
        attacks=tuple(_attack(hit) for hit in _objects(one.get("attacks"))),
    )


def recorded_reliability(recorded: object) -> Reliability:
    """Return the reliability of a result in a report.

    It is unknown in a file of calipers before 0.2, or if it is no share.
    """
    given = recorded if isinstance(recorded, Mapping) else {}
    value, basis = measured_number(given.get("value")), given.get("basis")
    if value is None or not 0 <= value <= 1 or basis not in get_args(ErrorBasis):
        return UNKNOWN_RELIABILITY
    ends = [measured_number(one) for one in _list(given.get("interval"))]
    interval = (ends[0], ends[1]) if len(ends) == 2 and ends[0] is not None and ends[1] is not None else None
    return Reliability(value, interval, cast("ErrorBasis", basis), measured_number(given.get("freedom")))


def _attack(hit: Mapping[str, Any]) -> Attack:
    kind, certainty = (str(hit.get(name, "unknown")) for name in ("kind", "certainty"))
    role, excerpt = (str(hit.get(name, "")) for name in ("role", "excerpt"))
    return Attack(cast("AttackKind", kind), _count(hit.get("message")), role, excerpt, cast("Certainty", certainty))


def _canary(recorded: object) -> Canary | None:
    if not isinstance(recorded, Mapping):
        return None
    return Canary(cast("CanaryKind", str(recorded.get("kind"))), won=recorded.get("won") is True)


def _usage(recorded: object) -> Usage:
    given = recorded if isinstance(recorded, Mapping) else {}
    read, written, cached = (_count(given.get(f"{name}_tokens")) for name in ("input", "output", "cached"))
    return Usage(read, written, cached, measured_number(given.get("cost_usd")))


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in _list(value) if isinstance(one, Mapping)]


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
