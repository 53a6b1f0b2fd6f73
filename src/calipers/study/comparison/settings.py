"""The settings of a comparison of judges: each with its default, range and meaning, as in the tables of its TOML file.

Not responsible for reading files (``study_file``) or for what fits together (``problems``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.config.option import any_value, choice, number, whole_number
from calipers.registry import PROTOCOLS
from calipers.study.tables import require_line


@dataclass(frozen=True)
class JudgeTable:
    """A judge of the comparison: ``model`` names it, or ``vices`` simulate it; without either it is faultless."""

    model: str | None = any_value(None, "A judge by its name, such as openai/gpt-5-mini, scripted:FILE, profile:FILE.")
    vices: Sequence[Mapping[str, Any]] | None = any_value(
        None, "The vices of a simulated judge: tables with kind, a name of calipers.testing."
    )
    quality: Sequence[float] = any_value(
        (0.25, 0.75), "What a simulated judge thinks the lowest and the highest gold are worth, from 0 to 1."
    )
    temperatures: Sequence[float] | None = any_value(None, "Temperatures; by default the comparison's.")
    wordings: Sequence[str] | None = any_value(None, "Names of wordings; by default all.")
    options: Mapping[str, Any] | None = any_value(None, "Options of Judge by their flat names, as in calipers.toml.")


@dataclass(frozen=True)
class Wording:
    """A way to word the question: a rubric, or other options of the judge."""

    rubric: str | None = any_value(None, "The standards that the judge is told, as text.")
    rubric_file: str | None = any_value(None, "A file with the standards, or with criteria (.toml, .json, .yaml).")
    options: Mapping[str, Any] | None = any_value(None, "Options of Judge by their flat names, such as protocol.")


@dataclass(frozen=True)
class OwnRewrite:
    """A rewrite of the user's: the rewritten answers are in a file, or in the groups file."""

    file: str | None = any_value(None, 'A file of lines {"group_id": ..., "id": ..., "text": ...}.')
    column: str | None = any_value(None, "A key of the trajectories' metadata that holds the rewritten answer.")


@dataclass(frozen=True)
class Comparison:
    """Judges that are asked about the same groups, and about rewrites of the same answers."""

    title: str = any_value("", "One line about what is compared.", check=require_line)
    groups: str = any_value("", "The groups file; its path is relative to the TOML file.")
    protocol: str = choice("listwise", PROTOCOLS, "How judges are asked.")
    orders: int = whole_number(2, "Orders that each group is shown in.", low=1, high=64)
    samples: int = whole_number(2, "How often each question is asked; 2 or more show repeatability.", low=1, high=1000)
    rewritten_samples: int = whole_number(
        1, "How often each question about rewritten answers is asked.", low=1, high=1000
    )
    temperatures: Sequence[float] = any_value((), "Temperatures that each judge is asked at; none: the server's own.")
    rewrites: Sequence[str] = any_value(
        ("verbose", "sycophantic", "confident", "formatted"), "Names of rewrites; the user's own are asked too."
    )
    wrong_below: float | None = number(
        None, "Answers with gold below this are wrong; by default, below the middle of the gold found."
    )
    most_groups: int | None = whole_number(None, "Only so many groups, the first ones.", low=1, high=10_000_000)
    options: Mapping[str, Any] | None = any_value(None, "Options of Judge for all judges.")
    judges: Mapping[str, JudgeTable] = field(default_factory=dict)
    wordings: Mapping[str, Wording] = field(default_factory=dict)
    own_rewrites: Mapping[str, OwnRewrite] = field(default_factory=dict)


@dataclass(frozen=True)
class Cell:
    """A cell of the matrix: the judge ``name`` at a ``temperature`` (None: the server's) with a ``wording``."""

    name: str
    table: JudgeTable
    temperature: float | None = None
    wording: str | None = None

    def __str__(self) -> str:
        """Return the cell's name in messages and tables."""
        at = None if self.temperature is None else f"T={self.temperature:g}"
        return ", ".join(filter(None, (self.name, self.wording, at)))


def cells_of(study: Comparison) -> list[Cell]:
    """Return all cells of a comparison's matrix: judges x wordings x temperatures, in the order of the file."""
    return [
        Cell(name, table, temperature, wording)
        for name, table in study.judges.items()
        for wording in (table.wordings or tuple(study.wordings) or (None,))
        for temperature in (study.temperatures if table.temperatures is None else table.temperatures) or (None,)
    ]
