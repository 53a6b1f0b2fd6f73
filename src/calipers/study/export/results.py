"""The result table of a study on a cluster: what each arm and recipe reached, by IFEval and rubric scores.

Reads what the scripts of an exported study left in ``results/``. Not responsible for how it is printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calipers.errors import ConfigError
from calipers.rubric.dataset_score import dataset_score
from calipers.study.export.plan import BASE, IFEVAL
from calipers.study.export.writing import FORMAT
from calipers.study.intervals import Estimate, estimate, paired_difference

_ACCURACIES = {"prompt_strict": "IFEval, prompts", "inst_strict": "IFEval, instructions"}
"""The figures of IFEval in the table, with their headings."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of several runs: its mean over seeds, its paired difference from another arm's, if there is one, and how
    many responses in all had no grade.
    """

    value: Estimate
    difference: Estimate | None
    ungraded: int = 0


@dataclass(frozen=True, slots=True)
class TableRow:
    """The results of an arm with a recipe, or of the policy before training. ``runs`` have results, ``of`` exist.

    ``against`` is the arm that it is compared with, or "".
    """

    arm: str
    against: str
    recipe: str
    runs: int
    of: int
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResultTable:
    """The results of a study on a cluster: ``columns`` are the names of the figures, in order."""

    title: str
    model: str
    steps: int
    evaluator: str | None
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


def read_results(folder: Path) -> ResultTable:
    """Return the result table of the exported study in ``folder``.

    Differences are over the seeds that an arm and the one it is paired with both have, with the same recipe. Raises
    ConfigError for a folder without an exported study, and for results that cannot be read.
    """
    plan = _plan(folder)
    columns = tuple(column for name in plan["evaluate"] for column in _columns(name))
    values: dict[tuple[str, str], dict[int, _Values]] = {}
    against: dict[str, str] = {}
    for run in plan["runs"]:
        found = _figures_of_run(folder, run["name"], plan["evaluate"])
        values.setdefault((run["recipe"], run["arm"]), {})[run["seed"]] = found
        against[run["arm"]] = run["against"]
    base = {0: _figures_of_run(folder, BASE, plan["evaluate"])}
    rows = [_row((BASE, "", ""), base, {}, columns)]
    for (recipe, arm), runs in values.items():
        others = values.get((recipe, against[arm]), {})
        rows.append(_row((arm, against[arm] if others else "", recipe), runs, others, columns))
    return ResultTable(plan["title"], plan["model"], plan["steps"], plan["evaluator"], columns, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Values:
    """The figures of one run, and how many responses had no grade, by figure."""

    figures: Mapping[str, float] = field(default_factory=dict)
    ungraded: Mapping[str, int] = field(default_factory=dict)


def _plan(folder: Path) -> dict[str, Any]:
    try:
        plan: dict[str, Any] = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
        if plan.get("format") == FORMAT:
            return plan
    except (OSError, ValueError, AttributeError):
        pass
    raise ConfigError(f"{folder}: has no exported study in it: name the folder that calipers study export wrote")


def _columns(name: str) -> list[str]:
    return list(_ACCURACIES.values()) if name == IFEVAL else [name]


def _figures_of_run(folder: Path, run: str, evaluated: list[str]) -> _Values:
    figures: dict[str, float] = {}
    ungraded: dict[str, int] = {}
    for name in evaluated:
        if name == IFEVAL:
            figures |= _accuracies(folder / "results" / run / "ifeval.json")
            continue
        path = folder / "results" / run / f"{name}.scores.jsonl"
        if path.is_file():
            found = dataset_score(list(_scores(path)))
            ungraded[name] = found.ungraded
            if found.mean is not None:
                figures[name] = found.mean
    return _Values(figures, ungraded)


def _accuracies(path: Path) -> dict[str, float]:
    if not path.is_file() or not path.stat().st_size:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {heading: float(found[key]) for key, heading in _ACCURACIES.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: is not what calipers ifeval --json prints: {error}") from error


def _scores(path: Path) -> Iterator[float | None]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield from (one["score"] for one in json.loads(line)["trajectories"])
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path}:{number}: is not a line of a result file: {error}") from error


def _row(
    names: tuple[str, str, str], runs: Mapping[int, _Values], others: Mapping[int, _Values], columns: Iterable[str]
) -> TableRow:
    figures = {}
    for column in columns:
        own, other = _by_seed(runs, column), _by_seed(others, column)
        if not own:
            continue
        both = sorted(own.keys() & other.keys())
        difference = paired_difference([own[one] for one in both], [other[one] for one in both]) if both else None
        ungraded = sum(values.ungraded.get(column, 0) for values in runs.values())
        figures[column] = Figure(estimate(list(own.values())), difference, ungraded)
    return TableRow(*names, sum(bool(values.figures) for values in runs.values()), len(runs), figures)


def _by_seed(runs: Mapping[int, _Values], column: str) -> dict[int, float]:
    return {seed: values.figures[column] for seed, values in runs.items() if column in values.figures}
