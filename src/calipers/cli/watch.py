"""``calipers watch``: the state of a run, read from its ledger."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from calipers.cli.progress import counts_by_status, span
from calipers.errors import InputError
from calipers.ledger.opening import ledger_name
from calipers.report.recorded import WINDOW, RunState, run_state
from calipers.report.sources import is_ledger, ledger_beside
from calipers.types.encoding import printable

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


def watch(ledger: str, run: int | None) -> int:
    """Print the state of a run, and return the exit code: 1 if it raises an alarm, or would with more groups."""
    location = _ledger_of(ledger)
    state = run_state(location, run)
    click.echo(printable("\n".join(run_lines(state, ledger_name(location)))))
    return int(bool(state.alarms or state.early))


def _ledger_of(given: str) -> str:
    """Return the ledger that LEDGER names: itself, or the one beside a result file."""
    path = Path(given)
    if "://" in given or not path.exists() or (path.is_file() and is_ledger(given)):
        return ledger_beside(given) or given
    if (beside := ledger_beside(given)) is None:
        raise InputError("is not a ledger; name OUT.ledger.db, or what --ledger named", source=given)
    return beside


def alarm_lines(state: RunState) -> list[str]:
    """Return a line for each alarm that the run's health metrics raise, or would raise with more groups."""
    few = f"too few groups to tell ({state.metrics.get('judge/groups', 0):.0f} of "
    return [
        *(f"ALARM: {alarm.message(state.metrics)}" for alarm in state.alarms),
        *(f"{few}{alarm.groups}): {alarm.message(state.metrics)}" for alarm in state.early),
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
    judges = [str(judge.get("judge")) for judge in settings.get("judges", ())]
    shown = ", ".join(judges[:3]) + (f" and {len(judges) - 3} more" if len(judges) > 3 else "")
    yield f"{name}, run {state.run.id}"
    yield ", ".join(filter(None, (shown, str(settings.get("protocol", "")), f"orders {settings.get('orders')}")))
    begun = "" if state.since_begun is None else f"began {span(state.since_begun)} ago"
    last = "no answer yet" if state.since_answer is None else f"last answer {span(state.since_answer)} ago"
    ended = "so the run may have ended" if (state.since_answer or 0.0) > _SILENT else ""
    yield ", ".join(filter(None, (begun, last, ended)))


def _counts(state: RunState) -> Iterator[str]:
    failed = ", ".join(f"{kind} {count:,}" for kind, count in state.failed_calls.most_common())
    waiting = f", and {state.waiting:,} about groups that are not finished" if state.waiting else ""
    usage = state.tally.usage
    cost = "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:,.4f}"
    for label, text in (
        ("groups", counts_by_status(state.tally.groups)),
        ("trajectories", counts_by_status(state.tally.trajectories)),
        ("answers", f"{state.tally.answers:,}{waiting}"),
        ("failed calls", f"{state.failed_calls.total():,}{f': {failed}' if failed else ''}"),
        ("spend", f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {cost}"),
    ):
        yield f"{label:<14} {text}"
