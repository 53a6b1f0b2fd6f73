"""The figures of a judge as one table: a row is a function, a name and how it is shown.

The JSON report, the table of ``calipers calibrate`` and the page of ``calipers report`` follow from ``METRICS``.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from calipers.aggregators.panel_weights import repeatability
from calipers.calibration import measures, repeats
from calipers.calibration.measures import Array, Flags, Interval
from calipers.calibration.records import Cost, Key
from calipers.calibration.series import Frame, Series

_FIDELITY: Final = "The mean correlation of scores with gold within groups, with its 95 % interval. 0 is chance."
_WRONG: Final = "The share of answers whose advantage has the wrong sign."
_REPEATS: Final = "The correlation of two calls within groups (for pairs: the share of equal verdicts)."
_HONEST: Final = "Observed over stated variance of differences between halves of the calls. Above 1: understated."
_LENGTH: Final = "The correlation of scores with the length of answers. What exceeds gold's own, training exploits."
_FIRST: Final = "Of pairs with a preference, the share in which the answer shown first was preferred."
_FLIPS: Final = "Of pairs asked in both orders, the share that changed."
_FAILED: Final = "The share of candidates (of criteria: of verdicts) that got no usable score."
_SHARE: Final[Mapping[str, Any]] = {"range": [0, 1]}
_AROUND_0: Final = {"range": [-1, 1], "level": {"value": 0, "label": "none"}}
_AROUND_1: Final = {"range": [0, 2], "level": {"value": 1, "label": "honest"}}
_AROUND_HALF: Final = {**_SHARE, "level": {"value": 0.5, "label": "no bias"}}
_FEW: Final = {"range": [0, 0.01], "bars": True, "format": "percent"}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the figures of a judge are computed from: its series, and the scores of all its calls together."""

    series: Series
    frame: Frame
    scores: Array

    @property
    def gold(self) -> Array:
        """The gold of the judge's groups."""
        return self.series.gold(self.frame)


Measured: TypeAlias = Array | float | None
"""A figure of each group (the mean over groups has an interval then), a number, or None if unknown."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure: its ``name`` in the JSON report, and how it is computed.

    With a ``head``, it is a column of the command's table, with so many ``digits``. With a ``title``, it is a card of
    the report's page, with a ``note`` that explains it and how it is ``drawn``.
    """

    name: str
    measure: Callable[[Evidence], Measured]
    head: str = ""
    digits: int = 3
    title: str = ""
    note: str = ""
    drawn: Mapping[str, Any] = field(default_factory=lambda: _SHARE)


def _agreement(function: Callable[[Array, Array], Array]) -> Callable[[Evidence], Array]:
    return lambda answers: function(answers.scores, answers.gold)


def flip_rate(series: Series) -> float | None:
    """Return how often the other order of a pair changes the verdict; None without such pairs."""
    pairs, changed = series.swapped
    return changed / pairs if pairs else None


def _first_rate(answers: Evidence) -> float | None:
    first, second = (answers.series.verdicts.get(verdict, 0) for verdict in ("first", "second"))
    return first / (first + second) if first + second else None


def _repeatability(answers: Evidence) -> float | None:
    """For pairs, the share of equal verdicts on one question asked twice; for scores, the correlation of two calls."""
    series = answers.series
    if series.key.mode == "pairwise":
        pairs, equal = series.repeated
        return equal / pairs if pairs else None
    return repeatability(series.calls)


def _noise(answers: Evidence) -> float | None:
    series = answers.series
    noise = None if series.key.mode == "pairwise" else repeats.learn_noise(series.calls, shared=series.shared)
    return None if noise is None else math.sqrt(noise.variance)


def _stderr_ratio(answers: Evidence) -> float | None:
    series = answers.series
    return None if series.key.mode == "pairwise" else repeats.stderr_ratio(series.calls, shared=series.shared)


def _tie_rate(answers: Evidence) -> float | None:
    """The share of pairs of members that the judge ties in one call."""
    series = answers.series
    if series.verdicts:
        return series.verdicts.get("tie", 0) / sum(series.verdicts.values())
    tied = total = 0
    for call in range(series.most):  # call by call: all pairs of all calls would not fit in memory for large groups
        known = ~np.isnan(series.calls[:, call])
        pairs = known[:, :, None] & known[:, None, :] & ~np.eye(known.shape[1], dtype=bool)
        tied += int((measures.pair_signs(series.calls[:, call], known) == 0)[pairs].sum())
        total += int(pairs.sum())
    return tied / total if total else None


def _failure_rate(answers: Evidence) -> float:
    series = answers.series
    return 1 - series.answered / series.asked if series.asked else 0.0


def _lengths(answers: Evidence) -> Array:
    """The characters of each member's own messages; NaN if there is no text."""
    lengths = np.full(answers.scores.shape, np.nan)
    for place, row in enumerate(answers.series.rows):
        for column, member in enumerate(answers.frame.groups[row].trajectories):
            texts = (
                str(message.get("content") or "") for message in member.messages if message.get("role") == "assistant"
            )
            lengths[place, column] = len("\n".join(texts)) or np.nan
    return lengths


