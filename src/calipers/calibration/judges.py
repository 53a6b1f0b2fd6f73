"""A judge's figures: agreement with gold, and figures that need no gold."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calipers.aggregators.pair_bias import PairBias
from calipers.aggregators.panel_weights import repeatability
from calipers.calibration import measures, repeats
from calipers.calibration.arrays import Array, Flags
from calipers.calibration.comparable import common_groups
from calipers.calibration.costs import Cost
from calipers.calibration.curves import ByCalls, Curve, Interval, Resolved
from calipers.calibration.position_bias import PositionEffect
from calipers.calibration.records import Key
from calipers.calibration.series import Frame, Series, Swap


@dataclass(frozen=True, slots=True)
class PlaceCurve:
    """A judge's position bias: how much the judge adds to a score at each position, in units of its scores, 0 on
    average.

    The curve is shrunk towards 0 as far as chance may explain it, and learned from ``groups`` groups that were rated in
    several orders.
    """

    worth: tuple[float, ...]
    groups: int


@dataclass(frozen=True, slots=True)
class Missing:
    """Counts groups that a judge cannot be measured on: it did not score two members whose gold differs.

    ``abstained``: its record says so; ``failed``: no score in what was recorded; ``unrecorded``: no record at all.
    """

    abstained: int = 0
    failed: int = 0
    unrecorded: int = 0

    @property
    def total(self) -> int:
        """The number of groups that the judge did not score."""
        return self.abstained + self.failed + self.unrecorded

    def as_text(self) -> str:
        """Return, for a calibration, the number of each kind as text: "2 abstained, 1 failed"."""
        parts = ((self.abstained, "abstained"), (self.failed, "failed"), (self.unrecorded, "not recorded"))
        return ", ".join(f"{count} {name}" for count, name in parts if count)


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """The figures of one (judge, mode, prompt_variant, temperature, criterion); None if unknown.

    Agreement is over all calls of a group, in the ``groups`` groups with different gold scores; the judge answered
    about ``groups_judged`` groups. Rates are in 0-1. Definitions: docs/calibration-figures.md.
    """

    judge: str
    mode: str
    prompt_variant: str | None
    temperature: float | None
    criterion: str | None
    advantage_fidelity: float | None
    advantage_fidelity_interval: Interval | None
    top1: float | None
    top1_interval: Interval | None
    tau_b: float | None
    tau_b_interval: Interval | None
    sign_error: float | None
    sign_error_interval: Interval | None
    kappa: float | None
    dead_groups: int
    calls_per_group: float
    order_flip_rate: float | None
    first_rate: float | None
    agreeing_share: float | None
    agreeing_accuracy: float | None
    repeatability: float | None
    noise: float | None
    stderr_ratio: float | None
    tie_rate: float | None
    failure_rate: float
    length_preference: float | None
    gold_length_preference: float | None
    markdown_preference: float | None
    groups: int
    groups_judged: int
    missing: Missing
    common_groups: int
    common_fidelity: float | None
    common_fidelity_interval: Interval | None
    by_calls: tuple[ByCalls, ...]
    resolve: Resolved | None
    variant_stability: float | None
    order_evidence: PairBias | None
    place_curve: PlaceCurve | None
    cost: Cost
    stderr_bins: tuple[repeats.ErrorBin, ...] = ()
    position_effects: tuple[PositionEffect, ...] = ()

    @property
    def asked(self) -> str:
        """How a calibration's judge was asked, as text: "listwise, v2, t=0.7"."""
        parts = [self.mode, self.prompt_variant, self.criterion]
        parts += [] if self.temperature is None else [f"t={self.temperature:g}"]
        return ", ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``judges`` in the calibration's JSON report.

        Its figures are rounded to six decimals.
        """
        return {name: rounded_floats(value) for name, value in dataclasses.asdict(self).items()}


def rounded_floats(value: Any) -> Any:
    """Return a calibration's plain data with its floats rounded to six decimals.

    Then rounding errors make no difference.
    """
    match value:
        case float():
            return round(value, 6) + 0.0
        case dict():
            return {key: rounded_floats(one) for key, one in value.items()}
        case list() | tuple():
            return [rounded_floats(one) for one in value]
        case _:
            return value


def figures_of_series(series: Sequence[Series], frame: Frame, curves: Sequence[Curve]) -> tuple[JudgeFigures, ...]:
    """Return the calibration figures of the judge of every series, in order; ``curves`` belong to ``series``."""
    scores = [one.scores(0, one.most) for one in series]
    alike: dict[Key, list[tuple[Series, Array]]] = defaultdict(list)
    for one, found in zip(series, scores, strict=True):
        alike[dataclasses.replace(one.key, prompt_variant=None)].append((one, found))
    every = [measures.fidelity(found, _gold(one, frame)) for one, found in zip(series, scores, strict=True)]
    compared = _compared_fidelities(series, every, frame)
    measured = []
    for place, (one, found, curve) in enumerate(zip(series, scores, curves, strict=True)):
        others = [other for other in alike[dataclasses.replace(one.key, prompt_variant=None)] if other[0] is not one]
        stability = _stability(one, found, others)
        measured.append(_figures(one, found, frame, curve, stability=stability, compared=compared[place]))
    return tuple(measured)


def _compared_fidelities(series: Sequence[Series], fidelities: Sequence[Array], frame: Frame) -> list[Array]:
    """Return each judge's fidelity on the groups on which all are compared; empty for a judge that is not compared."""
    if not series:
        return []
    table = np.full((len(series), len(frame.groups)), np.nan)
    for place, (one, found) in enumerate(zip(series, fidelities, strict=True)):
        table[place, list(one.rows)] = found
    common = common_groups(table)
    nothing = np.empty(0)
    return [
        row[common.groups] if common.shared and held else nothing for row, held in zip(table, common.rows, strict=True)
    ]


