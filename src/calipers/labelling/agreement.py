"""How far annotators agree, with intervals, and the gold that their labels give.

The units are pairs of candidates of one group. An annotator says of a pair that the first is worse, tied or better,
three ordered values; so groups of different sizes, ties and "can't tell" all count as what they are. Krippendorff's
alpha for ordinal data is computed on these values: Krippendorff, *Content Analysis* (4th ed., 2019), chapter 12. Which
candidate of a pair is called the first does not matter, because coincidences are averaged over both. Intervals resample
groups, because pairs of one group depend on one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np

from calipers.errors import InputError
from calipers.labelling.groups import GroupIndex, content_of
from calipers.labelling.labels import Label

Array: TypeAlias = np.ndarray[Any, Any]
_RESAMPLES: Final = 1000
_SEED: Final = 0
_LEAST_GROUPS: Final = 3
"""Below so many groups, resampling them says nothing."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with its 95 % bootstrap interval over ``groups``; ``value`` or ``interval`` is None if unknown."""

    value: float | None
    interval: tuple[float, float] | None
    groups: int


@dataclass(frozen=True, slots=True)
class AnnotatorFigures:
    """What is known of one annotator's labels.

    ``labelled`` counts groups, ``cant_tell`` candidates without a rank, ``tied`` is the share of pairs that are ties.
    ``alpha`` is the agreement with all others.
    """

    annotator: str
    labelled: int
    cant_tell: int
    tied: float | None
    alpha: Estimate


