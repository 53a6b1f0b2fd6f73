"""Find the thresholds of a cascade: from which confidence on a cheap judge's scores may count.

Learn then test (Angelopoulos, Bates, Candès, Jordan & Lei, "Learn then test: calibrating predictive algorithms to
achieve risk control", 2021): every threshold is a hypothesis, that the cascade misses the target. Thresholds are tested
in turn, from the safest on, until one cannot be rejected; the last one rejected is taken. The p-values are those of
bets (``aggregators.betting``), so the guarantee holds for any number of groups, but only for groups drawn like these.
Not responsible for what a run does with a threshold (``aggregators.cascade``, ``judging.cascade``).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from calipers.aggregators.betting import evidence_above, upper_bound
from calipers.aggregators.cascade import ConfidenceMeasure
from calipers.backends.names import is_stand_in, short_names
from calipers.calibration import measures
from calipers.calibration.arrays import Array, Flags, mean_of_known
from calipers.calibration.asked import Asked, request_lines
from calipers.calibration.panel_space import Unit
from calipers.calibration.panels import window_mean
from calipers.calibration.records import Key
from calipers.calibration.series import Frame
from calipers.calibration.written_variants import has_criteria

Kind: TypeAlias = Literal["fidelity", "share"]
Rows: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.intp]]

LEVEL: Final = 0.1
"""The probability that a threshold is taken although the cascade misses the target on groups like these."""
CHECKED: Final = 0.1
"""The share of the sure groups that a run checks by default."""
_COUNTS: Final = (1, 2, 4, 8)
MEASURES: Final[tuple[ConfidenceMeasure, ...]] = ("lead", "spread")
_MOST_THRESHOLDS: Final = 40
_LARGEST_LIMIT: Final = 0.95


@dataclass(frozen=True, slots=True)
class CascadeTarget:
    """What a cascade must reach, from 0 to 1: ``"fidelity"``, at least this share of the last judge's, or ``"share"``,
    at most this share of the groups for the last judge.
    """

    kind: Kind
    amount: float


@dataclass(frozen=True, slots=True)
class CascadeWay:
    """A cascade of two judges in calibration: ``orders`` calls of the first, one of the last.

    From the confidence ``threshold`` on, in units of the recorded scores by ``measure``, the first judge's scores
    count. ``share`` of the groups go to the last judge, checks included. ``fidelity`` is the cascade's, beside that of
    either judge alone and of random routing at the same share. ``error`` is the mean disagreement of the two where the
    first is sure, and ``error_limit`` its upper bound at 95 %.
    """

    keys: tuple[Key, Key]
    orders: int
    measure: ConfidenceMeasure
    threshold: float
    share: float
    fidelity: float
    first_fidelity: float
    last_fidelity: float
    random_fidelity: float
    error: float
    error_limit: float
    groups: int

    def to_dict(self) -> dict[str, Any]:
        """Return the way as an object of calibration's JSON report."""
        found = {name: value for name, value in dataclasses.asdict(self).items() if name != "keys"}
        return {"judges": [key.judge for key in self.keys], **found}


