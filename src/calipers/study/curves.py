"""Reads the curves of a study's result file, or of its record: one row of numbers for each run of each arm.

Not responsible for how curves are drawn (``figures``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.study.intervals import Estimate, estimate
from calipers.study.json_text import why_no_json
from calipers.types.encoding import measured_number

Against: TypeAlias = Literal["step", "kl", "groups", "calls"]
_RESULTS: Final = "results.json"
_FORMATS: Final = ("calipers-simulation/1", "calipers-training/1", "calipers-training-record/1")
"""The forms of result files with curves. A file without a form was written by hand, and is read as far as it goes."""
HELD_OUT: Final = "held_out_"
"""How names of curves on held-out prompts begin, where those of the training's own prompts are beside them."""
_NAME: Final = re.compile(r"\w{1,100}")

Row = tuple[float | None, ...]
"""A run's curve: one number for each point, None where it was not measured."""


@dataclass(frozen=True, slots=True)
class ArmCurves:
    """The curves of one arm of a study: ``runs`` maps a curve's name to a row for each run.

    Each row has a number for each of the points ``at``, which are steps or what else curves are drawn against.
    ``against`` is the arm that this one is compared with, run by run.
    """

    name: str
    at: tuple[float, ...]
    runs: Mapping[str, tuple[Row, ...]]
    against: str | None = None


@dataclass(frozen=True, slots=True)
class StudyCurves:
    """The curves of a study's result file, with the study's ``title``. ``over`` says what the points ``at`` are."""

    title: str
    arms: tuple[ArmCurves, ...]
    over: Against = "step"

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the curves that every arm of the study has."""
        first, *others = self.arms
        return tuple(name for name in first.runs if all(name in arm.runs for arm in others))


def read_curves(path: str, *, over: Against = "step", held_out: bool = False) -> StudyCurves:
    """Read the curves of a study from its result file or its record.

    ``over`` says what they are drawn against: steps; or, for curves of held-out prompts, the mean over an arm's runs of
    the KL divergence, the judged groups or the judge's answers at the same step. With ``held_out``, curves over steps
    are those of held-out prompts, too, and their names begin with HELD_OUT. A folder is that of ``calipers study
    train``, or of a watched run, whose curves are over steps. Raises InputError that names the file and what is wrong
    with it.
    """
    if Path(path).is_dir():
        if not (Path(path) / _RESULTS).is_file():
            if held_out:
                raise InputError(f"{path}: a watched run has no curves of held-out prompts apart from the others")
            return _watched(Path(path), over)
        path = str(Path(path) / _RESULTS)
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not a result file of calipers study: {why_no_json(error)}") from error
    return curves_of(found, path, over=over, held_out=held_out)


def curves_of(found: Any, where: str, *, over: Against = "step", held_out: bool = False) -> StudyCurves:
    """Return the curves in the object of a study's result file, as ``read_curves`` does; errors name ``where``."""
    arms = found.get("arms") if isinstance(found, dict) else None
    if not isinstance(arms, list) or not arms:
        raise InputError(f'{where}: is not a result file of calipers study: it has no "arms"')
    form = found.get("format", _FORMATS[0])
    if form not in _FORMATS:
        raise InputError(f"{where}: its format {form!r:.60} is none of {', '.join(_FORMATS)}: another version wrote it")
    kinds = ("held_out",) if held_out else ("curves", "held_out") if over == "step" else ("held_out", "curves")
    read = tuple(_arm(arm, f"{where}: arms[{place}]", over, kinds) for place, arm in enumerate(arms))
    _require_partners(read, where)
    return StudyCurves(str(found.get("title") or ""), read, over)


def _require_partners(arms: Sequence[ArmCurves], where: str) -> None:
    """Raise InputError for two arms with one name, and for one that is compared with an arm that is not there."""
    names = [arm.name for arm in arms]
    for place, arm in enumerate(arms):
        if names.index(arm.name) < place:
            raise InputError(f"{where}: arms[{place}]: another arm has the name {arm.name!r:.60}, too")
        if arm.against is not None and (arm.against not in names or arm.against == arm.name):
            raise InputError(f"{where}: arms[{place}].against: there is no other arm {arm.against!r:.60}")


