"""Query a judge about labelled rows and record its verdicts, in the form of a verdicts file.

Every answer goes through ``Judge`` with ``protocol="checklist"``, so that the figures are those of a run with criteria.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from calipers.backends.names import name_without_password
from calipers.calibration.collect import JudgeAnswers
from calipers.calibration.criteria.rows import Labelled
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.types import Criterion, Rubric, Trajectory, TrajectoryGroup, TrajectoryResult


async def collect_verdicts(
    rows: Iterable[Labelled], judge: str | Backend, *, grading: Mapping[str, Any] | None = None, **options: Any
) -> JudgeAnswers:
    """Query ``judge`` about the criterion of each labelled row, for calibration.

    The judge is a name or a Backend; ``options`` are those of ``Judge.of``.

    Rows about one completion are one group, so that ``grading={"mode": "all"}`` puts them in one question; by default
    each row has a separate question, as in HealthBench. The verdicts are the result's ``judgments``; a missing verdict
    has ``met`` None and a reason. Raises ConfigError before anything is asked for invalid settings or a judge that
    cannot be reached, and later for a judge that refuses every question.
    """
    shared: dict[str, list[Labelled]] = {}
    for row in rows:
        shared.setdefault(row.unit, []).append(row)
    asked = JudgeAnswers(name_without_password(judge) if isinstance(judge, str) else type(judge).__name__, "checklist")
    how = {"mode": "per_criterion", **(grading or {})}
    asking = Judge.of({"judge": judge, "protocol": "checklist", "grading": how, **options})
    try:
        await asking.check()
        async for result in asking.score_groups(_group(unit, found) for unit, found in shared.items()):
            await asking.require_answering()
            asked.results.append(result)
            (graded,) = result.trajectories
            asked.judgments += _verdicts(asked.judge, shared[result.group_id], graded)
        asked.reused = asking.store.reused
    finally:
        asking.close()
    asked.probed = asking.probed
    places = {row.item: place for place, row in enumerate(row for found in shared.values() for row in found)}
    asked.judgments.sort(key=lambda one: (places[one["item"]], one["line"]))
    return asked


def _group(unit: str, rows: Sequence[Labelled]) -> TrajectoryGroup:
    """Return a completion as a group of one, with the rows' criteria; a criterion's id is its line."""
    rubric = Rubric(tuple(Criterion(str(row.line), row.rubric) for row in rows))
    answer = Trajectory("completion", ({"role": "assistant", "content": rows[0].completion},), rubric=rubric)
    return TrajectoryGroup(unit, (answer,), rows[0].prompt)


def _verdicts(judge: str, rows: Sequence[Labelled], graded: TrajectoryResult) -> Iterator[dict[str, Any]]:
    """Yield the judge's verdict on each row in each sample."""
    criteria: Mapping[str, Mapping[str, Any]] = graded.extra.get("criteria", {})
    for row in rows:
        told = criteria.get(str(row.line), {"met": None, "reason": graded.reason or "it was not asked about"})
        for sample, met in enumerate(told.get("votes", [told["met"]])):
            reason = told["reason"] or ("no verdict came" if met is None else "")
            yield {
                "judge": judge,
                "line": row.line,
                "item": row.item,
                "met": met,
                "reason": reason,
                "sample_index": sample,
            }