def _gold(series: Series, frame: Frame) -> Array:
    return frame.gold[list(series.rows)]


def _missing(series: Series, fidelity: Array, frame: Frame) -> Missing:
    usable = measures.measurable_groups(frame.gold, frame.gold)
    silent = Counter(
        state if state != "answered" else "failed"
        for row, state, found in zip(series.rows, series.states, fidelity, strict=True)
        if usable[row] and np.isnan(found)
    )
    unrecorded = int(usable.sum()) - sum(bool(usable[row]) for row in series.rows)
    return Missing(silent["abstained"], silent["failed"], unrecorded)


def _stability(series: Series, scores: Array, others: Sequence[tuple[Series, Array]]) -> float | None:
    """Return the mean correlation within groups of these scores with the judge's scores in other prompt variants."""
    found = []
    for other, there in others:
        place = {row: index for index, row in enumerate(other.rows)}
        here = [index for index, row in enumerate(series.rows) if row in place]
        matched = there[[place[series.rows[index]] for index in here]]
        level = measures.mean_over_groups(measures.fidelity(scores[here], matched))
        if level is not None:
            found.append(level)
    return math.fsum(found) / len(found) if found else None


def _figures(
    series: Series, scores: Array, frame: Frame, curve: Curve, *, stability: float | None, compared: Array
) -> JudgeFigures:
    gold = _gold(series, frame)
    fidelity = measures.fidelity(scores, gold)
    top1, tau_b, sign = (found(scores, gold) for found in (measures.top1, measures.tau_b, measures.sign_error))
    pairs = series.key.mode == "pairwise"
    learned = None if pairs else repeats.learn_noise(series.calls, shared=_is_list_rated(series))
    lengths, marks = _lengths_and_markdown(series, frame)
    key = series.key
    return JudgeFigures(
        key.judge,
        key.mode,
        key.prompt_variant,
        key.temperature,
        key.criterion,
        advantage_fidelity=measures.mean_over_groups(fidelity),
        advantage_fidelity_interval=measures.bootstrap_interval(fidelity),
        top1=measures.mean_over_groups(top1),
        top1_interval=measures.bootstrap_interval(top1),
        tau_b=measures.mean_over_groups(tau_b),
        tau_b_interval=measures.bootstrap_interval(tau_b),
        sign_error=measures.mean_over_groups(sign),
        sign_error_interval=measures.bootstrap_interval(sign),
        kappa=measures.kappa(scores, gold, ties=pairs),
        dead_groups=int(tied_groups(scores).sum()),
        calls_per_group=series.records / len(series.rows),
        order_flip_rate=flip_rate(series),
        first_rate=_first_rate(series),
        agreeing_share=_agreeing_share(series),
        agreeing_accuracy=_agreeing_accuracy(series, frame),
        repeatability=_repeatability(series),
        noise=None if learned is None else math.sqrt(learned.noise.variance),
        stderr_ratio=None if pairs else repeats.stderr_ratio(series.calls, shared=_is_list_rated(series)),
        tie_rate=_tie_rate(series),
        failure_rate=1 - series.answered / series.asked if series.asked else 0.0,
        length_preference=measures.mean_over_groups(measures.fidelity(scores, lengths)),
        gold_length_preference=measures.mean_over_groups(measures.fidelity(gold, lengths)),
        markdown_preference=measures.mean_over_groups(measures.fidelity(scores, marks)),
        groups=int((~np.isnan(fidelity)).sum()),
        groups_judged=len(series.rows),
        missing=_missing(series, fidelity, frame),
        common_groups=len(compared),
        common_fidelity=measures.mean_over_groups(compared),
        common_fidelity_interval=measures.bootstrap_interval(compared),
        by_calls=curve.points,
        resolve=curve.resolved,
        variant_stability=stability,
        order_evidence=PairBias.learn((one.said, one.swapped) for one in series.swaps),
        place_curve=_place_curve(series),
        cost=series.cost.times(1 / len(series.rows)),
        position_effects=() if series.place is None else series.place.effects,
        stderr_bins=() if pairs else repeats.error_bins(series.calls, shared=_is_list_rated(series)),
    )