def _mean_fidelity(scores: Array, other: Array) -> float | None:
    return measures.mean_over_groups(measures.fidelity(scores, other))


def _length(answers: Evidence) -> float | None:
    return _mean_fidelity(answers.scores, _lengths(answers))


def _is_tied(scores: Array) -> Flags:
    known = ~np.isnan(scores)
    spread = np.where(known, scores, -np.inf).max(axis=1) - np.where(known, scores, np.inf).min(axis=1)
    return np.asarray((known.sum(axis=1) >= 2) & (spread <= 1e-9))


METRICS: Final = (
    Metric("advantage_fidelity", _agreement(measures.fidelity), "fidelity", 3, "Fidelity", _FIDELITY),
    Metric("top1", _agreement(measures.top1), "top-1"),
    Metric("tau_b", _agreement(measures.tau_b), "tau-b"),
    Metric("sign_error", _agreement(measures.sign_error), "sign err", 3, "Wrong direction", _WRONG),
    Metric("repeatability", _repeatability, "repeats", 2, "Repeatability", _REPEATS),
    Metric("noise", _noise, title="Noise", note="The standard deviation of a call's score.", drawn={"bars": True}),
    Metric("stderr_ratio", _stderr_ratio, title="Are standard errors honest?", note=_HONEST, drawn=_AROUND_1),
    Metric("length_preference", _length, title="Length preference", note=_LENGTH, drawn=_AROUND_0),
    Metric("gold_length_preference", lambda one: _mean_fidelity(one.gold, _lengths(one))),
    Metric("first_rate", _first_rate, title="First of two preferred", note=_FIRST, drawn=_AROUND_HALF),
    Metric("order_flip_rate", lambda one: flip_rate(one.series), "flips", 2, "Changed by the order", _FLIPS),
    Metric("tie_rate", _tie_rate, "ties", 2),
    Metric("failure_rate", _failure_rate, "failed", 2, "Without a readable answer", _FAILED, _FEW),
    Metric("dead_groups", lambda one: int(_is_tied(one.scores).sum())),
    Metric("groups_judged", lambda one: len(one.series.rows)),
    Metric("calls_per_group", lambda one: one.series.records / len(one.series.rows), "calls", 1),
    Metric("groups", lambda one: int((~np.isnan(measures.fidelity(one.scores, one.gold))).sum()), "groups", 0),
)
_NAMES: Final = frozenset(one.name for one in METRICS)


@dataclass(frozen=True, slots=True)
class ByCalls:
    """Advantage fidelity from ``calls`` calls a group, the mean over cyclic windows, with its 95 % interval."""

    calls: int
    advantage_fidelity: float
    advantage_fidelity_interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """The figures of one (judge, mode, prompt_variant, temperature); None if unknown.

    ``values`` and ``intervals`` are those of ``METRICS`` by name, and may also be read as attributes:
    ``judge.advantage_fidelity``, ``judge.advantage_fidelity_interval``. Agreement is over all calls of a group.
    ``missing`` counts groups that it cannot be measured on, because it did not score two members whose gold differs:
    "failed" where its record says so, "abstained" without a score in what was recorded, "unrecorded" without a record.
    ``place_curve`` is what each position of a list adds to a score, ``cost`` that of a group. Definitions:
    docs/calibration-figures.md.
    """

    key: Key
    values: Mapping[str, Any]
    intervals: Mapping[str, Interval | None]
    missing: Counter[str]
    by_calls: tuple[ByCalls, ...]
    place_curve: tuple[float, ...] | None
    cost: Cost

    @property
    def judge(self) -> str:
        """The judge's name."""
        return self.key.judge

    @property
    def asked(self) -> str:
        """How the judge was asked, as text: "listwise, v2, t=0.7"."""
        return self.key.asked

    def __getattr__(self, name: str) -> Any:
        """Return what the JSON report has under this name: how the judge was asked, a figure, or its interval."""
        if name in ("mode", "prompt_variant", "temperature"):
            return getattr(self.key, name)
        if name in _NAMES:
            return self.values[name]
        if (figure := name.removesuffix("_interval")) in _NAMES:
            return self.intervals.get(figure)
        raise AttributeError(f"a judge has no figure {name!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``judges`` in the JSON report, rounded to six decimals."""
        asked = {**dataclasses.asdict(self.key), "asked": self.asked}
        figures = dict(self.values) | {f"{name}_interval": ends for name, ends in self.intervals.items()}
        rest = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)[3:]}
        return {name: plain(value) for name, value in (asked | figures | rest).items()}


def plain(value: Any) -> Any:
    """Return figures as plain data, with floats rounded to six decimals, so that rounding errors change nothing."""
    match value:
        case float():
            return round(value, 6) + 0.0
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return plain(dataclasses.asdict(value))
        case _:
            return value