@dataclass(frozen=True, slots=True)
class Agreement:
    """Holds Krippendorff's ``alpha`` over all annotators, 1 for perfect agreement and 0 for chance, and each one's
    figures.
    """

    alpha: Estimate
    annotators: tuple[AnnotatorFigures, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON-like data."""
        return asdict(self)


def agreement(labels: Iterable[Label]) -> Agreement:
    """Compare the annotators of ``labels``, each the latest of its annotator about its group."""
    by_group: dict[str, list[Label]] = {}
    for label in labels:
        if label.ranks is not None:
            by_group.setdefault(label.group_id, []).append(label)
    groups = [by_group[name] for name in sorted(by_group)]
    names = sorted({label.annotator for group in groups for label in group})
    return Agreement(_alpha(groups), tuple(_figures(name, groups) for name in names))


def krippendorff_alpha(coincidences: Array) -> float | None:
    """Return Krippendorff's alpha of a symmetric matrix of coincidences, for ordinal values in their order.

    None if there is no pair of values, or all values are equal, so that no disagreement could be expected.
    """
    totals = coincidences.sum(axis=1)
    count = totals.sum()
    expected = float(totals @ _ordinal_differences(totals) @ totals)
    if count < 2 or expected <= 0:
        return None
    observed = float((coincidences * _ordinal_differences(totals)).sum())
    return 1.0 - float(count - 1) * observed / expected


def coincidences(units: Iterable[Sequence[int]], values: int) -> Array:
    """Return how often two annotators gave each pair of ``values`` (numbers from 0) to one unit.

    A unit with m values counts each ordered pair of them as 1 / (m - 1); one with a single value says nothing.
    """
    table = np.zeros((values, values))
    for unit in units:
        if len(unit) < 2:
            continue
        counts = np.bincount(unit, minlength=values).astype(float)
        table += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    return table


def _ordinal_differences(totals: Array) -> Array:
    """Return the squared ordinal distance of every two values: the values between them, and half of either."""
    sums = np.cumsum(totals)
    between = np.abs(sums[:, None] - sums[None, :]) + np.where(
        np.arange(len(totals))[:, None] < np.arange(len(totals))[None, :], totals[:, None], totals[None, :]
    )
    distance = between - (totals[:, None] + totals[None, :]) / 2
    np.fill_diagonal(distance, 0.0)
    return np.asarray(np.square(distance))


def _alpha(groups: Sequence[Sequence[Label]]) -> Estimate:
    """Return alpha over groups, with the 95 % percentile interval of resampled groups, from a fixed seed."""
    by_group = [_pair_coincidences(group) for group in groups]
    shared = np.array([group_table for group_table in by_group if group_table.any()])
    value = krippendorff_alpha(shared.sum(axis=0)) if len(shared) else None
    if value is None or len(shared) < _LEAST_GROUPS:
        return Estimate(value, None, len(shared))
    generator = np.random.default_rng(_SEED)
    draws = (generator.integers(len(shared), size=len(shared)) for _ in range(_RESAMPLES))
    drawn = [krippendorff_alpha(shared[chosen].sum(axis=0)) for chosen in draws]
    known = [alpha for alpha in drawn if alpha is not None]
    if len(known) < _RESAMPLES / 2:
        return Estimate(value, None, len(shared))
    low, high = np.percentile(known, [2.5, 97.5])
    return Estimate(value, (float(low), float(high)), len(shared))


def _pair_coincidences(group: Sequence[Label]) -> Array:
    """Return the coincidences of worse, tied and better over all pairs of a group's candidates."""
    names = sorted({name for label in group for name in label.ranks or ()})
    units = []
    for first, second in combinations(names, 2):
        ranks = [((label.ranks or {}).get(first), (label.ranks or {}).get(second)) for label in group]
        units.append([1 + (b > a) - (b < a) for a, b in ranks if a is not None and b is not None])
    table = coincidences(units, 3)
    return (table + table[::-1, ::-1]) / 2


def _figures(annotator: str, groups: Sequence[Sequence[Label]]) -> AnnotatorFigures:
    labels = [label for group in groups for label in group if label.annotator == annotator]
    pairs = [
        (a, b)
        for label in labels
        for a, b in combinations([rank for rank in (label.ranks or {}).values() if rank is not None], 2)
    ]
    return AnnotatorFigures(
        annotator,
        labelled=len(labels),
        cant_tell=sum(rank is None for label in labels for rank in (label.ranks or {}).values()),
        tied=sum(a == b for a, b in pairs) / len(pairs) if pairs else None,
        alpha=_alpha([_against_others(group, annotator) for group in groups]),
    )


def _against_others(group: Sequence[Label], annotator: str) -> Sequence[Label]:
    return group if any(label.annotator == annotator for label in group) and len(group) > 1 else ()


def combined(labels: Iterable[Label]) -> Mapping[str, float | None]:
    """Return gold by id from the labels of one group: the share of comparisons won, ties half, from 0 to 1.

    A comparison is an annotator's two ranks for two candidates. None for a candidate that nobody compared. Candidates
    that every annotator ties, and whom all ranked with the same others, have equal gold.
    """
    halves: dict[str, list[int]] = {}
    for label in labels:
        ranks = label.ranks or {}
        for name in ranks:
            halves.setdefault(name, [])
        known = [(name, rank) for name, rank in ranks.items() if rank is not None]
        for (first, a), (second, b) in combinations(known, 2):
            halves[first].append(1 + (a < b) - (a > b))
            halves[second].append(1 + (b < a) - (b > a))
    return {name: round(sum(won) / (2 * len(won)), 6) if won else None for name, won in halves.items()}


def gold_lines(
    index: GroupIndex, labels: Iterable[Label], *, on_error: Callable[[InputError], None]
) -> Iterator[dict[str, Any]]:
    """Yield the labelled groups as objects of a groups file, in the order of ``index``.

    Trajectories have ``gold`` in [0, 1], or null where no annotator could tell; gold that the file had is replaced. A
    group's ``labels`` are those that it comes from. A group without any gold is left out. A label of texts that have
    changed since, and one of a group that the file does not have, goes to ``on_error`` and does not count.
    """
    by_group: dict[str, list[Label]] = {}
    for label in labels:
        by_group.setdefault(label.group_id, []).append(label)
    for name in by_group.keys() - index.numbers.keys():
        on_error(InputError(f"has {_counted(by_group[name])} of the group {name!r}, which is not in {index.path}"))
    for number, name in enumerate(index.ids):
        if name in by_group:
            line = _with_gold(index, number, by_group[name], on_error)
            if line is not None:
                yield line


def _with_gold(
    index: GroupIndex, number: int, labels: Sequence[Label], on_error: Callable[[InputError], None]
) -> dict[str, Any] | None:
    group = index.group(number)
    content = content_of(group)
    valid = [label for label in labels if label.content == content]
    if len(valid) < len(labels):
        stale = [label for label in labels if label.content != content]
        people = ", ".join(sorted({label.annotator for label in stale}))
        on_error(
            InputError(
                f"the texts of the group {group.group_id!r} have changed since it was labelled ({people}): these "
                "labels do not count; label it again",
                source=index.path,
            )
        )
    gold = combined(valid)
    if all(value is None for value in gold.values()):
        return None
    members = tuple(replace(trajectory, gold=gold.get(trajectory.id)) for trajectory in group.trajectories)
    stated = [
        {"annotator": label.annotator, "time": label.time, "ranks": dict(label.ranks or {}), "note": label.note}
        for label in sorted(valid, key=lambda label: (label.time, label.annotator))
    ]
    return replace(group, trajectories=members).to_dict() | {"labels": stated}


def _counted(labels: Sequence[Label]) -> str:
    return f"{len(labels)} label{'s' * (len(labels) != 1)}"
