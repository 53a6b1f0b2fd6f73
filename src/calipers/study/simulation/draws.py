"""Random numbers of the runs: each run's own, from its seed, in a stream for each purpose.

Arms that are compared take the same numbers for the same purpose at the same step, so that they differ by their
settings and not by chance (common random numbers), and a run is the same whichever runs are computed beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from calipers.study.simulation.arrays import Array

Purpose: TypeAlias = Literal["prompts", "responses", "noise"]
_PURPOSES: tuple[str, ...] = get_args(Purpose)


class Draws:
    """Random numbers of several runs, one for each seed."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self._generators = {
            purpose: [np.random.Generator(np.random.PCG64([number, seed])) for seed in seeds]
            for number, purpose in enumerate(_PURPOSES)
        }

    def uniform(self, purpose: Purpose, *shape: int) -> Array:
        """Return uniform numbers in [0, 1) with the shape (S, *shape)."""
        return self._fill(purpose, shape, "random")

    def normal(self, purpose: Purpose, *shape: int) -> Array:
        """Return standard normal numbers with the shape (S, *shape)."""
        return self._fill(purpose, shape, "standard_normal")

    def _fill(self, purpose: Purpose, shape: tuple[int, ...], method: str) -> Array:
        generators = self._generators[purpose]
        found = np.empty((len(generators), *shape))
        for generator, row in zip(generators, found, strict=True):
            getattr(generator, method)(out=row)
        return found
