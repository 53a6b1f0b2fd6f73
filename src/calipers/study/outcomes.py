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
from calipers.types.encoding import finite_number

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
    """Return the outcomes in the object of a study's result file or record; InputError names ``where``."""
    arms = [one for one in found.get("arms") or () if isinstance(one, dict) and isinstance(one.get("name"), str)]
    if found.get("format") == RECORD:
        by_name = {one["name"]: one for one in arms}
        return [_of_record(one, by_name.get(one.get("against") or "")) for one in arms]
    return [
        Outcome(one["name"], one.get("against"), *(_estimates(one, key, where) for key in ("figures", "differences")))
        for one in arms
    ]


def _estimates(arm: Mapping[str, Any], key: str, where: str) -> dict[str, Estimate]:
    stated = arm.get(key)
    try:
        return {str(name): _estimate(one) for name, one in (stated if isinstance(stated, dict) else {}).items()}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: arm {arm['name']!r}: a figure under {key!r} has no {error}") from None


def _estimate(one: Mapping[str, Any]) -> Estimate:
    return Estimate(
        float(one["mean"]), finite_number(one["half_width"]), finite_number(one["detectable"]), int(one["n"])
    )


def _of_record(arm: Mapping[str, Any], control: Mapping[str, Any] | None) -> Outcome:
    def made(name: str) -> bool:
        return any(value is not None for value in values_of(arm, name))

    names = [name for name in (*arm["figures"], *recorded_ends(arm)) if made(name)]
    return Outcome(
        arm["name"],
        arm.get("against"),
        {name: figure(arm, name) for name in names},
        {name: found for name in names if control and (found := _difference_or_none(arm, control, name)) is not None},
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
