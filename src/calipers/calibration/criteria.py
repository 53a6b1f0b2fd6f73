"""Measure how well verdicts on single criteria agree with people's labels: HealthBench's meta-evaluation.

A row is a completion, one criterion, and people's labels; verdicts are read from a file, or asked of a judge. Missing
verdicts are counted, and never wrong. Balanced F1 is as in openai/simple-evals, ``healthbench_meta_eval``: every label
is compared with the verdict separately, and the F1 of *met* and of *not met* are averaged, so that a criterion that is
nearly always met gives no easy point.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import numpy as np

from calipers.calibration.collect import JudgeAnswers
from calipers.calibration.findings import Finding
from calipers.calibration.measures import Array, Interval
from calipers.calibration.metrics import plain
from calipers.calibration.records import converted
from calipers.errors import InputError
from calipers.inputs.messages import canonical
from calipers.inputs.plain import type_in_words
from calipers.inputs.records import convert_rows, decompressed_stream, json_line_rows, read_json_lines
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.types import Criterion, Message, Rubric, Trajectory, TrajectoryGroup, TrajectoryResult

_ROW: Final = (
    '{"prompt": [...], "completion": "...", "rubric": "...", "binary_labels": [true, false], "category": "..."}'
)
_VERDICT: Final = '{"judge": "...", "line": 1, "met": true}'
_RESAMPLES: Final = 1000
_AT_ONCE: Final = 100
"""Resamples drawn at a time, to limit memory for tens of thousands of completions."""
_DEFINED: Final = 0.95
"""The share of resamples that must have a figure; with fewer, an interval would rest on a biased selection."""
_FEW: Final = 100
"""The number of completions below which intervals are too wide; HealthBench's own file has thousands."""
_MUCH: Final = 0.05
"""The share of missing verdicts above which the other verdicts may be a biased selection."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A criterion (``rubric``) of a completion with people's labels; ``line`` is counted from 1."""

    line: int
    prompt: tuple[Message, ...]
    completion: str
    rubric: str
    labels: tuple[bool, ...]
    category: str | None = None

    @property
    def unit(self) -> str:
        """An id of the conversation and its completion, which several rows may share."""
        text = json.dumps([[dict(message) for message in self.prompt], self.completion], sort_keys=True, default=str)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of ``judge`` about the row of a ``line``; ``met`` None is a missing verdict, with a ``reason``."""

    judge: str
    line: int
    met: bool | None
    reason: str = ""


# --- reading ----------------------------------------------------------------------------------------------------------


def is_labelled(path: str | os.PathLike[str]) -> bool:
    """Return whether the first readable line of a file is a labelled row, not a group."""
    try:
        with Path(path).open("rb") as stream:
            lines = json_line_rows(decompressed_stream(stream))
            first = next((value for _, value in lines if isinstance(value, dict)), {})
    except OSError:
        return False  # reading the file reports the error
    return "binary_labels" in first and "completion" in first


def read_labelled(
    path: str | os.PathLike[str], *, on_error: Callable[[InputError], None] | None = None
) -> Iterator[Labelled]:
    """Yield the labelled rows of a ``.jsonl`` or ``.jsonl.gz`` file, in order.

    A bad row is passed to ``on_error`` as an InputError with file, line and field, and skipped; without ``on_error``,
    it is raised.
    """
    yield from convert_rows(read_json_lines(path), as_labelled, source=os.fspath(path), on_error=on_error)


def as_labelled(value: Mapping[str, Any], line: int = 1) -> Labelled:
    """Convert a row of plain data to a ``Labelled``. Raises InputError that names the field."""
    labels, category, prompt = (value.get(name) for name in ("binary_labels", "category", "prompt"))
    if not isinstance(labels, list) or not labels or not all(isinstance(label, bool) for label in labels):
        raise InputError(f"binary_labels: must be a list of true or false, not empty; expected {_ROW}")
    if category is not None and not isinstance(category, str):
        raise InputError(f"category: must be text, not {type_in_words(category)}")
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    if not isinstance(prompt, list):
        raise InputError(f"prompt: must be messages or text, not {type_in_words(prompt)}; expected {_ROW}")
    completion, rubric = value.get("completion"), value.get("rubric")
    for name, text in (("completion", completion), ("rubric", rubric)):
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{name}: must be text that is not empty; expected {_ROW}")
    messages = canonical(prompt, where="prompt: ")
    return Labelled(line, messages, cast("str", completion), cast("str", rubric), tuple(labels), category)


def as_verdicts(
    verdicts: str | os.PathLike[str] | Iterable[object], *, on_error: Callable[[InputError], None] | None = None
) -> Iterator[Verdict]:
    """Yield verdicts from a ``.jsonl`` or ``.jsonl.gz`` file, or from an iterable of its objects or of Verdicts.

    What cannot be read is passed to ``on_error`` and skipped; without ``on_error``, it is raised.
    """
    yield from converted(verdicts, as_verdict, noun="verdict", on_error=on_error)


def as_verdict(value: object) -> Verdict:
    """Return an object of a verdicts file, checked. Raises InputError."""
    if isinstance(value, Verdict):
        return value
    if not isinstance(value, Mapping):
        raise InputError(f"is not an object; expected {_VERDICT}")
    judge, line, met, reason = (value.get(name) for name in ("judge", "line", "met", "reason"))
    if not isinstance(judge, str) or not judge:
        raise InputError(f"'judge' must be the judge's name; expected {_VERDICT}")
    if isinstance(line, bool) or not isinstance(line, int) or line < 1:
        raise InputError(f"'line' is {line!r:.40}: it must be a row's line, counted from 1; expected {_VERDICT}")
    if "met" not in value or not isinstance(met, bool | None):
        raise InputError(f"'met' must be true, false or null, not {met!r:.40}; expected {_VERDICT}")
    unread = "no verdict was recorded" if met is None else ""
    return Verdict(judge, line, met, reason if isinstance(reason, str) and reason else unread)


# --- asking a judge ---------------------------------------------------------------------------------------------------


async def collect_verdicts(
    rows: Iterable[Labelled], judge: str | Backend, *, grading: Mapping[str, Any] | None = None, **options: Any
) -> JudgeAnswers:
    """Query ``judge``, a name or a Backend, about the criterion of each labelled row, as a run with a checklist does.

    ``options`` are those of ``Judge.of``. Rows about one completion are one group, so that ``grading={"mode": "all"}``
    puts them in one question; by default each row has a separate question, as in HealthBench. The verdicts are the
    result's ``judgments``. Raises ConfigError before anything is asked for invalid settings or a judge that cannot be
    reached, and later for a judge that refuses every question.
    """
    by_unit: dict[str, list[Labelled]] = defaultdict(list)
    for row in rows:
        by_unit[row.unit].append(row)
    answers = JudgeAnswers.of(judge, "checklist")
    how = {"mode": "per_criterion", **(grading or {})}
    asking = Judge.of({"judge": judge, "protocol": "checklist", "grading": how, **options})
    async for result in answers.ask(asking, (_group(unit, rows_of_unit) for unit, rows_of_unit in by_unit.items())):
        (graded,) = result.trajectories
        answers.judgments += _verdicts(answers.judge, by_unit[result.group_id], graded)
    answers.judgments.sort(key=lambda judgment: int(judgment["line"]))
    return answers


def _group(unit: str, rows: Sequence[Labelled]) -> TrajectoryGroup:
    """Return a completion as a group of one, with the rows' criteria; a criterion's id is its line."""
    rubric = Rubric(tuple(Criterion(str(row.line), row.rubric) for row in rows))
    answer = Trajectory("completion", ({"role": "assistant", "content": rows[0].completion},), rubric=rubric)
    return TrajectoryGroup(unit, (answer,), rows[0].prompt)


def _verdicts(judge: str, rows: Sequence[Labelled], graded: TrajectoryResult) -> Iterator[dict[str, Any]]:
    """Yield the judge's verdict on each row in each sample."""
    criteria: Mapping[str, Mapping[str, Any]] = graded.extra.get("criteria", {})
    for row in rows:
        verdict = criteria.get(str(row.line), {"met": None, "reason": graded.reason or "it was not asked about"})
        for met in verdict.get("votes", [verdict["met"]]):
            reason = verdict["reason"] or ("no verdict came" if met is None else "")
            yield {"judge": judge, "line": row.line, "met": met, "reason": reason}


