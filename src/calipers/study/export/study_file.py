"""A study's TOML file as a study on a cluster: its arms, its judges, and the table [cluster].

Not responsible for the tables that ``calipers study train`` reads (``training.study_file``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError
from calipers.study.export.arms import ClusterArms, arms_for_cluster
from calipers.study.export.recipes import Recipe, Variant, find_recipe, find_variant
from calipers.study.export.settings import ClusterSettings
from calipers.study.export.watching import watch_left_out
from calipers.study.tables import read_table
from calipers.study.training.settings import JudgeTable, TrainingStudy


@dataclass(frozen=True, slots=True)
class ClusterStudy:
    """A study on a cluster. ``judges`` are all under [judges]; ``variants`` and ``recipes`` are by name.

    ``problems`` say what is wrong with the file. ``training`` is the study of ``calipers study train``.
    """

    title: str
    settings: ClusterSettings
    arms: ClusterArms
    judges: Mapping[str, JudgeTable]
    recipes: tuple[Recipe, ...]
    variants: Mapping[str, Variant]
    problems: tuple[str, ...] = ()
    training: TrainingStudy = field(default_factory=lambda: TrainingStudy(()))

    @property
    def evaluator(self) -> str | None:
        """The name of the judge whose rubric scores are compared; None if no judge of the study can be asked."""
        return self.settings.evaluator or next((arm.judge for arm in self.arms.arms), None)


def cluster_study(study: TrainingStudy, judges: Mapping[str, JudgeTable], table: object) -> ClusterStudy:
    """Return the study on a cluster that ``study`` and the table [cluster] of its file describe."""
    problems: list[str] = []
    table = {} if table is None else table
    variants = _named(find_variant, table.get("variants", ()) if isinstance(table, Mapping) else (), problems)
    settings = _settings(table, variants, problems)
    recipes = _named(find_recipe, settings.recipes, problems)
    arms = arms_for_cluster(study.arms)
    arms = replace(arms, left_out={**arms.left_out, **dict(watch_left_out(study))})
    if not arms.arms:
        listed = "".join(f"\n    {name}: {why}" for name, why in arms.left_out.items())
        problems.append(f"no arm can be trained on a cluster:{listed}")
    if settings.evaluator is not None and settings.evaluator not in judges:
        hint = did_you_mean(settings.evaluator, judges)
        problems.append(f"[cluster] evaluator: there is no judge {settings.evaluator!r}.{hint}")
    return ClusterStudy(
        study.title, settings, arms, judges, tuple(recipes.values()), variants, tuple(dict.fromkeys(problems)), study
    )


def _settings(table: object, variants: Mapping[str, Variant], problems: list[str]) -> ClusterSettings:
    """Return the table [cluster] with the variants' defaults where it says nothing."""
    defaults: dict[str, Any] = {}
    for variant in variants.values():
        defaults |= variant.cluster
    if not isinstance(table, Mapping):
        problems.append("[cluster] must be a table")
        return ClusterSettings(**defaults)
    read: ClusterSettings | None = read_table(ClusterSettings, table, "[cluster]", problems)
    if read is None:
        return ClusterSettings()
    if wrong := _shapes(read):
        problems += wrong
        return ClusterSettings()
    return replace(read, **{name: value for name, value in defaults.items() if name not in table})


def _shapes(settings: ClusterSettings) -> list[str]:
    """Return what is wrong with the types of settings that are no numbers."""
    found = []
    for option in options_of(ClusterSettings):
        value = getattr(settings, option.name)
        match option.name:
            case "model" | "data" | "evaluator" if not isinstance(value, str) or not value:
                if option.name != "evaluator" or value is not None:
                    found.append(f"[cluster] {option.name}={value!r}: it must be text")
            case "recipes" | "variants" | "evaluate" if not _are_texts(value) or (
                option.name == "recipes" and not value
            ):
                found.append(f"[cluster] {option.name}={value!r}: it must be a list of names")
            case "serve" | "calipers" | "verl" if value is not None and not isinstance(value, Mapping):
                found.append(f"[cluster] {option.name} must be a table")
            case "run_gpus" if value is not None and not isinstance(value, list):
                found.append(f"[cluster] run_gpus={value!r}: it must be a list of lists of GPU numbers")
    return found


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _named(find: Any, names: object, problems: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names if isinstance(names, list | tuple) else ():
        try:
            found[str(name)] = find(str(name))
        except ConfigError as error:
            problems.append(f"[cluster] {error}")
    return found
