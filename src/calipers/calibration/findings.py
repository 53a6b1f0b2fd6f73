"""Warnings about a calibration's figures: a sentence each, with its remedy if there is one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from calipers.aggregators.panel import RESTS_ON_ONE
from calipers.backends.names import short_names
from calipers.calibration import measures
from calipers.calibration.choice import Choice
from calipers.calibration.comparable import FOLDS, MIN_GROUPS, prompts
from calipers.calibration.metrics import Difference, JudgeFigures, counts_as_text
from calipers.calibration.series import Frame, Series, Tally
from calipers.types.encoding import counted

_POSITION_ONLY: Final = 0.9
"""The share of the scores' variance that the position may explain; above it, the scores reflect only the position."""

_UNLESS: Final = ", unless the better member always stands there"

_RULE: Final = 0.8
"""A judge at chance follows a rule if it repeats itself more than this, or correlates so with the length of answers."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning: ``kind`` is for programs, ``text`` for people; ``judge`` and ``variant`` name the series."""

    kind: str
    text: str
    judge: str | None = None
    variant: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``findings`` in the JSON report."""
        return dataclasses.asdict(self)


def findings_about_input(frame: Frame, tally: Tally) -> Iterator[Finding]:
    """Yield findings about the groups and judgments as a whole."""
    if not tally.used:
        yield Finding("no_judgments", "no judgment is about a group in GROUPS: there is nothing to measure")
    if tally.foreign_records:
        judgments = counted(tally.foreign_records, "judgment is", "judgments are")
        groups = counted(tally.foreign_groups, "group that is", "groups that are")
        yield Finding("foreign_groups", f"{judgments} about {groups} not in GROUPS; not used")
    if tally.unknown_members:
        ids = counted(tally.unknown_members, "id in judgments is", "ids in judgments are")
        yield Finding("unknown_members", f"{ids} not in the group")
    if tally.copies:
        text = "there already and not counted again; number repeats of a question by 'sample_index': 0, 1, 2"
        yield Finding("copies", f"{counted(tally.copies, 'judgment is', 'judgments are')} {text}")
    known = ~np.isnan(frame.gold)
    if not known.any():
        text = "no group has gold: agreement is unknown; only bias, noise and repeatability are measured"
        yield Finding("no_gold", text)
        return
    missing = sum(int(have) < len(columns) for have, columns in zip(known.sum(axis=1), frame.columns, strict=True))
    if missing:
        text = f"in {counted(missing, 'group')} some member has no gold; agreement is measured without it"
        yield Finding("missing_gold", text)
    usable = measures.measurable_groups(frame.gold, frame.gold)
    if alike := int((known.any(axis=1) & ~usable).sum()):
        rest = "agreement is measured without them" if usable.any() else "agreement is unknown"
        yield Finding("equal_gold", f"in {counted(alike, 'group')} all members have the same gold; {rest}")


def findings_about_series(series: Series, judge: JudgeFigures) -> Iterator[Finding]:
    """Yield findings about one judge's series."""
    by_place = series.places is not None and (series.places.share or 0) > _POSITION_ONLY
    agreement = _agreement(judge, "" if by_place else _rule_of(judge))
    for kind, text in (*agreement, *_missing(judge), *_order(series, judge), *_reading(series, judge)):
        yield Finding(kind, text, judge.judge, judge.asked)


def findings_about_differences(pairs: Sequence[Difference]) -> Iterator[Finding]:
    """Yield a finding if the groups do not show that the best judge agrees better with gold than each other."""
    first = [pair for pair in pairs if (pair.judge, pair.asked) == (pairs[0].judge, pairs[0].asked)]
    if unclear := [pair for pair in first if not pair.is_clear and measures.smallest_shown(pair.interval)]:
        names = short_names(pair.other for pair in unclear)
        rivals = "; ".join(
            f"{names[pair.other]} ({pair.other_asked}), where {pair.groups} groups show a difference of "
            f"{measures.smallest_shown(pair.interval):.2g} or more"
            for pair in unclear
        )
        yield Finding(
            "too_few_to_tell",
            f"too few groups to tell whether it agrees better with gold than {rivals} (with a power of 80 %)",
            pairs[0].judge,
            pairs[0].asked,
        )


