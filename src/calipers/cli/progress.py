"""Counts a command's results, and shows progress and a summary."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Self

from rich.console import Console

from calipers.cli.messages import reason_lines
from calipers.cli.progress_line import ProgressLine, pace_text, span
from calipers.rubric.unused_standards import UNUSED
from calipers.types import GroupResult, TrajectoryGroup, Usage
from calipers.types.encoding import counted


class Finished:
    """A Watcher that tells a command of each group as it finishes, which may be long before its result is written in
    the order of the input.
    """

    tell: Callable[[GroupResult], object] | None = None

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:  # noqa: ARG002 - a Watcher's arguments
        """Tell of the result of a finished group, and return it."""
        if self.tell is not None:
            self.tell(result)
        return result


@dataclass(slots=True)
class _Done:
    """How far a command is: groups, trajectories without a score by status, tokens, and dollars (None: unknown)."""

    groups: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=partial(Usage, cost_usd=0.0))
    criteria: set[str] = field(default_factory=set)

    def add(self, result: GroupResult) -> None:
        """Count the result of a group of the command."""
        self.groups += 1
        self.unscored.update(one.status for one in result.trajectories if one.status != "scored")
        if result.attempts:
            self.usage = Usage.total([self.usage, result.usage.without(_counted_already(result, self.criteria)[1])])

    def shown(self, total: int | None, budget: Mapping[str, float]) -> str:
        """Return this as part of the command's progress line, with the ``total`` and the ``budget`` it is out of."""
        tokens = self.usage.input_tokens + self.usage.output_tokens
        unscored = [f"{count:,} {status}" for status, count in sorted(self.unscored.items())]
        parts = [
            f"{self.groups:,}{_of(total)} groups",
            *([f"unscored: {' + '.join(unscored)}"] if unscored else []),
            f"{tokens:,}{_of(budget.get('tokens'))} tokens",
        ]
        if self.usage.cost_usd:
            most = budget.get("usd")
            parts.append(f"${self.usage.cost_usd:,.2f}{'' if most is None else f' of ${most:,.2f}'}")
        return ", ".join(parts)