def read_runs(paths: Sequence[str], *, over: Against = "step", held_out: bool = False) -> StudyCurves:
    """Read the curves of several watched runs, each as an arm with the name of its folder, or of a study's result.

    ``over`` and ``held_out`` are those of ``read_curves``. Raises InputError as it does, and for several results that
    are not watched runs.
    """
    if len(paths) == 1:
        return read_curves(paths[0], over=over, held_out=held_out)
    for path in paths:
        if not Path(path).is_dir() or (Path(path) / _RESULTS).is_file():
            raise InputError(f"{path}: is no folder of a watched run, and only watched runs are drawn together")
    found = [_watched(Path(path), over) for path in paths]
    names = [Path(path).resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = list(paths)
    if len(set(names)) < len(names):
        raise InputError(f"{next(name for name in names if names.count(name) > 1)}: is named twice")
    titles = {one.title for one in found}
    arms = tuple(replace(one.arms[0], name=name) for one, name in zip(found, names, strict=True))
    return StudyCurves(titles.pop() if len(titles) == 1 else "", arms, over)


def _watched(folder: Path, over: Against) -> StudyCurves:
    from calipers.study.watching.files import WatchFolder  # noqa: PLC0415 - it imports this module

    if over != "step":
        raise InputError(f"{folder}: curves of a watched run are drawn over steps only, not over {over}")
    return WatchFolder(folder).curves()


def _arm(arm: Any, where: str, over: Against, kinds: Sequence[str]) -> ArmCurves:
    """Return the curves of an arm, of the first of ``kinds`` that it has.

    Every result has curves by step, but a record of training has those of held-out prompts only.
    """
    parts = arm if isinstance(arm, dict) else {}
    kind = next((one for one in kinds if isinstance(parts.get(one), dict)), None)
    if kind is None or not isinstance(parts.get("name"), str):
        needed = '"curves"' if "curves" in kinds else '"held_out", which only training has'
        raise InputError(f'{where}: an arm needs a "name" and {needed}')
    curves = parts[kind]
    if strange := [name for name in curves if not _NAME.fullmatch(name)]:  # files are named after curves
        raise InputError(f"{where}.{kind}: {strange[0]!r:.60} is no name of a curve: letters, digits and _ are")
    points = curves.get("step")
    steps = tuple(measured_number(step) for step in points) if isinstance(points, list) else ()
    if not steps or None in steps:
        raise InputError(f"{where}.{kind}.step: is missing, or holds what is not a number")
    rows = {name: _rows(runs, len(steps), f"{where}.{kind}.{name}") for name, runs in curves.items() if name != "step"}
    against = parts.get("against")
    if kinds == ("held_out",):
        rows = {f"{HELD_OUT}{name}": runs for name, runs in rows.items()}
    if over == "step":
        return ArmCurves(parts["name"], tuple(step for step in steps if step is not None), rows, against)
    if over not in rows:
        raise InputError(f"{where}.{kind}: has no {over!r} to draw curves against")
    if not any(value is not None for row in rows[over] for value in row):  # no run of the arm was made
        return ArmCurves(parts["name"], (), dict.fromkeys(rows, ()), against)
    return ArmCurves(parts["name"], _means(rows[over], f"{where}.{kind}.{over}"), rows, against)


def _means(rows: Sequence[Row], where: str) -> tuple[float, ...]:
    """Return the mean over runs at each point."""
    columns = [[value for value in column if value is not None] for column in zip(*rows, strict=True)]
    if not all(columns):
        raise InputError(f"{where}: was not measured at every point")
    return tuple(estimate(column).mean for column in columns)


def _rows(runs: Any, points: int, where: str) -> tuple[Row, ...]:
    if not isinstance(runs, list) or not runs or not all(isinstance(row, list) and len(row) == points for row in runs):
        raise InputError(f"{where}: must be a list of runs, each with {points} numbers")
    read = tuple(tuple(measured_number(value) for value in row) for row in runs)
    for run, (row, numbers) in enumerate(zip(runs, read, strict=True)):
        for point, (value, number) in enumerate(zip(row, numbers, strict=True)):
            if number is None and value is not None:
                raise InputError(f"{where}[{run}][{point}]: {value!r:.60} is no number; what was not measured is null")
    return read


def mean_curve(at: Sequence[float], rows: Sequence[Row]) -> list[tuple[float, Estimate]]:
    """Return the mean over an arm's runs at each of the points ``at`` of a study where any of them has a number."""
    return [
        (point, estimate(known))
        for point, column in zip(at, zip(*rows, strict=True), strict=bool(rows))
        if (known := [value for value in column if value is not None])
    ]


def thinned(study: StudyCurves, most: int) -> tuple[StudyCurves, int]:
    """Return a study's curves with at most ``most`` points, and how many points each stands for.

    A point is then the mean of consecutive ones, run by run, so that intervals are again over runs.
    """
    longest = max((len(arm.at) for arm in study.arms), default=0)
    size = -(-longest // most) or 1
    if size == 1:
        return study, 1
    arms = tuple(
        ArmCurves(
            arm.name,
            tuple(value for value in _in_blocks(arm.at, size) if value is not None),
            {name: tuple(_in_blocks(row, size) for row in rows) for name, rows in arm.runs.items()},
            arm.against,
        )
        for arm in study.arms
    )
    return StudyCurves(study.title, arms, study.over), size


def _in_blocks(row: Sequence[float | None], size: int) -> Row:
    """Return the mean of the known numbers of each ``size`` consecutive ones; None where none is known."""
    blocks = (row[start : start + size] for start in range(0, len(row), size))
    known = ([value for value in block if value is not None] for block in blocks)
    return tuple(estimate(values).mean if values else None for values in known)


def count_runs(rows: Sequence[Row]) -> int:
    """Return how many runs of a study a curve has; a run that was not made, or has no partner, has no numbers."""
    return sum(any(value is not None for value in row) for row in rows)


def differences(study: StudyCurves, name: str) -> list[tuple[ArmCurves, tuple[Row, ...]]]:
    """Return each arm of a study that is compared with another, and its runs' differences in the curve ``name``.

    Raises ConfigError for arms that have other points or runs than those they are compared with.
    """
    by_name = {arm.name: arm for arm in study.arms}
    found = []
    for arm in study.arms:
        control = by_name.get(arm.against or "")
        if control is None or not (arm.at and control.at):
            continue
        other_points = control.at != arm.at if study.over == "step" else len(control.at) != len(arm.at)
        if other_points or len(control.runs[name]) != len(arm.runs[name]):
            raise ConfigError(f"arm {arm.name!r} cannot be compared with {control.name!r}: other steps or runs")
        found.append((arm, paired(arm.runs[name], control.runs[name])))
    return found


def paired(arm: Sequence[Row], control: Sequence[Row]) -> tuple[Row, ...]:
    """Return the difference of each run from the run of the control arm with the same seed.

    Raises ValueError if the arms have different numbers of runs.
    """
    return tuple(
        tuple(None if one is None or other is None else one - other for one, other in zip(row, base, strict=True))
        for row, base in zip(arm, control, strict=True)
    )


def measured_names(study: StudyCurves, *, compared: bool = False, arms: Sequence[str] = ()) -> set[str]:
    """Return the names of a study's curves that have a number in some run, of one of ``arms`` if any are named.

    With ``compared``, the number is a difference from the run of the control arm.
    """
    found = set()
    for name in study.names:
        rows = differences(study, name) if compared else [(arm, arm.runs[name]) for arm in study.arms]
        if any(count_runs(runs) for arm, runs in rows if not arms or arm.name in arms):
            found.add(name)
    return found
