"""What a person should know before believing the figures: a sentence each, with its remedy where there is one.

Not responsible for computing anything: the figures come from ``judges`` and ``panels``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from calipers.aggregators.bradley_terry import largest_linked
from calipers.calibration.arrays import Array, Flags
from calipers.calibration.comparable import ENOUGH
from calipers.calibration.judges import JudgeFigures
from calipers.calibration.series import Frame, Series, Tally

Kind: TypeAlias = Literal[
    "foreign_groups",
    "unknown_members",
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
    "contradictory",
    "failures",
    "missing_groups",
    "one_order",
    "no_repeats",
    "dishonest_errors",
    "no_panel",
]

_BY_PLACE = 0.9
"""The share of scores' differences above which nothing but the place is left to speak of."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``kind`` for programs, ``text`` for people; ``judge`` and its ``variant`` where it is about one series."""

    kind: Kind
    text: str
    judge: str | None = None
    variant: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The object of ``findings`` in the JSON report."""
        return dataclasses.asdict(self)


def about_input(frame: Frame, tally: Tally, bad_lines: int) -> Iterator[Finding]:
    """Findings about groups and judgments as a whole."""
    if not tally.used:
        yield Finding("no_judgments", "no judgment is of a group in GROUPS: there is nothing to measure")
    if bad_lines:
        yield Finding("bad_lines", f"{bad_lines} lines could not be read and were left out")
    if tally.foreign_records:
        yield Finding(
            "foreign_groups",
            f"{tally.foreign_records} judgments are of {tally.foreign_groups} groups that are not in GROUPS; not used",
        )
    if tally.unknown_members:
        yield Finding(
            "unknown_members", f"{tally.unknown_members} times a judgment names an id its group does not have"
        )
    known = ~np.isnan(frame.gold)
    members = np.array([len(columns) for columns in frame.columns], dtype=np.int64)
    have = known.sum(axis=1) if len(frame.groups) else members
    if not have.any():
        yield Finding("no_gold", "no group has gold: agreement cannot be known, only bias, noise and repeatability")
        return
    if missing := int((have < members).sum()):
        yield Finding("missing_gold", f"in {missing} groups some member has no gold; it is left out of agreement")
    if flat := int(_flat(frame.gold).sum()):
        yield Finding("gold_ties", f"in {flat} groups all gold is equal; they say nothing about agreement")


def _flat(gold: Array) -> Flags:
    """Groups with at least two members that have gold, all the same."""
    high = np.where(np.isnan(gold), -np.inf, gold).max(axis=1)
    low = np.where(np.isnan(gold), np.inf, gold).min(axis=1)
    return np.asarray(((~np.isnan(gold)).sum(axis=1) >= 2) & (high - low <= 1e-9))


def about_judge(series: Series, found: JudgeFigures) -> Iterator[Finding]:
    """Findings about one series."""
    for kind, text in (
        *_agreement(found),
        *_missing(found),
        *_position(found),
        *_place(series),
        *_reading(series, found),
        *_pairs(series),
    ):
        yield Finding(kind, text, found.judge, _label(found))


def _label(found: JudgeFigures) -> str:
    parts = [found.mode, found.prompt_variant, found.criterion]
    if found.temperature is not None:
        parts.append(f"t={found.temperature:g}")
    return ", ".join(part for part in parts if part)


def _agreement(found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    if 0 < found.groups < ENOUGH and found.advantage_fidelity_interval:
        low, high = found.advantage_fidelity_interval
        sure = (
            f"fidelity is known to ±{(high - low) / 2:.2g}, so judges that differ by less than {(high - low) / 2 * 1.4:.2g} "
            "cannot be told apart"
            if low < high
            else "it came out alike in each, which says nothing about others"
        )
        yield "few_groups", f"{found.groups} groups with gold: {sure}; {ENOUGH} is the least, 100 is better"
    elif found.groups == 1:
        yield "few_groups", "one group with gold: nothing can be said about how sure its figures are"
    if found.groups_judged and found.dead_groups == found.groups_judged:
        yield "constant_judge", "it scores all members of every group alike: there is no signal in it"
    elif found.dead_groups > found.groups_judged / 2:
        alike = f"{found.dead_groups} of {found.groups_judged}"
        yield "constant_judge", f"in {alike} groups it scores all members alike: they teach nothing"
    if found.advantage_fidelity_interval and found.advantage_fidelity_interval[1] < 0:
        yield "against_gold", "its scores run against gold, surely: better members get lower ones; is gold a cost?"


def _missing(found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    """Groups with gold that it did not score, and what the comparison on common groups makes of that."""
    gone, level = found.missing, found.advantage_fidelity
    if not gone.total:
        return
    if level is None:
        yield "missing_groups", f"no score in any of {gone.total} groups with gold ({gone.told()})"
        return
    share = f"no score in {gone.total} of {gone.total + found.groups} groups with gold ({gone.told()})"
    common = found.common_fidelity
    on = (
        ""
        if common is None or found.common_groups == found.groups
        else f"; on {found.common_groups} common ones it is {common:.3f}"
    )
    yield "missing_groups", f"{share}: its fidelity {level:.3f} is of the other {found.groups}{on}"


def _place(series: Series) -> Iterator[tuple[Kind, str]]:
    """Lists that were shown in one order, or are scored by place."""
    habit = series.place
    if habit is None or habit.share is None:
        return
    if habit.share > _BY_PLACE:
        yield (
            "one_position",
            f"the place in the list explains {habit.share:.0%} of its scores' differences: the place speaks, not the content",
        )
    if not habit.turned:
        yield "one_order", "no group was listed in a second order: what a place is worth is unknown"


def _position(found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    if found.first_rate is None:
        return
    if not 0.05 <= found.first_rate <= 0.95:
        place = "first" if found.first_rate > 0.5 else "second"
        yield (
            "one_position",
            f"it prefers the one shown {place} in nearly every pair: the place speaks, not the content",
        )
    if found.order_flip_rate is None:
        yield "one_order", "no pair was judged in both orders: its order bias is unknown"


def _reading(series: Series, found: JudgeFigures) -> Iterator[tuple[Kind, str]]:
    if found.failure_rate > 0.02:
        yield (
            "failures",
            f"{found.failure_rate:.1%} of what was asked brought nothing readable; figures are of the rest",
        )
    if series.scales > 1:
        yield (
            "mixed_scales",
            f"its scores come on {series.scales} scales; they were put on 0-1 by the scale each states",
        )
    if series.off_scale:
        lie = "1 score lies" if series.off_scale == 1 else f"{series.off_scale} scores lie"
        yield "off_scale", f"{lie} outside the scale they state; taken as recorded"
    if unscorable := sum(int(one) < 2 for one in (~np.isnan(series.calls)).any(axis=1).sum(axis=1)):
        yield "unscorable", f"in {unscorable} groups fewer than two members got a score; they cannot be compared"
    if series.most < 2:
        yield "no_repeats", "every question was asked once: noise and standard errors are unknown"
    elif found.stderr_ratio is not None and found.temperature != 0 and not 0.8 <= found.stderr_ratio <= 1.25:
        yield (
            "dishonest_errors",
            (
                f"two halves of its calls differ {found.stderr_ratio:.2f} times as much (squared) as its standard errors say"
            ),
        )


def _pairs(series: Series) -> Iterator[tuple[Kind, str]]:
    if not series.meetings:
        return
    apart = cyclic = 0
    for group in series.meetings:
        pairs = [(one.first, one.second) for call in group for one in call]
        met = {item for pair in pairs for item in pair}
        apart += bool(met) and len(largest_linked(pairs, series.calls.shape[2])) < len(met)
        cyclic += _circles(group, series.calls.shape[2]) > 0
    if apart:
        yield (
            "disconnected",
            (
                f"in {apart} groups no chain of comparisons links all members; those outside the largest linked set have no score"
            ),
        )
    if cyclic:
        yield (
            "contradictory",
            f"in {cyclic} groups verdicts go in a circle (a beats b beats c beats a); they are averaged",
        )


def _circles(calls: Sequence[Sequence[Any]], width: int) -> int:
    """Circular triads among members by majority of verdicts (Kendall & Babington Smith, *Biometrika* 31, 1940)."""
    balance = np.zeros((width, width))
    for call in calls:
        for one in call:
            balance[one.first, one.second] += one.margin
            balance[one.second, one.first] -= one.margin
    beats = (balance > 0).astype(np.int64)
    return int(np.trace(beats @ beats @ beats)) // 3
