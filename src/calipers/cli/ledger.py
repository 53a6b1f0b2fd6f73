"""``calipers ledger``: verifies, exports and prunes ledgers, in SQLite and in Postgres."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import click

from calipers.cli.messages import print_message
from calipers.cli.output import require_replaceable
from calipers.errors import ConfigError
from calipers.ledger import open_ledger, read_ledger
from calipers.ledger.contents import write_parquet
from calipers.ledger.upkeep import prune_ledger, verify_ledger
from calipers.types.encoding import counted, printable


def export(ledger: str, out: str, run: int | None, *, redact: bool, force: bool) -> int:
    """Write questions and answers to Parquet, and return the exit code."""
    require_replaceable("--out", out, force=force, beside={"the ledger": ledger})
    with read_ledger(ledger) as reader:
        count = write_parquet(reader, Path(out), run, redact=redact)
    print_message(f"{out}: {counted(count, 'question')}{', without texts' if redact else ''}")
    return 0


def prune(ledger: str, keep: int | None, before: str | None, *, dry_run: bool) -> int:
    """Remove old runs, and return the exit code."""
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


def verify(ledger: str) -> int:
    """Report what is damaged, and return the exit code."""
    with read_ledger(ledger) as reader:
        reader.check()
        found = verify_ledger(reader)
        name = reader.name
    for problem in found.problems:
        click.echo(printable(problem))
    if found.more:
        click.echo(f"and {found.more:,} more")
    nouns = {"runs": "run", "groups": "group", "asks": "question", "answers": "answer"}
    rows = ", ".join(counted(found.rows[key], noun) for key, noun in nouns.items())
    print_message(f"{name}: {rows}; {'damaged' if found.problems else 'all can be read'}")
    return int(bool(found.problems))