@dataclass(frozen=True, slots=True)
class CascadeFigures:
    """The cascade that reaches the ``target`` with the fewest groups for the last judge, among ``tried`` ways.

    ``way`` is None if none could be shown to reach it; ``best`` is then the one that reaches it by its mean, or comes
    nearest. ``asked`` says how judges were asked, as far as their answers do not say it.
    """

    target: CascadeTarget
    way: CascadeWay | None
    best: CascadeWay | None
    tried: int
    asked: Mapping[Key, Asked] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``cascade`` of calibration's JSON report."""
        return {
            "target": dataclasses.asdict(self.target),
            "level": LEVEL,
            "way": None if self.way is None else self.way.to_dict(),
            "best": None if self.best is None else self.best.to_dict(),
            "tried": self.tried,
            "recommendation": self.toml(),
        }

    def toml(self) -> str:
        """Return the cascade that calibration recommends as a block of TOML for calipers.toml, with its guarantee."""
        way, said = self.way, _target_text(self.target)
        if way is None:
            near = "" if self.best is None else f"# By its mean alone: {_levels(self.best)}.\n"
            return f"# No cascade: no threshold could be shown to keep {said}.\n{near}"
        names = short_names(key.judge for key in way.keys)
        variants = [
            f"# {_plain(names[key.judge])}: measured with the prompt variant {_plain(key.prompt_variant)}."
            for key in way.keys
            if key.prompt_variant
        ]
        return "\n".join(
            [
                f"# Of {self.tried} ways tried, the one {_BEST[self.target.kind]} among those that keep",
                f"# {said} with a probability of {1 - LEVEL:.0%}.",
                f"# That holds for groups drawn like these {way.groups}, not for those that a policy makes later:",
                "# these are watched by the run's checks.",
                f"# {_levels(way)}.",
                *variants,
                *request_lines(way.keys, self.asked, names),
                f"judge = {json.dumps([key.judge for key in way.keys], ensure_ascii=False)}",
                'panel = "cascade"',
                f'protocol = "{way.keys[0].protocol}"',
                f'judge_orders = "{way.orders},1"',
                f'confidence_measure = "{way.measure}"',
                "# In units of the recorded scores; a run's scores are from 0 to 1.",
                f'confidence = "{way.threshold:.6g}"',
                f"# The mean disagreement where the first judge is sure is {way.error:.3f}; this is its upper bound.",
                f"error_limit = {way.error_limit:.2f}",
                f"check_share = {CHECKED}",
            ]
        ) + "\n"  # fmt: skip


_BEST: Final = {"fidelity": "that asks the last judge least", "share": "with the most fidelity"}


def _target_text(target: CascadeTarget) -> str:
    if target.kind == "fidelity":
        return f"{target.amount:.1%} of the last judge's fidelity"
    return f"the last judge's groups to at most {target.amount:.1%}"


def _levels(way: CascadeWay) -> str:
    first, last = map(short_names(key.judge for key in way.keys).get, (key.judge for key in way.keys))
    return (
        f"fidelity {way.fidelity:.3f}, with {way.share:.1%} of the groups for {_plain(last)} (alone "
        f"{way.last_fidelity:.3f}; {_plain(first)} alone {way.first_fidelity:.3f}; random routing "
        f"{way.random_fidelity:.3f})"
    )


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


@dataclass(frozen=True, slots=True)
class Pair:
    """A cheap judge and the last judge on common groups: what a cascade of both brings at any threshold.

    ``confidence`` has the shape (windows, groups), NaN where the cheap judge did not score all members; so do the cheap
    judge's fidelity ``first`` and the disagreement ``error``. ``last`` is the last judge's fidelity in each group, the
    mean over its calls. ``rows`` are the groups' places in the frame.
    """

    rows: Rows
    confidence: Array
    first: Array
    last: Array
    error: Array

    @classmethod
    def of(cls, cheap: Unit, last: Unit, gold: Array, orders: int, measure: ConfidenceMeasure) -> Pair:
        """Return calibration's pair of two judges, with ``orders`` calls of the cheap one, in every cyclic window."""
        most = cheap.calls.shape[1]
        scores = [window_mean(cheap.calls, start, orders) for start in range(most if orders < most else 1)]
        alone = [window_mean(last.calls, start, 1) for start in range(last.calls.shape[1])]
        level = mean_of_known(np.array([measures.fidelity(one, gold) for one in alone]), axis=0)
        first = np.array([measures.fidelity(one, gold) for one in scores])
        known = ~np.isnan(level) & ~np.isnan(first).all(axis=0)
        members = ~np.isnan(gold)
        sure = np.array([confidences(one, members, measure) for one in scores])
        error = np.array([disagreements(one, alone[place % len(alone)]) for place, one in enumerate(scores)])
        return cls(np.flatnonzero(known), sure[:, known], first[:, known], level[known], error[:, known])

    def where(self, kept: Flags) -> Pair:
        """Return the pair on a part of calibration's groups; ``kept`` has a flag for each."""
        return Pair(
            self.rows[kept], self.confidence[:, kept], self.first[:, kept], self.last[kept], self.error[:, kept]
        )

    def thresholds(self) -> list[float]:
        """Return the thresholds to test in calibration, ascending: confidences that occur, evenly by how often."""
        found = self.confidence[~np.isnan(self.confidence)]
        if not found.size:
            return []
        return [
            float(one) for one in np.unique(np.quantile(found, np.linspace(0, 1, _MOST_THRESHOLDS), method="lower"))
        ]

    def kept(self, threshold: float, checked: float = CHECKED) -> Array:
        """Return the share (windows, groups) of each group that keeps the cheap judge's scores in calibration."""
        sure = (np.nan_to_num(self.confidence, nan=-1.0) >= threshold) & ~np.isnan(self.first)
        return np.where(sure, 1 - checked, 0.0)

    def fidelity(self, threshold: float, checked: float = CHECKED) -> Array:
        """Return the cascade's fidelity in each group of calibration, the mean over windows."""
        kept = self.kept(threshold, checked)
        return np.asarray((kept * np.nan_to_num(self.first) + (1 - kept) * self.last).mean(axis=0))

    def share(self, threshold: float, checked: float = CHECKED) -> float:
        """Return the share of calibration's groups that the last judge scores, checks included."""
        return float(1 - self.kept(threshold, checked).mean())


