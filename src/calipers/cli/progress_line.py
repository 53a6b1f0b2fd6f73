"""A command's progress on stderr: a live line in a terminal, else a line every ten seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from calipers.cli.logged import print_log_with
from calipers.cli.messages import wrap_words

_PLAIN_EVERY = 10.0
"""Seconds between progress lines if stderr is not a terminal."""
_LATELY = 60.0
"""The period in seconds over which the rate is measured."""
_SPINNER = 3
"""Columns of a terminal's line that the spinner and the gaps beside it take."""
_SLOW = 0.5
"""The rate per second below which seconds per unit tell more."""
_BAR_FROM = 100
"""The width of a terminal, in columns, from which there is room for a bar beside the line."""


class ProgressLine:
    """How far a command is, out of ``total`` (None: unknown), in units of ``noun``. ``live=False`` if results go to the
    same terminal.

    In a narrow terminal the rate is omitted, then the time left. What does not fit even then goes on in the next line.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int | None,
        noun: str = "group",
        live: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console
        self.total = total
        self.noun = noun
        self._clock = clock
        self._said = clock()
        self._recent = deque([(self._said, 0)], maxlen=10_000)
        self._live = live and console.is_terminal
        self._log = ExitStack()
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._live:
            wide = self.console.width >= _BAR_FROM
            self._progress = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=False)),
                *([BarColumn(), TimeElapsedColumn()] if wide else []),
                console=self.console,
                transient=True,
                redirect_stdout=False,  # stdout is for data
            )
            self._task = self._progress.add_task("starting", total=self.total)
            self._progress.start()
        self._log.enter_context(print_log_with(self.say))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.close()
        if self._progress is not None:
            self._progress.stop()

    def move(self, done: int, shown: str) -> None:
        """Note that ``done`` are done, and show that with ``shown``, the rate and the time left."""
        now = self._clock()
        self._recent.append((now, done))
        while len(self._recent) > 2 and self._recent[0][0] < now - _LATELY:
            self._recent.popleft()  # keep the two newest, because a single group may take longer than the whole period
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=done, description=self._line(done, shown))
        elif now - self._said >= _PLAIN_EVERY:
            self._said = now
            self.say(self._line(done, shown))

    def say(self, text: str) -> None:
        """Print text above the command's live progress line."""
        if self.console.is_terminal:
            text = wrap_words(text, self.console.width)
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _line(self, done: int, shown: str) -> str:
        rate = self._rate()
        left = f", {span((self.total - done) / rate)} left" if self.total and rate else ""
        pace = f", {pace_text(rate, self.noun)}" if rate else ""
        whole = f"{shown}{pace}{left}"
        if self._progress is None:
            return whole
        fits = (text for text in (whole, shown + left, shown) if len(text) <= self.console.width - _SPINNER)
        return next(fits, whole)

    def _rate(self) -> float:
        """How many a second were done of late: a resumed run begins with recorded answers, which take no time."""
        (since, before), (now, done) = self._recent[0], self._recent[-1]
        return (done - before) / max(now - since, 1e-9)


def pace_text(rate: float, noun: str) -> str:
    """Return a rate above 0 a second for people: "4.7/s", or for a slow one "22 s an answer", "3 min 05 s a group"."""
    if rate >= _SLOW:
        return f"{rate:,.1f}/s"
    seconds = 1 / rate
    text = f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 59.5 else span(max(seconds, 60.0))
    return f"{text} {'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def span(seconds: float) -> str:
    """Return a duration as text: "12.0 s", "3 min 05 s", "2 h 10 min"."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
