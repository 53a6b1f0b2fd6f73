"""Writes what a calibration's queries brought: a line with each judge's cost, and a file of the judges' judgments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calipers.backends.connect import find_backend
from calipers.backends.names import split_judge_name
from calipers.backends.providers.known import provider_of
from calipers.cli.messages import print_message, reason_lines
from calipers.cli.output import require_replaceable
from calipers.errors import ConfigError
from calipers.types.encoding import counted

if TYPE_CHECKING:
    from calipers.calibration import Calibration
    from calipers.calibration.collect import Spent
    from calipers.types import GroupResult


_MOST_REASONS = 3


def print_cost(spent: Spent, name: str, *, sent: bool) -> None:
    """Print on the command line, to stderr, what querying the judge ``name`` for a calibration cost.

    ``sent`` is False if the judge, and all that helps it, answers within this process.
    """
    missing = f", {counted(spent.unscored, 'trajectory', 'trajectories')} without a score" if spent.unscored else ""
    print_message(f"{name}: {_cost(spent, sent=sent)}{missing}")


def _cost(spent: Spent, *, sent: bool) -> str:
    """Return what was asked now, what was in the ledger already, and what it took."""
    answers = spent.calls - spent.probes
    probes = f", {counted(spent.probes, 'call')} to examine the server" if spent.probes else ""
    told = f"{counted(answers, 'answer')}{probes}"
    if not sent:
        return f"{told}, computed here: nothing was sent"
    if answers and spent.reused >= answers:
        told = f"{counted(answers, 'answer')}, all from the ledger{probes}"
        if not spent.probes:
            return f"{told}: nothing was sent"
    elif spent.reused:
        told = f"{counted(answers, 'answer')}, {spent.reused:,} of them from the ledger{probes}"
    cost = "cost unknown" if spent.cost_usd is None else f"cost ${spent.cost_usd:,.4f}"
    paid = ", as first paid" if spent.reused else ""
    return f"{told}, {spent.input_tokens:,} tokens in, {spent.output_tokens:,} out, {cost}{paid}"


def print_reasons(results: Iterable[GroupResult]) -> None:
    """Print on the command line why trajectories of a calibration have no score: the most frequent reasons."""
    missing = (one for result in results for one in result.trajectories if one.reward is None)
    for line in reason_lines(Counter(one.reason or "no reason" for one in missing), _MOST_REASONS):
        print_message(f"  {line}")


def print_unused(results: Iterable[GroupResult]) -> None:
    """Print on the command line, once each, warnings about parts of the groups that calipers does not use."""
    from calipers.rubric.unused_standards import UNUSED  # noqa: PLC0415 - --help stays quick

    notes = Counter(note for one in results for note in set(one.warnings) if note.startswith(UNUSED))
    for note, count in notes.items():
        print_message(f"Warning: {counted(count, 'group')}: {note}")


_RECOMMENDED: Final = "# Recommended by calipers calibrate.\n"
"""The first line of a file that --recommendation writes."""


def require_writable(path: str, *, force: bool, beside: Mapping[str, str | None], flag: str = "--save") -> None:
    """Raise ConfigError, before a command pays for calls, if it cannot or must not write the file of ``flag``."""
    require_replaceable(flag, path, force=force, beside=beside)
    new = not Path(path).exists()
    try:
        with Path(path).open("a", encoding="utf-8"):
            pass
        if new:
            Path(path).unlink()
    except OSError as error:
        raise ConfigError(f"{flag} {path}: cannot be written ({error.strerror})") from error


def save_recommendation(path: str, found: Calibration) -> None:
    """Write a calibration's recommendation to the file of ``--recommendation``; say so, or why there is none.

    Without a recommendation, nothing is written: a run would take such a file for one. Raises ConfigError.
    """
    if found.choice is None:
        print_message(f"Warning: --recommendation {path}: not written, since there is no recommendation")
        return
    try:
        Path(path).write_text(_RECOMMENDED + found.recommendation, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--recommendation {path}: cannot be written ({error.strerror})") from error
    print_message(f"Recommendation in {path}: calipers --config {path} score GROUPS -o OUT")
    for judge in dict.fromkeys(found.choice.way.judges):
        try:
            find_backend(judge, api_key="unused" if provider_of(split_judge_name(judge)[0]) else None)
        except ConfigError as error:
            print_message(f"Warning: that command will not run until 'judge' in {path} is changed: {error}")


def save_judgments(path: str, judgments: Sequence[Mapping[str, Any]]) -> None:
    """Write a judge's judgments to a command's file, one line each. Raises ConfigError if it cannot be written."""
    try:
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in judgments)
    except OSError as error:
        raise ConfigError(f"--save {path}: cannot be written ({error.strerror})") from error
