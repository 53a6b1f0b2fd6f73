"""Random numbers of the runs: each run's own, from its seed, in a stream for each purpose.

Arms that are compared take the same numbers for the same purpose at the same step, so that they differ by their
settings and not by chance (common random numbers). A run is the same whichever runs are computed beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from calipers.study.simulation.arrays import Array

Purpose: TypeAlias = Literal[
    "prompts", "responses", "arrival", "response noise", "noise", "obedience", "verdict", "failure"
]
_NUMBERS: Final = {purpose: number for number, purpose in enumerate(get_args(Purpose))}


class Draws:
    """Random numbers of several runs, one for each seed.

    ``judge`` and ``answer`` tell apart the judges of a panel and their answers in one step: the first answer of a judge
    has the same noise whether it is asked once or twice.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self._seeds = tuple(seeds)
        self._generators: dict[tuple[int, int, int], list[np.random.Generator]] = {}

    def uniform(self, purpose: Purpose, *shape: int, judge: int = 0, answer: int = 0) -> Array:
        """Return uniform numbers in [0, 1) with the shape (S, *shape)."""
        found = np.empty((len(self._seeds), *shape))
        for generator, row in zip(self._streams(purpose, judge, answer), found, strict=True):
            generator.random(out=row)
        return found

    def normal(self, purpose: Purpose, *shape: int, judge: int = 0, answer: int = 0) -> Array:
        """Return standard normal numbers with the shape (S, *shape)."""
        found = np.empty((len(self._seeds), *shape))
        for generator, row in zip(self._streams(purpose, judge, answer), found, strict=True):
            generator.standard_normal(out=row)
        return found

    def _streams(self, purpose: Purpose, judge: int, answer: int) -> list[np.random.Generator]:
        key = (_NUMBERS[purpose], judge, answer)
        if key not in self._generators:
            self._generators[key] = [np.random.Generator(np.random.PCG64([*key, seed])) for seed in self._seeds]
        return self._generators[key]
