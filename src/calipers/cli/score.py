"""``calipers score``: scores a groups file and writes a result file."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from calipers.backends.names import url_without_password
from calipers.cli.command_options import InputFile, RegisteredName, SectionedCommand, command_option, env_file_option
from calipers.cli.estimate import estimate_options, require_estimate
from calipers.cli.judge_options import arguments_of_judge, given_options, judge_from_options, judge_options
from calipers.cli.messages import BadLines, tells_if_interrupted
from calipers.cli.output import Output, add_force_option, require_replaceable
from calipers.cli.rules import Scoring, rules_from_options, with_references
from calipers.errors import ConfigError, InputError
from calipers.registry import READERS


@click.command(cls=SectionedCommand, short_help="Score a groups file with a judge.")
@click.argument("groups", type=InputFile())
@command_option(
    "-o",
    "--out",
    required=True,
    named=True,
    metavar="OUT",
    help="Result file (JSONL), one line for each group; - for stdout.",
)
@command_option(
    "--reader",
    rare=True,
    type=RegisteredName(READERS),
    help="The format of GROUPS. [default: by the file's suffix]",
)
@judge_options
@command_option(
    "--rules",
    section="Rules that code checks",
    type=click.Path(dir_okay=False),
    help="A file of rules and gates that code checks before the judge is asked (.toml, .json).",
)
@command_option(
    "--combine",
    rare=True,
    section="Rules that code checks",
    type=click.Choice(["product", "average", "min", "all", "verif_code", "verif_paper"]),
    help="How the score of the rules, also of those in GROUPS, and the judge's reward become one. "
    "[default: product, with --rules]",
)
@command_option(
    "--reference",
    rare=True,
    section="Rules that code checks",
    is_flag=True,
    help="Show the judge the reference answer in a row of GROUPS (reward_model.ground_truth or reference).",
)
@command_option(
    "--ray",
    rare=True,
    is_flag=False,
    flag_value="auto",
    metavar="[ADDRESS]",
    help="Score on a Ray cluster: HOST:PORT, auto (the one of this machine) or local (a new one). Needs calipers[ray].",
)
@estimate_options
@add_force_option
@command_option("--strict", is_flag=True, help="Stop at the first line that cannot be read, with exit code 2.")
@command_option(
    "-v",
    "--verbose",
    count=True,
    help="Print each group's ranking with explanations. -vv also prints every reply and the judge's reasoning.",
)
@env_file_option
def score(groups: str, out: str, **options: Any) -> int:
    """Score the trajectories of each group in GROUPS against one another and write a result line for each group to OUT.

    GROUPS is .jsonl, .jsonl.gz, .json or .parquet (- for JSONL on stdin). Answers are recorded in a ledger next to OUT:
    run the same command again to continue after an interruption, and no answer is paid for twice.

    \b
    calipers score groups.jsonl -o out.jsonl
    calipers score groups.jsonl -o out.jsonl --judge openai/gpt-5-mini --orders 2
    calipers score groups.jsonl -o out.jsonl --judge vllm/qwen3-32b \\
      --base-url http://localhost:8000/v1
    calipers score groups.jsonl -o out.jsonl --judge openai/gpt-5-mini \\
      --rules rules.toml --combine average

    Every flag can also be set in calipers.toml (orders = 2) or in the environment (CALIPERS_ORDERS=2).

    Exit code: 0 all scored, 1 something could not be scored, 2 bad usage or configuration, 130 interrupted.
    """  # noqa: D301 - click's mark for lines to keep as they are
    run = _Run(groups, out, options)
    require_estimate(options)
    if options["estimate"]:
        return _print_estimate(run)
    with tells_if_interrupted(_kept(options["ledger"] or _default_ledger(out))):
        return asyncio.run(_score(run)) if options["ray"] is None else _score_on_ray(run)


@dataclass(frozen=True, slots=True)
class _Run:
    groups: str
    out: str
    options: dict[str, Any]


async def _score(run: _Run) -> int:
    from calipers.cli.progress import Finished  # noqa: PLC0415 - --help stays quick
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise
    from calipers.inputs import read_groups  # noqa: PLC0415 - likewise
    from calipers.judging.api import check_or_continue  # noqa: PLC0415 - likewise

    verbose, strict = run.options["verbose"], run.options["strict"]
    _check_paths(run)
    console = Terminal(stderr=True)
    ledger = run.options["ledger"] or _default_ledger(run.out)
    async with AsyncExitStack() as stack:
        finished = Finished()
        judge = judge_from_options(run.options, ledger=ledger, debug=verbose > 1, watchers=(finished,))
        stack.callback(judge.close)
        report = stack.enter_context(_report(console, run))
        finished.tell = report.finished
        for warning in await check_or_continue(judge):
            report.say(f"Warning: {warning}")
        bad = BadLines(report.say)
        on_error = None if strict else bad
        source = read_groups(run.groups, reader=run.options["reader"], strict=strict, on_error=on_error)
        scoring: Scoring = judge
        rules = rules_from_options(judge, run.options)
        if run.options["reference"]:
            source = with_references(source, judge.settings.standards, rules=None if rules is None else rules.rules)
        if rules is not None:
            scoring, source = rules.scoring, rules.readable(source, on_error)
        output = stack.enter_context(Output(run.out))
        # If the ledger has answers, a judge that refuses every question stops nothing: groups without recorded answers
        # fail.
        stops = not judge.has_recorded_answers()
        # Closed before the ledger, so that calls in flight can still be recorded.
        results: Any = scoring.score_groups(source, ordered=True)
        stack.push_async_callback(results.aclose)
        async for result in results:
            if stops:
                await judge.require_answering()
            output.write(result)
            report.add(result)
            _show(console, run, report, result)
        if bad.count and not report.groups:
            raise InputError("no group in it can be read; nothing was written", source=run.groups)
        reused = judge.store.reused
    bad_lines = bad.told if bad.count else ""
    report.summary(bad_lines=bad_lines, reused=reused, probed=judge.probed, out=run.out if run.out != "-" else "")
    return _exit_code(report.trajectories.keys(), bad_lines=bad.count)


def _print_estimate(run: _Run) -> int:
    from calipers.capacity.spending import estimate_judging  # noqa: PLC0415 - --help stays quick
    from calipers.cli.estimate import assumed_reply, print_estimate  # noqa: PLC0415 - likewise
    from calipers.inputs import read_groups  # noqa: PLC0415 - likewise

    bad, tokens = BadLines(), run.options["reply_tokens"]
    source = read_groups(run.groups, reader=run.options["reader"], strict=run.options["strict"], on_error=bad)

    def shown(judge: Any) -> Any:
        return with_references(source, judge.settings.standards) if run.options["reference"] else source

    arguments = arguments_of_judge(run.options, ledger=None, debug=False)
    found = asyncio.run(estimate_judging(arguments, shown, reply_tokens=tokens))
    if run.options["rules"] is not None:
        found = found.without("rules and gates: what they decide is not asked")
    ledger = run.options["ledger"] or _default_ledger(run.out)
    budget = given_options(run.options, "budget").get("budget")
    print_estimate(found, noun="groups", reply=assumed_reply(tokens), budget=budget, kept=ledger)
    return _exit_code((), bad_lines=bad.count)


def _score_on_ray(run: _Run) -> int:
    from calipers.cli.score_ray import OnRay  # noqa: PLC0415 - --help stays quick
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise

    _check_paths(run)
    console = Terminal(stderr=True)
    ledger = run.options["ledger"] or _default_ledger(run.out)
    on_ray = OnRay(
        run.groups, run.out, ledger, run.options, partial(_report, console, run), partial(_show, console, run)
    )
    report, bad = on_ray.score()
    return _exit_code(report.trajectories.keys(), bad_lines=bad.count)


def _show(console: Any, run: _Run, report: Any, result: Any) -> None:
    if run.options["verbose"]:
        from calipers.judging.describe import describe_result  # noqa: PLC0415 - --help stays quick

        report.say(describe_result(result, width=console.width if console.is_terminal else None))


def _report(console: Any, run: _Run) -> Any:
    from calipers.cli.progress import Report  # noqa: PLC0415 - --help stays quick

    budget = given_options(run.options, "budget").get("budget")
    return Report(console, total=_count_lines(run.groups), budget=budget, live=not _shows_results(run.out))


def _shows_results(out: str) -> bool:
    """Whether a command's results go to a terminal, where a live line would overwrite them."""
    return out == "-" and sys.stdout.isatty()