def confidences(scores: Array, members: Array, measure: ConfidenceMeasure) -> Array:
    """Return a judge's confidence in each group of calibration; NaN unless it scored all of its ``members``."""
    complete = ~(np.isnan(scores) & members).any(axis=1) & (members.sum(axis=1) > 1)
    known = np.where(members & complete[:, None], scores, -np.inf)
    if measure == "lead":
        ranked = np.sort(np.where(complete[:, None], known, 0.0), axis=1)
        found = ranked[:, -1] - ranked[:, -2]
    else:
        count = np.maximum(members.sum(axis=1), 1)
        off = measures.centred_values(scores, np.asarray(members & complete[:, None]))
        found = np.sqrt((off**2).sum(axis=1) / count)
    return np.where(complete, np.round(found, 9), np.nan)


def disagreements(scores: Array, last: Array) -> Array:
    """Return how far two judges' scores differ in each group of calibration, from 0 to 1 (``disagreement``)."""
    known = ~(np.isnan(scores) | np.isnan(last))
    one, other = measures.centred_values(scores, known), measures.centred_values(last, known)
    size = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    r = np.where(size > 1e-9, (one * other).sum(axis=1) / np.where(size > 1e-9, size, 1.0), 0.0)
    return np.where(known.sum(axis=1) > 1, (1 - r) / 2, np.nan)


def proven_threshold(pair: Pair, target: CascadeTarget, level: float) -> float | None:
    """Return the calibrated threshold that asks the last judge least (``"fidelity"``) or most (``"share"``) of those
    shown to reach ``target``; None if there is none. ``level`` is the probability that it does not.
    """
    found = None
    safest_first = reversed(pair.thresholds()) if target.kind == "fidelity" else iter(pair.thresholds())
    for threshold in safest_first:
        if evidence_above(_gains(pair, threshold, target).tolist(), 0.5) < 1 / level:
            break
        found = threshold
    return found


def _gains(pair: Pair, threshold: float, target: CascadeTarget) -> Array:
    """Return a value from 0 to 1 for each group whose mean is above 0.5 if and only if the target is reached."""
    if target.kind == "fidelity":
        gain = pair.fidelity(threshold) - target.amount * pair.last
        return np.asarray(0.5 + gain / (2 * (1 + target.amount)))
    spent = 1 - pair.kept(threshold).mean(axis=0)
    return np.asarray(0.5 + (target.amount - spent) / 2)