def figures_of_series(series: Series, frame: Frame, curve: Mapping[int, tuple[Array, Array]]) -> JudgeFigures:
    """Return the figures of a judge; ``curve`` is the fidelity curve of its series."""
    answers = Evidence(series, frame, series.scores(0, series.most))
    values: dict[str, Any] = {}
    intervals: dict[str, Interval | None] = {}
    for metric in METRICS:
        measured = metric.measure(answers)
        if isinstance(measured, np.ndarray):
            intervals[metric.name] = measures.bootstrap_interval(measured)
            measured = measures.mean_over_groups(measured)
        values[metric.name] = measured
    means = ((count, measures.mean_over_groups(levels), levels) for count, (levels, _) in curve.items())
    return JudgeFigures(
        series.key,
        values,
        intervals,
        _missing(answers),
        tuple(
            ByCalls(count, mean, measures.bootstrap_interval(levels))
            for count, mean, levels in means
            if mean is not None
        ),
        None if series.places is None else series.places.curve,
        series.cost.times(1 / len(series.rows)),
    )


def _missing(answers: Evidence) -> Counter[str]:
    gold, series = answers.gold, answers.series
    silent = measures.measurable_groups(gold, gold) & ~measures.measurable_groups(answers.scores, gold)
    states = Counter(state for state, is_silent in zip(series.states, silent, strict=True) if is_silent)
    usable = measures.measurable_groups(answers.frame.gold, answers.frame.gold)
    unrecorded = int(usable.sum()) - int(usable[list(series.rows)].sum())
    failed = states["failed"]
    return Counter(abstained=int(silent.sum()) - failed, failed=failed, unrecorded=unrecorded)


def counts_as_text(missing: Counter[str]) -> str:
    """Return how many groups of a judge are missing, and why, as text: "2 abstained, 1 failed"."""
    return ", ".join(f"{count} {name}" for name, count in missing.items() if count)


@dataclass(frozen=True, slots=True)
class Difference:
    """The advantage fidelity of ``judge`` less that of ``other``, the mean over the ``groups`` that both scored.

    All judges saw the same groups, so a difference is known better than either fidelity: what makes a group hard
    cancels. The interval is a 95 % bootstrap of the paired difference over groups, None below six groups.
    """

    judge: str
    asked: str
    other: str
    other_asked: str
    difference: float
    interval: Interval | None
    groups: int

    @property
    def is_clear(self) -> bool:
        """Whether chance hardly explains the difference: its interval is above 0."""
        return self.interval is not None and self.interval[0] > 0


def paired_differences(
    series: Sequence[Series], figures: Sequence[JudgeFigures], frame: Frame
) -> tuple[Difference, ...]:
    """Return the paired difference of every two rows of judges, from all calls of a group.

    The row with the higher fidelity comes first; its lead over the others precedes theirs.
    """
    rows = []
    for judge_series, judge in zip(series, figures, strict=True):
        if (level := judge.advantage_fidelity) is not None:
            fidelity = measures.fidelity(judge_series.scores(0, judge_series.most), judge_series.gold(frame))
            rows.append((-level, judge, judge_series.on_frame(fidelity, frame)))
    rows.sort(key=lambda row: row[0])
    pairs = []
    for (_, first, here), (_, second, there) in itertools.combinations(rows, 2):
        mean = measures.mean_over_groups(here - there)
        if mean is not None:
            names = (first.judge, first.asked, second.judge, second.asked)
            groups = int((~np.isnan(here - there)).sum())
            pairs.append(Difference(*names, mean, measures.bootstrap_interval(here - there), groups))
    return tuple(pairs)


def difference_lines(pairs: Sequence[Difference], names: Mapping[str, str]) -> list[str]:
    """Return the best judge's lead over each other as lines of text, then one sentence that answers; empty without.

    ``names`` are what judges are called.
    """
    best = [pair for pair in pairs if (pair.judge, pair.asked) == (pairs[0].judge, pairs[0].asked)]
    several = len({asked for pair in pairs for asked in (pair.asked, pair.other_asked)}) > 1

    def called(judge: str, asked: str) -> str:
        return f"{names.get(judge, judge)} ({asked})" if several else names.get(judge, judge)

    if not best:
        return []
    first = called(best[0].judge, best[0].asked)
    titles = [f"{first} - {called(difference.other, difference.other_asked)}" for difference in best]
    width = max(map(len, titles))
    lines = []
    for title, difference in zip(titles, best, strict=True):
        interval = "" if difference.interval is None else " [{:+.3f}, {:+.3f}]".format(*difference.interval)
        lines.append(f"{title:<{width}}  {difference.difference:+.3f}{interval} on {difference.groups} groups")
    behind = [called(difference.other, difference.other_asked) for difference in best if difference.is_clear]
    equal = [called(difference.other, difference.other_asked) for difference in best if not difference.is_clear]
    if not behind:
        return [*lines, f"These groups cannot show which of {_listed([first, *equal])} agrees best with gold."]
    rest = f"; these groups do not show that it does than {_listed(equal)}" if equal else ""
    return [*lines, f"{first} agrees better with gold than {_listed(behind)}{rest}."]


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
