"""Fits small trees to pairs, one after the other, each to what those before it miss (gradient boosting).

Friedman's method (*Annals of Statistics* 29, 2001) with the pairwise gradients and second derivatives of LambdaMART
(Burges 2010), on features in 16 bins. The trees take only differences from the group's mean, since ranks can be had
from them. Random columns come from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from calipers.backends.local.features import FEATURES, Array
from calipers.backends.local.model import Forest

Places: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

TREES: Final = 100
DEPTH: Final = 2
RATE: Final = 0.05
BINS: Final = 16
_SHRINK: Final = 5.0
_NODES: Final = 2 ** (DEPTH + 1) - 1
_LEAST: Final = 10
_COLUMNS: Final = 0.5
"""The share of the features that a tree may use."""
_GAIN: Final = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a local judge's training groups.

    ``rows`` are all candidates' relative features, (candidates, columns); ``first`` and ``second`` are places in them.
    ``targets`` are the probabilities that the first is preferred, and ``weights`` what each pair counts.
    """

    rows: Array
    first: Places
    second: Places
    targets: Array
    weights: Array

    @property
    def differences(self) -> Array:
        """The features of the first candidates less those of the second, (pairs, columns)."""
        return self.rows[self.first] - self.rows[self.second]


@dataclass(slots=True)
class _Growing:
    """A tree in the making: a row of the arrays of ``Forest``."""

    features: list[int] = field(default_factory=lambda: [-1] * _NODES)
    thresholds: list[float] = field(default_factory=lambda: [0.0] * _NODES)
    lefts: list[int] = field(default_factory=lambda: [-1] * _NODES)
    rights: list[int] = field(default_factory=lambda: [-1] * _NODES)
    values: list[float] = field(default_factory=lambda: [0.0] * _NODES)
    size: int = 0


def _forest(trees: Sequence[_Growing]) -> Forest:
    """Return the trees of a local judge."""
    names = ("features", "thresholds", "lefts", "rights", "values")
    return Forest(*(np.array([getattr(tree, name) for tree in trees]) for name in names))


@dataclass(frozen=True, slots=True, eq=False)
class _Slopes:
    """The gradient and second derivative of the loss for each candidate, with the candidates' bins and bin edges."""

    gradient: Array
    curvature: Array
    bins: Places
    edges: list[Array]
    columns: Places


def fit_trees(pairs: Pairs) -> Forest:
    """Return the trees of a local judge."""
    rows = pairs.rows[:, : len(FEATURES)]
    edges = [np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1])) for column in rows.T]
    bins = np.stack(
        [np.searchsorted(own, column, side="left") for own, column in zip(edges, rows.T, strict=True)], axis=1
    )
    generator = np.random.default_rng(0)
    scores, count = np.zeros(len(rows)), len(rows)
    found: list[_Growing] = []
    for _ in range(TREES):
        likely = 1 / (1 + np.exp(-(scores[pairs.first] - scores[pairs.second])))
        missed, bend = pairs.weights * (likely - pairs.targets), pairs.weights * likely * (1 - likely)
        slopes = _Slopes(
            _for_each(pairs, missed, count),
            _for_each(pairs, bend, count, sign=1.0),
            bins,
            edges,
            generator.permutation(len(FEATURES))[: int(_COLUMNS * len(FEATURES))],
        )
        tree = _Growing()
        _grow(tree, slopes, np.flatnonzero(slopes.curvature > 0), DEPTH)
        found.append(tree)
        scores += _forest([tree]).evaluate(rows)
    return _forest(found)


def _for_each(pairs: Pairs, values: Array, count: int, *, sign: float = -1.0) -> Array:
    """Return for each of ``count`` candidates the sum of ``values`` of the pairs in which it is first or second."""
    found = np.zeros(count)
    np.add.at(found, pairs.first, values)
    np.add.at(found, pairs.second, sign * values)
    return found


def _grow(tree: _Growing, slopes: _Slopes, places: Places, depth: int) -> int:
    """Add the node for the candidates at ``places``, and the nodes below it; return its number."""
    node, tree.size = tree.size, tree.size + 1
    best = _best_split(slopes, places) if depth and len(places) >= 2 * _LEAST else None
    if best is None:
        total = slopes.gradient[places].sum() / (slopes.curvature[places].sum() + _SHRINK)
        tree.values[node] = float(-RATE * total)
        return node
    column, edge = best
    left = slopes.bins[places, column] <= edge
    tree.features[node], tree.thresholds[node] = column, float(slopes.edges[column][edge])
    tree.lefts[node] = _grow(tree, slopes, places[left], depth - 1)
    tree.rights[node] = _grow(tree, slopes, places[~left], depth - 1)
    return node


def _best_split(slopes: _Slopes, places: Places) -> tuple[int, int] | None:
    """Return the column and the edge that divide candidates best, or None if no division helps."""
    columns = slopes.columns
    cells = (slopes.bins[places][:, columns] + np.arange(len(columns)) * BINS).ravel()

    def below(values: Array | None) -> Array:
        repeated = None if values is None else np.repeat(values[places], len(columns))
        return np.bincount(cells, repeated, len(columns) * BINS).reshape(-1, BINS).cumsum(axis=1)

    slope, bend, count = below(slopes.gradient), below(slopes.curvature), below(None)
    whole, weight = slope[:, -1:], bend[:, -1:]
    gain = slope**2 / (bend + _SHRINK) + (whole - slope) ** 2 / (weight - bend + _SHRINK)
    gain = gain - whole**2 / (weight + _SHRINK)
    gain[(count < _LEAST) | (len(places) - count < _LEAST)] = -1.0
    row, edge = divmod(int(gain.argmax()), BINS)
    column = int(columns[row])
    if gain[row, edge] <= _GAIN or edge >= len(slopes.edges[column]):
        return None
    return column, edge