def cascade_figures(
    units: Sequence[Unit], frame: Frame, target: CascadeTarget, asked: Mapping[Key, Asked] | None = None
) -> CascadeFigures | None:
    """Return the cascade that calibration recommends for ``target``: its judges, calls, measure and threshold.

    The last judge is the one with the best fidelity of one call. None without two judges of one protocol that were
    measured on common groups. ``asked`` says how judges were asked, as far as their answers do not say it.
    """
    tried = list(_ways(units, frame))
    if not tried:
        return None
    level = LEVEL / len(tried)  # every way may be taken, so each is tested at a part of the level (Bonferroni)
    proven = []
    for keys, orders, measure, pair in tried:
        threshold = proven_threshold(pair, target, level)
        if threshold is not None:
            proven.append(_measured(keys, orders, measure, pair, threshold))
    best = None if proven else _by_mean([_measured(*one, _mean_threshold(one[3], target)) for one in tried], target)
    way = min(proven, key=lambda one: _rank(one, target), default=None)
    return CascadeFigures(target, way, best, len(tried), asked or {})


def _rank(way: CascadeWay, target: CascadeTarget) -> tuple[float, int]:
    """Return what is least for the best of the ways that reach the target."""
    return (way.share if target.kind == "fidelity" else -way.fidelity, way.orders)


def _by_mean(ways: Sequence[CascadeWay], target: CascadeTarget) -> CascadeWay:
    """Return the best of the ways that reach the target by their mean, or else the one with the most fidelity."""
    reached = [one for one in ways if one.fidelity >= target.amount * one.last_fidelity or target.kind == "share"]
    return min(reached, key=lambda one: _rank(one, target)) if reached else max(ways, key=lambda one: one.fidelity)


def _mean_threshold(pair: Pair, target: CascadeTarget) -> float:
    """Return the threshold that reaches the target by its mean, whether or not that is shown; the safest if none does.

    It asks the last judge least for a fidelity, and most for a share.
    """
    every = pair.thresholds()
    if target.kind == "share":
        return max((one for one in every if pair.share(one) <= target.amount), default=every[0])
    enough = target.amount * float(pair.last.mean())
    return min((one for one in every if float(pair.fidelity(one).mean()) >= enough), default=every[-1])


def _ways(units: Sequence[Unit], frame: Frame) -> Iterator[tuple[tuple[Key, Key], int, ConfidenceMeasure, Pair]]:
    usable = [one for one in units if one.key.protocol != "pairwise" and not is_stand_in(one.key.judge)]
    levels = {one.key: _level(one, frame.gold) for one in usable}
    ranked = sorted((one for one in usable if levels[one.key] > -math.inf), key=lambda one: -levels[one.key])
    for cheap in ranked[1:]:
        last = ranked[0]
        if cheap.key.judge == last.key.judge or cheap.key.protocol != last.key.protocol:
            continue
        if has_criteria(cheap.key) != has_criteria(last.key):
            continue
        for orders in (one for one in _COUNTS if one <= cheap.calls.shape[1]):
            for measure in MEASURES:
                pair = Pair.of(cheap, last, frame.gold, orders, measure)
                if pair.last.size and pair.thresholds():
                    yield (cheap.key, last.key), orders, measure, pair


def _level(unit: Unit, gold: Array) -> float:
    calls = range(unit.calls.shape[1])
    found = [measures.fidelity(window_mean(unit.calls, start, 1), gold) for start in calls]
    level = measures.mean_over_groups(mean_of_known(np.array(found), axis=0))
    return -math.inf if level is None else level


def _measured(
    keys: tuple[Key, Key], orders: int, measure: ConfidenceMeasure, pair: Pair, threshold: float
) -> CascadeWay:
    share = pair.share(threshold)
    first, last = float(np.nanmean(pair.first)), float(pair.last.mean())
    sure = pair.kept(threshold) > 0
    errors = mean_of_known(np.where(sure, pair.error, np.nan), axis=0)
    known = errors[~np.isnan(errors)]
    limit = min(upper_bound(known.tolist()), _LARGEST_LIMIT)
    return CascadeWay(
        keys,
        orders,
        measure,
        threshold,
        share,
        float(pair.fidelity(threshold).mean()),
        first,
        last,
        share * last + (1 - share) * first,
        float(known.mean()) if known.size else math.nan,
        limit,
        int(pair.last.size),
    )