# --- measuring --------------------------------------------------------------------------------------------------------

Compared: TypeAlias = tuple[str, bool, bool]
"""A completion's id, a verdict, and a label."""


def verdict_figures(counts: Array) -> dict[str, Array]:
    """Return the figures for counts (..., 4) of comparisons: met by both, by the verdict, by the label, by neither.

    Precision is over verdicts of a kind, recall over labels of it. NaN where none is of this kind.
    """
    hits_of_met, verdict, label, neither = np.moveaxis(counts, -1, 0)
    figures: dict[str, Array] = {}
    for kind, hits, predicted, wanted in (
        ("met", hits_of_met, hits_of_met + verdict, hits_of_met + label),
        ("not_met", neither, neither + label, neither + verdict),
    ):
        precision, recall = _share(hits, predicted), _share(hits, wanted)
        # F1 is 2pr / (p + r), and 0 where both are 0; this is the same, computed from counts.
        f1 = np.where(np.isnan(precision + recall), np.nan, _share(2 * hits, predicted + wanted))
        figures |= {f"f1_{kind}": f1, f"precision_{kind}": precision, f"recall_{kind}": recall}
    return {"balanced_f1": (figures["f1_met"] + figures["f1_not_met"]) / 2, **figures}


def _share(part: Array, whole: Array) -> Array:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of verdicts with ``labels`` labels: ``figures`` by name, None if undefined.

    ``interval`` is the 95 % percentile bootstrap interval of balanced F1 over completions, from a fixed seed.
    """

    figures: Mapping[str, float | None]
    interval: Interval | None
    labels: int

    @classmethod
    def of(cls, compared: Sequence[Compared]) -> Agreement:
        """Compare verdicts with labels; comparisons of one completion are resampled together."""
        places: dict[str, int] = {}
        for unit, _, _ in compared:
            places.setdefault(unit, len(places))
        counts = np.zeros((len(places), 4))
        for unit, verdict, label in compared:
            counts[places[unit], 2 * (not verdict) + (not label)] += 1
        measured = verdict_figures(counts.sum(axis=0))
        figures = {name: None if np.isnan(value) else float(value) for name, value in measured.items()}
        return cls(figures, None if figures["balanced_f1"] is None else _interval(counts), len(compared))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for the JSON report."""
        return {**self.figures, "balanced_f1_interval": self.interval, "labels": self.labels}


