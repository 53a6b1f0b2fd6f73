"""``calipers doctor``: examines a judge before a run."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import FiniteRange, command_option, env_file_option
from calipers.cli.judge_options import given_options, judge_option
from calipers.cli.messages import wrap_for_console
from calipers.errors import ConfigError
from calipers.types import Usage
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from rich.console import Console

    from calipers.cli.progress import ProgressLine
    from calipers.doctor import Diagnosis

_WIDTH = 140
_STYLES = {"good": "green", "note": "", "bad": "red", "unknown": "dim"}


@click.command(short_help="Examine a judge before a run.")
@judge_option("judge", required=True, help="The judge to examine: provider/model, as for score.")
@judge_option(
    "base_url",
    help="The judge's OpenAI-compatible endpoint, if it is not the provider's own.",
)
@command_option(
    "--within",
    default=60.0,
    show_default=True,
    type=FiniteRange(0, min_open=True),
    help="Seconds the whole examination may take.",
)
@judge_option(
    "concurrency",
    default=None,
    help="How many calls are in flight at once. [default: as many as the server says that it runs at once, else 8]",
)
@judge_option("timeout", default=60.0)
@judge_option("max_tokens")
@judge_option("params")
@judge_option("price")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@env_file_option
def doctor(judge: tuple[str, ...], *, as_json: bool, **options: Any) -> int:
    """Find out with some thirty-five short questions what a judge can do, and whether to use it.

    Doctor checks whether the judge can be reached and accepts the key, which structured output its server enforces,
    whether it keeps to ids and scale, and whether it ranks good answers above bad ones, in any order and even if a bad
    answer addresses the judge. Prints a verdict (fit, fit with these settings, unfit) with its reason, and settings for
    a file that calipers --config names.

    \b
    calipers doctor --judge openai/gpt-5-mini
    calipers doctor --judge vllm/qwen3-32b --base-url http://localhost:8000/v1
    calipers doctor --judge ollama/qwen3:32b --json | jq .verdict

    Exit code: 0 fit (also with settings), 1 unfit, 2 bad usage or configuration.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.cli.progress import ProgressLine  # noqa: PLC0415 - --help stays quick
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise
    from calipers.doctor import diagnose  # noqa: PLC0415 - likewise

    if len(judge) > 1:
        raise ConfigError("--judge was given more than once: examine one judge at a time")
    name, urls = judge[0], options["base_url"]
    if len(urls) > 1:
        raise ConfigError("--base-url was given more than once: examine one server at a time")
    settings = given_options(options, "params", "max_tokens", "timeout", "price", "concurrency")
    settings |= {"within": options["within"]}
    with ProgressLine(Terminal(stderr=True), total=None) as line:
        settings |= {"tell": line.say, "spent": Progress(line, within=options["within"]).add}
        found = asyncio.run(diagnose(name, base_url=next(iter(urls), None), **settings))
    if as_json:
        click.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        _print(found)
    return 1 if found.verdict == "unfit" else 0


@dataclass(slots=True)
class Progress:
    """Counts an examination's answers, tokens and dollars (None: unknown), and shows them with its time."""

    line: ProgressLine
    within: float
    clock: Callable[[], float] = time.monotonic
    answers: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def add(self, answers: int, usage: Usage) -> None:
        """Count what was added, and update the doctor's progress line."""
        self.answers += answers
        self.usage = Usage.total([self.usage, usage])
        parts = [counted(self.answers, "answer"), f"{self.usage.input_tokens + self.usage.output_tokens:,} tokens"]
        parts += [f"${self.usage.cost_usd:,.2f}"] if self.usage.cost_usd else []
        parts += [f"{self.clock() - self.started:.0f} of at most {self.within:g} s"]
        self.line.move(self.answers, ", ".join(parts))


def _print(found: Diagnosis) -> None:
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    console = table_console(width=_WIDTH)
    _print_checks(console, found)
    console.print(_bill(found), markup=False)
    verdict = f"\n{found.judge}: {found.verdict}: {found.reason}"
    console.print(wrap_for_console(console, verdict), markup=False, soft_wrap=True, style="bold")
    if found.settings:
        console.print("\n# judge.toml, for calipers --config judge.toml", markup=False)
        console.print(found.toml(), markup=False, soft_wrap=True, end="")


def _print_checks(console: Console, found: Diagnosis) -> None:
    from rich.table import Table  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    table = Table("check", "", "found", box=None, pad_edge=False)
    for one in found.checks:
        table.add_row(one.name, Text(one.standing, style=_STYLES[one.standing]), Text(one.says))
    console.print(table)


def _bill(found: Diagnosis) -> str:
    cost = "price unknown" if found.usage.cost_usd is None else f"${found.usage.cost_usd:.4f}"
    tokens = f"{found.usage.input_tokens:,} tokens in, {found.usage.output_tokens:,} out"
    calls = counted(found.sent, "call")
    if found.calls < found.sent:
        calls = f"{found.calls:,} of {calls} answered"
    return f"\n{calls} in {found.seconds:.1f} s, {tokens}, {cost}"
