"""``calipers watch``: follows a run in the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calipers.cli.command_options import command_option
from calipers.cli.messages import print_message
from calipers.errors import InputError, LedgerError
from calipers.types.encoding import as_sentence, printable

if TYPE_CHECKING:
    from rich.console import Group

    from calipers.report.following import FollowedRun, RunState

_EVERY = 1.0
_PLAIN_EVERY = 10.0
"""Seconds between two lines where there is no terminal."""
_WIDEST = 110


@click.command(short_help="Follow a run in the terminal.")
@click.argument("ledger", type=click.Path())
@command_option("--run", type=int, metavar="ID", help="The number of the run. [default: always the latest]")
@command_option("--once", is_flag=True, help="Print the state of the run once, and end.")
def watch(ledger: str, run: int | None, *, once: bool) -> int:
    """Follow the run that writes LEDGER: rate, failures by kind, spend, health of the judge, alarms.

    In a terminal, the lines are redrawn every second; elsewhere a line is printed every ten seconds. The ledger is only
    read. LEDGER may also be the result file OUT, beside which calipers score writes OUT.ledger.db. If there is no
    ledger or no run in it yet, watch waits for one. Ctrl-C ends it, and changes nothing for the run.

    \b
    calipers watch scored.jsonl.ledger.db
    calipers watch runs.db --run 3 --once

    Exit code: 0 ended with Ctrl-C or --once, 1 --once and the run raises an alarm, or would with more groups, 2 bad
    usage, or --once and no such ledger.
    """  # noqa: D301 - click's mark for lines to keep as they are
    reading = _Reading(ledger, run)
    if once:
        return _print_once(reading)
    try:
        if sys.stdout.isatty():
            _redraw(reading)
        else:
            _print_lines(reading)
    except KeyboardInterrupt:
        print_message("Stopped watching; the run goes on.")
    return 0


def _ledger_of(given: str) -> str | None:
    """Return the ledger that LEDGER names: itself, or the one beside a result file. None if there is none yet."""
    from calipers.report.sources import is_ledger, ledger_beside  # noqa: PLC0415 - --help stays quick

    path = Path(given)
    if "://" in given or (path.is_file() and is_ledger(given)):
        return given
    if (beside := ledger_beside(given)) is not None:
        return beside
    if path.exists() and (path.is_dir() or path.stat().st_size > 0):
        raise InputError("is not a ledger; name the file after --ledger, or OUT.ledger.db beside OUT", source=given)
    if not path.absolute().parent.is_dir():
        raise InputError("there is no such file, and no such folder", source=given)
    return None


def _print_once(reading: _Reading) -> int:
    from calipers.cli.watch_text import screen  # noqa: PLC0415 - --help stays quick

    state = reading.next(patient=False)
    while not isinstance(state, str) and not state.caught_up:
        state = reading.next(patient=False)
    if isinstance(state, str):
        raise LedgerError(state)
    click.echo(printable("\n".join(screen(state, reading.name))))
    return 1 if state.alarms or state.early else 0


class _Reading:
    """Reads the run again and again; what goes wrong meanwhile is text, and may pass."""

    def __init__(self, given: str, run: int | None) -> None:
        self.name = given
        self._given = given
        self._location: str | None = None
        self._run = run
        self._followed: FollowedRun | None = None
        self._has_read = False

    def next(self, *, patient: bool = True) -> RunState | str:
        """Return the run's state, or a sentence that says why there is none yet.

        Raises LedgerError or InputError for what waiting does not mend; not ``patient``, also for a locked ledger.
        """
        from calipers.ledger.opening import ledger_name  # noqa: PLC0415 - --help stays quick
        from calipers.ledger.sqlite import is_locked  # noqa: PLC0415 - likewise
        from calipers.report.following import FollowedRun  # noqa: PLC0415 - likewise

        waits = " yet; waiting for it. Ctrl-C ends." if patient else ""
        location = _ledger_of(self._given)
        if location is None:
            self._followed = None
            return f"{self._given}: there is no such ledger{waits}"
        if self._followed is None or location != self._location:
            self._location, self._followed = location, FollowedRun(location, self._run)
            self.name = ledger_name(location)
        try:
            state = self._followed.read()
        except LedgerError as error:
            if not patient or not (self._has_read or is_locked(error)):
                raise
            return f"{as_sentence(str(error))} Trying again. Ctrl-C ends."
        if state is None:
            return f"{self.name}: no run is recorded in it{waits}"
        self._has_read = True
        return state


def _redraw(reading: _Reading) -> None:
    """Show the run in lines that are redrawn, until Ctrl-C."""
    from rich.live import Live  # noqa: PLC0415 - --help stays quick

    from calipers.cli.terminal import Terminal  # noqa: PLC0415 - likewise

    console = Terminal(highlight=False)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        while True:
            found = reading.next()
            live.update(_drawn(found, reading.name, min(console.width, _WIDEST)), refresh=True)
            time.sleep(_EVERY if isinstance(found, str) or found.caught_up else 0)


def _drawn(found: RunState | str, location: str, width: int) -> Group:
    from rich.console import Group  # noqa: PLC0415 - --help stays quick
    from rich.text import Text  # noqa: PLC0415 - likewise

    from calipers.cli.messages import wrap_words  # noqa: PLC0415 - likewise
    from calipers.cli.watch_text import screen  # noqa: PLC0415 - likewise

    lines = [wrap_words(found, width)] if isinstance(found, str) else screen(found, location, width=width)
    return Group(*(Text(line, style="bold red" if line.startswith("ALARM") else "", overflow="fold") for line in lines))


def _print_lines(reading: _Reading, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Print a line every ten seconds, and each alarm when it begins, until Ctrl-C."""
    from calipers.cli.watch_text import alarm_lines, plain_line  # noqa: PLC0415 - --help stays quick

    said = ""
    lasting: set[str] = set()
    while True:
        found = reading.next()
        if isinstance(found, str):
            if found != said:
                click.echo(printable(found))
            said = found
            sleep(_EVERY)
        elif found.caught_up:
            click.echo(printable(plain_line(found)))
            alarms = {one.metric: text for one, text in zip(found.alarms, alarm_lines(found), strict=False)}
            for metric in sorted(alarms.keys() - lasting):
                click.echo(printable(alarms[metric]))
            said, lasting = "", set(alarms)
            sleep(_PLAIN_EVERY)
