"""The list of the study's data sets, from ``catalogue.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from calipers.config.option import did_you_mean
from calipers.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """A data set of the study. ``catalogue.toml`` describes the fields."""

    name: str
    title: str
    licence: str
    ability: str
    rows: str
    get: str
    files: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    evaluated: int | None = None
    samples: int = 1
    judged: bool = True
    gated: bool = False

    @property
    def is_trained_on(self) -> bool:
        """Whether the data set has rows to train on."""
        return bool(self.files)

    @property
    def has_rules(self) -> bool:
        """Whether the data set's rows also exist in VerIF's form, with rules that code checks."""
        return self.rows == "verinstruct"


@cache
def data_sets() -> Mapping[str, DataSet]:
    """Return the study's data sets by name."""
    text = (files("calipers.study.export.data_sets") / "catalogue.toml").read_text(encoding="utf-8")
    tables: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {name: DataSet(name=name, **_with_tuples(table)) for name, table in tables.items()}


def find_data_set(name: str) -> DataSet:
    """Return the study's data set ``name``. Raises ConfigError if there is none."""
    if name not in data_sets():
        raise ConfigError(f"{name!r} is no data set of the study.{did_you_mean(name, data_sets())}")
    return data_sets()[name]


def _with_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(one) if isinstance(one, list) else one for key, one in table.items()}
