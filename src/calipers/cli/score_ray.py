"""``calipers score --ray``: scores a groups file on a Ray cluster, with the same output as without."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from calipers.cli.options import judge_arguments_of
from calipers.cli.output import Output
from calipers.cli.rules import Rules
from calipers.cli.score import ScoreRun
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.judging.judge import Judge
from calipers.ray.cluster import cluster, import_ray, own_errors
from calipers.ray.datasets import BATCH, judged
from calipers.ray.files import GroupsFile, dataset_of
from calipers.ray.judge_actor import start_judge_actor
from calipers.types import GroupResult, TrajectoryGroup
from calipers.types.encoding import to_json_text


def score_on_ray(run: ScoreRun) -> int:
    """Score the file of ``run``, write its results, and return the exit code. Raises CalipersError."""
    if run.groups == "-":
        raise ConfigError("--ray reads GROUPS from a file, not from stdin: workers that are lost read it again")
    if run.options["verbose"] > 1:
        raise ConfigError("-vv prints every reply in the process that judges; with --ray, write -v")
    arguments = judge_arguments_of(run.options, ledger=run.ledger, debug=False)
    rules = Rules.of(run.options, Judge(**(arguments | {"ledger": None})))  # its settings; nothing is asked
    changes = None if rules == Rules() else rules.prepared
    strict = run.options["strict"]
    file = GroupsFile(str(Path(run.groups).absolute()), run.options["reader"], strict, changes)
    # The first group names the run; a file that cannot be read is reported before Ray starts.
    first = next(iter(file.groups(None if strict else lambda _: None)), None)
    with ExitStack() as stack:
        stack.enter_context(run.report)
        stack.enter_context(cluster(run.options["ray"]))
        stack.enter_context(own_errors())
        actor = start_judge_actor(arguments)
        wrap = None if rules.rules is None else rules.scoring
        with Output(run.out) as output:
            for outcome in _outcomes(run, actor, file, first, parse=arguments.get("parse"), wrap=wrap):
                if isinstance(outcome, GroupResult):
                    run.add(output, outcome)
                elif strict:
                    raise InputError(outcome)
                else:
                    run.bad(InputError(outcome))
            run.require_results()
        spent = import_ray().get(actor.close.remote())
    return run.end(reused=spent.reused, probed=spent.probed)


def _outcomes(
    run: ScoreRun, actor: Any, file: GroupsFile, first: TrajectoryGroup | None, **more: Any
) -> Iterator[GroupResult | str]:
    """Yield the file's results and errors in its order. Raises ConfigError if the judge refuses every question."""
    for warning in _checked(actor.start.remote(first)):
        run.report.say(f"Warning: {warning}")
    stops = not _checked(actor.has_recorded_answers.remote())
    size = 0 if first is None else len(to_json_text(first.to_dict()))
    results = judged(dataset_of(file, batch_size=BATCH, group_bytes=size), actor, numbered=True, **more)
    for batch in results.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        if stops:
            _checked(actor.require_answering.remote())
        for warning in _checked(actor.take_warnings.remote()):
            run.report.say(f"Warning: {warning}")
        for outcome in batch.column("outcome").to_pylist():
            yield pickle.loads(outcome)  # noqa: S301 - written by our own workers


def _checked(reference: Any) -> Any:
    """Return what the judge's actor returned. Raises the error that it returned."""
    returned = import_ray().get(reference)
    if isinstance(returned, CalipersError):
        raise returned
    return returned
