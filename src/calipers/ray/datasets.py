"""Judges the groups of a Ray Dataset: ``score_dataset``, and ``judged`` for what stands behind it."""

from __future__ import annotations

import logging
from typing import Any

from calipers._version import __version__
from calipers.errors import CalipersError, ConfigError
from calipers.ray.cluster import cpus, import_ray
from calipers.ray.judge_actor import start_judge_actor
from calipers.ray.workers import Worker, Wrap

_log = logging.getLogger(__name__)

BATCH = 32
"""Groups that a worker judges at once, by default."""


def score_dataset(
    ds: Any,
    *,
    judge: Any,
    workers: int | None = None,
    batch_size: int = BATCH,
    wrap: Wrap | None = None,
    **options: Any,
) -> Any:
    """Return a Ray Dataset with the result of each group of ``ds``, in its order; judging starts when it is consumed.

    A row of ``ds`` is a group as in a groups file: ``context``, ``trajectories`` and so on, nested or as JSON text. A
    row of the result has ``group_id``, ``status``, ``rewards`` (a list, null without a reward), ``result`` (the line of
    a result file), and, if the row could not be read, only ``error``. ``judge`` and ``options`` are those of
    ``calipers.Judge``: one process on this machine asks the judge, keeps its limits and its budget for all workers, and
    records in ``ledger``. ``workers`` processes, by default one for each CPU of the cluster but one, read, render and
    score ``batch_size`` groups at a time each. ``wrap`` makes of a batch's Judge what scores its groups, such as a
    ``Hybrid``.

    Raises ConfigError, before any token is spent, if Ray is missing or the judge cannot be asked. If the ledger cannot
    be written, or the process that asks has ended, consuming the result raises an exception of Ray that says so.
    """
    ray = import_ray()
    if not isinstance(ds, ray.data.Dataset):
        raise ConfigError(f"score_dataset() takes a ray.data.Dataset, not {type(ds).__name__}")
    actor = start_judge_actor({"judge": judge, **options})
    warnings = ray.get(actor.start.remote(None))
    if isinstance(warnings, CalipersError):
        raise warnings
    for warning in warnings:
        _log.warning("%s", warning)
    return judged(
        ds, actor, parse=options.get("parse"), workers=workers, batch_size=batch_size, wrap=wrap, numbered=False
    )


def judged(
    ds: Any,
    actor: Any,
    *,
    parse: Any = None,
    workers: int | None = None,
    batch_size: int = BATCH,
    wrap: Wrap | None = None,
    numbered: bool,
) -> Any:
    """Return a Ray Dataset with what a ``Worker`` makes of the rows of ``ds``, in their order.

    Ray starts a lost worker again, and repeats what it had not finished.
    """
    most = workers or max(1, cpus() - 1)
    options = {"version": __version__, "numbered": numbered, "parse": parse, "wrap": wrap}
    results = ds.map_batches(
        Worker,
        fn_constructor_args=[actor],
        fn_constructor_kwargs=options,
        batch_size=batch_size,
        batch_format="pyarrow",
        concurrency=most,
        num_cpus=1,
    )
    results.context.execution_options.preserve_order = True
    results.context.enable_progress_bars = False
    return results
