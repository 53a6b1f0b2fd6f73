"""``calipers ledger``: verifies, exports and prunes ledgers, in SQLite and in Postgres."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from calipers.cli.messages import print_message
from calipers.cli.output import require_replaceable
from calipers.ledger import open_ledger, read_ledger
from calipers.ledger.contents import prune_ledger, verify_ledger, write_parquet
from calipers.types.encoding import counted, printable

_MOST_NAMED = 20


def export(ledger: str, out: str, run: int | None, *, force: bool) -> int:
    """Write questions and answers to Parquet, and return the exit code."""
    require_replaceable("--out", out, ".parquet", force=force, beside={"the ledger": ledger})
    with read_ledger(ledger) as reader:
        count = write_parquet(reader, Path(out), run)
    print_message(f"{out}: {counted(count, 'question')}")
    return 0


def prune(ledger: str, keep: int, *, dry_run: bool) -> int:
    """Remove old runs, and return the exit code."""
    with open_ledger(ledger, create=False) as opened:
        runs, answers = asyncio.run(prune_ledger(opened, keep=keep, dry_run=dry_run))
    named = f" ({', '.join(map(str, runs))})" if runs else ""
    verb = "would be removed" if dry_run else "removed"
    print_message(f"{counted(len(runs), 'run')}{named} and {counted(answers, 'answer')} {verb}")
    return 0


def verify(ledger: str) -> int:
    """Report what is damaged, and return the exit code."""
    with read_ledger(ledger) as reader:
        reader.check()
        problems = verify_ledger(reader)
        print_message(f"{reader.name}: {'damaged' if problems else 'all can be read'}")
    for problem in problems[:_MOST_NAMED]:
        click.echo(printable(problem))
    if more := problems[_MOST_NAMED:]:
        click.echo(f"and {len(more):,} more")
    return int(bool(problems))
