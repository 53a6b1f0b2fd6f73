"""``calipers scenarios``: writes training inputs for a task without data, and keeps those whose rollouts differ."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import click

from calipers.backends.names import writes_text
from calipers.cli.messages import print_message, tells_if_interrupted
from calipers.cli.options import given_options
from calipers.cli.output import require_replaceable
from calipers.errors import ConfigError, InputError
from calipers.generation.forms import FORMATS, write_rows
from calipers.judging.judge import Judge
from calipers.ledger import open_ledger
from calipers.scenarios.files import (
    KINDS,
    kind_of,
    read_scenarios,
    read_scores,
    read_tools,
    split,
    validation_path,
    write_split,
)
from calipers.scenarios.making import DIFFICULTIES, Made, tool_names, write_scenarios
from calipers.types import Tool
from calipers.types.encoding import counted, printable


def write(task: str, out: str, **options: Any) -> int:
    """Have a model write scenarios, and return the exit code."""
    if not writes_text(options["judge"]):
        raise ConfigError(f"--judge {options['judge']}: it scores answers and writes no text; name a model that does")
    if Path(task).is_file():
        raise ConfigError(f"{task}: is a file; describe the task in a sentence, or run `calipers scenarios keep`")
    for path in (out, validation_path(out)):
        require_replaceable("--out", path, *FORMATS, force=options["force"], beside={"the ledger": options["ledger"]})
    with tells_if_interrupted("Answers are in the ledger: run the same command again to continue."):
        return asyncio.run(_write(task, out, options))


async def _write(task: str, out: str, options: dict[str, Any]) -> int:
    tools: tuple[Tool, ...] = read_tools(options["tools"]) if options["tools"] else ()
    with open_ledger(options["ledger"] or f"{out}.ledger.db") as ledger:
        calls = given_options(options, "max_tokens", "concurrency", "params")
        writer = Judge.of({"judge": options["judge"], "ledger": ledger, "base_url": options["base_url"], **calls})
        written = await write_scenarios(task, options["count"], writer, tools=tools)
    for problem in dict.fromkeys(written.problems):
        print_message(f"Warning: {problem}")
    if not written.scenarios:
        raise InputError(f"no scenario could be used ({_by_reason(written) or 'the replies hold none'})")
    parts = split(written.scenarios, options["validation"])
    write_split(parts, out, tools)
    _print_coverage(written, tools)
    click.echo(
        f"{len(written.scenarios)} of {options['count']} scenarios by {counted(written.calls, 'call')}: "
        f"{len(parts.train)} for training, {len(parts.validation)} for validation"
    )
    return int(len(written.scenarios) < options["count"] or bool(written.problems))


def _by_reason(made: Made) -> str:
    return ", ".join(f"{count} × {why}" for why, count in made.refused.most_common())


def _print_coverage(made: Made, tools: tuple[Tool, ...]) -> None:
    have = Counter((scenario.topic, scenario.difficulty) for scenario in made.scenarios)
    width = max(len(printable(topic)) for topic in made.topics)
    click.echo("  ".join([" " * width, *(f"{name:>8}" for name in DIFFICULTIES)]))
    for topic in made.topics:
        figures = [f"{have[topic, name]:8}" for name in DIFFICULTIES]
        click.echo("  ".join([f"{printable(topic):{width}}", *figures]))
    if made.refused:
        click.echo(f"{made.refused.total()} were refused: {_by_reason(made)}")
    used = {name for scenario in made.scenarios for name in scenario.tools}
    if unused := [name for name in tool_names(tools) if name not in used]:
        click.echo(printable(f"No scenario is said to need: {', '.join(unused)}"))


def keep(scenarios: str, result: str, out: str, *, solved: float, force: bool) -> int:
    """Keep the scenarios whose rollouts differ, and return the exit code."""
    form = FORMATS[scenarios.endswith(".parquet")]
    require_replaceable("--out", out, form, force=force, beside={"SCENARIOS": scenarios, "RESULT": result})
    rows = read_scenarios(scenarios)
    scores, strangers = read_scores(result, rows)
    if strangers:
        print_message(
            f"Warning: RESULT has {counted(len(strangers), 'group')} whose group_id is no scenario's id, ignored here "
            f"(the first: {strangers[0]!r:.200})"
        )
    kinds = {name: kind_of(scores_of_scenario, solved=solved) for name, scores_of_scenario in scores.items()}
    kept = [row for name, row in rows.items() if kinds.get(name) == KINDS[0]]
    write_rows(kept, out)
    counts = Counter(kinds.values())
    for kind in KINDS:
        click.echo(f"{counts[kind]:6}  {kind}")
    click.echo(f"{len(rows) - len(kinds):6}  without rollouts")
    print_message(f"Wrote {counted(len(kept), 'scenario')}: {out}")
    return int(not kept)
