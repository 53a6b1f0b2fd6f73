"""A study's TOML file as a study on a cluster: its arms, its judges, and the table [cluster].

Not responsible for the tables that ``calipers study train`` reads (``training.study_file``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.config.option import did_you_mean, nearest_name, options_of
from calipers.errors import ConfigError
from calipers.study.export.arms import ClusterArms, arms_for_cluster
from calipers.study.export.recipes import Recipe, Variant, find_recipe, find_variant
from calipers.study.export.settings import ClusterSettings
from calipers.study.export.watching import watch_left_out
from calipers.study.tables import Problem, Tables, problems_of_keys
from calipers.study.training.settings import JudgeTable, TrainingStudy
from calipers.study.training.study_file import StudyTables


@dataclass(frozen=True, slots=True)
class ClusterStudy:
    """A study on a cluster. ``judges`` are all under [judges]; ``variants`` and ``recipes`` are by name.

    ``problems`` say what is wrong with the file; where they do, settings have their defaults, which are in ``guessed``
    by name, and arms may be missing: their names are ``unread``. ``training`` is the study of ``calipers study train``.
    """

    title: str
    settings: ClusterSettings
    arms: ClusterArms
    judges: Mapping[str, JudgeTable]
    recipes: tuple[Recipe, ...]
    variants: Mapping[str, Variant]
    problems: tuple[Problem, ...] = ()
    training: TrainingStudy = field(default_factory=lambda: TrainingStudy(()))
    guessed: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()

    @property
    def evaluator(self) -> str | None:
        """The name of the judge whose rubric scores are compared; None if no judge of the study can be asked."""
        return self.settings.evaluator or next((arm.judge for arm in self.arms.arms), None)


def cluster_study(found: StudyTables, tables: Tables) -> ClusterStudy:
    """Return the study on a cluster that the ``tables`` of its file describe; ``found`` is what was read of them."""
    study, judges = found.study, found.judges
    table = tables.mapping(tables.content.get("cluster", {}), "cluster")
    problems: list[Problem] = [*tables.problems]
    variants = _named(find_variant, table.get("variants", ()), problems, "variants")
    settings, guessed = _settings(table, variants, problems)
    recipes = _named(find_recipe, settings.recipes, problems, "recipes")
    arms = arms_for_cluster(study.arms)
    arms = replace(arms, left_out={**arms.left_out, **dict(watch_left_out(study))})
    if not arms.arms and not found.unread:
        listed = "".join(f"\n    {name}: {why}" for name, why in arms.left_out.items())
        problems.append(Problem(f"no arm can be trained on a cluster:{listed}"))
    if settings.evaluator is not None and settings.evaluator not in judges:
        hint = did_you_mean(settings.evaluator, judges)
        problem = f"[cluster] evaluator: there is no judge {settings.evaluator!r}.{hint}"
        problems.append(Problem(problem, ("cluster", "evaluator")))
    return ClusterStudy(
        study.title,
        settings,
        arms,
        judges,
        tuple(recipes.values()),
        variants,
        tuple(dict.fromkeys(problems)),
        study,
        guessed=guessed,
        unread=tuple(found.unread),
    )


def _settings(
    table: Mapping[str, Any], variants: Mapping[str, Variant], problems: list[Problem]
) -> tuple[ClusterSettings, frozenset[str]]:
    """Return the table [cluster] with defaults where it says nothing, and the keys whose values are not to be used.

    A key that is not known is perhaps a misspelling of another one, whose value is then unknown, too.
    """
    given: dict[str, Any] = {}
    for variant in variants.values():
        given |= variant.cluster
    known = {option.name for option in options_of(ClusterSettings)}
    wrong = {key: f"[cluster]: {problem}" for key, problem in problems_of_keys(ClusterSettings, table)}
    for key, value in table.items():
        if key not in wrong and (problem := _wrong(key, value)):
            wrong[key] = problem
    problems += (Problem(problem, ("cluster", key)) for key, problem in wrong.items())
    guessed = {key if key in known else nearest_name(key, known) or key for key in wrong}
    given |= {key: value for key, value in table.items() if key not in wrong}
    return ClusterSettings(**given), frozenset(guessed - given.keys())


def _wrong(name: str, value: Any) -> str:
    """Return what is wrong with the type of a setting under [cluster], "" for nothing."""
    match name:
        case "model" | "data" | "evaluator" if not isinstance(value, str) or not value:
            return f"[cluster] {name}={value!r:.60}: it must be text"
        case "recipes" | "variants" | "evaluate" if not _are_texts(value) or (name == "recipes" and not value):
            return f"[cluster] {name}={value!r:.60}: it must be a list of names"
        case "serve" | "calipers" | "verl" if not isinstance(value, Mapping):
            return f"[cluster] {name} must be a table"
        case "run_gpus" if not isinstance(value, list):
            return f"[cluster] run_gpus={value!r:.60}: it must be a list of lists of GPU numbers"
    return ""


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _named(find: Any, names: object, problems: list[Problem], key: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(map(str, names)) if isinstance(names, list | tuple) else ():
        try:
            found[name] = find(name)
        except ConfigError as error:
            problems.append(Problem(f"[cluster] {error}", ("cluster", key)))
    return found
