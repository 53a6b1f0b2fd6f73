"""A study's TOML file as a plan that has been checked, with every problem in one error.

Not responsible for single problems (``problems``, ``verl_check``) or for writing (``writing``).
"""

from __future__ import annotations

from pathlib import Path

from calipers.study.export.plan import Plan, make_plan
from calipers.study.export.problems import problems_of_plan
from calipers.study.export.run_settings import all_settings
from calipers.study.export.study_file import cluster_study
from calipers.study.export.verl_check import is_verl_here, problem_in_verl
from calipers.study.tables import Problem, Tables
from calipers.study.training.study_file import study_tables


def checked_plan(config: str) -> tuple[Plan, str, bool]:
    """Return the plan of a study's TOML file, the file's text, and whether verl's own loader has checked it.

    Raises ConfigError with every problem, if there is one.
    """
    tables = Tables.read(Path(config))
    plan = make_plan(cluster_study(study_tables(tables), tables))
    problems = problems_of_plan(plan)
    by_verl = not problems and is_verl_here()
    if by_verl:
        problems = _problems_in_verl(plan)
    tables.require_none(problems, why="it cannot be trained on a cluster")
    return plan, tables.text, by_verl


def _problems_in_verl(plan: Plan) -> list[Problem]:
    found = []
    for run in plan.runs:
        problem = problem_in_verl(all_settings(run, plan.study.settings, plan.study.variants))
        if problem is not None:
            found.append(Problem(f"{run.name}: {problem}", ("cluster",)))
    return found
