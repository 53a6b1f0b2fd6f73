"""``calipers score`` scores a groups file and writes a result file; ``calipers replay`` rewrites it from the ledger."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

from calipers.backends.names import url_without_password
from calipers.capacity.spending import estimate_judging
from calipers.cli.estimate import assumed_reply, print_estimate, require_estimate
from calipers.cli.messages import BadLines, tells_if_interrupted
from calipers.cli.options import given_options, judge_arguments_of
from calipers.cli.output import Output, json_line, require_replaceable, write_text
from calipers.cli.progress import Report
from calipers.cli.terminal import Terminal
from calipers.errors import ConfigError, InputError
from calipers.inputs import read_groups
from calipers.inputs.records import read_json_lines
from calipers.judging.api import check_or_continue
from calipers.judging.describe import describe_result
from calipers.judging.hybrid import Hybrid
from calipers.judging.judge import Judge, has_recorded_answers, replaying_judge, resumes_run, store_of
from calipers.ledger import Replayer, open_ledger
from calipers.rubric.dataset_standards import read_standards, text_of_reference
from calipers.trainers.rows import rubric_text_with_reference
from calipers.types import GroupResult, Rubric, TrajectoryGroup
from calipers.verifiers.constraints import RuleFile, read_rules


def score(groups: str, out: str, **options: Any) -> int:
    """Score a groups file, and return the exit code."""
    run = ScoreRun(groups, out, options)
    require_estimate(options)
    if options["estimate"]:
        return _print_estimate(run)
    run.require_writable()
    with tells_if_interrupted(run.kept):
        return asyncio.run(_score(run))


class ScoreRun:
    """A run of ``calipers score``: its files and options, its progress, and the lines that could not be read."""

    def __init__(self, groups: str, out: str, options: dict[str, Any]) -> None:
        self.groups, self.out, self.options = groups, out, options
        self.ledger: str | None = options["ledger"] or (None if out == "-" else f"{out}.ledger.db")
        self.kept = "There is no ledger, so the same command begins anew; --ledger keeps answers."
        if self.ledger is not None:
            name = url_without_password(self.ledger)
            self.kept = f"Answers are in the ledger {name}: run the same command again to continue."
        self.budget = given_options(options, "budget").get("budget")
        self.console = Terminal(stderr=True)
        self.report = Report(self.console, total=_count_lines(groups), budget=self.budget, live=not _shows_results(out))
        self.bad = BadLines(self.report.say)
        self.older = OlderResults(out, kept=self.kept) if options["only"] else None
        self.replaced = None if options["force"] else _first_result(out)

    def require_writable(self) -> None:
        """Raise ConfigError if OUT cannot be written, or must not be replaced."""
        out, options = self.out, self.options
        beside = {"the groups file": self.groups, "the ledger": options["ledger"]}
        beside |= {"the rubric": options["rubric"], "the file of rules": options["rules"]}
        recorded = self.ledger is not None and ("://" in self.ledger or Path(self.ledger).is_file())
        require_replaceable("--out", out, force=options["force"], beside=beside, resumes=self.replaced is not None)
        if self.replaced is not None and not recorded:
            raise ConfigError(f"--out {out}: has results, but {self.ledger} does not exist: give --ledger or --force")

    def read(self, rules: Rules, on_error: Callable[[InputError], None] | None) -> Iterator[TrajectoryGroup]:
        """Yield the groups that are judged: all, or those whose line in OUT does not stay."""
        reader, strict = self.options["reader"], self.options["strict"]
        groups = read_groups(self.groups, reader=reader, strict=strict, on_error=on_error, prepare=rules.prepared)
        return (group for group in groups if self.older is None or not self.older.keeps(group))

    def resumed(self, groups: Iterator[TrajectoryGroup], judge: Judge) -> Iterator[TrajectoryGroup]:
        """Return ``groups``. Raises ConfigError if OUT has results of another judge, other settings or other groups."""
        if self.replaced is None:
            return groups
        first = next(groups, None)
        if first is not None and not resumes_run(judge, None if self.older else first, self.replaced):
            raise ConfigError(
                f"--out {self.out}: has results of another judge, other settings or other groups; name another file, "
                "or give --force (recorded answers are reused)"
            )
        return groups if first is None else chain((first,), groups)

    def add(self, output: Output, result: GroupResult) -> None:
        """Write a group's result, count it, and print it with --verbose."""
        output.write(result)
        self.report.add(result)
        if self.options["verbose"]:
            width = self.console.width if self.console.is_terminal else None
            self.report.say(describe_result(result, width=width))


