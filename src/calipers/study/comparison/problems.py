"""What is wrong with the judges of a comparison: with their vices, options and names.

Not responsible for the rest of the comparison's TOML (``study_file``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.config.flat_names import option_problems
from calipers.errors import CalipersError, ConfigError
from calipers.judging.judge import Judge
from calipers.study.comparison.judges import NOT_IN_A_COMPARISON, judge_options, quality_bounds
from calipers.study.comparison.settings import Cell, Comparison, JudgeTable, cells_of
from calipers.study.tables import Problem, Tables
from calipers.study.training.simulated import problems_of_vices
from calipers.types import Rubric, TrajectoryGroup


def check_judges(
    settings: Comparison,
    tables: Tables,
    groups: Sequence[TrajectoryGroup],
    rubrics: Mapping[str | None, str | Rubric | None],
) -> None:
    """Note everything that is wrong with a comparison's judges.

    Each option and vice is checked for itself, and the judges of all cells without those that are wrong. Without
    ``groups``, simulated judges are not made: their qualities are the groups' gold.
    """
    for problem in _same_names(cells_of(settings)):
        tables.note(problem, "judges")
    right = _without_wrong_options(settings, tables)
    judges = {name: _without_wrong_vices(table, tables, name) for name, table in right.judges.items()}
    right = replace(right, judges={name: table for name, table in judges.items() if table is not None})
    cells = [cell for cell in cells_of(right) if groups or cell.table.model is not None]
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        try:
            Judge.of(judge_options(cell, right, groups, rubrics.get(cell.wording))).close()
        except (CalipersError, OSError, ValueError) as error:  # the last two are of paths that cannot be
            found.setdefault((cell.name, str(error)), []).append(cell)
    for (name, problem), wrong in found.items():
        asked = "" if wrong[0].wording is None else f"with wording {wrong[0].wording!r}: "
        tables.note(f"{asked}{problem}", "judges", name, "model")


def _without_wrong_options(settings: Comparison, tables: Tables) -> Comparison:
    """Note what is wrong with single options of a comparison's judges, and return its settings without these."""

    def right(options: Any, *path: str) -> Any:
        if options is not None and not isinstance(options, Mapping):
            tables.note("options must be a table", *path, "options")
            return None
        found = {}
        for name, value in (options or {}).items():
            problems = _problems_of_option(name, value)
            for problem in problems:
                tables.note(problem, *path, "options", name)
            if not problems:
                found[name] = value
        return None if options is None else found

    judges, wordings = settings.judges, settings.wordings
    return replace(
        settings,
        options=right(settings.options),
        judges={name: replace(one, options=right(one.options, "judges", name)) for name, one in judges.items()},
        wordings={name: replace(one, options=right(one.options, "wordings", name)) for name, one in wordings.items()},
    )


def _problems_of_option(name: str, value: Any) -> list[str]:
    if name in NOT_IN_A_COMPARISON:
        return [f"options: a comparison cannot set {name}: {NOT_IN_A_COMPARISON[name]}"]
    return option_problems({name: value})


def _without_wrong_vices(table: JudgeTable, tables: Tables, name: str) -> JudgeTable | None:
    """Note what is wrong with a judge's vices and quality, and return its table without these; None without a judge."""
    if table.model is not None:
        if table.vices is None and isinstance(table.model, str) and table.model and table.model.isprintable():
            if table.quality != JudgeTable().quality:
                tables.note(
                    f"quality is for simulated judges: {table.model} reads the answers", "judges", name, "quality"
                )
            return table
        problem = "a judge has vices, if it is simulated, or a model; not both"
        if table.vices is None:
            problem = f"model={table.model!r:.60}: it must be a judge's name, such as openai/gpt-5-mini"
        tables.note(problem, "judges", name, "model")
        return None
    try:
        quality_bounds(table)
    except ConfigError as error:
        tables.note(str(error), "judges", name, "quality")
        table = replace(table, quality=JudgeTable().quality)
    problems = [*problems_of_vices(table.vices or ())]
    for place, problem in problems:
        at = tables.where("judges", name)
        tables.problems.append(Problem(f"{at}: {problem}", ("judges", name, "vices", *place)))
    return replace(table, vices=None) if problems else table


def _same_names(cells: Sequence[Cell]) -> Iterator[str]:
    names = [str(cell) for cell in cells]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"{names.count(name)} cells have the name {name!r}"
