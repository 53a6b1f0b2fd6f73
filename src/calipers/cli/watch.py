"""``calipers watch``: lines about a run, read from its ledger."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click

from calipers.cli.messages import print_message
from calipers.cli.progress import counts_by_status, span
from calipers.errors import InputError, LedgerError
from calipers.ledger.opening import ledger_name
from calipers.ledger.sqlite import is_locked
from calipers.report.following import FollowedRun, RunState
from calipers.report.recorded import WINDOW
from calipers.report.sources import is_ledger, ledger_beside
from calipers.types.encoding import as_sentence, printable

_WIDTH: Final = 80
_SHOWN: Final = (
    "scored_rate", "parse_failure_rate", "abstention_rate", "incomplete_rate", "failure_rate", "reask_rate",
    "order_flip_rate", "retry_rate", "noise_sd", "cache_hit_rate", "stderr_mean", "latency_p50", "reward_mean",
    "latency_p90", "reward_std", "attack_rate", "flat_group_rate", "canary_win_rate", "length_correlation",
    "position_correlation", "staleness_mean", "staleness_max", "stale_rate",
)  # fmt: skip
"""The health metrics that are shown; docs/health.md explains them. Alarms may be about others."""
_SILENT: Final = 120.0
"""After so many seconds without an answer, the run may have ended: a ledger does not say so."""


def watch(ledger: str, run: int | None, *, once: bool) -> int:
    """Print a run's state once, or lines about it until Ctrl-C; return the exit code."""
    reading = _Reading(ledger, run)
    if once:
        state = reading.next(patient=False)
        while isinstance(state, RunState) and not state.caught_up:
            state = reading.next(patient=False)
        if isinstance(state, str):
            raise LedgerError(state)
        click.echo(printable("\n".join(run_lines(state, reading.name))))
        return 1 if state.alarms or state.early else 0
    try:
        _print_lines(reading)
    except KeyboardInterrupt:
        print_message("Stopped watching; the run goes on.")
    return 0


class _Reading:
    """Reads the run again and again; what goes wrong meanwhile is text, and may pass."""

    def __init__(self, given: str, run: int | None) -> None:
        self.name = given
        self._given, self._run = given, run
        self._location: str | None = None
        self._followed: FollowedRun | None = None
        self._has_read = False

    def next(self, *, patient: bool = True) -> RunState | str:
        """Return the run's state, or a sentence that says why there is none yet.

        Raises LedgerError or InputError for what waiting does not mend; not ``patient``, also for a locked ledger.
        """
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


def _ledger_of(given: str) -> str | None:
    """Return the ledger that LEDGER names: itself, or the one beside a result file. None if there is none yet."""
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


def _print_lines(reading: _Reading, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Print a line every ten seconds where something is new, and each alarm when it begins, until Ctrl-C."""
    last = ""
    lasting: set[str] = set()
    while True:
        state = reading.next()
        if isinstance(state, str):
            if state != last:
                click.echo(printable(state))
            last = state
            sleep(1.0)
        elif state.caught_up:
            line = run_line(state)
            news = f"{line.partition(', last answer')[0]} {_is_silent(state)}"
            if news != last:
                click.echo(printable(line))
            last = news
            alarms = {one.metric: text for one, text in zip(state.alarms, alarm_lines(state), strict=False)}
            for metric in sorted(alarms.keys() - lasting):
                click.echo(printable(alarms[metric]))
            lasting = set(alarms)
            sleep(10.0)


def run_line(state: RunState) -> str:
    """Return the state of a run as one line."""
    unscored = state.tally.trajectories["abstained"] + state.tally.trajectories["failed"]
    parts = [
        f"run {state.run.id}: {state.tally.groups.total():,} groups",
        *([] if not state.since_begun else [f"{state.tally.groups.total() / state.since_begun:,.3g}/s"]),
        f"{unscored:,} trajectories unscored",
        f"{state.failed_calls.total():,} failed calls",
        _spend(state),
        *([] if state.since_answer is None else [f"last answer {span(state.since_answer)} ago"]),
        *(["so the run may have ended"] if _is_silent(state) else []),
    ]
    return ", ".join(parts)


def _is_silent(state: RunState) -> bool:
    return state.since_answer is not None and state.since_answer > _SILENT


def alarm_lines(state: RunState) -> list[str]:
    """Return a line for each alarm that the run's health metrics raise, or would raise with more groups."""
    few = f"too few groups to tell ({state.metrics.get('judge/groups', 0):.0f} of "
    return [
        *(f"ALARM: {one.message(state.metrics)}" for one in state.alarms),
        *(f"{few}{one.groups}): {one.message(state.metrics)}" for one in state.early),
    ]


def run_lines(state: RunState, name: str) -> list[str]:
    """Return the state of the run of the ledger ``name`` as lines of at most 80 columns."""
    lines = [*_heading(state, name), "", *_counts(state)]
    lines += [""] * bool(state.alarms or state.early)
    for text in alarm_lines(state):
        lines += textwrap.wrap(text, _WIDTH, subsequent_indent="  ")
    known = [(metric, state.metrics[f"judge/{metric}"]) for metric in _SHOWN if f"judge/{metric}" in state.metrics]
    if known:
        groups = int(state.metrics.get("judge/groups", 0))
        lines += ["", f"health of {'the last ' if groups == WINDOW else ''}{groups:,} groups"]
        lines += [f"  {metric:<24}{value:>9.3f}" for metric, value in known]
    if state.tally.reasons:
        lines += ["", "trajectories without a score, most frequent reasons"]
        lines += [f"  {count:,} × {reason}" for reason, count in state.tally.reasons.most_common(3)]
    return [line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines]


def _heading(state: RunState, name: str) -> Iterator[str]:
    settings = state.run.settings
    judges = [str(one.get("judge")) for one in settings.get("judges", ())]
    shown = ", ".join(judges[:3]) + (f" and {len(judges) - 3} more" if len(judges) > 3 else "")
    yield f"{name}, run {state.run.id}"
    yield ", ".join(filter(None, (shown, str(settings.get("protocol", "")), f"orders {settings.get('orders')}")))
    begun = "" if state.since_begun is None else f"began {span(state.since_begun)} ago"
    last = "no answer yet" if state.since_answer is None else f"last answer {span(state.since_answer)} ago"
    yield ", ".join(filter(None, (begun, last)))


def _counts(state: RunState) -> Iterator[str]:
    failed = ", ".join(f"{kind} {count:,}" for kind, count in state.failed_calls.most_common())
    waiting = f", and {state.waiting:,} about groups that are not finished" if state.waiting else ""
    for label, text in (
        ("groups", counts_by_status(state.tally.groups)),
        ("trajectories", counts_by_status(state.tally.trajectories)),
        ("answers", f"{state.tally.answers:,}{waiting}"),
        ("failed calls", f"{state.failed_calls.total():,}{f': {failed}' if failed else ''}"),
        ("spend", _spend(state)),
    ):
        yield f"{label:<14} {text}"


def _spend(state: RunState) -> str:
    usage = state.tally.usage
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:,.4f}"
    return f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}"
