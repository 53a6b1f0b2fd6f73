"""Several judges to one score: each read on its own scale within the group, weighted by how reliable it proved.

Weights are learned without labels: from how well a judge repeats itself (over samples, or better over swapped orders),
and where it never repeated, from how well it agrees with the others (one common factor: Spearman, *American Journal of
Psychology* 15, 1904). Agreement alone is not enough to be trusted with more: judges that share a weakness agree best.
Not responsible for what a single judge's scores are (the aggregator within), nor for asking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from calipers.aggregators.two_way import DIGITS, two_way
from calipers.interfaces import Aggregator
from calipers.types import Judgment, Scores, Verdict

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

_UNSEEN = 0.05
"""Noise a judge may have that its repeats do not show; keeps a judge that always repeats itself from all the weight.
Set with the panels of docs/calibration.md in view; most of them do not change from 0.02 to 0.1."""

_BELIEF = 10.0
"""Groups that the belief weighs that all judges agree equally well."""

_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Weights:
    """What each judge counts (they sum to 1), and why: ``agreement`` and ``repeatability`` in [0, 1], None if unknown.

    ``agreement`` is a judge's estimated correlation with what the panel has in common; ``repeatability`` the
    correlation within groups of two of its calls.
    """

    weights: tuple[float, ...]
    agreement: tuple[float | None, ...]
    repeatability: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Aggregates judgments of several slots; ``weights`` belong to slots 0, 1, ... and need not sum to 1.

    Each slot's scores come from ``within`` and lose their mean and spread within the group. A slot that failed, or did
    not score a candidate, is left out of that candidate's mean, never averaged as a number; a candidate that fewer than
    ``quorum`` slots scored has no score. ``scale`` "mean" gives scores back on the judges' average mean and spread.
    """

    weights: tuple[float, ...]
    within: Aggregator = two_way
    quorum: int = 1
    scale: Literal["standard", "mean"] = "standard"

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Weighted means of standard scores (mean 0, spread 1 where judges agree), with standard errors.

        Errors come from how far the judges differ; None where fewer than two judges scored the group. On the mean
        scale, one judge alone keeps its own scores and errors.
        """
        slots: dict[int, list[Judgment]] = {}
        for judgment in judgments:
            if not isinstance(judgment, Verdict):
                slots.setdefault(judgment.slot, []).append(judgment)
        said = {
            slot: self.within(found, n)
            for slot, found in sorted(slots.items())
            if slot < len(self.weights) and self.weights[slot] > 0
        }
        if self.scale == "mean" and len(said) == 1 and self.quorum == 1:
            return next(iter(said.values()))
        read = {slot: standard(scores.values) for slot, scores in said.items()}
        spoke = {slot: row for slot, row in read.items() if sum(one is not None for one in row) > 1}
        scores = _weighted(_heard(spoke, n, self.quorum), self.weights, n)
        if self.scale == "standard":
            return scores
        return _on_mean_scale(scores, [(self.weights[slot], said[slot].values) for slot in spoke])


def _heard(rows: Mapping[int, tuple[float | None, ...]], n: int, quorum: int) -> dict[int, tuple[float | None, ...]]:
    """The rows without candidates that fewer than ``quorum`` of them scored."""
    enough = [sum(row[item] is not None for row in rows.values()) >= quorum for item in range(n)]
    return {slot: tuple(one if enough[item] else None for item, one in enumerate(row)) for slot, row in rows.items()}


def _on_mean_scale(scores: Scores, rows: Sequence[tuple[float, Sequence[float | None]]]) -> Scores:
    """Standard scores on the weighted mean of the judges' means and spreads: the same advantages, in their units."""
    total = math.fsum(weight for weight, _ in rows)
    if not total:
        return scores
    level = spread = 0.0
    for weight, row in rows:
        known = [one for one in row if one is not None]
        mean = math.fsum(known) / len(known)
        level += weight / total * mean
        spread += weight / total * math.sqrt(math.fsum((one - mean) ** 2 for one in known) / len(known))
    lowest = min(one for _, row in rows for one in row if one is not None)
    highest = max(one for _, row in rows for one in row if one is not None)
    # Where one judge's spread lifts another's outlier off every judge's scale, all are drawn in alike: no tie is made.
    furthest = [(one, highest - level if one > 0 else level - lowest) for one in scores.values if one]
    spread = min([spread, *(max(room, 0.0) / abs(one) for one, room in furthest)])
    return Scores(
        tuple(None if one is None else round(level + spread * one, DIGITS) for one in scores.values),
        tuple(None if one is None else round(spread * one, DIGITS) for one in scores.stderrs),
    )


