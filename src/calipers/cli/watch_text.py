"""The text of ``calipers watch``: the state of a run as a few lines of at most 80 columns, or as one line for a log."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from calipers.report.following import RunState
from calipers.report.recorded import WINDOW

WIDTH: Final = 80
_LABEL: Final = 14
_REASONS: Final = 3
_JUDGES: Final = 3
_SHOWN: Final = (
    "scored_rate", "parse_failure_rate", "abstention_rate", "incomplete_rate", "failure_rate", "reask_rate",
    "order_flip_rate", "retry_rate", "noise_sd", "cache_hit_rate", "stderr_mean", "latency_p50", "reward_mean",
    "latency_p90", "reward_std", "attack_rate", "flat_group_rate", "canary_win_rate", "length_correlation",
    "position_correlation", "staleness_mean", "staleness_max", "stale_rate",
)  # fmt: skip
"""The health metrics that are shown, in two columns; docs/health.md explains them. Alarms may be about others."""


def screen(state: RunState, name: str, *, width: int = WIDTH) -> list[str]:
    """Return the state of the run of the ledger ``name`` as lines for a terminal of ``width`` columns."""
    lines = [*_heading(state, name), "", *_counts(state)]
    lines += [""] * bool(state.alarms or state.early)
    for text in alarm_lines(state):
        lines += textwrap.wrap(text, width, subsequent_indent="  ")
    if state.metrics:
        lines += ["", *_health(state, width)]
    if state.tally.reasons:
        lines += ["", "trajectories without a score, most frequent reasons"]
        lines += [f"  {count:,} × {reason}" for reason, count in state.tally.reasons.most_common(_REASONS)]
    return [_cut(line, width) for line in lines]


def plain_line(state: RunState) -> str:
    """Return the state of a run as one line, for a log."""
    unscored = state.tally.trajectories["abstained"] + state.tally.trajectories["failed"]
    parts = [
        f"run {state.run.id}: {state.tally.groups.total():,} groups",
        *([] if state.lately is None else [f"{_number(state.lately)}/s"]),
        f"{unscored:,} trajectories unscored",
        f"{state.failed_calls.total():,} failed calls",
        _tokens(state),
        _cost(state),
        *([] if state.since_answer is None else [f"last answer {span(state.since_answer)} ago"]),
    ]
    return ", ".join(parts)


def alarm_lines(state: RunState) -> list[str]:
    """Return a line for each alarm that the run's health metrics raise, or would raise with more groups."""
    lines = [f"ALARM: {one.message(state.metrics)}" for one in state.alarms]
    few = f"{state.metrics.get('judge/groups', 0):.0f} of"
    return [
        *lines,
        *(f"too few groups to tell ({few} {one.groups}): {one.message(state.metrics)}" for one in state.early),
    ]


def span(seconds: float) -> str:
    """Return a time in words that a watcher reads at a glance: "3 s", "4 min 12 s", "2 h 05 min", "3 d 4 h"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def _heading(state: RunState, name: str) -> Iterator[str]:
    settings = state.run.settings
    judges = [str(one.get("judge")) for one in settings.get("judges", ())]
    shown = ", ".join(judges[:_JUDGES]) + (f" and {len(judges) - _JUDGES} more" if len(judges) > _JUDGES else "")
    yield f"{name}, run {state.run.id}"
    yield ", ".join(one for one in (shown, str(settings.get("protocol", "")), _orders(settings)) if one)
    begun = "" if state.since_begun is None else f"began {span(state.since_begun)} ago"
    last = "no answer yet" if state.since_answer is None else f"last answer {span(state.since_answer)} ago"
    reading = "" if state.caught_up else "still reading what is recorded"
    yield ", ".join(one for one in (begun, last, reading) if one)


def _orders(settings: Any) -> str:
    orders = settings.get("orders")
    return f"{orders} order{'s' * (orders != 1)}" if isinstance(orders, int) else ""


def _counts(state: RunState) -> Iterator[str]:
    yield _row("groups", _by_status(state.tally.groups, ("scored", "partial", "abstained", "failed")))
    yield _row("trajectories", _by_status(state.tally.trajectories, ("scored", "abstained", "failed")))
    taken = _taken(state)
    overall = f", {_number(state.tally.groups.total() / taken)}/s from its begin to the last answer" if taken else ""
    lately = "being measured" if state.lately is None else f"{_number(state.lately)} groups/s now"
    yield _row("rate", f"{lately}{overall}")
    waiting = f", and {state.waiting:,} about groups that are not finished" if state.waiting else ""
    yield _row("answers", f"{state.tally.answers:,}{waiting}")
    failed = ", ".join(f"{kind} {count:,}" for kind, count in state.failed_calls.most_common())
    yield _row("failed calls", f"{state.failed_calls.total():,}{f': {failed}' if failed else ''}")
    yield _row("spend", f"{_tokens(state)}, {_cost(state)}")


def _health(state: RunState, width: int) -> Iterator[str]:
    groups = int(state.metrics.get("judge/groups", 0))
    yield f"health of the last {groups:,} groups" if groups == WINDOW else f"health of {groups:,} groups"
    known = [(name, state.metrics[f"judge/{name}"]) for name in _SHOWN if f"judge/{name}" in state.metrics]
    cells = [f"{name:<24}{value:>9.3f}" for name, value in known]
    if width < WIDTH:
        yield from (f"  {cell}" for cell in cells)
        return
    for left, right in zip(cells[::2], [*cells[1::2], ""], strict=False):
        yield f"  {left}     {right}".rstrip()


def _taken(state: RunState) -> float | None:
    """Return the seconds from the run's begin to the latest answer, or None if they are unknown or none."""
    if state.since_begun is None or state.since_answer is None or state.since_begun <= state.since_answer:
        return None
    return state.since_begun - state.since_answer


def _number(rate: float) -> str:
    return f"{rate:,.1f}" if rate >= 1 or rate == 0 else f"{rate:.3f}"


def _tokens(state: RunState) -> str:
    return f"{state.tally.usage.input_tokens:,} tokens in, {state.tally.usage.output_tokens:,} out"


def _cost(state: RunState) -> str:
    cost = state.tally.usage.cost_usd
    if cost is None:
        return "cost unknown"
    taken = _taken(state)
    hourly = f", ${cost / taken * 3600:,.2f} an hour" if cost and taken else ""
    return f"${cost:,.4f}{hourly}"


def _by_status(counts: Counter[str], kinds: Sequence[str]) -> str:
    parts = [f"{counts[kind]:,} {kind}" for kind in kinds if counts[kind]]
    return f"{counts.total():,}: {', '.join(parts)}" if parts else "0"


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}} {text}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"
