"""A judge's position bias: what each position of a list adds to a score.

It is learned from changes between two lists of the same members in different orders, as in
``aggregators.position_bias``, but without shrinkage, and with intervals. Not responsible for removing it from a run's
scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers.calibration.arrays import Array, Flags
from calipers.calibration.measures import centred_values
from calipers.study.profiles.answers import Answers, Numbers, pairs_of_lists
from calipers.study.profiles.estimates import estimates, sum_by_group
from calipers.study.profiles.figures import Figure, untold
from calipers.study.profiles.profile import Positions

_ONE_ORDER = "no group was shown in two orders"


def position_curve(table: Answers) -> tuple[Positions, Array]:
    """Return a judge's position bias for its profile, and its scores less that bias."""
    one, other = _changed_lists(table)
    if not len(one):
        reason = "each answer is about one candidate" if table.key.mode == "pointwise" else _ONE_ORDER
        none = untold(reason)
        return Positions(slope=none, first=none, last=none), table.scores
    size = int(np.bincount(table.asked.sum(axis=1)[one]).argmax())
    parts = _part_figures(table, one, other, size)
    bias = np.zeros_like(table.scores)
    for name, figure in zip(("slope", "first", "last"), parts, strict=True):
        bias += (figure.value or 0.0) * weights_of(name, table.places, table.sizes)
    curve = Positions(_place_figures(table, one, other, size), *parts)
    return curve, np.where(np.isnan(bias), table.scores, table.scores - bias)


def weights_of(part: str, places: Array, sizes: Array) -> Array:
    """Return the weight of a part of a profile's position curve at each place of a list; 0 on average over a list.

    ``part`` is "slope", "first" or "last".
    """
    last = np.maximum(sizes - 1, 1)
    match part:
        case "slope":
            return np.asarray(places / last - 0.5)
        case "first":
            return np.where(np.isnan(places), np.nan, (places == 0) - 1 / np.maximum(sizes, 1))
        case _:
            return np.where(np.isnan(places), np.nan, (places == last) - 1 / np.maximum(sizes, 1))


def _changed_lists(table: Answers) -> tuple[Numbers, Numbers]:
    """Return every two lists of the same members in different orders."""
    if np.isnan(table.places).all():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    one, other = pairs_of_lists(table)
    differ = table.question[one] != table.question[other]
    return one[differ], other[differ]


def _part_figures(table: Answers, one: Numbers, other: Numbers, size: int) -> tuple[Figure, Figure, Figure]:
    """Return the figures of slope, first and last, as far as lists of ``size`` distinguish them."""
    names = ("slope", "first", "last")[: max(1, min(size - 1, 3))]
    columns = [weights_of(name, table.places, table.sizes) for name in names]
    found = _solved(table, one, other, columns)
    rest = untold(f"lists of {size} do not distinguish it from a slope")
    return tuple([*found, rest, rest][:3])  # type: ignore[return-value]


def _place_figures(table: Answers, one: Numbers, other: Numbers, size: int) -> tuple[Figure, ...]:
    """Return a figure for each position of lists of the most frequent ``size``."""
    kept = table.asked.sum(axis=1)[one] == size
    columns = [np.where(np.isnan(table.places), np.nan, (table.places == place) - 1 / size) for place in range(size)]
    return tuple(_solved(table, one[kept], other[kept], columns))


def _solved(table: Answers, one: Numbers, other: Numbers, columns: Sequence[Array]) -> list[Figure]:
    """Return the least-squares effect of each column on scores, from changes between lists ``one`` and ``other``."""
    change = table.scores[one] - table.scores[other]
    known = ~np.isnan(change)
    y = centred_values(change, known)
    x = np.stack([centred_values(column[one] - column[other], known) for column in columns], axis=-1)
    sums = normal_sums(x, y, table.group[one], len(table.frame.groups))
    changed = int(known.sum())
    return estimates(sums, lambda found: solve_normal(found, len(columns)), n=changed, reason=_ONE_ORDER)


def normal_sums(x: Array, y: Array, group: Numbers, groups: int) -> Array:
    """Return each group's sums for a least-squares fit in a profile: x'x, then x'y, in one row.

    ``x`` has the shape (lists, members, columns) and ``y`` (lists, members), both 0 where unknown.
    """
    square = np.einsum("lmi,lmj->lij", x, x)
    cross = np.einsum("lmi,lm->li", x, y)
    return sum_by_group(np.concatenate([square.reshape(len(x), -1), cross], axis=1), group, groups)


def solve_normal(sums: Array, width: int, *, present: Flags | None = None) -> Array:
    """Return the least-squares coefficients (..., ``width``) of ``normal_sums``; the smallest if they are not unique.

    Those of columns that are not ``present`` are NaN.
    """
    square = sums[..., : width * width].reshape(*sums.shape[:-1], width, width)
    cross = sums[..., width * width :]
    found = np.einsum("...ij,...j->...i", np.linalg.pinv(square, rcond=1e-9, hermitian=True), cross)
    return found if present is None else np.where(present, found, np.nan)
