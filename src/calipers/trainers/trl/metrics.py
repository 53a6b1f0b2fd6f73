"""Metrics of a judge's work in a training step, by name, for TRL's log.

Pure. Not responsible for logging them (``trl.reward``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from calipers.trainers.trl.rows import PROBLEM
from calipers.types import GroupResult, Usage


def judge_metrics(
    results: Sequence[GroupResult], rewards: Sequence[float | None], *, same_names: bool = False
) -> dict[str, float]:
    """Return metrics of judged groups for TRL's log, finite numbers by name: shares of rows, and means per group.

    ``rewards`` are the rewards that the trainer gets, with None for those that are withheld. With ``same_names`` the
    names are the same in every process, whatever happened. Without it, means over figures that may be unknown (standard
    error, reliability, cost) are included.
    """
    rows = [row for result in results for row in result.trajectories]
    usage = Usage.total([result.usage for result in results])
    count = len(results)
    found = {
        **{status: _share(status == row.status for row in rows) for status in ("scored", "abstained", "failed")},
        "no_signal": _share(reward is None for reward in rewards),
        "calls": sum(result.judge_calls for result in results) / count,
        "attempts": sum(result.attempts for result in results) / count,
        "unusable": sum(result.unusable for result in results) / count,
        "input_tokens": usage.input_tokens / count,
        "output_tokens": usage.output_tokens / count,
    }
    if same_names:
        return found
    errors = [row.stderr for row in rows if row.stderr is not None]
    if errors:
        found["stderr"] = fmean(errors)
    known = [result.reliability.value for result in results if result.reliability.value is not None]
    if known:
        found["reliability"] = fmean(known)
    if usage.cost_usd is not None and any(result.attempts or result.judge_calls for result in results):
        found["cost_usd"] = usage.cost_usd / count
    return found


def row_explanations(results: Sequence[GroupResult]) -> list[str]:
    """Return for each row of the TRL trainer the judge's explanation, or why the row has no score."""
    rows = [row for result in results for row in result.trajectories]
    return [row.extra.get("metadata", {}).get(PROBLEM) or row.reason or row.explanation or "" for row in rows]


def _share(flags: Iterable[bool]) -> float:
    return fmean(map(float, flags))
