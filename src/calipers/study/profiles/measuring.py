"""Measures a judge's profile from recorded answers about groups: figures of ``calipers calibrate``, and a line fit."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from calipers.calibration import JudgeFigures, Record, calibrate
from calipers.calibration.measures import Array, mean_of_known
from calipers.calibration.records import Key, as_records
from calipers.calibration.series import values_by_member
from calipers.errors import ConfigError, InputError
from calipers.inputs import read_groups
from calipers.study.profiles.profile import Profile
from calipers.types import TrajectoryGroup

_LISTED: Final = 12
_WON: Final = 0.25
"""Who wins a pair shows only ratios of figures: they are given as if a win were worth this much of the scale."""


def measure_profile(
    groups: str | os.PathLike[str] | Iterable[object],
    judgments: str | os.PathLike[str] | Iterable[object],
    *,
    answers_of: str | None = None,
    name: str | None = None,
    note: str = "",
    on_error: Callable[[InputError], None] | None = None,
) -> Profile:
    """Return the profile of the judge that gave ``judgments`` about ``groups``, as ``calibrate`` reads them.

    ``answers_of`` chooses among several judges or kinds of questions, as in "gpt-5.4" or "gpt-5.4, pointwise, v2".
    Bad lines are passed to ``on_error`` and skipped; without it, they are raised. Raises InputError for files that
    hold nothing to measure, and ConfigError if several judges fit, or none.
    """
    by_id: dict[str, TrajectoryGroup] = {}
    for group in read_groups(groups, on_error=on_error):
        by_id.setdefault(group.group_id, group)
    records = [record for record in as_records(judgments, on_error=on_error) if record.group_id in by_id]
    key = _chosen({record.key for record in records}, answers_of)
    records = [record for record in records if record.key == key]
    judged_groups = {record.group_id: by_id[record.group_id] for record in records}
    (figures,) = calibrate(judged_groups.values(), records).judges
    verdicts = [record for record in records if record.winner is not None]
    positions, unit = (
        _positions(figures, records),
        _WON if verdicts and all(verdict.margin in (0, 1) for verdict in verdicts) else 1.0,
    )
    judged = _judged_groups(judged_groups, records, positions)
    level = math.fsum(score for part in judged for score in part.scores) / sum(len(part.scores) for part in judged)
    line, noise = _fit_line(judged), _noise(judged, alone=key.mode == "pointwise")
    # What repetition would average away is no lasting error.
    calls = sum(map(len, (part.calls for part in judged))) / len(judged)
    lasting = max(0.0, line.residual - (noise or 0.0) / calls)
    return Profile(
        name=name or key.judge,
        judge=key.judge,
        asked=figures.asked,
        groups=len(judged_groups),
        level=min(1.0, max(0.0, level)),
        gain=None if line.gain is None else unit * line.gain,
        quality_mean=line.quality_mean,
        quality_sd=line.quality_sd,
        error=unit * math.sqrt(lasting),
        noise=None if noise is None else unit * math.sqrt(noise),
        positions=tuple(unit * position for position in positions),
        per_doubling=None if line.per_doubling is None else unit * line.per_doubling,
        ties=figures.tie_rate or 0.0,
        failures=figures.failure_rate,
        fidelity=figures.by_calls[0].advantage_fidelity if figures.groups and figures.by_calls else None,
        note=note,
    )


def _chosen(keys: Iterable[Key], wanted: str | None) -> Key:
    """Return the only judge and kind of question, or the one that ``wanted`` names."""
    named = {_described(key): key for key in keys}
    if not named:
        raise InputError("no judgment is about one of the groups, so there is nothing to measure")
    fitting = [text for text in named if wanted is None or text == wanted or text.startswith(f"{wanted}, ")]
    if len(fitting) == 1:
        return named[fitting[0]]
    shown = sorted(fitting or named)
    listed = "".join(f"\n  {name}" for name in shown[:_LISTED]) + ("\n  ..." if len(shown) > _LISTED else "")
    problem = "several judges or kinds of questions are recorded" if fitting else f"no answer is of {wanted!r}"
    raise ConfigError(f"{problem}; choose one with --answers-of:{listed}")


def _described(key: Key) -> str:
    temperature = None if key.temperature is None else f"t={key.temperature:g}"
    return ", ".join(filter(None, (key.judge, key.mode, key.prompt_variant, temperature)))


def _positions(figures: JudgeFigures, records: Sequence[Record]) -> tuple[float, ...]:
    """Return what each position adds to a score: of lists as calibrated, of pairs from who wins in which order."""
    if figures.mode == "listwise":
        return () if figures.place_curve is None else figures.place_curve
    if figures.mode != "pairwise" or figures.order_flip_rate is None or figures.first_rate is None:
        return ()
    # Only pairs in both orders: elsewhere, the better answer may always be the first.
    orders = {(record.group_id, record.order) for record in records}
    pairs = [
        record for record in records if (record.group_id, record.order[::-1]) in orders and record.winner is not None
    ]
    values = [values_by_member(record, rescale=True) for record in pairs]
    leads = [stated[record.order[0]] - stated[record.order[1]] for record, stated in zip(pairs, values, strict=True)]
    lead = math.fsum(leads) / len(leads)
    return lead / 2, -lead / 2


@dataclass(frozen=True, slots=True)
class _Judged:
    """A group's ``calls`` (calls, members) without position bias, its members' ``scores``, gold and log-lengths."""

    calls: Array
    scores: Array
    gold: Array
    lengths: Array


def _judged_groups(
    groups: Mapping[str, TrajectoryGroup], records: Iterable[Record], positions: Sequence[float]
) -> list[_Judged]:
    by_call: dict[tuple[str, ...], dict[tuple[Any, ...], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for number, record in enumerate(records):
        if record.scores is not None and record.scale is None:
            raise InputError(
                f'the scores about group {record.group_id!r} name no scale; add it, as in "scale": [0, 100]'
            )
        bias = positions if len(positions) == len(record.order) else (0.0,) * len(record.order)
        values = values_by_member(record, rescale=True)
        call = (record.sample, record.numbered or number) if record.key.mode == "pointwise" else (number,)
        # A pair is compared with itself, also in a larger group.
        unit = (record.group_id, *(sorted(record.order) if record.key.mode == "pairwise" else ()))
        for place, member in enumerate(record.order):
            if member in values:
                by_call[unit][call][member] = values[member] - bias[place]
    low, high = _range(
        trajectory.gold for group in groups.values() for trajectory in group.trajectories if trajectory.gold is not None
    )
    judged = []
    for (name, *_), calls in by_call.items():
        members = [
            trajectory
            for trajectory in groups[name].trajectories
            if any(trajectory.id in row for row in calls.values())
        ]
        table = np.array([[row.get(member.id, math.nan) for member in members] for row in calls.values()], dtype=float)
        gold = [math.nan if member.gold is None else (member.gold - low) / (high - low) for member in members]
        lengths = [
            math.nan if (size := _length(member.messages)) is None else math.log2(size + 1) for member in members
        ]
        if len(members) > 1:
            judged.append(_Judged(table, mean_of_known(table, axis=0), np.array(gold), np.array(lengths)))
    if not judged:
        raise InputError("no group has two candidates with scores, so there is nothing to measure")
    return judged


def _range(gold: Iterable[float]) -> tuple[float, float]:
    """Return the scale of gold: from 0 to 1 where it fits, else from the least to the greatest."""
    known = [*gold, 0.5]
    low, high = min(known), max(known)
    return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)


def _length(messages: Iterable[Mapping[str, Any]]) -> int | None:
    texts = [str(message.get("content") or "") for message in messages if message.get("role") == "assistant"]
    return len("\n".join(texts)) if any(texts) else None


@dataclass(frozen=True, slots=True)
class _Line:
    """Least squares of scores on quality and length within groups, and the variance that they leave unexplained."""

    gain: float | None
    per_doubling: float | None
    residual: float
    quality_mean: float
    quality_sd: float


def _fit_line(judged: Sequence[_Judged]) -> _Line:
    has_gold = any(_varies(part.gold) for part in judged)
    has_length = any(_varies(part.lengths) for part in judged)
    rows, targets, freedom = [], [], 0
    for part in judged:
        columns = [part.gold] * has_gold + [part.lengths] * has_length
        known = ~np.isnan(np.array([part.scores, *columns])).any(axis=0)
        if known.sum() > 1:
            centred = [column[known] - column[known].mean() for column in columns]
            rows.append(np.column_stack([np.empty((known.sum(), 0)), *centred]))
            targets.append(part.scores[known] - part.scores[known].mean())
            freedom += int(known.sum()) - 1
    if not rows:
        raise InputError("no group has two candidates with scores and gold, so there is nothing to measure")
    x, y = np.concatenate(rows), np.concatenate(targets)
    slopes = np.linalg.lstsq(x, y, rcond=None)[0] if x.shape[1] else np.zeros(0)
    residual = float(((y - x @ slopes) ** 2).sum()) / max(1, freedom - x.shape[1])
    gold = np.concatenate([part.gold for part in judged])
    return _Line(
        float(slopes[0]) if has_gold else None,
        float(slopes[-1]) if has_length else None,
        residual,
        float(np.nanmean(gold)) if has_gold else 0.5,
        math.sqrt(float((x[:, 0] ** 2).sum()) / freedom) if has_gold else 0.0,
    )


def _varies(values: Array) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 1 and bool(known.max() > known.min())


def _noise(judged: Sequence[_Judged], *, alone: bool) -> float | None:
    """Return the variance of one answer's scores about the mean of all; None if nothing was asked twice.

    Of candidates that are not judged ``alone``, an answer's own level is no noise.
    """
    squares, freedom = 0.0, 0
    for part in judged:
        complete = part.calls[~np.isnan(part.calls).any(axis=1)]
        calls, members = complete.shape
        if calls < 2:
            continue
        off = complete - complete.mean(axis=0)
        if not alone:
            off = off - off.mean(axis=1, keepdims=True)
        squares += float((off**2).sum())
        freedom += (calls - 1) * (members if alone else members - 1)
    return squares / freedom if freedom else None
