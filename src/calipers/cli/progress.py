"""A command's progress on stderr (a live line in a terminal, else a line every ten seconds), and its summary."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from calipers.cli.messages import print_log_with, reason_lines, wrap_words
from calipers.judging.results import NOTHING_TO_COMPARE
from calipers.rubric.unused_standards import UNUSED
from calipers.types import Completion, GroupResult, JudgeRequest, Reading, TrajectoryGroup, Usage
from calipers.types.encoding import counted

_PLAIN_EVERY = 10.0
"""Seconds between progress lines if stderr is not a terminal."""
_LATELY = 60.0
"""The period in seconds over which the rate is measured: a resumed run begins with answers that take no time."""
_SPINNER = 3
"""Columns of a terminal's line that the spinner and the gaps beside it take."""


class ProgressLine:
    """How far a command is, out of ``total`` (None: unknown). ``live=False`` if results go to the same terminal.

    In a narrow terminal the rate is omitted, then the time left. What does not fit even then goes on in the next line.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int | None,
        live: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total = total
        self._console = console
        self._clock = clock
        self._printed = clock()
        self._recent = deque([(self._printed, 0)], maxlen=10_000)
        self._live = live and console.is_terminal
        wide = [BarColumn(), TimeElapsedColumn()] if console.width >= 100 else []
        text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=False))
        # stdout is for data
        self._progress = Progress(SpinnerColumn(), text, *wide, console=console, transient=True, redirect_stdout=False)
        self._task = self._progress.add_task("waiting for the first answers", total=total)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._live:
            self._stack.enter_context(self._progress)
        self._stack.enter_context(print_log_with(self.say))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def move(self, done: int, shown: str) -> None:
        """Note that ``done`` are done, and show that with ``shown``, the rate and the time left."""
        now = self._clock()
        self._recent.append((now, done))
        while len(self._recent) > 2 and self._recent[0][0] < now - _LATELY:
            self._recent.popleft()  # keep the two newest, because a single group may take longer than the whole period
        if self._live:
            self._progress.update(self._task, completed=done, description=self._line(done, shown))
        elif now - self._printed >= _PLAIN_EVERY:
            self._printed = now
            self.say(self._line(done, shown))

    def say(self, text: str) -> None:
        """Print text above the command's live progress line."""
        if self._console.is_terminal:
            text = wrap_words(text, self._console.width)
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _line(self, done: int, shown: str) -> str:
        (since, before), (now, latest) = self._recent[0], self._recent[-1]
        rate = (latest - before) / max(now - since, 1e-9)
        left = f", {span((self.total - done) / rate)} left" if self.total and rate else ""
        whole = f"{shown}, {pace_text(rate)}{left}" if rate else shown
        fits = (text for text in (whole, shown + left, shown) if len(text) <= self._console.width - _SPINNER)
        return next(fits, whole) if self._live else whole


def pace_text(rate: float) -> str:
    """Return a rate a second for people: "4.7/s", or for a slow one "2.7/min"."""
    return f"{rate:,.1f}/s" if rate >= 0.5 else f"{60 * rate:.2g}/min"


def span(seconds: float) -> str:
    """Return a duration as text: "12.0 s", "3 min 05 s", "2 h 10 min"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


class _Tally:
    """Groups and trajectories by status, and what was spent on them."""

    def __init__(self) -> None:
        self.groups: Counter[str] = Counter()
        self.trajectories: Counter[str] = Counter()
        self.usage = Usage(cost_usd=0.0)
        self.calls = self.attempts = self.unusable = 0
        self._criteria: set[str] = set()

    def add(self, result: GroupResult) -> None:
        """Count the result of a group of the command."""
        self.groups[result.status] += 1
        self.trajectories.update(trajectory.status for trajectory in result.trajectories)
        calls, usage = _counted_already(result, self._criteria)
        self.calls += result.judge_calls - calls
        self.attempts += result.attempts - calls
        self.unusable += result.unusable
        if result.attempts:
            self.usage = Usage.total([self.usage, result.usage.without(usage)])

    def shown(self, total: int | None, budget: Mapping[str, float]) -> str:
        """Return this for the command's progress line, with the ``total`` and the ``budget`` it is out of."""
        tokens = self.usage.input_tokens + self.usage.output_tokens
        unscored = [f"{count:,} {name}" for name, count in sorted(self.trajectories.items()) if name != "scored"]
        parts = [f"{self.groups.total():,}{_of(total)} groups"]
        parts += [f"unscored: {' + '.join(unscored)}"] if unscored else []
        parts += [f"{tokens:,}{_of(budget.get('tokens'))} tokens"]
        if self.usage.cost_usd:
            most = budget.get("usd")
            parts.append(f"${self.usage.cost_usd:,.2f}{'' if most is None else f' of ${most:,.2f}'}")
        return ", ".join(parts)


