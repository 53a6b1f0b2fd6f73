"""Results and groups as tables: rows of plain data, pandas data frames, and Hugging Face datasets.

pandas and datasets are imported where one of their objects is asked for. Not responsible for reading such tables
(``inputs.parquet``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.types.encoding import to_json_text, without_lone_surrogates
from calipers.types.groups import TrajectoryGroup
from calipers.types.results import GroupResult

Level: TypeAlias = Literal["trajectory", "group"]
"""What a row is: a trajectory with its group's id, or a group with its counts, tokens and cost."""

_Kind: TypeAlias = Literal["string", "int64", "float64", "bool", "numbers", "texts"]
_OF_TRAJECTORY: Final[Mapping[str, _Kind]] = {
    "id": "string", "status": "string", "reward": "float64", "score": "float64", "stderr": "float64",
    "explanation": "string", "reason": "string",
}  # fmt: skip
_OF_GROUP: Final[Mapping[str, _Kind]] = {
    "group_id": "string", "status": "string", "rewards": "numbers", "scored": "int64", "trajectories": "int64",
    "judge_calls": "int64", "attempts": "int64", "input_tokens": "int64", "output_tokens": "int64",
    "cost_usd": "float64", "reliability": "float64", "warnings": "texts",
}  # fmt: skip


def result_rows(results: Iterable[GroupResult], level: Level = "trajectory") -> list[dict[str, Any]]:
    """Return a row of plain data for each trajectory, or each group, of ``results``, in order; missing is None.

    Raises ValueError for another level, TypeError for anything but results.
    """
    _columns(level)
    found = _listed(results, GroupResult)
    if level == "group":
        return [_group_row(result) for result in found]
    return [
        {"group_id": result.group_id} | {name: getattr(one, name) for name in _OF_TRAJECTORY}
        for result in found
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
    columns = _columns(level)
    frame = pd.DataFrame(result_rows(results, level), columns=list(columns))
    return frame.astype({name: kind for name, kind in columns.items() if kind in ("float64", "int64")})


def to_dataset(items: Iterable[GroupResult] | Iterable[TrajectoryGroup], level: Level = "trajectory") -> Any:
    """Return a Hugging Face Dataset of results (``result_rows``) or of groups.

    Columns of results have the same types whatever is missing. A row of a group has nested data as JSON text, because
    Arrow gives all rows one structure; ``read_groups`` reads such a dataset back. Raises ImportError, with the remedy,
    if datasets is not installed, and TypeError for anything but results or groups.
    """
    try:
        from datasets import Dataset, Features  # noqa: PLC0415 - not a dependency of calipers
    except ImportError:
        raise ImportError("to_dataset() needs datasets: pip install datasets") from None
    columns = _columns(level)
    given = _listed(items, GroupResult | TrajectoryGroup)
    groups = [one for one in given if isinstance(one, TrajectoryGroup)]
    if groups and len(groups) < len(given):
        raise ValueError("to_dataset() takes results or groups, not both: a dataset has one kind of rows")
    rows = _stored([one.to_dict() for one in groups]) if groups else result_rows(given, level)
    columns = {name: _kind([row[name] for row in rows]) for name in rows[0]} if groups else columns
    return Dataset.from_dict(
        {name: [row[name] for row in rows] for name in columns}, features=Features.from_arrow_schema(_schema(columns))
    )


def _listed(items: Any, kinds: Any) -> list[Any]:
    """Return the results or groups in ``items``. Raises TypeError for anything else."""
    if isinstance(items, GroupResult | TrajectoryGroup) or not isinstance(items, Iterable):
        raise TypeError(f"results or groups are needed in a list, not {type(items).__name__}: write [result]")
    found = list(items)
    for one in found:
        if not isinstance(one, kinds):
            known = "results" if kinds is GroupResult else "results or groups"
            raise TypeError(f"{known} are needed, not {type(one).__name__}; calipers.read_groups() reads groups")
    return found


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


def _columns(level: Level) -> Mapping[str, _Kind]:
    """Return the columns of results, and what they hold. Raises ValueError for another level."""
    if level not in get_args(Level):
        raise ValueError(f"level={level!r}: it must be trajectory or group")
    return _OF_GROUP if level == "group" else {"group_id": "string", **_OF_TRAJECTORY}


def _schema(columns: Mapping[str, _Kind]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - datasets has it

    lists = {"numbers": pa.list_(pa.float64()), "texts": pa.list_(pa.string())}
    return pa.schema([(name, lists[kind] if kind in lists else getattr(pa, kind.replace("bool", "bool_"))())
                      for name, kind in columns.items()])  # fmt: skip


def _stored(groups: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the objects of groups as rows with the same keys, and nested or mixed values as JSON text."""
    names = dict.fromkeys(name for group in groups for name in group)
    rows = [{name: group.get(name) for name in names} for group in groups]
    for name in names:
        is_text = _kind([row[name] for row in rows]) == "string"
        for row in rows:
            value = row[name]
            if isinstance(value, str):
                row[name] = without_lone_surrogates(value)
            elif is_text and value is not None:
                row[name] = to_json_text(value)
    return rows


def _kind(values: Iterable[Any]) -> _Kind:
    """Return what a column of groups holds: text where values are of several types, or missing."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "bool"
    if kinds == {int} and all(value is None or abs(value) < 2**63 for value in values):
        return "int64"
    return "float64" if float in kinds <= {int, float} else "string"
