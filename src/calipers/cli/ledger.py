"""``calipers ledger``: lists, shows, exports and verifies ledgers, in SQLite and in Postgres."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.types.encoding import counted, printable

if TYPE_CHECKING:
    from calipers.ledger.database import ReadableLedger


_MOST_NAMED = 20


@click.group("ledger", short_help="List, export and check ledgers.")
def ledger_commands() -> None:
    """Look after the ledgers in which answers are recorded.

    LEDGER is a file that calipers score wrote (OUT.ledger.db), or the address of one in Postgres
    (postgresql://USER@HOST/DATABASE). Nothing is written to it.

    \b
    calipers ledger list scored.jsonl.ledger.db
    calipers ledger verify scored.jsonl.ledger.db
    """  # noqa: D301 - click's mark for lines to keep as they are


@ledger_commands.command("list", short_help="List the runs of a ledger.")
@click.argument("ledger")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each run instead of a table.")
def list_runs(ledger: str, *, as_json: bool) -> int:
    """List the runs of LEDGER: number, beginning, version of calipers, judges, finished groups, answers of the judge.

    Exit code: 0 listed, 2 bad usage or a ledger that cannot be read.
    """
    from calipers.ledger import read_ledger  # noqa: PLC0415 - --help stays quick

    with read_ledger(ledger) as reader:
        runs = [_about_run(reader, number) for number in _run_numbers(reader)]
    if as_json:
        for run in runs:
            click.echo(json.dumps(run, ensure_ascii=False))
        return 0
    from rich.table import Table  # noqa: PLC0415 - likewise
    from rich.text import Text  # noqa: PLC0415 - likewise

    from calipers.cli.terminal import table_console  # noqa: PLC0415 - likewise

    table = Table("run", "began", "version", "judges", "protocol", "groups", "answers", box=None, pad_edge=False)
    for run in runs:
        cells = [run["began"][:19].replace("T", " "), run["version"], ", ".join(run["judges"]), run["protocol"]]
        counts = [f"{run['groups']:,}", f"{run['answers']:,}"]
        table.add_row(str(run["run"]), *(Text(printable(cell)) for cell in cells), *counts)
    table_console(width=120).print(table)
    return 0


def _run_numbers(reader: ReadableLedger) -> list[int]:
    return [row[0] for row in reader.rows("SELECT id FROM runs ORDER BY id")] if reader.runs_recorded else []


def _about_run(reader: ReadableLedger, number: int) -> dict[str, Any]:
    from calipers.ledger.answers import find_run  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.contents import extent_of_run  # noqa: PLC0415 - likewise

    run, extent = find_run(reader, number), extent_of_run(reader, number)
    [(answers,)] = reader.rows(
        "SELECT count(*) FROM (SELECT DISTINCT key FROM asks WHERE run = ?) AS own JOIN answers USING (key)", (number,)
    )
    return {
        "run": number,
        "began": extent.began,
        "last_answer": extent.last,
        "version": run.version,
        "judges": [str(one["judge"]) for one in run.settings["judges"]],
        "protocol": str(run.settings["protocol"]),
        "groups": extent.groups,
        "answers": answers,
        "failed_calls": dict(extent.failed),
    }


@ledger_commands.command("show", short_help="Print a run's settings and what it took.")
@click.argument("ledger")
@command_option("--run", type=int, metavar="ID", help="The number of the run in the ledger. [default: the latest]")
def show_run(ledger: str, run: int | None) -> int:
    """Print one JSON object about a run of LEDGER: what list prints, and its usage, outcomes and settings.

    calipers show prints its groups.

    Exit code: 0 printed, 2 bad usage or a ledger that cannot be read.
    """
    from calipers.ledger import read_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.answers import find_run  # noqa: PLC0415 - likewise

    with read_ledger(ledger) as reader:
        found = find_run(reader, run)
        outcomes = reader.rows(
            "SELECT outcome, count(*) FROM asks WHERE run = ? GROUP BY outcome ORDER BY 2 DESC, 1", (found.id,)
        )
        [(given, produced, cost)] = reader.rows(
            "SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), sum(cost_usd) FROM answers "
            "WHERE key IN (SELECT key FROM asks WHERE run = ?)",
            (found.id,),
        )
        about = _about_run(reader, found.id)
    usage = {"input_tokens": int(given), "output_tokens": int(produced), "cost_usd": cost}
    about |= {"outcomes": dict(outcomes), "usage": usage, "settings": dict(found.settings)}
    click.echo(json.dumps(about, ensure_ascii=False, indent=2))
    return 0


@ledger_commands.command(short_help="Write a ledger's questions and answers to Parquet.")
@click.argument("ledger")
@command_option("-o", "--out", required=True, named=True, metavar="FILE", help="The Parquet file to write.")
@command_option("--run", type=int, metavar="ID", help="The number of the run to export. [default: all]")
@add_force_option
def export(ledger: str, out: str, run: int | None, *, force: bool) -> int:
    """Write a row for each question of LEDGER to a Parquet file: its group, its outcome, the answer and what it took.

    Exit code: 0 written, 2 bad usage or a ledger that cannot be read.
    """
    from calipers.ledger import read_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.contents import write_parquet  # noqa: PLC0415 - likewise

    require_replaceable("--out", out, force=force, beside={"the ledger": ledger})
    with read_ledger(ledger) as reader:
        count = write_parquet(reader, Path(out), run)
    print_message(f"{out}: {counted(count, 'question')}")
    return 0


@ledger_commands.command(short_help="Read a whole ledger and report damage.")
@click.argument("ledger")
def verify(ledger: str) -> int:
    """Read all of LEDGER and report what is damaged: the file itself, contents that cannot be read, missing answers.

    A text that was changed to another one is not noticed; calipers replay shows whether results still follow.

    Exit code: 0 all can be read, 1 damaged, 2 bad usage or a ledger that cannot be read at all.
    """
    from calipers.ledger import read_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.contents import verify_ledger  # noqa: PLC0415 - likewise

    with read_ledger(ledger) as reader:
        reader.check()
        found = verify_ledger(reader)
        name = reader.name
    for problem in found.problems[:_MOST_NAMED]:
        click.echo(printable(problem))
    if more := found.problems[_MOST_NAMED:]:
        click.echo(f"and {len(more):,} more")
    print_message(f"{name}: {_rows_read(found.rows)}; {'damaged' if found.problems else 'all can be read'}")
    return 1 if found.problems else 0


def _rows_read(rows: dict[str, int]) -> str:
    named = {"runs": "run", "groups": "group", "asks": "question", "answers": "answer"}
    return ", ".join(counted(rows[name], noun) for name, noun in named.items())
