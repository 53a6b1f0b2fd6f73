"""``calipers score --ray``: scores a groups file on a Ray cluster, with the same output as without."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.cli.judge_options import arguments_of_judge
from calipers.cli.messages import BadLines
from calipers.cli.output import Output
from calipers.cli.rules import RulesAndJudge, rules_from_options, with_references
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.types import GroupResult, TrajectoryGroup
from calipers.types.encoding import to_json_text

if TYPE_CHECKING:
    from calipers.cli.progress import Report
    from calipers.judging.judge import Judge
    from calipers.ray.files import GroupsFile


@dataclass(frozen=True, slots=True)
class OnRay:
    """The command ``calipers score GROUPS -o OUT --ray ADDRESS``, with its other ``options``.

    ``report`` makes the command's Report; ``show`` prints a group's result.
    """

    groups: str
    out: str
    ledger: str | None
    options: Mapping[str, Any]
    report: Callable[[], Report]
    show: Callable[[Report, GroupResult], None]

    def score(self) -> tuple[Report, BadLines]:
        """Score the file, write its results, print the summary. Raises CalipersError."""
        from calipers.judging.judge import Judge  # noqa: PLC0415 - --help stays quick
        from calipers.ray.cluster import cluster, own_errors  # noqa: PLC0415 - an extra

        if self.groups == "-":
            raise ConfigError("--ray reads GROUPS from a file, not from stdin: workers that are lost read it again")
        if self.options["verbose"] > 1:
            raise ConfigError("-vv prints every reply in the process that judges; with --ray, write -v")
        arguments = arguments_of_judge(self.options, ledger=self.ledger, debug=False)
        draft = Judge(**(arguments | {"ledger": None}))  # its settings; nothing is asked
        file, rules = self._file(draft)
        # The first group names the run; a file that cannot be read is reported before Ray starts.
        first = next(iter(file.groups(None if self.options["strict"] else lambda _: None)), None)
        with ExitStack() as stack:
            report = stack.enter_context(self.report())
            stack.enter_context(cluster(self.options["ray"]))
            stack.enter_context(own_errors())
            run = _Run(arguments, None if rules is None else rules.combined)
            bad = BadLines(report.say)
            self._write(run.outcomes(file, first, report.say), report, bad)
            spent = run.close()
        text = bad.told if bad.count else ""
        report.summary(
            bad_lines=text, reused=spent.reused, probed=spent.probed, out=self.out if self.out != "-" else ""
        )
        return report, bad

    def _file(self, draft: Judge) -> tuple[GroupsFile, RulesAndJudge | None]:
        from calipers.ray.files import GroupsFile  # noqa: PLC0415 - an extra

        rules = rules_from_options(draft, self.options)
        standards = draft.settings.standards if self.options["reference"] else None
        changes = _Changes(rules, standards)
        path = str(Path(self.groups).absolute())
        return GroupsFile(path, self.options["reader"], self.options["strict"], changes or None), rules

    def _write(self, outcomes: Iterable[GroupResult | str], report: Report, bad: BadLines) -> None:
        with Output(self.out) as output:
            for outcome in outcomes:
                if isinstance(outcome, GroupResult):
                    output.write(outcome)
                    report.add(outcome)
                    self.show(report, outcome)
                elif self.options["strict"]:
                    raise InputError(outcome)
                else:
                    bad(InputError(outcome))
            if bad.count and not report.groups:
                raise InputError("no group in it can be read; nothing was written", source=self.groups)


@dataclass(frozen=True, slots=True)
class _Changes:
    """What ``--rules`` and ``--reference`` do to the groups of a file before they are judged."""

    rules: RulesAndJudge | None
    standards: str | None

    def __bool__(self) -> bool:
        return self.rules is not None or self.standards is not None

    def __call__(
        self, groups: Iterator[TrajectoryGroup], on_error: Callable[[InputError], None] | None
    ) -> Iterable[TrajectoryGroup]:
        if self.standards is not None:
            rules = None if self.rules is None else self.rules.rules
            groups = with_references(groups, self.standards, rules=rules)
        return groups if self.rules is None else self.rules.readable(groups, on_error)


class _Run:
    """The judging of a file: the judge's actor, and the results of the workers."""

    def __init__(self, arguments: Mapping[str, Any], wrap: Any) -> None:
        from calipers.ray.cluster import import_ray  # noqa: PLC0415 - an extra
        from calipers.ray.judge_actor import start_judge_actor  # noqa: PLC0415 - likewise

        self._ray = import_ray()
        self._arguments = arguments
        self._wrap = wrap
        self._actor = start_judge_actor(arguments)

    def outcomes(
        self, file: GroupsFile, first: TrajectoryGroup | None, say: Callable[[str], None]
    ) -> Iterator[GroupResult | str]:
        """Yield the file's results and errors in its order. Raises ConfigError if the judge refuses every question."""
        from calipers.ray.datasets import BATCH, judged  # noqa: PLC0415 - an extra
        from calipers.ray.files import dataset_of  # noqa: PLC0415 - likewise

        for warning in self._checked(self._actor.start.remote(first)):
            say(f"Warning: {warning}")
        stops = not self._checked(self._actor.has_recorded_answers.remote())
        size = 0 if first is None else len(to_json_text(first.to_dict()))
        rows = dataset_of(file, batch_size=BATCH, group_bytes=size)
        results = judged(rows, self._actor, parse=self._arguments.get("parse"), wrap=self._wrap, numbered=True)
        for batch in results.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            if stops:
                self._checked(self._actor.require_answering.remote())
            for warning in self._checked(self._actor.take_warnings.remote()):
                say(f"Warning: {warning}")
            for outcome in batch.column("outcome").to_pylist():
                yield pickle.loads(outcome)  # noqa: S301 - written by our own workers

    def close(self) -> Any:
        """Close the judge and its ledger, and return what no group's result counts."""
        return self._ray.get(self._actor.close.remote())

    def _checked(self, reference: Any) -> Any:
        returned = self._ray.get(reference)
        if isinstance(returned, CalipersError):
            raise returned
        return returned