class Report:
    """Counts results, shows progress, and prints the summary. ``total`` is the number of groups, if known.

    ``judges`` names the judges of a panel by slot; usage is then counted for each. ``budget`` is what may be spent, by
    kind. ``live=False`` if the results go to the
    terminal. ``title`` stands before the line.
    """

    def __init__(
        self,
        console: Console,
        *,
        total: int | None,
        judges: Sequence[str] = (),
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
        self._criteria: set[str] = set()
        self._finished, self._written = _Done(), _Done()
        self.groups: Counter[str] = Counter()
        self.trajectories: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.calls = self.attempts = self.unusable = 0
        self.usage = Usage(cost_usd=0.0)
        self._judges = judges if len(judges) > 1 else ()
        self._shares = [(0, Usage(cost_usd=0.0)) for _ in self._judges]

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def add(self, result: GroupResult) -> None:
        """Count a result that is written now, and update the command's progress line."""
        self.groups[result.status] += 1
        for trajectory in result.trajectories:
            self.trajectories[trajectory.status] += 1
            if trajectory.reason:
                self.reasons[f"{trajectory.status}: {trajectory.reason}"] += 1
        self.warnings.update({_shortened_warning(warning) for warning in result.warnings})
        calls, usage = _counted_already(result, self._criteria)
        self.calls += result.judge_calls - calls
        self.attempts += result.attempts - calls
        self.unusable += result.unusable
        if result.attempts:
            self.usage = Usage.total([self.usage, result.usage.without(usage)])
        if self._judges and result.attempts:
            self._shares = [
                _add_share(share, told) for share, told in zip(self._shares, result.extra["judges"], strict=True)
            ]
        self._written.add(result)
        if self._written.groups > self._finished.groups:  # who gives the results tells of nothing before
            self._move()

    def finished(self, result: GroupResult) -> None:
        """Count a group that has finished, whenever its result is written, and update the command's progress line."""
        self._finished.add(result)
        self._move()

    def _move(self) -> None:
        done = self._done
        self._bar.move(done.groups, self._title + done.shown(self._total, self._budget))

    @property
    def _done(self) -> _Done:
        return max(self._finished, self._written, key=lambda one: one.groups)

    def say(self, text: str) -> None:
        """Print text above the command's live progress line."""
        self._bar.say(text)

    def summary(
        self, *, bad_lines: str = "", reused: int = 0, probed: tuple[int, Usage] = (0, Usage()), out: str = ""
    ) -> None:
        """Print at the end of a command the counts, the most frequent reasons, and the path of the results.

        ``bad_lines`` says how many lines could not be read. ``probed`` are the calls and usage that no group's result
        counts.
        """
        lines = [
            ("groups", _counts(self.groups, ("scored", "partial", "abstained", "failed"))),
            ("trajectories", _counts(self.trajectories, ("scored", "abstained", "failed"))),
        ]
        if bad_lines:
            lines.append(("bad lines", bad_lines))
        lines.append(("judge answers", f"{self.calls:,}{f', {reused:,} of them from the ledger' if reused else ''}"))
        if in_vain := self.attempts - self.calls:
            billed = f", {self.unusable:,} of them with a billed reply" if self.unusable else ""
            lines.append(("", f"{counted(in_vain, 'call')} without an answer{billed}"))
        paid = ", as first paid" if reused else ""
        lines.append(("tokens", f"{_shown(self.usage)}{paid}"))
        for name, (answers, usage) in zip(self._judges, self._shares, strict=True):
            lines.append(("", f"{name}: {counted(answers, 'answer')}, {_shown(usage)}"))
        if probed[0]:
            lines.append(
                (
                    "probes",
                    f"{counted(probed[0], 'call')} to examine the server, {_shown(probed[1])}, not included above",
                )
            )
        elapsed = self._clock() - self._started
        lines.append(("time", ", ".join([span(elapsed), *_pace(self.groups.total() / max(elapsed, 1e-9))])))
        if out:
            lines.append(("results", out))
        for name, text in lines:
            self.say(f"{name:<14} {text}")
        for line in reason_lines(self.reasons, 3):
            self.say(f"  {line}")
        unused = [one for one in self.warnings if one.startswith(UNUSED)]
        common = [one for one, _ in self.warnings.most_common(3) if one not in unused]
        for warning in (*unused, *common):
            count = self.warnings[warning]
            self.say(f"  note ({count:,} group{'s' * (count > 1)}): {warning}")
        if more := len(self.warnings) - len(unused) - len(common):
            where = f"in the warnings of {out}" if out else "in the results' warnings"
            self.say(f"  +{counted(more, 'other note')}, {where}")


def _pace(groups_a_second: float) -> list[str]:
    pace = pace_text(groups_a_second, "group") if groups_a_second else ""
    return [pace.replace("/s", " groups/s")] if pace else []


def _counted_already(result: GroupResult, known: set[str]) -> tuple[int, Usage]:
    """Return the calls and usage of criteria that an earlier group of the same prompt has counted already.

    ``known`` are the questions of these groups, to which the result's is added.
    """
    told = result.extra.get("prompt_criteria")
    question = told.get("question") if isinstance(told, Mapping) and "written" in told else None
    if not isinstance(told, Mapping) or not isinstance(question, str):
        return 0, Usage(cost_usd=0.0)
    if question not in known:
        known.add(question)
        return 0, Usage(cost_usd=0.0)
    return told["calls"], Usage(**told["usage"])


def _of(most: float | None) -> str:
    return "" if most is None else f" of {most:,.0f}"


def _add_share(share: tuple[int, Usage], told: Mapping[str, Any]) -> tuple[int, Usage]:
    """Add a panel judge's answers and usage in a finished group to the totals of that judge."""
    answers, usage = share
    return answers + told["answers"], Usage.total([usage, Usage(**told["usage"])])


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


def _counts(counter: Counter[str], kinds: tuple[str, ...]) -> str:
    total = counter.total()
    parts = [f"{counter[kind]:,} {kind}" for kind in kinds if counter[kind]]
    return f"{total:,}: {', '.join(parts)}" if parts else "0"
