"""Write warnings about a calibration's figures: a sentence each, with its remedy if there is one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from calipers.aggregators.bradley_terry import largest_linked_set
from calipers.calibration.arrays import Array
from calipers.calibration.choice import Choice
from calipers.calibration.comparable import MIN_GROUPS
from calipers.calibration.folds import FOLDS, prompts
from calipers.calibration.judges import JudgeFigures
from calipers.calibration.series import Frame, Series, Tally
from calipers.types.encoding import counted

Kind: TypeAlias = Literal[
    "foreign_groups",
    "unknown_members",
    "copies",
    "bad_lines",
    "no_gold",
    "missing_gold",
    "gold_ties",
    "few_groups",
    "unscorable",
    "constant_judge",
    "against_gold",
    "no_judgments",
    "one_position",
    "mixed_scales",
    "off_scale",
    "disconnected",
    "failures",
    "missing_groups",
    "one_order",
    "no_repeats",
    "dishonest_errors",
    "no_panel",
    "one_prompt",
]

_POSITION_ONLY = 0.9
"""The share of the scores' variance that the position may explain; above it, the scores reflect only the position."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A warning: ``kind`` is for programs, ``text`` for people; ``judge`` and ``variant`` name the series it is about,
    if any.
    """

    kind: Kind
    text: str
    judge: str | None = None
    variant: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the object of ``findings`` in the calibration's JSON report."""
        return dataclasses.asdict(self)


def findings_about_input(frame: Frame, tally: Tally, bad_lines: int) -> Iterator[Finding]:
    """Yield a calibration's findings about its groups and judgments as a whole."""
    if not tally.used:
        yield Finding("no_judgments", "no judgment is about a group in GROUPS: there is nothing to measure")
    if bad_lines:
        yield Finding(
            "bad_lines",
            f"{counted(bad_lines, 'line')} could not be read and {'was' if bad_lines == 1 else 'were'} skipped",
        )
    if tally.foreign_records:
        yield Finding(
            "foreign_groups",
            f"{counted(tally.foreign_records, 'judgment is', 'judgments are')} about "
            f"{counted(tally.foreign_groups, 'group that is', 'groups that are')} not in GROUPS; not used",
        )
    if tally.unknown_members:
        yield Finding(
            "unknown_members",
            f"{counted(tally.unknown_members, 'id in judgments is', 'ids in judgments are')} not in the group",
        )
    if tally.copies:
        yield Finding(
            "copies",
            f"{counted(tally.copies, 'judgment is', 'judgments are')} there already and not counted again; number "
            "repeats of a question by 'sample_index': 0, 1, 2",
        )
    known = ~np.isnan(frame.gold)
    members = np.array([len(columns) for columns in frame.columns], dtype=np.int64)
    have = known.sum(axis=1) if len(frame.groups) else members
    if not have.any():
        yield Finding(
            "no_gold", "no group has gold: agreement is unknown; only bias, noise and repeatability are measured"
        )
        return
    if missing := int((have < members).sum()):
        yield Finding(
            "missing_gold", f"in {counted(missing, 'group')} some member has no gold; agreement is measured without it"
        )
    if flat := _groups_with_equal_gold(frame.gold):
        yield Finding("gold_ties", f"in {counted(flat, 'group')} all gold is equal: nothing there shows agreement")


def findings_about_series(series: Series, found: JudgeFigures) -> Iterator[Finding]:
    """Yield a calibration's findings about one judge's series."""
    for kind, text in (
        *_agreement(found),
        *_missing(found),
        *_position(found),
        *_list_order(series),
        *_reading(series, found),
        *_pairs(series),
    ):
        yield Finding(kind, text, found.judge, _label(found))


def findings_about_choice(choice: Choice | None, frame: Frame) -> Iterator[Finding]:
    """Yield a calibration's findings about what its choice of a way to query judges rests on."""
    if choice is None:
        return
    measured = ~np.isnan(choice.way.fidelity)
    sources = len(np.unique(prompts(frame)[measured]))
    if choice.fidelity is None and int(measured.sum()) >= 2 * FOLDS:
        yield Finding(
            "one_prompt",
            f"the groups have {counted(sources, 'prompt')}: what is recommended was chosen and measured on the same "
            f"prompts; for a figure of other prompts, use groups of at least {FOLDS}",
        )


def _groups_with_equal_gold(gold: Array) -> int:
    """Return the number of groups in which two members or more have gold, all of it the same."""
    high = np.where(np.isnan(gold), -np.inf, gold).max(axis=1)
    low = np.where(np.isnan(gold), np.inf, gold).min(axis=1)
    return int((((~np.isnan(gold)).sum(axis=1) >= 2) & (high - low <= 1e-9)).sum())


def _label(found: JudgeFigures) -> str:
    parts = [found.mode, found.prompt_variant, found.criterion]
    if found.temperature is not None:
        parts.append(f"t={found.temperature:g}")
    return ", ".join(part for part in parts if part)