def _interval(counts: Array) -> Interval | None:
    units = len(counts)
    if units < 2:
        return None
    generator, even = np.random.default_rng(units), np.full(units, 1 / units)
    draws = (generator.multinomial(units, even, size=_AT_ONCE) for _ in range(_RESAMPLES // _AT_ONCE))
    values = np.concatenate([verdict_figures(drawn @ counts)["balanced_f1"] for drawn in draws])
    known = values[~np.isnan(values)]
    if len(known) < _DEFINED * len(values):
        return None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class JudgeOfCriteria:
    """The figures of one judge against all labels (``overall``), and by category.

    ``graded`` verdicts were compared; ``ungraded`` are missing, and ``reasons`` counts why.
    """

    judge: str
    graded: int
    ungraded: int
    reasons: Mapping[str, int]
    overall: Agreement
    by_category: Mapping[str, Agreement]

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``judges`` in the JSON report, in which figures stand as those of scores do."""
        return {
            "judge": self.judge,
            "graded": self.graded,
            "ungraded": self.ungraded,
            "failure_rate": self.ungraded / (self.graded + self.ungraded),
            "missing": dict(self.reasons),
            **self.overall.to_dict(),
            "by_category": {name: category.to_dict() for name, category in self.by_category.items()},
        }


@dataclass(frozen=True, slots=True)
class MetaEvaluation:
    """The figures of ``judges``, and ``findings`` about them."""

    rows: int
    labels: int
    judges: tuple[JudgeOfCriteria, ...]
    findings: tuple[Finding, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON report: plain objects, with None for unknown figures."""
        return {
            "judges": [plain(judge.to_dict()) for judge in self.judges],
            "rows": self.rows,
            "labels": self.labels,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def meta_evaluate(
    rows: str | os.PathLike[str] | Iterable[Labelled],
    verdicts: str | os.PathLike[str] | Iterable[object],
    *,
    on_error: Callable[[InputError], None] | None = None,
) -> MetaEvaluation:
    """Measure judges by their ``verdicts`` about labelled ``rows``; each is a file, or an iterable of its objects.

    If a judge gave several verdicts on one row, all count. Lines that cannot be read are passed to ``on_error`` and
    skipped; without ``on_error``, the first is raised. Raises InputError if there is no row.
    """
    source = os.fspath(rows) if isinstance(rows, str | os.PathLike) else None
    labelled = list(cast("Iterable[Labelled]", rows) if source is None else read_labelled(source, on_error=on_error))
    if not labelled:
        raise InputError("there is no labelled row", source=source)
    by_line = {row.line: row for row in labelled}
    answers: dict[str, list[tuple[Labelled, Verdict]]] = defaultdict(list)
    foreign = 0
    for verdict in as_verdicts(verdicts, on_error=on_error):
        if verdict.line in by_line:
            answers[verdict.judge].append((by_line[verdict.line], verdict))
        else:
            foreign += 1
    judges = tuple(_figures_of_judge(name, graded) for name, graded in sorted(answers.items()))
    findings = tuple(_findings(labelled, judges, answers, foreign))
    labels = sum(len(row.labels) for row in labelled)
    return MetaEvaluation(len(labelled), labels, judges, findings)


def _figures_of_judge(name: str, own: Sequence[tuple[Labelled, Verdict]]) -> JudgeOfCriteria:
    compared: list[Compared] = []
    categories: dict[str, list[Compared]] = defaultdict(list)
    for row, verdict in own:
        if verdict.met is not None:
            pairs = [(row.unit, verdict.met, label) for label in row.labels]
            compared += pairs
            if row.category is not None:
                categories[row.category] += pairs
    missing = Counter(verdict.reason for _, verdict in own if verdict.met is None)
    by_category = {category: Agreement.of(categories[category]) for category in sorted(categories)}
    reasons = dict(missing.most_common())
    return JudgeOfCriteria(
        name, len(own) - missing.total(), missing.total(), reasons, Agreement.of(compared), by_category
    )


def _findings(
    rows: Sequence[Labelled],
    judges: Sequence[JudgeOfCriteria],
    answers: Mapping[str, Sequence[tuple[Labelled, Verdict]]],
    foreign: int,
) -> Iterator[Finding]:
    units = len({row.unit for row in rows})
    if units < _FEW:
        few = f"there are {units} completions; with fewer than {_FEW} the intervals are too wide to choose a judge by"
        yield Finding("few_completions", few)
    if foreign:
        yield Finding("foreign_rows", f"{foreign} verdicts are about unknown rows, and were not used")
    graded = {frozenset(row.line for row, verdict in answer if verdict.met is not None) for answer in answers.values()}
    if len(graded) > 1:
        apart = "not all judges gave verdicts on the same rows, so their figures are not of equally hard rows"
        yield Finding("other_rows", apart)
    for judge in judges:
        total, asked = judge.graded + judge.ungraded, len({row.line for row, _ in answers[judge.judge]})
        if judge.ungraded > _MUCH * total:
            missing = f"{judge.ungraded} of {total} verdicts are missing; the rest may be the easy ones"
            yield Finding("missing_verdicts", missing, judge.judge)
        met, not_met = (judge.overall.figures[f"precision_{kind}"] for kind in ("met", "not_met"))
        if judge.graded and None in (met, not_met):
            always = "not met" if met is None else "met"
            yield Finding("one_verdict", f"all its verdicts are {always!r}, so it has no balanced F1", judge.judge)
        if asked < len(rows):
            yield Finding("unasked_rows", f"it was asked about {asked} of {len(rows)} rows", judge.judge)
