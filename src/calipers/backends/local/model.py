"""A local judge's model: a weighted sum of features and a few small trees, whose sum is a relative score.

Not responsible for features (``features``), files (``files``) or training (``calipers.distilling``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from calipers.backends.local.domain import Domain
from calipers.backends.local.features import Array, MeasuredGroup

Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Small decision trees over relative features, as arrays (trees, nodes); node 0 of each is its root.

    At a node with ``features >= 0``, a candidate with a value up to ``thresholds`` goes to node ``lefts`` of the tree,
    any other to node ``rights``; children come after their parent. Any other node is a leaf with the tree's ``values``.
    """

    features: Places
    thresholds: Array
    lefts: Places
    rights: Places
    values: Array

    def evaluate(self, rows: Array) -> Array:
        """Return the sum of the trees' values for each row of a local judge's relative features."""
        trees = np.arange(len(self.features))
        at = np.zeros((len(rows), len(trees)), dtype=np.int64)
        for _ in range(self.features.shape[1]):
            column = self.features[trees, at]
            inner = column >= 0
            if not inner.any():
                break
            value = np.take_along_axis(rows, np.maximum(column, 0), axis=1)
            below = np.where(value <= self.thresholds[trees, at], self.lefts[trees, at], self.rights[trees, at])
            at = np.where(inner, below, at)
        return np.asarray(self.values[trees, at].sum(axis=1))

    def times(self, factor: float) -> Forest:
        """Return the trees of a local judge with all values times ``factor``."""
        return replace(self, values=self.values * factor)


def no_trees() -> Forest:
    """Return a local judge's trees when it has none."""
    none, nothing = np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1))
    return Forest(none, nothing, none, none, nothing)


@dataclass(frozen=True, slots=True)
class Model:
    """What a local judge has learned: ``weights`` of relative features, in units of the score's own, and ``trees``.

    The score of a candidate is 0.5 + ``slope`` * (weighted sum + trees), on a scale of 0 to 1, so that the differences
    in a group are those that the teacher's scores are expected to have. ``stderr`` is its standard error against the
    teacher, measured on prompts that were held out.
    """

    name: str
    version: int
    teachers: tuple[str, ...]
    weights: Array
    trees: Forest
    slope: float
    stderr: float
    domain: Domain

    @property
    def title(self) -> str:
        """The judge's name with its version, as results and ledgers show it."""
        return f"{self.name}-{self.version}"

    def raw(self, relative: Array) -> Array:
        """Return the sum of weighted features and trees for each row of relative features."""
        return np.asarray(relative @ self.weights + self.trees.evaluate(relative), dtype=np.float64)

    def scores(self, group: MeasuredGroup) -> Array:
        """Return the local judge's score of each candidate, from 0.02 to 0.98. Equal groups get equal scores."""
        return np.clip(0.5 + self.slope * self.raw(group.relative), 0.02, 0.98)
