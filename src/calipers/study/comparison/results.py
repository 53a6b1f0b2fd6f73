"""The result file of a comparison of judges: all figures as one JSON object.

Its keys are a contract; ``format`` changes with them. Not responsible for tables in the terminal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final

from calipers._version import __version__
from calipers.calibration.costs import Cost
from calipers.study.comparison.drift import Drift
from calipers.study.comparison.figures import CellFigures, ComparisonFigures
from calipers.study.profiles.figures import Figure
from calipers.study.profiles.profile import Profile

FORMAT: Final = "calipers-comparison/1"


def result_object(found: ComparisonFigures, *, title: str = "", notes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return a comparison's result file as an object that JSON can hold. Numbers are not rounded."""
    return {
        "format": FORMAT,
        "calipers": __version__,
        "title": title,
        "cells": [_cell(one) for one in found.cells],
        "alpha": found.alpha,
        "pairs": [plain(one) for one in found.pairs],
        "criteria": [plain(one) for one in found.criteria],
        "moved": [plain(one) for one in found.moved],
        "reproduced": None
        if found.reproduced is None
        else {"equal": found.reproduced[0], "recorded": found.reproduced[1], "differing": list(found.differing)},
        "notes": list(notes),
    }


def _cell(one: CellFigures) -> dict[str, Any]:
    return {
        "name": one.name,
        **asdict(one.key),
        "model": one.model,
        "failed": one.failed,
        "groups": one.groups,
        "scores": plain(one.distribution),
        "measures": None if one.profile is None else _measures(one.profile),
        "rewrites": plain(one.preferences.rewrites),
        "per_unit": plain(one.preferences.per_unit),
        "changes": plain(one.preferences.changes),
        "drift": None if one.drift is None else _drift(one.drift),
        "cost": _cost(one.cost),
        "rewritten_cost": _cost(one.rewritten_cost),
    }


def _measures(profile: Profile) -> dict[str, Any]:
    parts = ("scale", "repeatability", "position", "preferences", "injection", "failures", "agreement")
    return {name: plain(getattr(profile, name)) for name in parts}


def _drift(drift: Drift) -> dict[str, Any]:
    return {"by_feature": plain(drift.by_feature), "judge": plain(drift.judge), "assumed": list(drift.assumed)}


def _cost(cost: Cost) -> dict[str, Any]:
    return asdict(cost)


def plain(value: Any) -> Any:
    """Return a comparison's figures as plain data: what is not known is None, with the reason where it has one."""
    match value:
        case Figure():
            known = {"value": value.value, "low": value.low, "high": value.high, "n": value.n, "groups": value.groups}
            return known | ({"reason": value.reason} if value.reason else {})
        case Mapping():
            return {str(key): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case float():
            return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return value
