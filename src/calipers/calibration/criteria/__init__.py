"""Measure how well a judge's verdicts on single criteria agree with people's: HealthBench's meta-evaluation.

``meta_evaluate`` does everything for recorded verdicts; ``rows.collect_verdicts`` obtains them from a judge. Missing
verdicts are counted and excluded from agreement; they do not count as wrong.

Balanced F1 is as in openai/simple-evals, ``healthbench_meta_eval``: every label is compared with the verdict
separately; precision is a mean over verdicts of one kind, recall over labels of one kind; the F1 of the two kinds are
averaged, so that a criterion that is nearly always met gives no easy point.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias, cast

import numpy as np

from calipers.calibration.criteria.rows import (
    Labelled,
    Recorded,
    as_labelled,
    is_labelled,
    read_labelled,
    recorded_verdicts,
)
from calipers.calibration.measures import Array
from calipers.errors import InputError

__all__ = [
    "Agreement",
    "JudgeOfCriteria",
    "Labelled",
    "MetaEvaluation",
    "Recorded",
    "agreement",
    "as_labelled",
    "is_labelled",
    "meta_evaluate",
    "read_labelled",
]

Pair: TypeAlias = tuple[str, bool, bool]
"""A unit of resampling (a completion), a verdict, and a label."""

_RESAMPLES: Final = 1000
_AT_ONCE: Final = 100
"""Resamples drawn at a time, to limit memory for tens of thousands of units."""
_DEFINED: Final = 0.95
"""The share of resamples that must have a figure; with fewer, an interval would rest on a biased selection."""
_FEW: Final = 100
"""The number of completions below which intervals are too wide; HealthBench's own file has thousands."""
_MUCH: Final = 0.05
"""The share of missing verdicts above which the other verdicts may be a biased selection."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of verdicts with labels: shares in [0, 1] over ``labels`` comparisons; None if a kind does not
    occur.

    ``balanced_f1`` is the mean of ``f1_met`` and ``f1_not_met``, and ``interval`` its 95 % percentile bootstrap
    interval over completions, from a fixed seed.
    """

    labels: int
    precision_met: float | None
    recall_met: float | None
    f1_met: float | None
    precision_not_met: float | None
    recall_not_met: float | None
    f1_not_met: float | None
    balanced_f1: float | None
    interval: tuple[float, float] | None


def agreement(pairs: Sequence[Pair]) -> Agreement:
    """Return the agreement of verdicts with labels; comparisons of one completion are resampled together."""
    places: dict[str, int] = {}
    for unit, _, _ in pairs:
        places.setdefault(unit, len(places))
    counts = np.zeros((len(places), 4))  # met by both, by the verdict only, by the label only, by neither
    for unit, verdict, label in pairs:
        counts[places[unit], 2 * (not verdict) + (not label)] += 1
    figures = [None if np.isnan(one) else float(one) for one in _figures(counts.sum(axis=0))]
    p1, r1, f1, p0, r0, f0, balanced = figures
    return Agreement(len(pairs), p1, r1, f1, p0, r0, f0, balanced, None if balanced is None else _interval(counts))


def _figures(counts: Array) -> list[Array]:
    """Return the figures of an Agreement from ``precision_met`` to ``balanced_f1``, for counts of shape (..., 4)."""
    both, verdict, label, neither = (counts[..., place] for place in range(4))
    figures: list[Array] = []
    for hit, verdict_alone, label_alone in ((both, verdict, label), (neither, label, verdict)):
        precision, recall = _share(hit, hit + verdict_alone), _share(hit, hit + label_alone)
        # F1 is 2pr / (p + r), and 0 where both are 0; this is the same, computed from counts.
        f1 = np.where(np.isnan(precision + recall), np.nan, _share(2 * hit, 2 * hit + verdict_alone + label_alone))
        figures += [precision, recall, f1]
    return [*figures, (figures[2] + figures[5]) / 2]


