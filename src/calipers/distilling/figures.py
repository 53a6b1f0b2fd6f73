"""Measures a local judge on prompts that were held out: agreement, baselines, where it is weak, its errors, tricks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from calipers.backends.local.features import LENGTH, OVERLAP, Array
from calipers.calibration import measures
from calipers.distilling.groups import GOLD, SPREAD, TrainingGroup, padded, within_spread
from calipers.distilling.training import HeldOut, fit_scaling, residuals
from calipers.distilling.tricks import TESTS, Trick, with_trick
from calipers.render import render
from calipers.types import RenderedGroup

_TRICKED: Final = 100
"""How many groups each trick is tried in."""
_LEAST: Final = 10
"""The least number of groups of which a part's agreement is stated."""
Figure = dict[str, Any]


def agreement(groups: Sequence[TrainingGroup], held_out: HeldOut, teachers: Sequence[str]) -> Figure:
    """Return how far a local judge agrees with teacher and gold within groups, beside length and overlap.

    Each figure is the mean over groups of the within-group correlation, with its 95 % bootstrap interval. Where gold is
    the only one of ``teachers``, it is not compared with itself.
    """
    teacher, gold = padded([one.teacher for one in groups]), padded([one.gold for one in groups])
    raw = padded(held_out.raw)
    longest, overlap = (padded([one.measured.values[:, place] for one in groups]) for place in (LENGTH, OVERLAP))
    own = measures.fidelity(raw, teacher)
    found = {"teacher": _stated(own), "pairs": _right_pairs(raw, teacher)}
    for name, other in (("longest", longest), ("overlap", overlap)):
        theirs = measures.fidelity(other, teacher)
        found[name] = _stated(theirs)
        found[f"above_{name}"] = _stated(own - theirs)
    if not np.isnan(gold).all() and teachers != [GOLD]:
        found |= {
            "gold": _stated(measures.fidelity(raw, gold)),
            "teacher_and_gold": _stated(measures.fidelity(teacher, gold)),
        }
    return found


def _stated(by_group: Array) -> Figure:
    interval = measures.bootstrap_interval(by_group)
    return {
        "value": measures.mean_over_groups(by_group),
        "interval": None if interval is None else list(interval),
        "groups": int((~np.isnan(by_group)).sum()),
    }


def _right_pairs(raw: Array, teacher: Array) -> float | None:
    known = ~(np.isnan(raw) | np.isnan(teacher))
    wanted = measures.pair_signs(teacher, known)
    right = (1 + measures.pair_signs(raw, known) * wanted) / 2
    return float(right[wanted != 0].mean()) if (wanted != 0).any() else None


def parts(groups: Sequence[TrainingGroup], held_out: HeldOut) -> list[Figure]:
    """Return a local judge's agreement with its teacher on parts of the training groups, weakest first."""
    found = []
    for name, inside in _parts(groups):
        chosen = [place for place in range(len(groups)) if inside(groups[place])]
        if not _LEAST <= len(chosen) < len(groups):
            continue
        table = padded([groups[place].teacher for place in chosen])
        own = measures.fidelity(padded([held_out.raw[place] for place in chosen]), table)
        if (~np.isnan(own)).sum() >= _LEAST:
            found.append({"part": name, **_stated(own)})
    return sorted(found, key=lambda one: float(one["value"]))


def _parts(groups: Sequence[TrainingGroup]) -> Iterator[tuple[str, Callable[[TrainingGroup], bool]]]:
    lengths = [float(one.measured.values[:, LENGTH].mean()) for one in groups]
    low, high = np.percentile(lengths, [33.3, 66.7])
    yield "short answers", lambda one: one.measured.values[:, LENGTH].mean() <= low
    yield "long answers", lambda one: one.measured.values[:, LENGTH].mean() > high
    yield "the teacher prefers a shorter answer", lambda one: _length_of_best(one) < 0
    yield "the teacher prefers a longer answer", lambda one: _length_of_best(one) > 0
    yield "with tools", lambda one: one.measured.has_tools
    yield "without tools", lambda one: not one.measured.has_tools
    yield "pairs", lambda one: len(one.teacher) == 2
    yield "groups of three or more", lambda one: len(one.teacher) > 2
    for script in sorted({one.measured.script for one in groups}):
        yield f"tasks in {script or 'no'} script", partial(_has_script, script)


