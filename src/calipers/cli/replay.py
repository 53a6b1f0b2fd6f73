"""``calipers replay``: writes a recorded run's result file again from its ledger."""

from __future__ import annotations

import asyncio

import click

from calipers.cli.command_options import command_option
from calipers.cli.output import Output, add_force_option, require_replaceable
from calipers.cli.score import exit_code, shows_results


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
    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - --help stays quick
    from calipers.config.settings import Settings  # noqa: PLC0415
    from calipers.judging.judge import Judge  # noqa: PLC0415
    from calipers.ledger import Replayer, open_ledger  # noqa: PLC0415

    with open_ledger(location, create=False) as ledger:
        store = Replayer(ledger, run)
        judge = Judge.replaying(Settings.of(store.recorded.settings), store)
        console = Terminal(stderr=True)
        with Report(console, total=None, live=not shows_results(out)) as report, Output(out) as output:
            async for result in judge.score_groups(store.groups(), ordered=True):
                output.write(result)
                report.add(result)
    report.summary(out=out if out != "-" else "")
    return exit_code(report.trajectories.keys())
