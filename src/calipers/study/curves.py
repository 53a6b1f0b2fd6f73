"""Reads the curves of a study's result file: one row of numbers for each run of each arm.

Not responsible for how curves are drawn (``figures``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calipers.errors import InputError
from calipers.types.encoding import finite_number

Row = tuple[float | None, ...]
"""A run's curve: one number for each point, None where it was not measured."""


@dataclass(frozen=True, slots=True)
class ArmCurves:
    """The curves of one arm of a study: ``runs`` maps a curve's name to a row for each run.

    Each row has a number for each of ``steps``. ``against`` is the arm that this one is compared with, run by run.
    """

    name: str
    steps: tuple[float, ...]
    runs: Mapping[str, tuple[Row, ...]]
    against: str | None = None


@dataclass(frozen=True, slots=True)
class StudyCurves:
    """The curves of a study's result file, with the study's ``title``."""

    title: str
    arms: tuple[ArmCurves, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the curves that every arm of the study has."""
        first, *others = self.arms
        return tuple(name for name in first.runs if all(name in arm.runs for arm in others))


def read_curves(path: str) -> StudyCurves:
    """Read the curves of a study from its result file, as ``calipers study simulate`` writes it.

    Raises InputError that names the file and what is wrong with it.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not a result file of calipers study: {error}") from error
    arms = found.get("arms") if isinstance(found, dict) else None
    if not isinstance(arms, list) or not arms:
        raise InputError(f'{path}: is not a result file of calipers study: it has no "arms"')
    return StudyCurves(
        str(found.get("title") or ""), tuple(_arm(arm, f"{path}: arms[{place}]") for place, arm in enumerate(arms))
    )


def _arm(arm: Any, where: str) -> ArmCurves:
    curves = arm.get("curves") if isinstance(arm, dict) else None
    if not isinstance(curves, dict) or not isinstance(arm.get("name"), str):
        raise InputError(f'{where}: an arm needs a "name" and "curves"')
    steps = tuple(finite_number(step) for step in curves.get("step") or ())
    if not steps or None in steps:
        raise InputError(f"{where}.curves.step: is missing, or holds what is not a number")
    rows = {name: _rows(runs, len(steps), f"{where}.curves.{name}") for name, runs in curves.items() if name != "step"}
    against = arm.get("against")
    return ArmCurves(arm["name"], tuple(step for step in steps if step is not None), rows, against)


def _rows(runs: Any, points: int, where: str) -> tuple[Row, ...]:
    if not isinstance(runs, list) or not runs or not all(isinstance(row, list) and len(row) == points for row in runs):
        raise InputError(f"{where}: must be a list of runs, each with {points} numbers")
    return tuple(tuple(finite_number(value) for value in row) for row in runs)


def paired(arm: Sequence[Row], control: Sequence[Row]) -> tuple[Row, ...]:
    """Return the difference of each run from the run of the control arm with the same seed.

    Raises ValueError if the arms have different numbers of runs.
    """
    return tuple(
        tuple(None if one is None or other is None else one - other for one, other in zip(row, base, strict=True))
        for row, base in zip(arm, control, strict=True)
    )
