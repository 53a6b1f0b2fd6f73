"""Results and answers of a run, rebuilt for health metrics from what its ledger or its result file recorded.

Values from files are checked here: one that is missing or of another type is None or absent, never zero.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, cast, get_args

from calipers.ledger import read_ledger
from calipers.ledger.answers import RecordedRun
from calipers.ledger.contents import RecordedQuestion, recorded_groups
from calipers.monitoring.alarms import Alarm, crossed_alarms
from calipers.monitoring.answers import Answer, Shape, by_relative_position, candidate_shapes
from calipers.monitoring.health import health
from calipers.monitoring.staleness import NewestVersion
from calipers.report.questions import slots_of
from calipers.report.results import as_group_result, count_in, usage_of
from calipers.report.sources import Judged, RunReader
from calipers.types import Canary, CanaryKind, Cause, GroupResult, Outcome, Usage
from calipers.types.encoding import measured_number, objects_in

WINDOW: Final = 256
"""Groups that health metrics are computed of: as many as a ``Monitor`` has by default."""
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
        result = as_group_result(judged.result)
        self.groups[result.status] += 1
        for trajectory in result.trajectories:
            self.trajectories[trajectory.status] += 1
            if trajectory.reason:
                self.reasons[f"{trajectory.status}: {trajectory.reason}"] += 1
        self.answers += result.judge_calls
        if result.attempts or result.judge_calls:
            self.usage = Usage.total([self.usage, result.usage])
        if in_window:
            # A prompt in another epoch has the same group id but other rollouts, so each group has an id of its own.
            number = str(self.groups.total())
            answers = [replace(answer, group_id=number) for answer in recorded_answers(judged)]
            self.window.append((self.newest.dated(replace(result, group_id=number)), answers))

    def metrics(self, slot: int | None = None) -> dict[str, float]:
        """Return the health metrics of the last groups; with ``slot``, from the answers of this judge alone."""
        results = [result for result, _ in self.window]
        answers = [answer for _, batch in self.window for answer in batch if slot is None or answer.slot == slot]
        metrics = health(results, answers) if results else {}
        return {name: value for name, value in metrics.items() if name != "judge/truncated_rate"}  # unrecorded


@dataclass(frozen=True, slots=True)
class RunState:
    """A run of a ledger as it is now: the ``tally`` of its finished groups, and its failed calls by kind.

    ``waiting`` counts the answers about groups that are not finished. ``since_begun`` and ``since_answer`` are in
    seconds, None if unknown. ``early`` are alarms that too few groups are there to raise.
    """

    run: RecordedRun
    tally: Tally
    failed_calls: Counter[str]
    waiting: int
    since_begun: float | None
    since_answer: float | None
    metrics: Mapping[str, float]
    alarms: Sequence[Alarm]
    early: Sequence[Alarm]


def run_state(location: str, number: int | None = None) -> RunState:
    """Return the state of a run of the ledger at ``location``: the one with this number, by default the latest.

    Raises LedgerError if the ledger cannot be read, or has no such run.
    """
    with read_ledger(location) as ledger:
        run = RunReader(ledger, number)
        of_run = (run.recorded.id,)
        tally = Tally()
        count = ledger.rows("SELECT count(*) FROM groups WHERE run = ?", of_run)[0][0]
        for at, (position, result) in enumerate(recorded_groups(ledger, run.recorded.id, "result")):
            in_window = count - at <= WINDOW  # only of these, questions and answers are read
            tally.add(run.judged(0, result, position) if in_window else Judged(0, result), in_window=in_window)
        waiting = (
            "SELECT count(*) FROM asks WHERE run = ? AND NOT EXISTS"
            " (SELECT 1 FROM groups WHERE groups.run = asks.run AND groups.position = asks.position)"
        )
        failed = ledger.rows("SELECT kind, count(*) FROM failed_calls WHERE run = ? GROUP BY kind", of_run)
        latest = ledger.rows("SELECT answered_at FROM answers ORDER BY rowid DESC LIMIT 1")
        metrics = tally.metrics()
        return RunState(
            run.recorded,
            tally,
            Counter({str(kind): calls for kind, calls in failed}),
            int(ledger.rows(waiting, of_run)[0][0]),
            _seconds_since(run.began),
            _seconds_since(latest[0][0]) if latest else None,
            metrics,
            *crossed_alarms(metrics),
        )


def _seconds_since(recorded: object) -> float | None:
    try:
        then = datetime.fromisoformat(str(recorded))
    except ValueError:
        return None
    return max(0.0, (datetime.now(UTC) - then).total_seconds()) if then.tzinfo else None


def recorded_answers(judged: Judged) -> list[Answer]:
    """Return the answers about a judged group as a ``Monitor`` has them; none if no ledger has its questions.

    Answers from before the run began are counted as taken from the ledger.
    """
    if judged.recorded is None:
        return []
    view = judged.shown()
    shapes = () if view is None else candidate_shapes(view)
    return [
        _answer(question, question.answer, _UNKNOWN_JUDGE if slot is None else slot, shapes, begun=judged.began)
        for question, slot in zip(judged.questions, slots_of(judged), strict=True)
        if question.answer is not None and question.outcome in get_args(Outcome)
    ]


def _answer(
    one: RecordedQuestion, answer: Mapping[str, Any], slot: int, shapes: tuple[Shape, ...], *, begun: str
) -> Answer:
    judgments = objects_in(one.detail.get("judgments"))
    first = judgments[0] if judgments else {}
    return Answer(
        "",
        slot,
        _count(first.get("presentation", one.number)),
        cast("Cause", one.cause),
        cast("Outcome", one.outcome),
        False,  # whether it was cut off: a ledger does not record it
        by_relative_position(_ratings(judgments)),
        shapes if one.cause == "first" else (),
        _canary(one.detail.get("canary")),
        usage_of(answer),
        measured_number(answer.get("latency")) or 0.0,
        max(1, _count(answer.get("attempts"))),
        recorded=str(answer.get("answered_at") or "") < begun,
        served=str(answer.get("served_model") or ""),  # without the server's version, which a ledger does not record
    )


def _ratings(judgments: Sequence[Mapping[str, Any]]) -> list[tuple[int, int, float]]:
    """Return (candidate, position, value) for each rating."""
    return [
        (_count(judgment["item"]), _count(judgment.get("place")), value)
        for judgment in judgments
        if (value := measured_number(judgment.get("value"))) is not None and judgment.get("item") is not None
    ]


def _canary(recorded: object) -> Canary | None:
    if not isinstance(recorded, Mapping):
        return None
    return Canary(cast("CanaryKind", str(recorded.get("kind"))), won=recorded.get("won") is True)


def _count(value: object) -> int:
    return count_in(value) or 0
