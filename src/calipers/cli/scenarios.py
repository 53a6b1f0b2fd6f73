"""``calipers scenarios``: writes training inputs for a task without data, and keeps those whose rollouts differ."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from calipers.backends.names import writes_text
from calipers.cli.command_options import FiniteRange, InputFile, command_option
from calipers.cli.judge_options import given_options, judge_option
from calipers.cli.messages import print_message, tells_if_interrupted
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError, InputError
from calipers.types.encoding import counted, printable

if TYPE_CHECKING:
    from calipers.scenarios import Kept, Made, Split
    from calipers.types import Tool

_INFORMATIVE = 16
"""The number of groups that differ, wanted in each training step, for which the advice is."""


class _WithDefault(click.Group):
    """A group of commands whose first argument, if it names none of them, is the argument of ``write``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["write", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_WithDefault, short_help="Write training inputs for a task without data.")
def scenarios() -> None:
    """Write training inputs for a task without data, and keep those that first rollouts show to be useful.

    \b
    calipers scenarios "task in a sentence" -n 200 -o train.jsonl --judge openai/gpt-5-mini
    """  # noqa: D301 - click's mark for lines to keep as they are


@scenarios.command(short_help="Write scenarios for a task.")
@click.argument("task")
@command_option("-n", "--count", default=200, show_default=True, type=click.IntRange(1), help="Scenarios to write.")
@command_option(
    "-o",
    "--out",
    required=True,
    metavar="OUT",
    help="The file of training inputs (.jsonl, or .parquet for verl). Validation inputs go beside it.",
)
@judge_option(
    "judge", required=True, multiple=False, help="The model that writes the scenarios: provider/model, as for score."
)
@judge_option(
    "base_url", multiple=False, help="The model's OpenAI-compatible endpoint, if it is not the provider's own."
)
@command_option("--tools", type=InputFile(), metavar="FILE", help="Tool definitions (JSON) that the agent has.")
@command_option(
    "--topic", multiple=True, metavar="NAME", help="A sub-topic. May be repeated. [default: the model names 8]"
)
@command_option(
    "--calls",
    type=click.IntRange(1),
    help="The most questions to the model. [default: 3 for every 10 scenarios, and 3]",
)
@command_option(
    "--validation",
    default=0.1,
    show_default=True,
    type=FiniteRange(0, 0.9),
    help="The share of scenarios for validation.",
)
@judge_option("ledger", help="Where answers are recorded: a path or a URL. [default: OUT.ledger.db]")
@judge_option("max_tokens")
@judge_option("concurrency")
@judge_option("params")
@add_force_option
def write(task: str, **options: Any) -> int:
    """Have a model write scenarios for TASK, a sentence such as "answers questions about train tickets".

    The model names sub-topics. Then each round asks for what the grid of sub-topics and difficulties still lacks;
    near-duplicates are dropped. Answers are recorded in a ledger next to OUT: run the same command again to continue
    after an interruption, and no answer is paid for twice.

    \b
    calipers scenarios "answers questions about train tickets" -n 200 \\
      -o train.jsonl --judge openai/gpt-5-mini
    calipers scenarios "looks up orders and refunds them" -o train.parquet \\
      --judge openai/gpt-5-mini --tools tools.json
    calipers generate train.jsonl -o groups.jsonl --model openai/gpt-5-nano --n 8

    Exit code: 0 all were written, 1 fewer than asked for or with problems, 2 none, or bad usage.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.scenarios.files import require_scenario_file, validation_path  # noqa: PLC0415 - --help stays quick
    from calipers.scenarios.making import Options, require_request  # noqa: PLC0415 - likewise

    out = options["out"]
    if not writes_text(options["judge"]):
        raise ConfigError(f"--judge {options['judge']}: it scores answers and writes no text; name a model that does")
    require_request(task, Options(options["count"], tuple(options["topic"]), options["calls"]))
    require_scenario_file(out)
    for path in (out, validation_path(out)):
        require_replaceable("--out", path, force=options["force"], beside={"the ledger": options["ledger"]})
    with tells_if_interrupted("Answers are in the ledger: run the same command again to continue."):
        return asyncio.run(_write(task, out, options))


async def _write(task: str, out: str, options: dict[str, Any]) -> int:
    from calipers.ledger import open_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.scenarios import Options, split, write_scenarios  # noqa: PLC0415 - likewise
    from calipers.scenarios.files import read_tools, write_split  # noqa: PLC0415 - likewise
    from calipers.scenarios.making import connected_writer  # noqa: PLC0415 - likewise

    tools: tuple[Tool, ...] = read_tools(options["tools"]) if options["tools"] else ()
    with ExitStack() as stack:
        ledger = open_ledger(options["ledger"] or f"{out}.ledger.db")
        stack.callback(ledger.close)
        writer = connected_writer(
            options["judge"],
            ledger=ledger,
            base_url=options["base_url"],
            options=given_options(options, "max_tokens", "concurrency", "params"),
        )
        wanted = Options(options["count"], tuple(options["topic"]), options["calls"], writer.params)
        made = await write_scenarios(task, writer.store, writer.backend, wanted, tools=tools)
    for problem in dict.fromkeys(made.problems):
        print_message(f"Warning: {problem}")
    if not made.scenarios:
        raise InputError(f"no scenario could be used ({_by_reason(made) or 'the replies hold none'})")
    parts = split(made.scenarios, options["validation"])
    write_split(parts, out, tools)
    _print_coverage(made, parts, tools)
    return int(len(made.scenarios) < options["count"] or bool(made.problems))


def _by_reason(made: Made) -> str:
    return ", ".join(f"{count} × {why}" for why, count in made.refused.most_common())


def _print_coverage(made: Made, parts: Split, tools: tuple[Tool, ...]) -> None:
    from calipers.scenarios.making import DIFFICULTIES, Cell, tool_names  # noqa: PLC0415 - --help stays quick

    have, quotas = Counter(one.cell for one in made.scenarios), made.grid.quotas()
    width = max(len(printable(topic)) for topic in made.grid.topics)
    click.echo("  ".join([" " * width, *(f"{name:>8}" for name in DIFFICULTIES)]))
    for topic in made.grid.topics:
        cells = [Cell(topic, name) for name in DIFFICULTIES]
        figures = [f"{have[cell]}/{quotas[cell]}" for cell in cells]
        click.echo("  ".join([f"{printable(topic):{width}}", *(f"{figure:>8}" for figure in figures)]))
    nearest = "" if parts.nearest is None else f"; the two most alike across them share {parts.nearest:.0%} of words"
    click.echo(
        f"{len(made.scenarios)} of {made.grid.wanted} scenarios by {counted(made.calls, 'call')}: "
        f"{len(parts.train)} for training, {len(parts.validation)} for validation{nearest}"
    )
    if made.refused:
        click.echo(f"{made.refused.total()} were refused: {_by_reason(made)}")
    used = {name for one in made.scenarios for name in one.tools}
    if unused := [name for name in tool_names(tools) if name not in used]:
        click.echo(printable(f"No scenario is said to need: {', '.join(unused)}"))


@scenarios.command(short_help="Keep scenarios whose rollouts differ.")
@click.argument("scenarios", type=InputFile())
@click.argument("result", type=InputFile())
@command_option(
    "-o", "--out", required=True, metavar="OUT", help="The scenarios that are kept, in the form of SCENARIOS."
)
@command_option(
    "--solved",
    default=0.5,
    show_default=True,
    type=FiniteRange(),
    help="A rollout is solved from this score on.",
)
@add_force_option
def keep(scenarios: str, result: str, out: str, *, solved: float, force: bool) -> int:
    """Keep the scenarios in SCENARIOS whose groups in RESULT differ in score, and advise group size and number.

    RESULT is what calipers score wrote for rollouts of SCENARIOS. A scenario that is always or never solved gives GRPO
    no advantage. OUT has the form of SCENARIOS: .jsonl or .parquet.

    \b
    calipers scenarios keep train.jsonl scored.jsonl -o kept.jsonl

    Exit code: 0 some were kept, 1 none were, 2 bad usage or files that do not belong together.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.generation.forms import write_rows  # noqa: PLC0415 - --help stays quick
    from calipers.scenarios import keep as sorted_out  # noqa: PLC0415 - likewise
    from calipers.scenarios.files import read_rollouts, read_scenarios, require_scenario_file  # noqa: PLC0415

    require_scenario_file(out)
    if out.endswith(".parquet") != scenarios.endswith(".parquet"):
        raise ConfigError(f"--out {out}: scenarios are kept in the form of {scenarios}; give it the same suffix")
    require_replaceable("--out", out, force=force, beside={"SCENARIOS": scenarios, "RESULT": result})
    rows = read_scenarios(scenarios)
    groups, strangers = read_rollouts(result, rows)
    if strangers:
        print_message(
            f"Warning: RESULT has {counted(len(strangers), 'group')} whose group_id is no scenario's id, ignored here "
            f"(the first: {strangers[0]!r:.200})"
        )
    found = sorted_out(groups, solved=solved, informative=_INFORMATIVE)
    write_rows([rows[name] for name in rows if name in set(found.kept)], out)
    _print_kept(found, len(rows))
    print_message(f"Wrote {counted(len(found.kept), 'scenario')}: {out}")
    return int(not found.kept)


def _print_kept(found: Kept, total: int) -> None:
    judged = [found.kept, found.always, found.never, found.unknown]
    names = ("differ: kept", "always solved", "never solved", "fewer than two scores")
    for name, scenarios_of in zip(names, judged, strict=True):
        click.echo(f"{len(scenarios_of):6}  {name}")
    click.echo(f"{total - sum(map(len, judged)):6}  without rollouts")
    if found.advice is None:
        return
    shares = ", ".join(f"{share:.0%} at {size}" for size, share in found.advice.differing.items())
    click.echo(f"Of the kept groups, expected to differ again, by group size: {shares}")
    click.echo(
        f"Advice: groups of {found.advice.size}, and {found.advice.groups} of them a step for {_INFORMATIVE} that "
        "differ"
    )
