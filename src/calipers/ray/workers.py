"""Workers of a Ray cluster: each reads, renders and scores batches of groups, and asks through the judge's actor."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from calipers._version import __version__
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group
from calipers.inputs.records import row_as_object
from calipers.judging.judge import Judge
from calipers.judging.remote import Batch, judge_of_batch
from calipers.protocols.question import Parse
from calipers.ray.cluster import import_ray
from calipers.ray.judge_actor import RemoteOwner
from calipers.types import GroupResult, TrajectoryGroup
from calipers.types.encoding import without_lone_surrogates


class Scoring(Protocol):
    """What scores groups: a Judge, or a Hybrid of rules and a judge."""

    def score_groups(
        self, groups: Iterable[object], *, concurrency: int | None = None, ordered: bool = False
    ) -> AsyncIterator[GroupResult]: ...


Wrap: TypeAlias = Callable[[Judge], Scoring]
"""Makes of a batch's judge what scores its groups."""


class Worker:
    """Judges batches of rows, given as Arrow tables. ``numbered`` rows have a ``number`` and a ``group`` as JSON text.

    Other rows are groups as in a Parquet groups file.
    """

    def __init__(self, actor: Any, *, version: str, numbered: bool, parse: Parse | None, wrap: Wrap | None) -> None:
        if version != __version__:
            raise ConfigError(
                f"a machine of the Ray cluster has calipers {__version__}, the command has {version}: install one "
                "version on all of them"
            )
        self._owner = RemoteOwner(actor)
        self._numbered = numbered
        self._parse = parse
        self._wrap = wrap
        self._task, self._parts = "", 0

    def __call__(self, rows: Any) -> Any:
        """Return a table with a row for each of the ``rows``, in their order: the result, or the error."""
        read = [_numbered_row(row) if self._numbered else _plain_row(row) for row in rows.to_pylist()]
        groups = [one for one in read if isinstance(one, TrajectoryGroup)]
        numbers = [row["number"] for row in rows.to_pylist() if row["group"] is not None] if self._numbered else None
        results = iter(asyncio.run(self._judged(groups, numbers)) if groups else ())
        judged = [next(results) if isinstance(one, TrajectoryGroup) else one for one in read]
        return _pickled(judged) if self._numbered else _table(judged)

    async def _judged(self, groups: Sequence[TrajectoryGroup], numbers: Sequence[int] | None) -> list[GroupResult]:
        batch = await (self._begin(len(groups)) if numbers is None else self._owner.begin(numbers))
        judge = judge_of_batch(self._owner, batch, parse=self._parse)
        scoring: Scoring = judge if self._wrap is None else self._wrap(judge)
        return [one async for one in scoring.score_groups(groups, concurrency=len(groups), ordered=True)]

    async def _begin(self, groups: int) -> Batch:
        """Begin a batch whose groups have no numbers: they follow from the task of Ray that it is part of."""
        task = str(import_ray().get_runtime_context().get_task_id())
        self._task, self._parts = task, self._parts + 1 if task == self._task else 0
        return await self._owner.begin_in_task(task, self._parts, groups)


def _numbered_row(row: Mapping[str, Any]) -> TrajectoryGroup | str:
    return str(row["error"]) if row["group"] is None else as_group(json.loads(row["group"]))


def _plain_row(row: dict[str, Any]) -> TrajectoryGroup | str:
    read = row_as_object(row)
    if isinstance(read, str):
        return read
    try:
        return as_group(read)
    except InputError as error:
        return str(error)


def _pickled(results: Sequence[GroupResult | str]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - comes with Ray Data

    return pa.table({"outcome": pa.array([pickle.dumps(one) for one in results], pa.large_binary())})


def _table(results: Sequence[GroupResult | str]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - comes with Ray Data

    scored = [None if isinstance(one, str) else one for one in results]
    errors = [without_lone_surrogates(one) if isinstance(one, str) else None for one in results]
    rewards = [one and [each.reward for each in one.trajectories] for one in scored]
    columns = {
        "group_id": pa.array([one and without_lone_surrogates(one.group_id) for one in scored], pa.string()),
        "status": pa.array([one and one.status for one in scored], pa.string()),
        "rewards": pa.array(rewards, pa.list_(pa.float64())),
        "result": pa.array([one and _line(one) for one in scored], pa.string()),
        "error": pa.array(errors, pa.string()),
    }
    return pa.table(columns)


def _line(result: GroupResult) -> str:
    """Return a result as a line of a result file. Half a surrogate pair can only be written as an escape."""
    text = json.dumps(result.to_dict(), ensure_ascii=False)
    return text if without_lone_surrogates(text) == text else json.dumps(result.to_dict())