def findings_about_choice(choice: Choice | None, frame: Frame) -> Iterator[Finding]:
    """Yield findings about what the choice of a way to query judges rests on."""
    if choice is not None and max(choice.way.weights or (0.0,)) > RESTS_ON_ONE:
        yield Finding("one_member", "the recommended panel rests on one member: the others hardly move its rewards")
    measured = np.zeros(len(frame.groups), dtype=bool) if choice is None else ~np.isnan(choice.way.fidelity)
    if choice is not None and choice.fidelity is None and int(measured.sum()) >= 2 * FOLDS:
        yield Finding(
            "one_prompt",
            f"the groups have {counted(len(np.unique(prompts(frame)[measured])), 'prompt')}: what is recommended was "
            f"chosen and measured on the same prompts; for a figure of other prompts, use groups of at least {FOLDS}",
        )


def _agreement(judge: JudgeFigures, rule: str) -> Iterator[tuple[str, str]]:
    interval, groups = judge.advantage_fidelity_interval, judge.groups
    shown = measures.smallest_shown(interval)
    if 0 < groups < MIN_GROUPS:
        known = f"its fidelity is known to ±{(interval[1] - interval[0]) / 2:.2g}; " if interval and shown else ""
        yield "few_groups", f"{counted(groups, 'group')} with gold: {known}fewer than {MIN_GROUPS} show little"
    if judge.dead_groups > judge.groups_judged / 2:
        alike = f"in {judge.dead_groups} of {judge.groups_judged} groups it gives all members the same score"
        yield "constant_judge", f"{alike}: nothing is learned from them"
    if interval and interval[0] <= 0 and judge.dead_groups < judge.groups_judged:
        if interval[1] < 0:
            warning = "better members get lower scores, with confidence; check that a higher gold means better"
            yield "against_gold", f"{warning}{rule}"
        else:
            known = f"it may be at chance: {groups} groups show a fidelity of {shown:.2g} or more"
            yield "chance", f"{known if shown else f'it is at chance in each of {groups} groups'}{rule}"


def _rule_of(judge: JudgeFigures) -> str:
    """Return what a judge at or below chance seems to follow, as the end of a sentence."""
    repeats, length = judge.repeatability, judge.length_preference
    if length is not None and abs(length) > _RULE:
        return f"; its scores follow the length of answers ({length:+.2f})"
    if repeats is None or judge.key.mode == "pairwise":
        return ""
    if repeats > _RULE:
        return f"; it repeats itself ({repeats:.2f}), so it follows a fixed rule that is not quality"
    return f"; it does not repeat itself either ({repeats:.2f}): its scores are random" if repeats < 1 - _RULE else ""


def _missing(judge: JudgeFigures) -> Iterator[tuple[str, str]]:
    missing, level = judge.missing, judge.advantage_fidelity
    if not missing.total():
        return
    total = missing.total() + judge.groups
    text = f"no score in {missing.total()} of {total} groups with gold ({counts_as_text(missing)})"
    if level is not None:
        text += f": its fidelity {level:.3f} is that of the other {judge.groups}"
    yield "missing_groups", text


def _order(series: Series, judge: JudgeFigures) -> Iterator[tuple[str, str]]:
    """Yield findings about groups that were shown in one order only, or are judged by position."""
    places, rate = series.places, judge.first_rate
    preferences = sum(series.verdicts.values()) - series.verdicts.get("tie", 0)
    if places is not None and places.share is not None:
        if places.share > _POSITION_ONLY:
            share = f"the position explains {places.share:.0%} of its scores' variance"
            yield "one_position", f"{share}: it judges positions, not content{'' if places.turned else _UNLESS}"
        if not places.turned:
            yield "one_order", "no group was listed in a second order: position bias is unknown"
    if rate is not None:
        if not 0.05 <= rate <= 0.95 and preferences >= measures.FEWEST:
            position = "first" if rate > 0.5 else "second"
            by_position = f"it prefers the {position} answer in nearly every pair: it judges positions, not content"
            yield "one_position", by_position + (_UNLESS if judge.order_flip_rate is None else "")
        if judge.order_flip_rate is None:
            yield "one_order", "no pair was judged in both orders: position bias is unknown"


def _reading(series: Series, judge: JudgeFigures) -> Iterator[tuple[str, str]]:
    if judge.failure_rate > 0.02:
        rate = f"{judge.failure_rate:.1%} of its answers failed or could not be read"
        yield "failures", f"{rate}; figures are about the rest"
    if series.most < 2:
        yield "no_repeats", "every question was asked once only: noise and standard errors are unknown"
    elif judge.stderr_ratio is not None and series.key.temperature != 0 and not 0.8 <= judge.stderr_ratio <= 1.25:
        size, certain = ("large", "more") if judge.stderr_ratio < 1 else ("small", "less")
        errors = f"its standard errors are too {size} ({judge.stderr_ratio:.2f}; 1 is exact)"
        yield "dishonest_errors", f"{errors}: trust differences {certain}"
