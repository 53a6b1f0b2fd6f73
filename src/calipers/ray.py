"""Groups of a Ray Dataset: workers read, render and score them, and ask through one process that owns the judge.

That process runs on the machine of the caller, with its environment and folder, so keys, addresses and the ledger are
the caller's. If it ends, judging ends: the same call again continues with the answers in the ledger. Ray is imported
when a function is called.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from calipers._version import __version__
from calipers.config.settings import Settings
from calipers.errors import CalipersError, ConfigError, InputError, LedgerError
from calipers.inputs import as_group
from calipers.inputs.records import row_as_object
from calipers.judging.judge import replaying_judge
from calipers.judging.remote import Note, Outcome, RemoteStore, SharedJudge
from calipers.ledger import group_digest
from calipers.protocols.question import Parse
from calipers.registry import import_library
from calipers.types import GroupResult, JudgeRequest, TrajectoryGroup
from calipers.types.encoding import without_lone_surrogates

__all__ = ["score_dataset"]

_log = logging.getLogger(__name__)

_AT_ONCE: Final = 100_000
"""Calls of the owner that may run at once; nearly all of them wait for the judge, whose own limits count."""
_ENDED: Final = (
    "the process that asks the judge has ended; judge the same groups again: what was answered is in the ledger"
)


def score_dataset(
    ds: Any,
    *,
    judge: Any,
    workers: int | None = None,
    batch_size: int = 32,
    **options: Any,
) -> Any:
    """Return a Ray Dataset with the result of each group of ``ds``, in its order; judging starts when it is consumed.

    A row of ``ds`` is a group as in a groups file: ``context``, ``trajectories`` and so on, nested or as JSON text. A
    row of the result has ``group_id``, ``status``, ``rewards`` (a list, null without a reward), ``result`` (the line of
    a result file), and, if the row could not be read, only ``error``. ``judge`` and ``options`` are those of
    ``calipers.Judge``: one process on this machine asks the judge, keeps its limits and its budget for all workers, and
    records in ``ledger``. ``workers`` processes, by default one for each CPU of the cluster but one, read, render and
    score ``batch_size`` groups at a time each. Ray starts a lost worker again.

    Raises ConfigError, before any token is spent, if Ray is missing or the judge cannot be asked. If the ledger cannot
    be written, or the process that asks has ended, consuming the result raises an exception of Ray that says so.
    """
    ray = import_ray()
    if not isinstance(ds, ray.data.Dataset):
        raise ConfigError(f"score_dataset() takes a ray.data.Dataset, not {type(ds).__name__}")
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    owner = ray.remote(num_cpus=0, max_restarts=0, max_concurrency=_AT_ONCE, label_selector=here)(JudgeActor)
    actor = owner.remote({"judge": judge, **options}, environment, os.getcwd())  # noqa: PTH109 - for another process
    warnings = ray.get(actor.start.remote())
    if isinstance(warnings, CalipersError):
        raise warnings
    for warning in warnings:
        _log.warning("%s", warning)
    results = ds.map_batches(
        Worker,
        fn_constructor_args=[actor, __version__, options.get("parse")],
        batch_size=batch_size,
        batch_format="pyarrow",
        concurrency=workers or max(1, int(ray.cluster_resources().get("CPU", 1)) - 1),
        num_cpus=1,
    )
    results.context.execution_options.preserve_order = True
    results.context.enable_progress_bars = False
    return results


def import_ray() -> Any:
    """Return the module ``ray`` with Ray Data. Raises ConfigError if it is not installed."""
    remedy = "judging on a Ray cluster needs Ray: pip install 'calipers[ray]'"
    import_library("ray.data", remedy=remedy)
    return import_library("ray", remedy=remedy)


class JudgeActor:
    """A SharedJudge as an actor of Ray. Errors of calipers are returned, not raised, because Ray wraps exceptions."""

    def __init__(self, arguments: Mapping[str, Any], environment: Mapping[str, str], folder: str) -> None:
        os.environ.update(environment)
        os.chdir(folder)
        self._arguments = arguments
        self._judge: SharedJudge
        self._numbers: dict[str, int] = {}

    async def start(self) -> Sequence[str] | CalipersError:
        """Build the judge, check it, and begin the run. Returns its warnings, or the error."""
        try:
            self._judge = SharedJudge(**self._arguments)
            return list(await self._judge.start(None))
        except CalipersError as error:
            return error

    async def begin(self, digests: Sequence[str]) -> tuple[Settings, Sequence[int]]:
        """Begin groups, numbered by their content: Ray repeats work, under other names too, if a worker was lost."""
        numbers = [self._numbers.setdefault(digest, len(self._numbers)) for digest in digests]
        return self._judge.begin(max(numbers, default=0)), numbers

    async def answer(self, number: int, request: JudgeRequest) -> Outcome:
        """Return the answer to a request about group ``number``, or the error."""
        return await self._judge.answer(number, request)

    async def finish(
        self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]
    ) -> LedgerError | None:
        """Record the result of group ``number``. Returns the error if the ledger cannot be written."""
        try:
            await self._judge.finish(number, group, result, notes)
        except LedgerError as error:
            return error
        return None


class Worker:
    """Judges batches of groups, given as Arrow tables; it is the ``Owner`` for the judge of each batch."""

    def __init__(self, actor: Any, version: str, parse: Parse | None) -> None:
        if version != __version__:
            raise ConfigError(
                f"a machine of the Ray cluster has calipers {__version__}, the caller has {version}: install one "
                "version on all of them"
            )
        self._actor, self._parse = actor, parse
        self._ray = import_ray()

    def __call__(self, rows: Any) -> Any:
        """Return a table with a row for each of the ``rows``, in their order: the result, or the error."""
        read = [_read(row) for row in rows.to_pylist()]
        groups = [row for row in read if isinstance(row, TrajectoryGroup)]
        results = iter(asyncio.run(self._judged(groups)) if groups else ())
        return _table([next(results) if isinstance(row, TrajectoryGroup) else row for row in read])

    async def answer(self, number: int, request: JudgeRequest) -> Outcome:
        """Return the answer to a request about group ``number``, or the error."""
        reference = self._actor.answer.remote(number, request)
        try:
            outcome: Outcome = await self._of_actor(reference)
        except asyncio.CancelledError:
            self._ray.cancel(reference)  # the group's deadline passed
            raise
        return outcome

    async def finish(
        self, number: int, group: TrajectoryGroup, result: GroupResult, notes: Sequence[Note]
    ) -> LedgerError | None:
        """Record the result of group ``number``. Returns the error if the ledger cannot be written."""
        error: LedgerError | None = await self._of_actor(self._actor.finish.remote(number, group, result, notes))
        return error

    async def _judged(self, groups: Sequence[TrajectoryGroup]) -> list[GroupResult]:
        digests = [group_digest(group) for group in groups]
        settings, numbers = await self._of_actor(self._actor.begin.remote(digests))
        judge = replaying_judge(settings, RemoteStore(self, numbers), parse=self._parse)
        return [result async for result in judge.score_groups(groups, concurrency=len(groups), ordered=True)]

    async def _of_actor(self, reference: Any) -> Any:
        """Return what the actor returned. Raises LedgerError if it has ended: no group can be judged then."""
        try:
            return await reference
        except self._ray.exceptions.RayActorError as error:
            raise LedgerError(_ENDED) from error


def _read(row: dict[str, Any]) -> TrajectoryGroup | str:
    """Return a row's group, or why it cannot be read."""
    read = row_as_object(row)
    try:
        return read if isinstance(read, str) else as_group(read)
    except InputError as error:
        return str(error)


def _table(results: Sequence[GroupResult | str]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - comes with Ray Data

    scored = [None if isinstance(result, str) else result for result in results]
    errors = [without_lone_surrogates(result) if isinstance(result, str) else None for result in results]
    rewards = [result and [trajectory.reward for trajectory in result.trajectories] for result in scored]
    columns = {
        "group_id": pa.array([result and without_lone_surrogates(result.group_id) for result in scored], pa.string()),
        "status": pa.array([result and result.status for result in scored], pa.string()),
        "rewards": pa.array(rewards, pa.list_(pa.float64())),
        "result": pa.array([result and json.dumps(result.to_dict()) for result in scored], pa.string()),
        "error": pa.array(errors, pa.string()),
    }
    return pa.table(columns)
