"""A study's TOML file as a plan that has been checked, with every problem in one error.

Not responsible for single problems (``problems``, ``verl_check``) or for writing (``writing``).
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from calipers.errors import ConfigError
from calipers.study.export.plan import Plan, make_plan
from calipers.study.export.problems import problems_of_plan
from calipers.study.export.run_settings import all_settings
from calipers.study.export.study_file import cluster_study
from calipers.study.export.verl_check import is_verl_here, problem_in_verl
from calipers.study.training.study_file import study_tables


def checked_plan(config: str) -> tuple[Plan, str, bool]:
    """Return the plan of a study's TOML file, the file's text, and whether verl's own loader has checked it.

    Raises ConfigError with every problem, if there is one.
    """
    text = _text(Path(config))
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{config}: not valid TOML: {error}") from error
    plan = make_plan(cluster_study(study_tables(content), content.get("cluster")))
    problems = problems_of_plan(plan)
    by_verl = not problems and is_verl_here()
    if by_verl:
        problems = _problems_in_verl(plan)
    if problems:
        listed = "".join(f"\n  {one}" for one in problems)
        raise ConfigError(f"{config}: it cannot be trained on a cluster:{listed}")
    return plan, text, by_verl


def _problems_in_verl(plan: Plan) -> list[str]:
    found = []
    for run in plan.runs:
        problem = problem_in_verl(all_settings(run, plan.study.settings, plan.study.variants))
        if problem is not None:
            found.append(f"{run.name}: {problem}")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
