"""The table ``watch`` of verl's configuration, and what verl's own log says of a run.

Needs neither verl nor Ray. Not responsible for watching (``verl``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from calipers.config.option import any_value, flag, whole_number
from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.study.tables import problems_of_keys
from calipers.study.watching.measuring import Truth
from calipers.study.watching.rules import ALARMS, StopRules
from calipers.types.encoding import finite_number

_LOGGED: Final = {"actor/kl_loss": "kl", "actor/entropy": "entropy", "response_length/mean": "length"}
"""Names in verl's log, and the curves' names for them."""


@dataclass(frozen=True)
class WatchSettings:
    """How a run of verl is watched."""

    folder: str = any_value("", "The folder of the watched run, an absolute path that all workers can write to.")
    audit: Mapping[str, Any] | None = any_value(None, "The audit judge: options of Judge, judge included.")
    truth: str | None = any_value(None, "A function of a trajectory, as package.module:function.")
    every: int = whole_number(10, "Steps between audits.", low=1)
    sample: int = whole_number(8, "Groups of a step that are audited, by all workers together.", low=1)
    rules: Mapping[str, Any] | None = any_value(None, "Stop rules; by default those of calipers.study.watching.ALARMS.")
    stop: bool = flag(False, "End the run when a rule is broken.")
    log: str | None = any_value(None, "verl's own log, for KL: the value of VERL_FILE_LOGGER_PATH.")

    @property
    def stop_rules(self) -> StopRules:
        """The stop rules of the watched run."""
        return ALARMS if self.rules is None else StopRules(**self.rules)

    def make_audit(self) -> Judge | None:
        """Return the audit judge, made anew. Raises ConfigError for options that cannot work."""
        return None if self.audit is None else Judge.of(dict(self.audit))

    def find_truth(self) -> Truth | None:
        """Return the function of the truth. Raises ConfigError if it cannot be imported."""
        if self.truth is None:
            return None
        module, _, name = self.truth.partition(":")
        try:
            found: Truth = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(
                f"+watch.truth={self.truth}: it cannot be imported ({error}); name it as package.module:function"
            ) from error
        return found


def read_watch_settings(table: object) -> WatchSettings:
    """Return the settings in the plain table ``watch`` of verl's configuration.

    Raises ConfigError for a missing table, unknown keys and invalid values.
    """
    if not isinstance(table, Mapping):
        raise ConfigError("+watch must be a table")
    problems = [f"+watch: {problem}" for _, problem in problems_of_keys(WatchSettings, table)]
    settings = WatchSettings() if problems else WatchSettings(**table)
    if not problems:
        problems = _problems(settings)
    if problems:
        raise ConfigError("; ".join(problems))
    return settings


def _problems(settings: WatchSettings) -> list[str]:
    found: list[str] = []
    if not isinstance(settings.folder, str) or not Path(settings.folder).is_absolute():
        found.append(
            f"+watch.folder={settings.folder!r}: it must be an absolute path, as Ray's workers work in other folders"
        )
    if settings.rules is not None:
        found += _problems_of_rules(settings.rules)
    for name in ("truth", "log"):
        value = getattr(settings, name)
        if value is not None and not isinstance(value, str):
            found.append(f"+watch.{name}={value!r}: it must be text")
    if settings.audit is None:
        return found
    if not isinstance(settings.audit, Mapping) or "judge" not in settings.audit:
        found.append("+watch.audit: it names no judge, as in +watch.audit.judge=openai/gpt-5-mini")
    elif "api_key" in settings.audit:
        found.append(
            "+watch.audit.api_key: verl stores its configuration, so set keys in the environment of every node"
        )
    return found


def _problems_of_rules(rules: object) -> list[str]:
    if not isinstance(rules, Mapping):
        return ["+watch.rules must be a table"]
    return [f"+watch.rules: {problem}" for _, problem in problems_of_keys(StopRules, rules)]


def logged_by_verl(path: str, *, after: int, on_problem: Callable[[str], None]) -> list[dict[str, float]]:
    """Return what verl's file of metrics says of a watched run's steps above ``after``, under the curves' names.

    A file that is not there yet says nothing. A file that cannot be read, and each line that is no row of metrics, such
    as one that a killed run had begun, is told to ``on_problem``, and the run goes on. verl's step 1 is step 0 here:
    the number of updates before its rollouts.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except OSError as error:
        on_problem(f"verl's metrics cannot be read, so they are not watched: {error}")
        return []
    found: dict[int, dict[str, float]] = {}
    for number, line in enumerate(lines, 1):
        row = _metrics(line)
        if row is None:
            on_problem(f"{path}:{number}: this line is no row of verl's metrics, and is left out")
            continue
        step, data = row
        numbers = {own: finite_number(data.get(name)) for name, own in _LOGGED.items()}
        known = {name: value for name, value in numbers.items() if value is not None}
        if step > after and known:
            found[step] = {"step": step, **known}
    return list(found.values())


def _metrics(line: bytes) -> tuple[int, Mapping[str, Any]] | None:
    """Return the step of a watched run and verl's metrics of it, or None if the line holds neither."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not isinstance(row.get("data"), dict):
        return None
    step = finite_number(row.get("step"))
    return None if step is None else (int(step) - 1, row["data"])
