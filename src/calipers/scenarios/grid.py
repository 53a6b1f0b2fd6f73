"""The grid that scenarios are spread over, sub-topic by difficulty, and what of it is missing. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Difficulty: TypeAlias = Literal["easy", "medium", "hard"]
DIFFICULTIES: Final[tuple[Difficulty, ...]] = ("easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the grid of scenarios: a sub-topic at one difficulty."""

    topic: str
    difficulty: Difficulty


@dataclass(frozen=True, slots=True)
class Scenario:
    """A training input: its text, the cell it was written for, and the names of the tools it is said to need."""

    text: str
    cell: Cell
    tools: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Return the scenario's id, which is derived from its text."""
        return "s" + hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells of ``topics`` by difficulty, and the number of scenarios wanted in all of them together."""

    topics: tuple[str, ...]
    wanted: int

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Return the cells of the grid, all difficulties of a topic together."""
        return tuple(Cell(topic, difficulty) for topic in self.topics for difficulty in DIFFICULTIES)

    def quotas(self) -> dict[Cell, int]:
        """Return how many scenarios each cell should have: equal numbers, and one more in the first cells.

        The remainder goes round the difficulties of all topics in turn, so that no topic gets all of it.
        """
        turned = [Cell(topic, difficulty) for difficulty in DIFFICULTIES for topic in self.topics]
        each, rest = divmod(self.wanted, len(turned))
        return {cell: each + (place < rest) for place, cell in enumerate(turned)}

    def missing(self, scenarios: Iterable[Scenario]) -> dict[Cell, int]:
        """Return how many scenarios each cell lacks; cells that lack none are left out."""
        have = Counter(one.cell for one in scenarios)
        return {cell: quota - have[cell] for cell, quota in self.quotas().items() if quota > have[cell]}


def coverage_table(grid: Grid, scenarios: Sequence[Scenario]) -> list[tuple[str, ...]]:
    """Return the rows of a coverage report: topic, then "have/wanted" for each difficulty."""
    have, quotas = Counter(one.cell for one in scenarios), grid.quotas()

    def figure(cell: Cell) -> str:
        return f"{have[cell]}/{quotas[cell]}"

    return [(topic, *(figure(Cell(topic, difficulty)) for difficulty in DIFFICULTIES)) for topic in grid.topics]