def _agreement(found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    if 0 < found.groups < MIN_GROUPS and found.advantage_fidelity_interval:
        low, high = found.advantage_fidelity_interval
        sure = (
            f"fidelity is known to ±{(high - low) / 2:.2g}"
            if low < high
            else "fidelity is the same in each, which says nothing about other groups"
        )
        yield "few_groups", f"{found.groups} groups with gold: {sure}; {MIN_GROUPS} are the minimum, 100 are better"
    elif found.groups == 1:
        yield "few_groups", "one group with gold: the uncertainty of the figures is unknown"
    mean = "the same mean score over its calls" if found.calls_per_group > 1 else "the same score"
    if found.groups_judged and found.dead_groups == found.groups_judged:
        yield "constant_judge", f"it gives all members of every group {mean}: it has no signal"
    elif found.dead_groups > found.groups_judged / 2:
        alike = f"{found.dead_groups} of {found.groups_judged}"
        yield "constant_judge", f"in {alike} groups it gives all members {mean}: nothing is learned from them"
    if found.advantage_fidelity_interval and found.advantage_fidelity_interval[1] < 0:
        yield "against_gold", "better members get lower scores, with confidence; check that a higher gold means better"


def _missing(found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    """Yield a finding about groups with gold that the judge did not score, with its fidelity on the common groups."""
    missing, level = found.missing, found.advantage_fidelity
    if not missing.total:
        return
    if level is None:
        yield "missing_groups", f"no score in any of {missing.total} groups with gold ({missing.as_text()})"
        return
    share = f"no score in {missing.total} of {missing.total + found.groups} groups with gold ({missing.as_text()})"
    common = found.common_fidelity
    on = (
        ""
        if common is None or found.common_groups == found.groups
        else f"; on the {found.common_groups} common groups it is {common:.3f}"
    )
    yield "missing_groups", f"{share}: its fidelity {level:.3f} is that of the other {found.groups}{on}"


def _list_order(series: Series) -> Iterator[tuple[Kind, str]]:
    """Yield findings about lists that were shown in one order only, or are scored by position."""
    habit = series.place
    if habit is None or habit.share is None:
        return
    if habit.share > _POSITION_ONLY:
        yield (
            "one_position",
            f"the position explains {habit.share:.0%} of the variance of its scores: it scores positions, not content",
        )
    if not habit.turned:
        yield "one_order", "no group was listed in a second order: position bias is unknown"


def _position(found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    if found.first_rate is None:
        return
    if not 0.05 <= found.first_rate <= 0.95:
        position = "first" if found.first_rate > 0.5 else "second"
        yield (
            "one_position",
            f"it prefers the {position} answer in nearly every pair: it judges positions, not content",
        )
    if found.order_flip_rate is None:
        yield "one_order", "no pair was judged in both orders: position bias is unknown"


def _reading(series: Series, found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    if found.failure_rate > 0.02:
        yield (
            "failures",
            f"{found.failure_rate:.1%} of its answers failed or could not be read; figures are about the rest",
        )
    if series.scales > 1:
        yield (
            "mixed_scales",
            f"its scores are on {series.scales} scales; they were converted to 0-1 by the scale that each states",
        )
    if series.off_scale:
        are = "1 score is" if series.off_scale == 1 else f"{series.off_scale} scores are"
        yield "off_scale", f"{are} outside the stated scale; used as recorded"
    if unscorable := sum(int(one) < 2 for one in (~np.isnan(series.calls)).any(axis=1).sum(axis=1)):
        yield (
            "unscorable",
            f"in {counted(unscorable, 'group')} fewer than two members got a score, so there is nothing to compare",
        )
    if series.most < 2:
        yield "no_repeats", "every question was asked once only: noise and standard errors are unknown"
    elif found.stderr_ratio is not None and found.temperature != 0 and not 0.8 <= found.stderr_ratio <= 1.25:
        yield (
            "dishonest_errors",
            _about_errors(found.stderr_ratio),
        )


def _about_errors(ratio: float) -> str:
    """Return what a ratio of observed to stated squared errors means for who reads a judge's standard errors."""
    if ratio < 1:
        return f"its standard errors are too large ({ratio:.2f}; 1 is exact): differences are more certain than stated"
    return f"its standard errors are too small ({ratio:.2f}; 1 is exact): differences are less certain than stated"


def _pairs(series: Series) -> Iterator[tuple[Kind, str]]:
    apart = 0
    for group in series.meetings:
        pairs = [(one.first, one.second) for call in group for one in call]
        met = {item for pair in pairs for item in pair}
        apart += bool(met) and len(largest_linked_set(pairs, series.calls.shape[2])) < len(met)
    if apart:
        yield (
            "disconnected",
            f"in {counted(apart, 'group')} comparisons do not link all members; some have no score",
        )