def _has_script(script: str, one: TrainingGroup) -> bool:
    return one.measured.script == script


def _length_of_best(one: TrainingGroup) -> float:
    """Return the log length of the teacher's best answer less the mean of the group."""
    known = ~np.isnan(one.teacher)
    if not known.any():
        return 0.0
    lengths, scores = one.measured.values[known, LENGTH], one.teacher[known]
    return float(lengths[scores >= scores.max() - SPREAD].mean() - lengths.mean())


def honesty(groups: Sequence[TrainingGroup], held_out: HeldOut) -> Figure:
    """Return how honest a local judge's standard errors are: each fold's errors by the others' scale.

    ``within_95`` is the share within 1.96 standard errors, and ``ratio`` the root of the mean squared error over the
    squared standard error; honest errors have 0.95 and 1.
    """
    found = []
    for fold in range(int(held_out.fold.max()) + 1):
        outside = [place for place in range(len(groups)) if held_out.fold[place] != fold]
        scaling = fit_scaling([groups[place] for place in outside], [held_out.raw[place] for place in outside])
        inside = (place for place in range(len(groups)) if held_out.fold[place] == fold)
        found += [residuals(groups[place], held_out.raw[place], scaling) for place in inside]
    errors = np.concatenate(found)
    if not len(errors):
        return {"within_95": None, "ratio": None}
    return {"within_95": float((np.abs(errors) <= 1.96).mean()), "ratio": float(np.sqrt((errors**2).mean()))}


def tricks(groups: Sequence[TrainingGroup], held_out: HeldOut, tests: Mapping[str, Trick] = TESTS) -> list[Figure]:
    """Return how often each trick makes the teacher's worst candidate a local judge's best one, and what it gains.

    The judge was not trained on the prompt. ``gain`` is the mean change of its sum, in the spread of its sums within
    groups. Groups are those whose text is known, at most 100.
    """
    chosen = [place for place, one in enumerate(groups) if one.group is not None and one.has_spread][:_TRICKED]
    spread = within_spread([replace(groups[place], teacher=held_out.raw[place]) for place in chosen]) or 1.0
    views = {place: render(group) for place in chosen if (group := groups[place].group) is not None}
    found = []
    for name, trick in tests.items():
        played = (_tricked(groups[place], view, held_out, place, trick) for place, view in views.items())
        rows = [row for row in played if row is not None]
        if rows:
            before, after, gain = np.mean(rows, axis=0)
            found.append({"trick": name, "groups": len(rows), "first_before": float(before),
                          "first_after": float(after), "gain": float(gain / spread)})  # fmt: skip
    return sorted(found, key=lambda one: -float(one["gain"]))


def _tricked(
    one: TrainingGroup, view: RenderedGroup, held_out: HeldOut, place: int, trick: Trick
) -> tuple[float, float, float] | None:
    """Return whether the teacher's worst candidate was first before and after a trick, and what its sum gained."""
    if one.group is None:
        return None
    worst = int(np.nanargmin(one.teacher))
    member = view.candidates[worst].members[0]
    changed = with_trick(one.group, member, trick, place)
    if changed is None:
        return None
    after = render(changed)
    now = next(at for at, each in enumerate(after.candidates) if member in each.members)
    raw, sums = held_out.raw[place], held_out.sums(place, after)
    first = [float(each[at] >= each.max() - SPREAD) for each, at in ((raw, worst), (sums, now))]
    return first[0], first[1], float((sums[now] - sums.mean()) - (raw[worst] - raw.mean()))