def _kept(ledger: str | None) -> str:
    if ledger is None:
        return "There is no ledger, so the same command begins anew; --ledger keeps answers."
    return f"Answers are in the ledger {url_without_password(ledger)}: run the same command again to continue."


def _default_ledger(out: str) -> str | None:
    return None if out == "-" else f"{out}.ledger.db"


def _exit_code(statuses: Any, *, bad_lines: int = 0) -> int:
    """Return a command's exit code: 0 if every trajectory was scored and every line was read, else 1."""
    return 0 if set(statuses) <= {"scored"} and not bad_lines else 1


def _check_paths(run: _Run) -> None:
    out, options = run.out, run.options
    if out == "-":
        return
    path = Path(out)
    if path.suffix in {".parquet", ".gz"}:
        raise ConfigError(f"--out {out}: results are uncompressed JSON lines; name a .jsonl file")
    if path.is_dir():
        raise ConfigError(f"--out {out}: is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"--out {out}: its folder does not exist; create it first")
    read = {"the rubric": options["rubric"], "the file of rules": options["rules"]}
    beside = {"the groups file": run.groups, "the ledger": options["ledger"]} | read
    resumes = _is_recorded(options["ledger"] or _default_ledger(out)) and _holds_results(path)
    require_replaceable("--out", out, force=options["force"], beside=beside, resumes=resumes)


def _is_recorded(ledger: str | None) -> bool:
    return ledger is not None and ("://" in ledger or Path(ledger).is_file())


def _holds_results(path: Path) -> bool:
    """Whether a file begins as a result file does: an interrupted run is continued in it."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        try:
            row = json.loads(file.readline(1 << 26))
        except (ValueError, RecursionError):
            return False
    return isinstance(row, dict) and {"group_id", "status", "trajectories"} <= row.keys()


def _count_lines(groups: str) -> int | None:
    """Count the groups in a plain JSONL file, to estimate the time left; None for others, where counting is slow."""
    path = Path(groups)
    if path.suffix != ".jsonl" or not path.is_file():
        return None
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


@click.command(short_help="Rewrite a run's results from its ledger.")
@click.argument("ledger", type=click.Path())
@command_option("-o", "--out", required=True, named=True, metavar="OUT", help="Result file (JSONL); - for stdout.")
@command_option("--run", type=int, metavar="ID", help="The number of the run in the ledger. [default: the latest]")
@add_force_option
def replay(ledger: str, out: str, run: int | None, *, force: bool) -> int:
    """Read the answers recorded in LEDGER again and write the run's result file to OUT, without any network access.

    The same version of calipers writes the same file, byte for byte. A newer version may read old replies better,
    without new calls.
    """
    require_replaceable("--out", out, force=force, beside={"the ledger": ledger})
    return asyncio.run(_replay(ledger, out, run))


async def _replay(location: str, out: str, run: int | None) -> int:
    from calipers.cli.progress import Report  # noqa: PLC0415
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise
    from calipers.config.settings import Settings  # noqa: PLC0415
    from calipers.judging.judge import Judge  # noqa: PLC0415
    from calipers.ledger import Replayer, open_ledger  # noqa: PLC0415

    with open_ledger(location, create=False) as ledger:
        store = Replayer(ledger, run)
        judge = Judge.replaying(Settings.of(store.recorded.settings), store)
        console = Terminal(stderr=True)
        with Report(console, total=None, live=not _shows_results(out)) as report, Output(out) as output:
            async for result in judge.score_groups(store.groups(), ordered=True):
                output.write(result)
                report.add(result)
    report.summary(out=out if out != "-" else "")
    return _exit_code(report.trajectories.keys())
