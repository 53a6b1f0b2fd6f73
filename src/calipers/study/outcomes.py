"""The figures of a study's arms, and their paired differences, from a result file or a record.

A result file states them; a record has the numbers of every run, from which they follow. Not responsible for curves
(``curves``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.errors import InputError
from calipers.study.intervals import Estimate, estimate, paired_difference
from calipers.types.encoding import measured_number

RECORD: Final = "calipers-training-record/1"
"""The format of a training study's record: its runs' figures and curves of held-out prompts."""
_AREA: Final = "held_out_truth_area"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a study found of one arm: its ``figures`` over runs, and their paired ``differences`` from ``against``.

    A figure that no run has is missing.
    """

    name: str
    against: str | None
    figures: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]


def outcomes_of(found: Mapping[str, Any], where: str) -> list[Outcome]:
    """Return the outcomes in the object of a study's result file or record, whose curves can be read.

    InputError names ``where``.
    """
    arms = [one for one in found.get("arms") or () if isinstance(one, dict) and isinstance(one.get("name"), str)]
    if found.get("format") == RECORD:
        for one in arms:
            _require_figures(one, f"{where}: arm {one['name']!r:.60}")
        by_name = {one["name"]: one for one in arms}
        return [_of_record(one, by_name.get(one.get("against") or "")) for one in arms]
    return [
        Outcome(one["name"], one.get("against"), *(_estimates(one, key, where) for key in ("figures", "differences")))
        for one in arms
    ]


def _estimates(arm: Mapping[str, Any], key: str, where: str) -> dict[str, Estimate]:
    stated = arm.get(key)
    held = stated if isinstance(stated, dict) else {}
    return {name: _estimate(one, f"{where}: arm {arm['name']!r:.60}: {key}.{name:.60}") for name, one in held.items()}


def _estimate(found: object, where: str) -> Estimate:
    one = found if isinstance(found, dict) else {}
    mean, runs = measured_number(one.get("mean")), one.get("n")
    if mean is None or not isinstance(runs, int) or isinstance(runs, bool):
        raise InputError(f"{where}: needs a number as its mean, and the number n of runs that it is of")
    return Estimate(mean, measured_number(one.get("half_width")), measured_number(one.get("detectable")), runs)


def _require_figures(arm: Mapping[str, Any], where: str) -> None:
    """Raise InputError unless each figure of a recorded arm has a number, or null, for each run."""
    figures, curves = arm.get("figures"), arm["held_out"]
    if not isinstance(figures, dict):
        raise InputError(f"{where}: a recorded arm needs figures, each with a number for each run")
    runs = {len(rows) for name, rows in curves.items() if name != "step"}
    for name, values in figures.items():
        if not isinstance(values, list) or len(runs | {len(values)}) > 1:
            raise InputError(f"{where}.figures.{name:.60}: must be a list with a number, or null, for each run")
        for number, value in enumerate(values):
            if value is not None and measured_number(value) is None:
                raise InputError(f"{where}.figures.{name:.60}[{number}]: {value!r:.60} is no number")


def _of_record(arm: Mapping[str, Any], control: Mapping[str, Any] | None) -> Outcome:
    def made(name: str) -> bool:
        return any(value is not None for value in values_of(arm, name))

    names = [name for name in (*arm["figures"], *recorded_ends(arm)) if made(name)]
    known = (*control["figures"], *recorded_ends(control)) if control else ()
    shared = [name for name in names if name in known]
    return Outcome(
        arm["name"],
        arm.get("against"),
        {name: figure(arm, name) for name in names},
        {name: found for name in shared if control and (found := _difference_or_none(arm, control, name)) is not None},
    )


def _difference_or_none(arm: Mapping[str, Any], control: Mapping[str, Any], name: str) -> Estimate | None:
    return difference(arm, control, name) if _pairs(arm, control, name) else None


def recorded_ends(arm: Mapping[str, Any]) -> list[str]:
    """Return the names of the figures of a recorded arm that follow from its curves of held-out prompts."""
    curves = [name for name in arm["held_out"] if name not in ("step", "calls")]
    area = [_AREA] if "truth" in curves else []
    return [*(f"held_out_{name}" for name in curves), *area, *(["calls"] if "calls" in arm["held_out"] else [])]


def values_of(arm: Mapping[str, Any], name: str) -> list[float | None]:
    """Return a figure of each run of a recorded arm; None for a run that was not made.

    ``held_out_NAME`` is the last point of a curve, ``held_out_truth_area`` the mean over its points, ``calls`` their
    number at the end. Raises InputError for an unknown name.
    """
    curves = arm["held_out"]
    if name in arm["figures"]:
        return list(arm["figures"][name])
    if name == _AREA and "truth" in curves:
        return [None if None in row else math.fsum(row) / len(row) for row in curves["truth"]]
    curve = "calls" if name == "calls" else name.removeprefix("held_out_") if name.startswith("held_out_") else ""
    if curve not in curves:
        raise InputError(f"a record has no figure {name!r}")
    return [row[-1] for row in curves[curve]]


def figure(arm: Mapping[str, Any], name: str) -> Estimate:
    """Return a figure of a recorded arm: its mean over runs, with its interval."""
    return estimate([value for value in values_of(arm, name) if value is not None])


def difference(arm: Mapping[str, Any], control: Mapping[str, Any], name: str) -> Estimate:
    """Return the paired difference of a figure between two recorded arms, over the seeds that both have."""
    pairs = _pairs(arm, control, name)
    return paired_difference([one for one, _ in pairs], [other for _, other in pairs])


def _pairs(arm: Mapping[str, Any], control: Mapping[str, Any], name: str) -> Sequence[tuple[float, float]]:
    both = zip(values_of(arm, name), values_of(control, name), strict=True)
    return [(one, other) for one, other in both if one is not None and other is not None]