def _exit_code(report: Report, *, bad_lines: int = 0) -> int:
    return 0 if report.trajectories.keys() <= {"scored"} and not bad_lines else 1


async def _score(run: ScoreRun) -> int:
    options, report = run.options, run.report
    on_error = None if options["strict"] else run.bad
    async with AsyncExitStack() as stack:
        judge = Judge(
            **judge_arguments_of(options, ledger=run.ledger, debug=options["verbose"] > 1, watchers=(report,))
        )
        stack.callback(judge.close)
        stack.enter_context(report)
        for warning in await check_or_continue(judge):
            report.say(f"Warning: {warning}")
        rules = Rules.of(options, judge)
        groups = run.resumed(run.read(rules, on_error), judge)
        output = stack.enter_context(run.older or Output(run.out, kept=run.kept))
        # If the ledger has answers, a judge that refuses every question stops nothing: groups without recorded answers
        # fail.
        stops = not has_recorded_answers(judge)
        # Closed before the ledger, so that calls in flight can still be recorded.
        results: Any = rules.scoring(judge).score_groups(groups, ordered=True)
        stack.push_async_callback(results.aclose)
        async for result in results:
            if stops:
                await judge.require_answering()
            run.add(output, result)
        if run.bad.count and not run.report.groups and run.older is None:
            raise InputError("no group in it can be read; nothing was written", source=run.groups)
        if run.older is not None and not report.groups:
            report.say(f"Every group in {run.out} is scored: nothing was judged.")
        reused = store_of(judge).reused if report.groups else 0  # a run without a group is not recorded
    if report.groups or run.bad.count or run.older is None:
        report.summary(bad_lines=run.bad.told if run.bad.count else "", reused=reused, out=run.out)
    return _exit_code(report, bad_lines=run.bad.count)


def _print_estimate(run: ScoreRun) -> int:
    options, bad, tokens = run.options, BadLines(), run.options["reply_tokens"]

    def shown(judge: Any) -> Any:
        standards = judge.settings.standards if options["reference"] else None
        return run.read(Rules(standards=standards), bad)

    arguments = judge_arguments_of(options, ledger=None, debug=False)
    estimate = asyncio.run(estimate_judging(arguments, shown, reply_tokens=tokens))
    if options["rules"] is not None:
        estimate = estimate.without("rules and gates: what they decide is not asked")
    print_estimate(estimate, noun="groups", reply=assumed_reply(tokens), budget=run.budget, kept=run.ledger)
    return int(bool(bad.count))


class OlderResults(Output):
    """The result file ``out`` of ``--only failed``: lines of groups that are judged again are replaced, in the end.

    The others stay, also of groups that the input does not have. A line and a group belong together if the ids of the
    group and of its trajectories are equal. Raises ConfigError, InputError for a file without results, or with more.
    """

    def __init__(self, out: str, *, kept: str) -> None:
        super().__init__(out, kept=kept)
        if out == "-" or _first_result(out) is None:
            raise ConfigError(f"--only failed: --out {out} holds no results; name the result file to complete")
        self._rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        self._new: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        lines: Iterable[tuple[int, Any]] = read_json_lines(out)
        for number, row in lines:
            try:
                key = (row["group_id"], *sorted(each["id"] for each in row["trajectories"]))
                self._rows.setdefault(key, []).append(row)
            except (KeyError, TypeError):
                problem = f"{row if isinstance(row, str) else 'no result'}; run without --only to write the file again"
                raise InputError(problem, source=out, line=number) from None

    def keeps(self, group: TrajectoryGroup) -> bool:
        """Whether the trajectories of ``group`` all have a score in OUT."""
        rows = self._rows.get((group.group_id, *sorted(each.id for each in group.trajectories)), ())
        return bool(rows) and all(row.get("status") == "scored" for row in rows)

    def write(self, result: GroupResult) -> None:
        """Keep the result for the end."""
        self._new[result.group_id, *sorted(each.id for each in result.trajectories)] = [result.to_dict()]

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._new:
            rows = (self._rows | self._new).values()  # a replaced line keeps its place
            write_text("--out", self._out, "".join(json_line(row) for of_group in rows for row in of_group))


