"""A study for the page: curves of each arm, paired differences, whether it is valid, what is missing or failed.

Reads result files and records of ``calipers study train`` and ``simulate``, and folders of training studies, also
unfinished ones. Not responsible for curves and figures themselves (``study``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.report.judge_values import list_of
from calipers.report.runs.shapes import MOST_POINTS, short
from calipers.study.comparison.folder import RESULTS
from calipers.study.comparison.folder import TOML as COMPARISON
from calipers.study.curves import Against, ArmCurves, Row, StudyCurves, curves_of, differences, mean_curve, thinned
from calipers.study.intervals import Estimate
from calipers.study.labels import POINTS, figure_label, label_of
from calipers.study.outcomes import RECORD, outcomes_of
from calipers.types.encoding import measured_number

_TRAINING: Final = "calipers-training/1"
_SIMULATION: Final = "calipers-simulation/1"
KINDS: Final = {_TRAINING: "training", RECORD: "training, recorded", _SIMULATION: "simulation"}
_OVERS: Final[tuple[Against, ...]] = ("kl", "groups", "calls")
_HELD_OUT: Final = "held-out prompts"
_STUDY: Final = "study.json"
_RESULTS: Final = "results.json"


def is_study_folder(folder: Path) -> bool:
    """Return whether a folder is that of a study of ``calipers study train``, finished or not.

    The folder of a comparison of judges has a ``study.json``, too.
    """
    if (folder / COMPARISON).is_file() or (folder / RESULTS).is_file():
        return False
    return (folder / _STUDY).is_file() or (folder / _RESULTS).is_file()


def study_of(path: str) -> dict[str, Any]:
    """Return the study in a result file, a record or a folder, for the page.

    Raises InputError, which names the file, for one that cannot be shown.
    """
    folder = Path(path)
    if not folder.is_dir():
        return _shown(_read(folder), folder.name, path, [])
    if not (folder / _RESULTS).is_file():
        found, lacks = _unfinished(folder)
        return _shown(found, folder.name, path, lacks)
    found = _read(folder / _RESULTS)
    return _shown(found, folder.name, str(folder / _RESULTS), _newer_runs(folder, found))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    if not isinstance(found, dict) or found.get("format") not in list(KINDS):
        stated = found.get("format") if isinstance(found, dict) else None
        known = ", ".join(KINDS)
        raise InputError(f"{path}: its format is {stated!r:.60}; this version of calipers shows {known}")
    if "settings" in found and "arms" not in found:
        raise InputError(f"{path}: holds the settings of a study, not its results; name the folder it is in")
    return found


def _unfinished(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return what a training study's folder would say if it ended now, and what it lacks."""
    from calipers.study.training.matrix import runs_of  # noqa: PLC0415 - other sources do not need it
    from calipers.study.training.results import results_so_far  # noqa: PLC0415 - likewise
    from calipers.study.training.study_file import read_study  # noqa: PLC0415 - likewise

    settings = _settings(folder / _STUDY)
    try:
        study, _ = read_study(
            str(folder / "study.toml"), steps=_whole(settings.get("steps")), seeds=_whole(settings.get("seeds"))
        )
        found = results_so_far(study, folder)
    except CalipersError as error:
        raise InputError(f"{folder}: the study is not finished, and its runs cannot be read: {error}") from error
    runs = runs_of(study)
    done = sum(len(arm["runs"]) for arm in found["arms"])
    lacks = [f"The study is not finished: {done} of {len(runs)} runs are."]
    going = sum((run.folder(folder).path / "steps.jsonl").exists() for run in runs) - done - len(found["failed"])
    if going > 0:
        lacks.append(f"{going} of the others have begun; their steps are shown when they are finished.")
    return found, lacks