def _place_curve(series: Series) -> PlaceCurve | None:
    """Return the judge's position bias in lists of their most frequent length; None if it is unknown."""
    habit = series.place
    if habit is None or habit.places is None:
        return None
    return PlaceCurve(habit.places.curve(habit.size), habit.places.groups)


def _is_list_rated(series: Series) -> bool:
    return series.key.mode != "pointwise"


def tied_groups(scores: Array) -> Flags:
    """Return flags of groups in calibration that have at least two scored members, all with the same score."""
    known = ~np.isnan(scores)
    spread = np.where(known, scores, -np.inf).max(axis=1) - np.where(known, scores, np.inf).min(axis=1)
    return np.asarray((known.sum(axis=1) >= 2) & (spread <= 1e-9))


def _repeatability(series: Series) -> float | None:
    """Return a judge's repeatability.

    For pairs it is the share of equal verdicts on one question asked twice, for scores the correlation of two calls.
    """
    if series.key.mode == "pairwise":
        return sum(one == other for one, other in series.repeats) / len(series.repeats) if series.repeats else None
    return repeatability(series.calls)


def _tie_rate(series: Series) -> float | None:
    """Return the share of pairs of members that the judge ties in one call."""
    if series.verdicts:
        return series.verdicts.get("tie", 0) / sum(series.verdicts.values())
    tied = total = 0
    for call in range(series.most):  # call by call: all pairs of all calls would not fit in memory for large groups
        known = ~np.isnan(series.calls[:, call])
        pairs = known[:, :, None] & known[:, None, :] & ~np.eye(known.shape[1], dtype=bool)
        tied += int((measures.pair_signs(series.calls[:, call], known) == 0)[pairs].sum())
        total += int(pairs.sum())
    return tied / total if total else None


def _lengths_and_markdown(series: Series, frame: Frame) -> tuple[Array, Array]:
    """Return the characters of each member's own messages, and the share that is markdown; NaN if there is no text."""
    lengths = np.full((len(series.rows), frame.gold.shape[1]), np.nan)
    marks = lengths.copy()
    for place, row in enumerate(series.rows):
        for column, member in enumerate(frame.groups[row].trajectories):
            text = "\n".join(str(one.get("content") or "") for one in member.messages if one.get("role") == "assistant")
            if text:
                lengths[place, column] = len(text)
                marks[place, column] = sum(map(text.count, ("**", "\n#", "\n- ", "\n* ", "```", "|"))) / len(text)
    return lengths, marks


def flip_rate(series: Series) -> float | None:
    """Return how often the other order of a pair changes the judge's verdict.

    A verdict is better, worse or tied. None without such pairs.
    """
    return sum(not _orders_agree(one) for one in series.swaps) / len(series.swaps) if series.swaps else None


def _orders_agree(swap: Swap) -> bool:
    """Return whether verdicts on both orders of a pair name the same trajectory, or are both a tie."""
    return (swap.said == "tie") == (swap.swapped == "tie") and (swap.said == "tie" or swap.said != swap.swapped)


def _first_rate(series: Series) -> float | None:
    """Return the share of "first" among a judge's verdicts on pairs that are not ties.

    None without such verdicts.
    """
    first, second = series.verdicts.get("first", 0), series.verdicts.get("second", 0)
    return first / (first + second) if first + second else None


def _agreeing_share(series: Series) -> float | None:
    """Return the share of pairs with the same winner in both orders; all others count as ties."""
    said = [_orders_agree(swap) and swap.said != "tie" for swap in series.swaps]
    return sum(said) / len(said) if said else None


def _agreeing_accuracy(series: Series, frame: Frame) -> float | None:
    """Return how often the winner of a pair in both orders also has the higher gold score.

    None without pairs that differ in gold.
    """
    right: list[bool] = []
    for swap in series.swaps:
        columns, gold = frame.columns[swap.row], frame.gold[swap.row]
        if swap.said == "tie" or not _orders_agree(swap) or not {swap.first, swap.second} <= columns.keys():
            continue
        gap = gold[columns[swap.first]] - gold[columns[swap.second]]
        if gap > 0 or gap < 0:  # False for equal and for missing gold
            right.append(bool(gap > 0) == (swap.said == "first"))
    return sum(right) / len(right) if right else None
