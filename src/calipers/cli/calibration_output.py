"""Writes what a calibration's queries brought: a line with each judge's cost, and a file of the judges' judgments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.cli.messages import print_message
from calipers.cli.overwriting import Kind, require_replaceable
from calipers.errors import ConfigError
from calipers.types.counted import counted

if TYPE_CHECKING:
    from calipers.calibration.collect import Spent
    from calipers.types import GroupResult


def print_cost(spent: Spent) -> None:
    """Print on the command line, to stderr, what querying one judge for a calibration cost."""
    cost = "unknown" if spent.cost_usd is None else f"${spent.cost_usd:.4f}"
    missing = f", {counted(spent.unscored, 'trajectory', 'trajectories')} without a score" if spent.unscored else ""
    tokens = f"{spent.input_tokens} tokens in, {spent.output_tokens} out, cost {cost}"
    print_message(f"{spent.judge}: {counted(spent.calls, 'answer')}, {tokens}{missing}")


def print_unused(results: Iterable[GroupResult]) -> None:
    """Print on the command line, once each, warnings about parts of the groups that calipers does not use."""
    from calipers.rubric.unused_standards import UNUSED  # noqa: PLC0415 - --help stays quick

    notes = Counter(note for one in results for note in set(one.warnings) if note.startswith(UNUSED))
    for note, count in notes.items():
        print_message(f"Warning: {counted(count, 'group')}: {note}")


def print_missing_criteria(results: Iterable[GroupResult]) -> None:
    """Print on the command line how many groups a judge was asked about without criteria, because none were written."""
    told = [one.extra.get("prompt_criteria") for one in results]
    missing = Counter(one["problem"] for one in told if one and one["problem"])
    for problem, count in missing.items():
        print_message(f"Warning: {counted(count, 'group')} judged without criteria of the prompt: {problem}")


def require_writable(path: str, kind: Kind, *, force: bool, beside: Mapping[str, str | None]) -> None:
    """Raise ConfigError, before a command pays for calls, if ``save_judgments`` cannot or must not write its file."""
    require_replaceable("--save", path, kind, force=force, beside=beside)
    new = not Path(path).exists()
    try:
        with Path(path).open("a", encoding="utf-8"):
            pass
        if new:
            Path(path).unlink()
    except OSError as error:
        raise ConfigError(f"--save {path}: cannot be written ({error.strerror})") from error


def save_judgments(path: str, judgments: Sequence[Mapping[str, Any]]) -> None:
    """Write a judge's judgments to a command's file, one line each. Raises ConfigError if it cannot be written."""
    try:
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in judgments)
    except OSError as error:
        raise ConfigError(f"--save {path}: cannot be written ({error.strerror})") from error
