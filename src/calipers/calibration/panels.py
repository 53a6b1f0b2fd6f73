"""Measure several judges as a panel. Each judge is one series on its own scale; weights are learned without labels.

This module chooses the series that represents a judge.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.aggregators.panel_weights import learn_weights
from calipers.calibration import measures
from calipers.calibration.arrays import Array, mean_of_known
from calipers.calibration.curves import CURVE, Interval
from calipers.calibration.judges import rounded_floats
from calipers.calibration.records import Key
from calipers.calibration.series import Frame, Series

_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class PanelByCalls:
    """Advantage fidelity from ``calls_per_member`` calls of each panel member."""

    calls_per_member: int
    advantage_fidelity: float


@dataclass(frozen=True, slots=True)
class BestMember:
    """The best single judge, asked as often as the whole panel together (or as often as it was recorded).

    ``panel_gain_interval`` is the interval of the panel's gain over this judge, with one call of each member.
    """

    judge: str
    calls: int
    advantage_fidelity: float
    panel_gain_interval: Interval | None


@dataclass(frozen=True, slots=True)
class PanelFigures:
    """The figures of the panel of all judges; ``weights`` belong to ``members`` in order and sum to 1.

    ``advantage_fidelity`` is from one call of each member. ``gain_interval`` is the interval of its gain over
    ``equal_weights_fidelity``, which gives every member the same weight. ``error_correlation`` is the mean correlation
    of two members' errors, and ``effective_votes`` the number of members with unrelated errors that would be as good as
    these: the panel's size if errors are unrelated, 1 if all make the same ones. Figures are None if no group was
    judged by all members, or none of those has gold.
    """

    members: tuple[str, ...]
    weights: tuple[float, ...]
    agreement: tuple[float | None, ...]
    repeatability: tuple[float | None, ...]
    prompt_variants: tuple[str | None, ...]
    groups: int
    advantage_fidelity: float | None
    advantage_fidelity_interval: Interval | None
    equal_weights_fidelity: float | None
    gain_interval: Interval | None
    best_member: BestMember | None
    by_calls: tuple[PanelByCalls, ...]
    error_correlation: float | None = None
    effective_votes: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``panel`` of the calibration's JSON report."""
        return {name: rounded_floats(value) for name, value in dataclasses.asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Member:
    """A judge's calls in groups that all panel members judged, (groups, calls, members), criteria averaged."""

    judge: str
    prompt_variant: str | None
    calls: Array


def panel_figures(series: Sequence[Series], frame: Frame) -> PanelFigures:
    """Return the calibration figures of the panel of all judges."""
    chosen = representative_series(one.key for one in series)
    rows, members = aligned_members(series, chosen, frame)
    names = tuple(chosen)
    variants = tuple(key.prompt_variant for key in chosen.values())
    if not rows:
        equal = (1 / len(names),) * len(names) if names else ()
        unknown = (None,) * len(names)
        return PanelFigures(names, equal, unknown, unknown, variants, 0, None, None, None, None, None, ())
    learned = learn_weights([one.calls for one in members])
    gold = frame.gold[list(rows)]
    weighted, equal_mean = panel_fidelity(members, learned.weights, gold, 1), panel_fidelity(members, None, gold, 1)
    most = max(one.calls.shape[1] for one in members)
    points = [
        PanelByCalls(count, found)
        for count in sorted({*(one for one in CURVE if one < most), most})
        if (found := measures.mean_over_groups(panel_fidelity(members, learned.weights, gold, count))) is not None
    ]
    return PanelFigures(
        names,
        learned.weights,
        learned.agreement,
        learned.repeatability,
        variants,
        groups=int((~np.isnan(weighted)).sum()),
        advantage_fidelity=measures.mean_over_groups(weighted),
        advantage_fidelity_interval=measures.bootstrap_interval(weighted),
        equal_weights_fidelity=measures.mean_over_groups(equal_mean),
        gain_interval=measures.bootstrap_interval(weighted - equal_mean),
        best_member=_best_member(members, gold, weighted),
        by_calls=tuple(points),
        error_correlation=(related := error_correlation(members, gold)),
        effective_votes=None if related is None else effective_votes(len(members), related),
    )


def error_correlation(members: Sequence[Member], gold: Array) -> float | None:
    """Return, for calibration, the mean correlation between two members' errors.

    None below two members, or without any error.

    A member's error is what its score has beyond its least-squares prediction from gold, within groups.
    """
    if len(members) < 2:
        return None
    scores = [mean_of_known(one.calls, axis=1) for one in members]
    known = ~np.isnan(gold) & np.all([~np.isnan(one) for one in scores], axis=0)
    known &= measures.measurable_groups(np.where(known, gold, np.nan), gold)[:, None]
    truth = measures.centred_values(gold, known)
    errors = []
    for one in scores:
        said = measures.centred_values(one, known)
        errors.append(said - truth * ((said * truth).sum() / max((truth**2).sum(), _EDGE)))
    sizes = [float((one**2).sum()) for one in errors]
    if min(sizes) <= _EDGE:
        return None
    pairs = [
        float((errors[i] * errors[j]).sum()) / float(np.sqrt(sizes[i] * sizes[j]))
        for i in range(len(errors))
        for j in range(i)
    ]
    return sum(pairs) / len(pairs)


def effective_votes(members: int, correlation: float) -> float:
    """Return a calibrated panel's size divided by its design effect, 1 + (members - 1) correlation (Kish 1965).

    It is at most the size.
    """
    return members / (1 + (members - 1) * max(correlation, 0.0))


def representative_series(keys: Iterable[Key]) -> dict[str, Key]:
    """Return the key of the series that represents each judge in a calibrated panel.

    The series has the mode and prompt variant that the largest number of judges share. Of several such series, the
    highest temperature decides, then the name. The keys have no criterion: criteria are averaged.
    """
    every = sorted({dataclasses.replace(key, criterion=None) for key in keys}, key=_name)
    shared = Counter(variant for _, variant in {(key.judge, _variant(key)) for key in every})
    chosen: dict[str, Key] = {}
    for key in every:
        held = chosen.get(key.judge)
        if held is None or _rank(key, shared) > _rank(held, shared):
            chosen[key.judge] = key
    return chosen


def _variant(key: Key) -> tuple[str, str]:
    return key.mode, key.prompt_variant or ""


def _name(key: Key) -> tuple[str, str, str, float]:
    return key.judge, key.prompt_variant or "", key.mode, key.temperature or 0.0


def _rank(key: Key, shared: Mapping[tuple[str, str], int]) -> tuple[int, float]:
    return shared[_variant(key)], -1.0 if key.temperature is None else key.temperature


def aligned_members(
    series: Sequence[Series], chosen: Mapping[str, Key], frame: Frame
) -> tuple[list[int], list[Member]]:
    """Return the rows of calibration's frame that all chosen series have, and each judge's calls in them."""
    parts: dict[str, list[Series]] = defaultdict(list)
    for one in series:
        if chosen[one.key.judge] == dataclasses.replace(one.key, criterion=None):
            parts[one.key.judge].append(one)
    if not parts:
        return [], []
    common = set.intersection(*({row for one in found for row in one.rows} for found in parts.values()))
    rows = sorted(common)
    return rows, [
        Member(judge, key.prompt_variant, averaged_criteria(parts[judge], rows, frame)) for judge, key in chosen.items()
    ]


def averaged_criteria(parts: Sequence[Series], rows: Sequence[int], frame: Frame) -> Array:
    """Return a judge's calls (rows, calls, members) in calibration, averaged over the criteria that have the call."""
    most = max(one.most for one in parts)
    stacked = np.full((len(parts), len(rows), most, frame.gold.shape[1]), np.nan)
    for number, one in enumerate(parts):
        place = {row: index for index, row in enumerate(one.rows)}
        for index, row in enumerate(rows):
            if row in place:
                stacked[number, index, : one.most] = one.calls[place[row]]
    return mean_of_known(stacked, axis=0)


def panel_fidelity(members: Sequence[Member], weights: Sequence[float] | None, gold: Array, count: int) -> Array:
    """Return each group's fidelity of the panel to gold in calibration, from ``count`` calls per member.

    It is the mean over cyclic windows.

    ``weights`` None: equal weights.
    """
    most = max(one.calls.shape[1] for one in members)
    shares = weights or (1.0,) * len(members)
    found = [
        measures.fidelity(combined_scores([window_mean(one.calls, start, count) for one in members], shares), gold)
        for start in range(most if count < most else 1)
    ]
    return mean_of_known(np.array(found), axis=0)


def window_mean(calls: Array, start: int, count: int) -> Array:
    """Return mean scores in calibration of ``count`` successive calls, cyclically within each group's own calls."""
    depth = np.maximum((~np.isnan(calls)).any(axis=2).sum(axis=1), 1)
    places = (start + np.arange(count)[None, :]) % depth[:, None]
    used = np.arange(count)[None, :] < depth[:, None]
    picked = np.take_along_axis(calls, places[:, :, None], axis=1)
    return mean_of_known(np.where(used[:, :, None], picked, np.nan), axis=1)


def combined_scores(scores: Sequence[Array], weights: Sequence[float]) -> Array:
    """Return the weighted mean of a calibrated panel's standard scores (groups, members).

    The mean is over the judges that scored each member.
    """
    standard = np.array([standard_scores(one) for one in scores])
    shares = np.where(np.isnan(standard), 0.0, np.asarray(weights)[:, None, None])
    total = shares.sum(axis=0)
    weighted = (np.where(np.isnan(standard), 0.0, standard) * shares).sum(axis=0)
    return np.where(total > 0, weighted / np.where(total > 0, total, 1.0), np.nan)


def standard_scores(scores: Array) -> Array:
    """Return a judge's scores in calibration minus their group's mean, divided by its standard deviation.

    They are 0 if all are equal.
    """
    known = ~np.isnan(scores)
    off = measures.centred_values(scores, known)
    spread = np.sqrt((off**2).sum(axis=-1, keepdims=True) / np.maximum(known.sum(axis=-1, keepdims=True), 1))
    return np.where(known, np.where(spread > _EDGE, off / np.where(spread > _EDGE, spread, 1.0), 0.0), np.nan)


def _best_member(members: Sequence[Member], gold: Array, panel: Array) -> BestMember | None:
    found: list[BestMember] = []
    for one in members:
        calls = min(len(members), one.calls.shape[1])
        alone = panel_fidelity([one], None, gold, calls)
        level = measures.mean_over_groups(alone)
        if level is not None:
            found.append(BestMember(one.judge, calls, level, measures.bootstrap_interval(panel - alone)))
    return max(found, key=lambda one: one.advantage_fidelity, default=None)