def _share(part: Array, whole: Array) -> Array:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _interval(counts: Array) -> tuple[float, float] | None:
    units = len(counts)
    if units < 2:
        return None
    generator, even = np.random.default_rng(units), np.full(units, 1 / units)
    drawn = [
        _figures(generator.multinomial(units, even, size=_AT_ONCE) @ counts)[-1] for _ in range(_RESAMPLES // _AT_ONCE)
    ]
    values = np.concatenate(drawn)
    known = values[~np.isnan(values)]
    if len(known) < _DEFINED * len(values):
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class JudgeOfCriteria:
    """The figures of one judge: ``overall`` against all labels, and by category.

    The judge was asked about ``rows``. ``graded`` of its verdicts were compared; ``ungraded`` are missing, and
    ``reasons`` counts why. ``common`` is the judge's agreement on the ``common_rows`` rows on which every judge gave a
    verdict.
    """

    judge: str
    rows: int
    graded: int
    ungraded: int
    reasons: Mapping[str, int]
    overall: Agreement
    by_category: Mapping[str, Agreement]
    common_rows: int
    common: Agreement


@dataclass(frozen=True, slots=True)
class MetaEvaluation:
    """The figures of ``judges`` and of the annotators: ``among`` compares each label with the other labels of its row.

    ``findings`` are sentences for people; ``problems`` are the lines that could not be read.
    """

    rows: int
    labels: int
    judges: tuple[JudgeOfCriteria, ...]
    among: Agreement
    findings: tuple[str, ...]
    problems: tuple[InputError, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON report: plain objects, with None for unknown figures."""
        return {
            "judges": [asdict(one) for one in self.judges],
            "rows": self.rows,
            "labels": self.labels,
            "annotators": asdict(self.among),
            "findings": list(self.findings),
        }


_Answers: TypeAlias = Mapping[str, Sequence[tuple[Labelled, Recorded]]]
"""Each judge's verdicts with their rows."""


def meta_evaluate(
    rows: str | os.PathLike[str] | Iterable[Labelled],
    verdicts: str | os.PathLike[str] | Iterable[object],
    *,
    on_error: Callable[[InputError], None] | None = None,
) -> MetaEvaluation:
    """Measure judges by their ``verdicts`` about labelled ``rows``; each is a file, or an iterable of its objects.

    If a judge gave several verdicts on one row, all count. Lines that cannot be read are passed to ``on_error``, listed
    in ``problems`` and skipped. Raises InputError if there is no row.
    """
    problems: list[InputError] = []

    def complain(error: InputError) -> None:
        problems.append(error)
        if on_error is not None:
            on_error(error)

    source = os.fspath(cast("str", rows)) if isinstance(rows, str | os.PathLike) else None
    labelled = list(cast("Iterable[Labelled]", rows) if source is None else read_labelled(source, on_error=complain))
    if not labelled:
        raise InputError("there is no labelled row", source=source)
    answers, foreign = _by_judge(recorded_verdicts(verdicts, on_error=complain), labelled)
    graded = [{row.line for row, one in own if one.met is not None} for own in answers.values()]
    common = set.intersection(*graded) if graded else set()
    judges = tuple(_figures_of_judge(name, own, common) for name, own in sorted(answers.items()))
    findings = tuple(_findings(labelled, judges, foreign))
    labels = sum(len(row.labels) for row in labelled)
    others = [(row.unit, *pair) for row in labelled for pair in itertools.permutations(row.labels, 2)]
    return MetaEvaluation(len(labelled), labels, judges, agreement(others), findings, tuple(problems))


def _by_judge(verdicts: Iterable[Recorded], rows: Sequence[Labelled]) -> tuple[_Answers, int]:
    """Return each judge's verdicts with their rows, and the number of verdicts about unknown rows."""
    by_line = {row.line: row for row in rows}
    by_item: dict[str, list[Labelled]] = defaultdict(list)
    for row in rows:
        by_item[row.item].append(row)
    answers: dict[str, list[tuple[Labelled, Recorded]]] = defaultdict(list)
    foreign = 0
    for one in verdicts:
        if one.item is not None:
            same = by_item.get(one.item, [])
            about = [row for row in same if one.line is None or row.line == one.line] or same[:1]
        else:
            about = [by_line[one.line]] if one.line in by_line else []
        foreign += not about
        if about:
            answers[one.judge] += [(row, one) for row in about]
    return answers, foreign


def _figures_of_judge(name: str, own: Sequence[tuple[Labelled, Recorded]], common: Collection[int]) -> JudgeOfCriteria:
    graded = [(row, one.met) for row, one in own if one.met is not None]
    categories: dict[str, list[tuple[Labelled, bool]]] = defaultdict(list)
    for row, met in graded:
        if row.category is not None:
            categories[row.category].append((row, met))
    return JudgeOfCriteria(
        name,
        len({row.line for row, _ in own}),
        len(graded),
        len(own) - len(graded),
        dict(Counter(one.reason for _, one in own if one.met is None).most_common()),
        _against_labels(graded),
        {category: _against_labels(categories[category]) for category in sorted(categories)},
        len(common),
        _against_labels([(row, met) for row, met in graded if row.line in common]),
    )


def _against_labels(verdicts: Iterable[tuple[Labelled, bool]]) -> Agreement:
    return agreement([(row.unit, met, label) for row, met in verdicts for label in row.labels])


def _findings(rows: Sequence[Labelled], judges: Sequence[JudgeOfCriteria], foreign: int) -> Iterator[str]:
    units = len({row.unit for row in rows})
    if units < _FEW:
        yield f"there are {units} completions; with fewer than {_FEW} the intervals are too wide to choose a judge by"
    if foreign:
        yield f"{foreign} verdicts are about unknown rows, and were not used"
    for one in judges:
        total = one.graded + one.ungraded
        if one.ungraded > _MUCH * total:
            yield f"{one.judge}: {one.ungraded} of {total} verdicts are missing; the rest may be the easy ones"
        if one.graded and None in (one.overall.precision_met, one.overall.precision_not_met):
            always = "not met" if one.overall.precision_met is None else "met"
            yield f"{one.judge}: all its verdicts are {always!r}, so it has no balanced F1"
        if one.rows < len(rows):
            yield f"{one.judge}: it was asked about {one.rows} of {len(rows)} rows"
    if len({one.graded for one in judges}) > 1:
        levels = [f"{one.judge} {one.common.balanced_f1:.3f}" for one in judges if one.common.balanced_f1 is not None]
        shown = f": {', '.join(levels)}" if levels else ", which are too few for a comparison"
        yield (
            "not all judges gave verdicts on the same rows; balanced F1 on the "
            f"{judges[0].common_rows} rows that all did{shown}"
        )