def standard(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Values without their mean and spread (population standard deviation); 0 where all are alike, None stays None.

    A single value says nothing next to others and becomes None.
    """
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return (None,) * len(values)
    mean = math.fsum(known) / len(known)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / len(known))
    return tuple(None if one is None else (one - mean) / spread if spread > _EDGE else 0.0 for one in values)


def _weighted(rows: dict[int, tuple[float | None, ...]], weights: Sequence[float], n: int) -> Scores:
    values: list[float | None] = []
    squares, freedom = 0.0, -len(rows) + 1
    shares: list[float | None] = []
    for item in range(n):
        said = [(weights[slot], row[item]) for slot, row in rows.items() if row[item] is not None]
        total = math.fsum(weight for weight, _ in said)
        if not said or total <= 0:
            values.append(None)
            shares.append(None)
            continue
        mean = math.fsum(weight * one for weight, one in said if one is not None) / total
        squares += math.fsum(weight / total * (one - mean) ** 2 for weight, one in said if one is not None) * len(said)
        freedom += len(said) - 1
        values.append(round(mean, DIGITS) + 0.0)
        shares.append(math.fsum((weight / total) ** 2 for weight, _ in said))
    if freedom <= 0 or len(rows) < 2:
        return Scores(tuple(values), (None,) * n)
    errors = tuple(None if one is None else round(math.sqrt(squares / freedom * one), DIGITS) for one in shares)
    return Scores(tuple(values), errors)


def learn_weights(calls: Sequence[Array]) -> Weights:
    """Weights from unlabelled calls: one array per judge, of shape (groups, calls, members), NaN where nothing was said.

    All arrays share groups and members; numbers of calls may differ. A judge counts by its repeatability, or by its
    agreement where some judge was never asked twice. One that holds less than half of the weight, and does not agree
    with the others beyond chance (one standard error), counts nothing.
    """
    judges = len(calls)
    repeats = tuple(repeatability(one) for one in calls)
    if judges == 1:
        return Weights((1.0,), (None,), repeats)
    by_group = _agreement(calls)
    agreement = _loadings(by_group)
    if any(one is None for one in repeats):
        raw = list(agreement)
    else:
        raw = [max(one, 0.0) / (_UNSEEN + 1 - max(one, 0.0)) for one in repeats if one is not None]
    weights = _shares(raw)
    trusted = _beyond_chance(by_group, weights)
    return Weights(_shares([one if kept else 0.0 for one, kept in zip(raw, trusted, strict=True)]), agreement, repeats)


def _shares(raw: Sequence[float]) -> tuple[float, ...]:
    """Weights that sum to 1; equal ones where all are 0."""
    total = math.fsum(raw)
    return tuple(one / total for one in raw) if total > 0 else (1 / len(raw),) * len(raw)


def repeatability(calls: Array) -> float | None:
    """The correlation within groups of one call with the next, in [-1, 1], pooled over groups; None for single calls.

    ``calls`` has the shape (groups, calls, members). It is an intraclass correlation (Shrout & Fleiss 1979): the share
    of a call's variance within groups that comes again.
    """
    import numpy as np  # noqa: PLC0415 - importing calipers stays light

    if calls.shape[1] < 2:
        return None
    following = np.roll(calls, -1, axis=1) if calls.shape[1] > 2 else calls[:, ::-1]
    both = ~(np.isnan(calls) | np.isnan(following))
    one, other = _centred(calls, both), _centred(following, both)
    size = float((one**2).sum() + (other**2).sum()) / 2
    return float((one * other).sum()) / size if size > _EDGE else None


def _centred(values: Array, known: Flags) -> Array:
    """Values less their mean over the last axis, 0 where not ``known``."""
    import numpy as np  # noqa: PLC0415 - likewise

    count = np.maximum(known.sum(axis=-1, keepdims=True), 1)
    filled = np.where(known, values, 0.0)
    return np.where(known, filled - filled.sum(axis=-1, keepdims=True) / count, 0.0)


def _agreement(calls: Sequence[Array]) -> Array:
    """The correlation of every two judges within every group, (judges, judges, groups), over their first four calls."""
    import numpy as np  # noqa: PLC0415 - likewise

    judges, groups = len(calls), len(calls[0])
    rank = min(4, *(one.shape[1] for one in calls))
    found = np.zeros((judges, judges, groups))
    for i in range(judges):
        for j in range(i):
            by_call = [_correlations(calls[i][:, call], calls[j][:, call]) for call in range(rank)]
            found[i, j] = found[j, i] = np.mean(by_call, axis=0)
    return found


def _loadings(by_group: Array) -> tuple[float, ...]:
    """Each judge's correlation with the common factor, drawn to the mean where groups are few."""
    import numpy as np  # noqa: PLC0415 - likewise

    groups = by_group.shape[2]
    loadings = _one_factor(np.clip(by_group.mean(axis=2), 0.02, 1.0))
    drawn = (groups * loadings + _BELIEF * loadings.mean()) / (groups + _BELIEF)
    return tuple(float(one) for one in drawn)


def _beyond_chance(by_group: Array, weights: Sequence[float]) -> list[bool]:
    """Whether each judge agrees with the weighted others by more than one standard error, or holds half the weight."""
    import numpy as np  # noqa: PLC0415 - likewise

    groups = by_group.shape[2]
    trusted = []
    for judge, weight in enumerate(weights):
        rest = 1 - weight
        if weight >= 0.5 or rest <= 0 or groups < 2:
            trusted.append(True)
            continue
        others = np.array([0.0 if other == judge else share / rest for other, share in enumerate(weights)])
        agreed = others @ by_group[judge]
        trusted.append(bool(agreed.mean() > agreed.std(ddof=1) / math.sqrt(groups)))
    return trusted


def _correlations(one: Array, other: Array) -> Array:
    """Pearson correlation within each group over members both scored; 0 where either is constant."""
    import numpy as np  # noqa: PLC0415 - likewise

    both = ~(np.isnan(one) | np.isnan(other))
    a, b = _centred(one, both), _centred(other, both)
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    return np.where(size > _EDGE, (a * b).sum(axis=-1) / np.where(size > _EDGE, size, 1.0), 0.0)


def _one_factor(table: Array) -> Array:
    """Loadings whose products come closest to the off-diagonal correlations (minimum residuals, one factor)."""
    import numpy as np  # noqa: PLC0415 - likewise

    judges = len(table)
    loadings = np.full(judges, math.sqrt(float(table[~np.eye(judges, dtype=bool)].mean())))
    others = [[j for j in range(judges) if j != i] for i in range(judges)]
    for _ in range(100):
        for i in range(judges):
            rest = loadings[others[i]]
            loadings[i] = min(max(float(table[i, others[i]] @ rest / (rest @ rest)), 0.02), 0.98)
    return loadings
