"""``calipers ledger``: lists, shows, exports, prunes, verifies and moves ledgers, in SQLite and in Postgres."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message
from calipers.cli.output import add_force_option, require_replaceable
from calipers.errors import ConfigError
from calipers.types.encoding import counted, printable

if TYPE_CHECKING:
    from calipers.ledger.database import ReadableLedger


@click.group("ledger", short_help="List, export, prune, check and move ledgers.")
def ledger_commands() -> None:
    """Look after the ledgers in which answers are recorded.

    LEDGER is a file that calipers score wrote (OUT.ledger.db), or the address of one in Postgres
    (postgresql://USER@HOST/DATABASE). Only prune and move write anything.

    \b
    calipers ledger list scored.jsonl.ledger.db
    calipers ledger verify scored.jsonl.ledger.db
    calipers ledger move scored.jsonl.ledger.db postgresql://db.example/rewards
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
@click.option("--redact", is_flag=True, help="Leave out every text of a policy, a user or a judge, and group ids.")
@add_force_option
def export(ledger: str, out: str, run: int | None, *, redact: bool, force: bool) -> int:
    """Write a row for each question of LEDGER to a Parquet file: its group, its outcome, the answer and what it took.

    Exit code: 0 written, 2 bad usage or a ledger that cannot be read.
    """
    from calipers.ledger import read_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.contents import write_parquet  # noqa: PLC0415 - likewise

    require_replaceable("--out", out, force=force, beside={"the ledger": ledger})
    with read_ledger(ledger) as reader:
        count = write_parquet(reader, Path(out), run, redact=redact)
    print_message(f"{out}: {counted(count, 'question')}{', without texts' if redact else ''}")
    return 0


@ledger_commands.command(short_help="Remove old runs and the answers only they used.")
@click.argument("ledger")
@command_option("--keep", type=click.IntRange(min=0), metavar="N", help="Remove all runs but the newest N.")
@command_option("--before", metavar="DATE", help="Remove runs that began before this day or time (2026-01-31), in UTC.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def prune(ledger: str, keep: int | None, before: str | None, *, dry_run: bool) -> int:
    """Remove old runs from LEDGER, and the answers that no remaining run used. This cannot be undone.

    With --keep and --before, a run is removed if both say so. A removed answer is paid for again if it is needed.

    Exit code: 0 done, 2 bad usage or a ledger that cannot be written.
    """
    from calipers.ledger import open_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.upkeep import prune_ledger  # noqa: PLC0415 - likewise

    since = None if before is None else _time(before)
    with open_ledger(ledger, create=False) as opened:
        pruned = asyncio.run(prune_ledger(opened, keep=keep, before=since, dry_run=dry_run))
    named = f" ({', '.join(map(str, pruned.runs))})" if pruned.runs else ""
    verb = "would be removed" if dry_run else "removed"
    print_message(f"{counted(len(pruned.runs), 'run')}{named} and {counted(pruned.answers, 'answer')} {verb}")
    return 0


def _time(text: str) -> str:
    """Return a day or time from the command line as the ledger writes times."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--before {text}: is no day or time; write 2026-01-31 or 2026-01-31T12:00") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="milliseconds")


@ledger_commands.command(short_help="Read a whole ledger and report damage.")
@click.argument("ledger")
def verify(ledger: str) -> int:
    """Read all of LEDGER and report what is damaged: the file itself, contents that cannot be read, missing answers.

    A text that was changed to another one is not noticed; calipers replay shows whether results still follow.

    Exit code: 0 all can be read, 1 damaged, 2 bad usage or a ledger that cannot be read at all.
    """
    from calipers.ledger import read_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.upkeep import verify_ledger  # noqa: PLC0415 - likewise

    with read_ledger(ledger) as reader:
        reader.check()
        found = verify_ledger(reader)
        name = reader.name
    for problem in found.problems:
        click.echo(printable(problem))
    if found.more:
        click.echo(f"and {found.more:,} more")
    print_message(f"{name}: {_rows_read(found.rows)}; {'damaged' if found.problems else 'all can be read'}")
    return 1 if found.problems else 0


def _rows_read(rows: dict[str, int]) -> str:
    named = {"runs": "run", "groups": "group", "asks": "question", "answers": "answer"}
    return ", ".join(counted(rows[name], noun) for name, noun in named.items())


@ledger_commands.command(short_help="Copy a ledger into another database.")
@click.argument("source")
@click.argument("target")
def move(source: str, target: str) -> int:
    """Copy the ledger SOURCE into TARGET, which must not have runs yet. SOURCE stays; remove it when you like.

    Either may be a file or a postgresql:// address. Replays of the copy are byte-equal.

    \b
    calipers ledger move runs.ledger.db postgresql://db.example/rewards
    calipers ledger move postgresql://db.example/rewards backup.ledger.db

    Exit code: 0 copied, 2 bad usage or a ledger that cannot be read or written.
    """  # noqa: D301 - click's mark for lines to keep as they are
    from calipers.ledger import open_ledger, read_ledger  # noqa: PLC0415 - --help stays quick
    from calipers.ledger.upkeep import copy_ledger  # noqa: PLC0415 - likewise

    with read_ledger(source) as reader, open_ledger(target) as opened:
        copied = asyncio.run(copy_ledger(reader, opened))
        name = opened.name
    print_message(f"{name}: {_rows_read(copied)}")
    return 0