class Report:
    """Counts results, as a Watcher too, shows progress, and prints the summary. ``total`` is the number of groups.

    ``budget`` is what may be spent, by kind. ``live=False`` if the results go to the terminal. ``title`` stands before
    the line.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int | None,
        budget: Mapping[str, float] | None = None,
        live: bool = True,
        title: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bar = ProgressLine(console, total=total, live=live, clock=clock)
        self._clock = clock
        self._started = clock()
        self._title = f"{title}: " if title else ""
        self._total, self._budget = total, budget or {}
        self._finished, self._written, self._unreadable = _Tally(), _Tally(), 0
        self.groups, self.trajectories = self._written.groups, self._written.trajectories
        self._reasons: Counter[str] = Counter()
        self._warnings: Counter[str] = Counter()
        self.say = self._bar.say

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def add(self, result: GroupResult) -> None:
        """Count a result that is written now, and update the command's progress line."""
        self._written.add(result)
        self._reasons.update(
            f"{trajectory.status}: {trajectory.reason}" for trajectory in result.trajectories if trajectory.reason
        )
        self._warnings.update({_shortened_warning(warning) for warning in result.warnings})
        self._move()

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:  # noqa: ARG002 - a Watcher's arguments
        """Count a group as it finishes, which may be long before its result is written in the order of the input."""
        self._finished.add(result)
        self._move()
        return result

    def observe(self, request: JudgeRequest, completion: Completion, reading: Reading) -> None:  # noqa: ARG002 - a watcher's form
        """Count a reply in which no judgment can be read. A verdict that a canary won was readable."""
        self._unreadable += reading.outcome == "rejected" and not (reading.canary and reading.canary.won)

    def _move(self) -> None:
        # Results from a ledger or another process are written without a word that they have finished.
        counts = max(self._finished, self._written, key=lambda state: state.groups.total())
        self._bar.move(counts.groups.total(), self._title + counts.shown(self._total, self._budget))

    def summary(self, *, bad_lines: str = "", reused: int = 0, out: str = "") -> None:
        """Print at the end of a command the counts, the most frequent reasons, and the path of the results.

        ``bad_lines`` says how many lines could not be read.
        """
        out = "" if out == "-" else out
        details = f", {reused:,} of them from the ledger" if reused else ""
        details += f", {self._unreadable:,} unreadable" if self._unreadable else ""
        tally, elapsed = self._written, self._clock() - self._started
        lines = [
            ("groups", counts_by_status(self.groups)),
            ("trajectories", counts_by_status(self.trajectories)),
            ("bad lines", bad_lines),
            ("judge answers", f"{tally.calls:,}{details}"),
        ]
        if in_vain := tally.attempts - tally.calls:
            billed = f", {tally.unusable:,} of them with a billed reply" if tally.unusable else ""
            lines.append((" ", f"{counted(in_vain, 'call')} without an answer{billed}"))
        lines.append(("tokens", f"{_shown(tally.usage)}{', as first paid' if reused else ''}"))
        pace = pace_text(self.groups.total() / max(elapsed, 1e-9)).replace("/", " groups/")
        lines += [("time", f"{span(elapsed)}{f', {pace}' if self.groups else ''}"), ("results", out)]
        for name, text in lines:
            if text:
                self.say(f"{name:<14} {text}")
        for line in reason_lines(self._reasons, 3):
            self.say(f"  {line}")
        alone = sum(count for note, count in self._warnings.items() if note.endswith(NOTHING_TO_COMPARE))
        if 0 < alone == self.groups.total():
            self.say("Warning: no judge was asked, because no group has two different trajectories to compare.")
        unused = [note for note in self._warnings if note.startswith(UNUSED)]
        common = [note for note, _ in self._warnings.most_common(3) if note not in unused]
        for warning in (*unused, *common):
            count = self._warnings[warning]
            self.say(f"  note ({count:,} group{'s' * (count > 1)}): {warning}")
        if more := len(self._warnings) - len(unused) - len(common):
            where = f"in the warnings of {out}" if out else "in the results' warnings"
            self.say(f"  +{counted(more, 'other note')}, {where}")


def _counted_already(result: GroupResult, known: set[str]) -> tuple[int, Usage]:
    """Return the calls and usage of criteria that an earlier group of the same prompt has counted already.

    ``known`` are the questions of these groups, to which the result's is added.
    """
    writing = result.extra.get("prompt_criteria")
    question = writing.get("question") if isinstance(writing, Mapping) and "written" in writing else None
    if not isinstance(writing, Mapping) or not isinstance(question, str):
        return 0, Usage(cost_usd=0.0)
    if question not in known:
        known.add(question)
        return 0, Usage(cost_usd=0.0)
    return writing["calls"], Usage(**writing["usage"])


def _of(most: float | None) -> str:
    return "" if most is None else f" of {most:,.0f}"


def _shown(usage: Usage) -> str:
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    cost = "unknown" if usage.cost_usd is None else f"${usage.cost_usd:,.4f}"
    return f"{usage.input_tokens:,} in{cached}, {usage.output_tokens:,} out, cost {cost}"


def _shortened_warning(warning: str) -> str:
    """Return one note for all warnings of the same kind; the result file has the details."""
    if " addresses the judge: " in warning:
        return "trajectories address the judge; the results' warnings and attacks say which and how"
    if " was not shown to the judge: " in warning:
        return "trajectories too long for the judge's context window have no score; the results' warnings name them"
    if " address the judge: " in warning:
        return "trajectories may address the judge; the results' warnings and attacks say which and how"
    if warning.endswith(" left out"):
        return "shortened to fit the judge's context window; the results' warnings say what was omitted"
    return warning


def counts_by_status(counts: Counter[str]) -> str:
    """Return a command's counts by status, such as "4: 3 scored, 1 failed"."""
    parts = [f"{counts[kind]:,} {kind}" for kind in ("scored", "partial", "abstained", "failed") if counts[kind]]
    return f"{counts.total():,}: {', '.join(parts)}" if parts else "0"