def _settings(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    settings = found.get("settings") if isinstance(found, dict) else None
    return settings if isinstance(settings, dict) else {}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _newer_runs(folder: Path, found: Mapping[str, Any]) -> list[str]:
    """Return a sentence if a study's folder has more finished runs than its results."""
    there = sum(1 for _ in folder.glob("runs/*/*/done.json"))
    known = sum(len(list_of(arm.get("runs"))) for arm in list_of(found.get("arms")) if isinstance(arm, dict))
    if there <= known:
        return []
    return [f"{there - known} finished runs are newer than {_RESULTS}; repeat calipers study train to count them."]


def _shown(found: Mapping[str, Any], name: str, where: str, lacks: Sequence[str]) -> dict[str, Any]:
    by_step = curves_of(found, where)
    outcomes = outcomes_of(found, where)
    arms = [arm.name for arm in by_step.arms]
    place = {arm: at for at, arm in enumerate(arms)}
    charts, size = _charts(found, by_step, where, place)
    failed = [_failure(one) for one in list_of(found.get("failed"))]
    runs = {outcome.name: max((one.n for one in outcome.figures.values()), default=0) for outcome in outcomes}
    without = [arm for arm in arms if not runs.get(arm)]
    return {
        "kind": "study",
        "name": name,
        "title": by_step.title,
        "engine": KINDS[found["format"]],
        "facts": _facts(found, arms, runs),
        "valid": found.get("valid") if isinstance(found.get("valid"), bool) else None,
        "checks": [_check(one) for one in list_of(found.get("checks")) if isinstance(one, dict)],
        "failed": failed,
        "lacks": [*lacks, *_missing(without), *_thinned(size)],
        "stopped": [
            {"arm": str(arm.get("name")), **{key: one.get(key) for key in ("seed", "step", "rule", "found")}}
            for arm in found["arms"]
            for one in list_of(arm.get("stopped"))
            if isinstance(one, dict)
        ],
        "arms": [{"name": arm.name, "against": arm.against, "runs": runs.get(arm.name, 0)} for arm in by_step.arms],
        "charts": charts,
        "figures": _figures(outcomes, place),
    }


def _facts(found: Mapping[str, Any], arms: Sequence[str], runs: Mapping[str, int]) -> list[list[str]]:
    seeds, steps = found.get("seeds"), measured_number(found.get("steps"))
    facts = [["arms", f"{len(arms):,}"], ["finished runs", f"{sum(runs.values()):,}"]]
    if isinstance(seeds, list):
        facts.append(["paired seeds", f"{len(seeds):,}"])
    if steps is not None:
        facts.append(["steps", f"{steps:,.0f}"])
    return [*facts, ["calipers", str(found.get("calipers"))]]


def _failure(one: Any) -> dict[str, Any]:
    """Return a failed run of a study; a record has only the names."""
    if not isinstance(one, dict):
        return {"run": str(one), "why": None}
    return {"run": str(one.get("run")), "why": str(one.get("why") or "").strip().rsplit("\n", 1)[-1] or None}


def _check(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "passed": one.get("passed") if isinstance(one.get("passed"), bool) else None,
        "found": str(one.get("found")),
    }


def _missing(without: Sequence[str]) -> list[str]:
    return [f"No finished run, and so no curve: {', '.join(without)}."] if without else []


def _thinned(size: int) -> list[str]:
    return [f"Each point of a curve is the mean of {size} consecutive steps of a run."] if size > 1 else []


def _charts(
    found: Mapping[str, Any], by_step: StudyCurves, where: str, place: Mapping[str, int]
) -> tuple[list[dict[str, Any]], int]:
    """Return the study's curves over steps, then those of held-out prompts over steps and what else they have."""
    charts, sizes = [], [1]
    has_both = all(
        isinstance(arm.get("curves"), dict) and isinstance(arm.get("held_out"), dict) for arm in found["arms"]
    )
    kinds: list[tuple[StudyCurves, str]] = [(by_step, "" if has_both else _split(found))]
    if has_both:
        held_out = {**found, "arms": [{**arm, "curves": None} for arm in found["arms"]]}
        kinds.append((curves_of(held_out, where), _HELD_OUT))
    for over in _OVERS:
        try:
            kinds.append((curves_of(found, where, over=over), _split(found)))
        except InputError:
            continue  # this kind of study, or an arm of it, has no such points
    for study, split in kinds:
        short_study, size = thinned(study, MOST_POINTS)
        sizes.append(size)
        charts += [
            chart
            for name in short_study.names
            if name != study.over and (chart := _chart(short_study, name, split, place))["lines"]
        ]
    return charts, max(sizes)


def _split(found: Mapping[str, Any]) -> str:
    return "" if found["format"] == _SIMULATION else _HELD_OUT


def _chart(study: StudyCurves, name: str, split: str, place: Mapping[str, int]) -> dict[str, Any]:
    try:
        compared = differences(study, name) if study.over == "step" else []
    except ConfigError:
        compared = []
    return {
        "curve": name,
        "label": label_of(name),
        "split": split,
        "over": study.over,
        "over_label": POINTS[study.over],
        "lines": [line for arm in study.arms if (line := _line(arm, arm.runs[name], place)) is not None],
        "differences": [line for arm, rows in compared if (line := _line(arm, rows, place)) is not None],
    }


def _line(arm: ArmCurves, rows: Sequence[Row], place: Mapping[str, int]) -> dict[str, Any] | None:
    points = mean_curve(arm.at, rows)
    if not points:
        return None
    return {
        "arm": place[arm.name],
        "at": [short(at) for at, _ in points],
        "mean": [short(one.mean) for _, one in points],
        "half": [short(one.half_width) for _, one in points],
    }


def _figures(outcomes: Sequence[Any], place: Mapping[str, int]) -> list[dict[str, Any]]:
    names = dict.fromkeys(name for one in outcomes for name in one.figures)
    return [
        {
            "figure": name,
            "label": figure_label(name),
            "values": _by_arm({one.name: one.figures.get(name) for one in outcomes}, place),
            "differences": _by_arm({one.name: one.differences.get(name) for one in outcomes}, place),
        }
        for name in names
    ]


def _by_arm(found: Mapping[str, Estimate | None], place: Mapping[str, int]) -> list[dict[str, Any]]:
    return [
        {
            "arm": place[name],
            **{key: short(getattr(one, key)) for key in ("mean", "half_width", "detectable")},
            "n": one.n,
            "clear": one.is_clear,
        }
        for name, one in found.items()
        if one is not None
    ]
