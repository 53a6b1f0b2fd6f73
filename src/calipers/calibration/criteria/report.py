"""The report of a meta-evaluation: each judge against all labels, per category, and against each annotator.

Missing verdicts are counted and excluded from agreement; they do not count as wrong.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, cast

from calipers.calibration.criteria.agreement import Agreement, Pair, agreement
from calipers.calibration.criteria.rows import Labelled, read_labelled
from calipers.calibration.criteria.verdicts import Recorded, recorded_verdicts
from calipers.errors import InputError

_FEW: Final = 100
"""The number of completions below which intervals are too wide; HealthBench's own file has thousands."""
_MUCH: Final = 0.05
"""The share of missing verdicts above which the other verdicts may be a biased selection."""


@dataclass(frozen=True, slots=True)
class JudgeOfCriteria:
    """The figures of one judge: ``overall`` against all labels, by category, and against each annotator's labels alone.

    The judge was asked about ``rows``. ``graded`` of its verdicts were compared; ``ungraded`` are missing, and
    ``reasons`` counts why. ``above`` is the share of annotators whose own agreement with the others is below the
    judge's (0-1). ``common`` is the judge's agreement on the ``common_rows`` rows on which every judge gave a verdict.
    """

    judge: str
    rows: int
    graded: int
    ungraded: int
    reasons: Mapping[str, int]
    overall: Agreement
    by_category: Mapping[str, Agreement]
    by_annotator: Mapping[str, Agreement]
    above: float | None
    common_rows: int
    common: Agreement

    def to_dict(self) -> dict[str, Any]:
        """Return this judge's figures as an object of the calibration's JSON report."""
        return {
            "judge": self.judge,
            "rows": self.rows,
            "graded": self.graded,
            "ungraded": self.ungraded,
            "reasons": dict(self.reasons),
            "overall": self.overall.to_dict(),
            "by_category": {name: one.to_dict() for name, one in self.by_category.items()},
            "by_annotator": {name: one.to_dict() for name, one in self.by_annotator.items()},
            "above": self.above,
            "common_rows": self.common_rows,
            "common": self.common.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class MetaEvaluation:
    """The figures of ``judges`` and of the annotators: ``among`` compares each label with the other labels of its row.

    ``annotators`` has the same comparison for each annotator.
    ``findings`` are sentences for people; ``problems`` are the lines that could not be read.
    """

    rows: int
    labels: int
    judges: tuple[JudgeOfCriteria, ...]
    among: Agreement
    annotators: Mapping[str, Agreement]
    findings: tuple[str, ...]
    problems: tuple[InputError, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration's JSON report: plain objects, with None for unknown figures."""
        return {
            "rows": self.rows,
            "labels": self.labels,
            "judges": [one.to_dict() for one in self.judges],
            "annotators": {
                "among_themselves": self.among.to_dict(),
                "each": {name: one.to_dict() for name, one in self.annotators.items()},
            },
            "findings": list(self.findings),
        }


def meta_evaluate(
    rows: str | os.PathLike[str] | Iterable[Labelled],
    verdicts: str | os.PathLike[str] | Iterable[object],
    *,
    on_error: Callable[[InputError], None] | None = None,
) -> MetaEvaluation:
    """Calibrate judges by their ``verdicts`` about labelled ``rows``; each is a file, or an iterable of its objects.

    If a judge gave several verdicts on one row, all count. Lines that cannot be read are passed to ``on_error``, listed
    in ``problems`` and skipped. Raises InputError if there is no row.
    """
    problems: list[InputError] = []

    def complain(error: InputError) -> None:
        problems.append(error)
        if on_error is not None:
            on_error(error)

    source = os.fspath(cast("str", rows)) if isinstance(rows, str | os.PathLike) else None
    given = cast("Iterable[Labelled]", rows) if source is None else read_labelled(source, on_error=complain)
    labelled = list(given)
    if not labelled:
        raise InputError("there is no labelled row", source=source)
    said, foreign = _by_judge(recorded_verdicts(verdicts, on_error=complain), labelled)
    among, each = _agreement_among_annotators(labelled)
    graded = [{row.line for row, one in found if one.met is not None} for found in said.values()]
    common = set.intersection(*graded) if graded else set()
    judges = tuple(_figures_of_judge(name, found, each, common) for name, found in sorted(said.items()))
    return MetaEvaluation(
        len(labelled),
        sum(len(row.labels) for row in labelled),
        judges,
        among,
        each,
        tuple(_findings(labelled, judges, foreign)),
        tuple(problems),
    )


Answers = Mapping[str, Sequence[tuple[Labelled, Recorded]]]


def _by_judge(verdicts: Iterable[Recorded], rows: Sequence[Labelled]) -> tuple[Answers, int]:
    """Return each judge's verdicts with their rows, and the number of verdicts about unknown rows."""
    by_line = {row.line: row for row in rows}
    by_item: dict[str, list[Labelled]] = defaultdict(list)
    for row in rows:
        by_item[row.item].append(row)
    said: dict[str, list[tuple[Labelled, Recorded]]] = defaultdict(list)
    foreign = 0
    for one in verdicts:
        if one.item is not None:
            found = [row for row in by_item.get(one.item, ()) if one.line is None or row.line == one.line]
            found = found or by_item.get(one.item, [])[:1]
        else:
            row_of = by_line.get(one.line or 0)
            found = [] if row_of is None else [row_of]
        said[one.judge] += [(row, one) for row in found]
        foreign += not found
    return {judge: found for judge, found in said.items() if found}, foreign


def _figures_of_judge(
    name: str, found: Sequence[tuple[Labelled, Recorded]], each: Mapping[str, Agreement], common: AbstractSet[int]
) -> JudgeOfCriteria:
    decided = [(row, one.met) for row, one in found if one.met is not None]
    pairs: list[Pair] = []
    categories: dict[str, list[Pair]] = defaultdict(list)
    annotators: dict[str, list[Pair]] = defaultdict(list)
    for row, met in decided:
        unit = row.unit
        own = [(unit, met, label) for label in row.labels]
        pairs += own
        if row.category is not None:
            categories[row.category] += own
        for annotator, pair in zip(row.annotators, own, strict=False):
            annotators[annotator].append(pair)
    overall = agreement(pairs)
    others = [one.balanced_f1 for one in each.values() if one.balanced_f1 is not None]
    mine = overall.balanced_f1
    return JudgeOfCriteria(
        name,
        len({row.line for row, _ in found}),
        len(decided),
        len(found) - len(decided),
        dict(Counter(one.reason for _, one in found if one.met is None).most_common()),
        overall,
        {category: agreement(categories[category]) for category in sorted(categories)},
        {annotator: agreement(annotators[annotator]) for annotator in sorted(annotators)},
        None if mine is None or not others else sum(other < mine for other in others) / len(others),
        len(common),
        agreement([(row.unit, met, label) for row, met in decided if row.line in common for label in row.labels]),
    )


def _agreement_among_annotators(rows: Sequence[Labelled]) -> tuple[Agreement, dict[str, Agreement]]:
    """Return how each label agrees with the other labels of its row: for all labels, and for each annotator."""
    pairs: list[Pair] = []
    by_annotator: dict[str, list[Pair]] = defaultdict(list)
    for row in rows:
        unit = row.unit
        for place, label in enumerate(row.labels):
            own = [(unit, label, other) for at, other in enumerate(row.labels) if at != place]
            pairs += own
            if row.annotators:
                by_annotator[row.annotators[place]] += own
    return agreement(pairs), {name: agreement(by_annotator[name]) for name in sorted(by_annotator)}


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
        known = [f"{one.judge} {one.common.balanced_f1:.3f}" for one in judges if one.common.balanced_f1 is not None]
        count = judges[0].common_rows
        levels = f": {', '.join(known)}" if known else ", which are too few for a comparison"
        yield f"not all judges gave verdicts on the same rows; balanced F1 on the {count} rows that all did{levels}"
