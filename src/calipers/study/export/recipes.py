"""Recipes, variants and families of models: what is trained and how, from the TOML files beside this one.

Not responsible for a study's own settings (``settings``) or for where a run is trained (``layout``).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any, Final

from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
from calipers.study.export.data_sets.rows import Form

_PACKAGE: Final = "calipers.study.export"
_SHARED: Final = "grpo"
"""The recipe file with the settings that all recipes share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a policy is trained by. ``form`` is that of the data set's rows.

    With ``scaffold``, rollouts see part of the rubric; with ``compares``, the judge compares responses, as the study's
    arm says, instead of grading each. ``calipers`` is for verl's table of that name, and ``verl`` for verl, by dotted
    names.
    """

    name: str
    title: str
    form: Form = "rubric"
    scaffold: bool = False
    compares: bool = False
    calipers: Mapping[str, Any] = field(default_factory=dict)
    verl: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Variant:
    """A smaller way to run a study. ``cluster`` are defaults of [cluster], and ``verl`` settings by dotted names."""

    cluster: Mapping[str, Any]
    verl: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """What a family of models needs: a file of ``templates/`` instead of its chat template, and arguments for it."""

    name: str
    chat_template: str | None = None
    chat_template_arguments: Mapping[str, Any] = field(default_factory=dict)


def recipe_names() -> list[str]:
    """Return the names of all recipes."""
    return [name for name in _names("recipes") if name != _SHARED]


@cache
def find_recipe(name: str) -> Recipe:
    """Return the recipe ``name``, with the settings that all recipes share. Raises ConfigError if there is none."""
    if name not in recipe_names():
        raise ConfigError(f"recipe {name!r}: there is none of that name.{did_you_mean(name, recipe_names())}")
    table = _table("recipes", name)
    verl = {**flat(_table("recipes", _SHARED)["verl"]), **flat(table.pop("verl", {}))}
    return Recipe(name=name, verl=verl, **table)


@cache
def find_variant(name: str) -> Variant:
    """Return the variant of recipes called ``name``. Raises ConfigError if there is none."""
    if name not in _names("variants"):
        raise ConfigError(f"variant {name!r}: there is none of that name.{did_you_mean(name, _names('variants'))}")
    table = _table("variants", name)
    return Variant(table.get("cluster", {}), flat(table["verl"]))


def family_of(model: str) -> Family | None:
    """Return the family of the ``model``, by its name or the last part of its path; None if it is not known."""
    name = PurePath(model).name.lower()
    tables = tomllib.loads((files(_PACKAGE) / "models.toml").read_text(encoding="utf-8"))["families"]
    return next((Family(**table) for table in tables if table["name"] in name), None)


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe's nested table by dotted names: {"a": {"b": 1}} -> {"a.b": 1}. An empty table stays a value."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            found |= {f"{key}.{inner}": item for inner, item in flat(value).items()}
        else:
            found[key] = value
    return found


def _names(folder: str) -> list[str]:
    found = (files(_PACKAGE) / folder).iterdir()
    return sorted(one.name.removesuffix(".toml") for one in found if one.name.endswith(".toml"))


def _table(folder: str, name: str) -> dict[str, Any]:
    return tomllib.loads((files(_PACKAGE) / folder / f"{name}.toml").read_text(encoding="utf-8"))
