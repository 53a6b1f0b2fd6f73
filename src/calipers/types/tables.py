"""Results and groups as tables: rows of plain data, pandas data frames, and Hugging Face datasets.

pandas and datasets are imported where one of their objects is asked for. Not responsible for reading such tables
(``inputs.tables``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias, get_args

from calipers.types.groups import TrajectoryGroup
from calipers.types.results import GroupResult

Level: TypeAlias = Literal["trajectory", "group"]
"""What a row is: a trajectory with its group's id, or a group with its counts, tokens and cost."""

_OF_TRAJECTORY = ("id", "status", "reward", "score", "stderr", "explanation", "reason")


def result_rows(results: Iterable[GroupResult], level: Level = "trajectory") -> list[dict[str, Any]]:
    """Return a row of plain data for each trajectory, or each group, of ``results``, in order; missing is None.

    Raises ValueError for another level.
    """
    if level not in get_args(Level):
        raise ValueError(f"level={level!r}: it must be trajectory or group")
    if level == "group":
        return [_group_row(result) for result in results]
    return [
        {"group_id": result.group_id} | {name: getattr(one, name) for name in _OF_TRAJECTORY}
        for result in results
        for one in result.trajectories
    ]


def to_pandas(results: Iterable[GroupResult], level: Level = "trajectory") -> Any:
    """Return ``result_rows`` as a pandas data frame, in which a missing number is NaN.

    Raises ImportError, with the remedy, if pandas is not installed.
    """
    try:
        import pandas as pd  # noqa: PLC0415 - not a dependency of calipers
    except ImportError:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from None
    rows = result_rows(results, level)
    frame = pd.DataFrame(rows, columns=None if rows else _columns(level))
    numbers = ("reward", "score", "stderr") if level == "trajectory" else ("cost_usd", "reliability")
    return frame.astype(dict.fromkeys(numbers, float))


def to_dataset(items: Iterable[GroupResult] | Iterable[TrajectoryGroup], level: Level = "trajectory") -> Any:
    """Return a Hugging Face Dataset of results (``result_rows``) or of groups.

    A row of a group has nested data as JSON text, because Arrow gives all rows one structure; ``read_groups``
    reads such a dataset back. Raises ImportError, with the
    remedy, if datasets is not installed.
    """
    try:
        from datasets import Dataset  # noqa: PLC0415 - not a dependency of calipers
    except ImportError:
        raise ImportError("to_dataset() needs datasets: pip install datasets") from None
    given = list(items)
    results = [one for one in given if isinstance(one, GroupResult)]
    rows = [_stored(one.to_dict()) for one in given if isinstance(one, TrajectoryGroup)]
    if results and rows:
        raise ValueError("to_dataset() takes results or groups, not both: a dataset has one kind of rows")
    return Dataset.from_list(rows or result_rows(results, level))


def _group_row(result: GroupResult) -> dict[str, Any]:
    usage = result.usage
    return {
        "group_id": result.group_id,
        "status": result.status,
        "rewards": result.rewards,
        "scored": sum(one.status == "scored" for one in result.trajectories),
        "trajectories": len(result.trajectories),
        "judge_calls": result.judge_calls,
        "attempts": result.attempts,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
        "reliability": result.reliability.value,
        "warnings": list(result.warnings),
    }


def _columns(level: Level) -> list[str]:
    return ["group_id", *_OF_TRAJECTORY] if level == "trajectory" else [*_group_row(GroupResult("", "failed", ()))]


def _stored(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group's object with nested values as JSON text."""
    return {
        key: json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list | tuple) else value
        for key, value in group.items()
    }