def _shows_results(out: str) -> bool:
    """Whether a command's results go to a terminal, where a live line would overwrite them."""
    return out == "-" and sys.stdout.isatty()


def _first_result(out: str) -> dict[str, Any] | None:
    """Return the first line of a result file; None for another file. An interrupted run is continued in it."""
    if not Path(out).is_file():
        return None
    with Path(out).open("rb") as file:
        try:
            row = json.loads(file.readline(1 << 26))
        except (ValueError, RecursionError):
            return None
    return row if isinstance(row, dict) and {"group_id", "status", "trajectories"} <= row.keys() else None


def _count_lines(groups: str) -> int | None:
    """Count the groups in a plain JSONL file, to estimate the time left; None for others, where counting is slow."""
    path = Path(groups)
    if path.suffix != ".jsonl" or not path.is_file():
        return None
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def replay(ledger: str, out: str, run: int | None, *, force: bool) -> int:
    """Write the results of a recorded run again, and return the exit code."""
    require_replaceable("--out", out, force=force, beside={"the ledger": ledger})
    return asyncio.run(_replay(ledger, out, run))


async def _replay(location: str, out: str, run: int | None) -> int:
    with open_ledger(location, create=False) as ledger:
        store = Replayer(ledger, run)
        judge = replaying_judge(store.settings(), store)
        report = Report(Terminal(stderr=True), total=None, live=not _shows_results(out))
        with report, Output(out, kept="Nothing in the ledger has changed.") as output:
            async for result in judge.score_groups(store.groups(), ordered=True):
                output.write(result)
                report.add(result)
    report.summary(out=out)
    return _exit_code(report)


@dataclass(frozen=True, slots=True)
class Rules:
    """The ``rules`` of a command with the ``settings`` of their Hybrid, and the judge's ``standards`` if reference
    answers are added to them.
    """

    rules: RuleFile | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    standards: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], judge: Judge) -> Self:
        """Read what a command's options ask for. Raises ConfigError, InputError."""
        path, combine = options["rules"], options["combine"]
        standards = judge.settings.standards if options["reference"] else None
        if path is None and combine is None:
            return cls(standards=standards)
        rules = RuleFile() if path is None else read_rules(path)
        scoring_rules = cls(rules, dict(rules.settings) | ({} if combine is None else {"combine": combine}), standards)
        try:
            scoring_rules.scoring(judge)
        except ConfigError as error:
            raise ConfigError(f"{path or '--combine'}: {error}") from None
        return scoring_rules

    def scoring(self, judge: Judge) -> Judge | Hybrid:
        """Return what scores the groups. Raises ConfigError for settings that cannot work."""
        if self.rules is None:
            return judge
        return Hybrid(judge, checks=self.rules.constraints_of, gates=self.rules.gates, **self.settings)

    def prepared(self, group: TrajectoryGroup) -> TrajectoryGroup:
        """Return the group as it is judged. Raises InputError for one whose rules cannot be read.

        Its reference answer is added to its rubric, unless that has criteria: they state what an answer needs.
        """
        asked = None if self.rules is None else self.rules.constraints_of(group)
        by_rubric = asked is None or (asked.judged and not asked.soft)
        if self.standards is None or not by_rubric or isinstance(group.rubric, Rubric):
            return group
        reference = read_standards(group.extra, rubric=False).reference
        if reference is None:
            return group
        text = rubric_text_with_reference(group.rubric or self.standards, text_of_reference(reference.value))
        return replace(group, rubric=text)
