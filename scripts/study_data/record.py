"""Records of training studies: what figures and tables need of a study's results, small enough for the repository.

A record is a result file of ``calipers study train`` without the curves of steps. Each run keeps its curves of held-out
prompts, with three significant digits, and its figures, with four. Not responsible for tables (``tables``) or figures
(``pictures``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError
from calipers.study.intervals import estimate
from calipers.study.outcomes import RECORD

DATA: Final = Path(__file__).parents[2] / "docs" / "study-data"
MOST_BYTES: Final = 220_000
"""The largest record."""

HELD_OUT: Final = ("truth", "length", "sure", "overconfident", "flattery", "injection", "kl", "calls")
"""Curves of held-out prompts that a record keeps."""

_LAST: Final = ("truth", "length", "sure", "overconfident", "flattery", "injection", "truth_spread")
_FIRST: Final = ("length_pull", "truth_pull", "unscored", "weight")
_RESULTS: Final = "calipers-training/1"
_PATHS: Final = re.compile(r"(?<![\w<])(?:/(?:tmp|home|root|work|Users|mnt|var|private)/|[A-Za-z]:\\\\)")


def record_of(folder: Path, without: Sequence[str] = ()) -> dict[str, Any]:
    """Return the record of the training study in ``folder``, ``without`` some of the curves and figures that it has.

    Raises InputError for a folder that has no results of such a study.
    """
    if unknown := [name for name in without if name not in HELD_OUT]:
        raise InputError(f"a record has no {unknown[0]!r} to leave out; it has {', '.join(HELD_OUT)}")
    results, study = _read(folder / "results.json"), _read(folder / "study.json")
    if results.get("format") != _RESULTS:
        raise InputError(f"{folder / 'results.json'}: is not a result file of calipers study train")
    return {
        "format": RECORD,
        **{name: results[name] for name in ("calipers", "title", "steps", "window", "seeds", "valid", "checks")},
        "failed": [one["run"] for one in results["failed"]],
        "versions": study["versions"],
        "git": study["git"],
        "toml": (folder / "study.toml").read_text(encoding="utf-8"),
        "arms": [_arm(arm, results["window"], without) for arm in results["arms"]],
    }


def written(record: Mapping[str, Any]) -> bytes:
    """Return a study's record as the bytes of its file.

    Raises InputError for one that is too large, or that names a path of the machine it was made on.
    """
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).replace('{"name":', '\n{"name":') + "\n"
    if found := _PATHS.search(text):
        raise InputError(f"the record would hold a path: ...{text[found.start() - 40 : found.end() + 40]}...")
    if len(text.encode()) > MOST_BYTES:
        raise InputError(f"the record has {len(text.encode()):,} bytes, and at most {MOST_BYTES:,} are kept")
    return text.encode()


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    return found


def _arm(arm: Mapping[str, Any], window: int, without: Sequence[str]) -> dict[str, Any]:
    curves, held_out = arm["curves"], arm["held_out"]
    last = [name for name in _LAST if name in curves and name not in without]
    figures = {name: _of_runs(curves[name], slice(-window, None)) for name in last}
    figures |= {f"first_{name}": _of_runs(curves[name], slice(window)) for name in _FIRST if name in curves}
    for name, values in figures.items():
        _require_same(arm, name, values)
    return {
        "name": arm["name"],
        "against": arm["against"],
        "figures": {name: [_short(value) for value in values] for name, values in figures.items()},
        "held_out": {
            "step": held_out["step"],
            **{
                name: [[_short(value, 3) for value in row] for row in held_out[name]]
                for name in HELD_OUT
                if name not in without
            },
        },
    }


def _of_runs(rows: Sequence[Sequence[float | None]], part: slice) -> list[float | None]:
    """Return the mean over part of each run's curve; None for a run that was not made."""
    return [None if None in row else math.fsum(value or 0.0 for value in row[part]) / len(row[part]) for row in rows]


def _require_same(arm: Mapping[str, Any], name: str, values: Sequence[float | None]) -> None:
    """Raise InputError unless a figure's mean over runs is the one in the study's result file."""
    known = [value for value in values if value is not None]
    stated = arm["figures"].get(name, {}).get("mean")
    if not known:
        return
    mean = estimate(known).mean
    if stated is None or not math.isclose(mean, stated, rel_tol=1e-4, abs_tol=1e-5):
        raise InputError(f"arm {arm['name']!r}: {name} is {mean:g} by its curves, and {stated} by its figures")


def _short(value: float | None, digits: int = 4) -> float | int | None:
    if value is None:
        return None
    short = value if value == int(value) else float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short
