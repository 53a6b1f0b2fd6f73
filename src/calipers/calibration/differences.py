"""Paired differences between judges: how much more one agrees with gold than another, on the same groups.

All judges saw the same groups, so a difference is known better than either fidelity: what makes a group hard cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from calipers.calibration import measures
from calipers.calibration.arrays import Array
from calipers.calibration.curves import Interval
from calipers.calibration.judges import JudgeFigures
from calipers.calibration.series import Frame, Series

_MOST_PAIRS: Final = 6
"""With more pairs, only those with the best judge are shown; the JSON report has all."""
_MOST_NAMES: Final = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """The advantage fidelity of ``judge`` less that of ``other``, the mean over the ``groups`` that both scored.

    ``asked`` and ``other_asked`` say how they were asked. The interval is a 95 % bootstrap of the paired difference
    over groups, None below two groups.
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
        """Whether chance hardly explains the difference in this calibration: its interval is above 0."""
        return self.interval is not None and self.interval[0] > 0

    def to_dict(self) -> dict[str, Any]:
        """Return an object of ``differences`` in the calibration's JSON report."""
        return {
            "judge": self.judge,
            "asked": self.asked,
            "other": self.other,
            "other_asked": self.other_asked,
            "difference": self.difference,
            "interval": self.interval,
            "groups": self.groups,
        }


def paired_differences(
    series: Sequence[Series], figures: Sequence[JudgeFigures], frame: Frame
) -> tuple[Difference, ...]:
    """Return, for calibration, the paired difference of every two rows of judges, from all calls of a group.

    The row with the higher fidelity comes first; its lead over the others precedes theirs. ``figures`` belong to
    ``series``.
    """
    rows = []
    for one, found in zip(series, figures, strict=True):
        known = np.full(len(frame.groups), np.nan)
        known[list(one.rows)] = measures.fidelity(one.scores(0, one.most), frame.gold[list(one.rows)])
        if found.advantage_fidelity is not None:
            rows.append((found, known))
    rows.sort(key=lambda row: -_level(row[0]))
    pairs = (_difference(*one, *other) for one, other in itertools.combinations(rows, 2))
    return tuple(pair for pair in pairs if pair is not None)


def _level(found: JudgeFigures) -> float:
    level = found.common_fidelity if found.common_fidelity is not None else found.advantage_fidelity
    return math.nan if level is None else level


def _difference(one: JudgeFigures, found: Array, other: JudgeFigures, there: Array) -> Difference | None:
    apart = found - there
    mean = measures.mean_over_groups(apart)
    if mean is None:
        return None
    names = (one.judge, one.asked, other.judge, other.asked)
    return Difference(*names, mean, measures.bootstrap_interval(apart), int((~np.isnan(apart)).sum()))


def answer_of(pairs: Sequence[Difference]) -> str | None:
    """Return the sentence that says which judges the first one is better than; None with one judge."""
    lines = difference_lines(pairs, {})
    return lines[-1] if lines else None


def difference_lines(pairs: Sequence[Difference], names: Mapping[str, str]) -> list[str]:
    """Return the paired differences of a calibration as lines of text: each pair, then one sentence that answers.

    ``names`` are what judges are called.
    """
    if not pairs:
        return []
    leading = (pairs[0].judge, pairs[0].asked)
    best = [one for one in pairs if (one.judge, one.asked) == leading]
    shown = pairs if len(pairs) <= _MOST_PAIRS else best
    several = len({asked for one in pairs for asked in (one.asked, one.other_asked)}) > 1

    def called(judge: str, asked: str) -> str:
        return f"{names.get(judge, judge)} ({asked})" if several else names.get(judge, judge)

    titles = [f"{called(one.judge, one.asked)} - {called(one.other, one.other_asked)}" for one in shown]
    width = max(map(len, titles))
    lines = [f"{title:<{width}}  {_figures(one)}" for title, one in zip(titles, shown, strict=True)]
    first = called(*leading)
    behind = [called(one.other, one.other_asked) for one in best if one.is_clear]
    open_ones = [called(one.other, one.other_asked) for one in best if not one.is_clear]
    return [*lines, _answer(first, behind, open_ones, min(one.groups for one in best))]


def _figures(one: Difference) -> str:
    low, high = one.interval or (math.nan, math.nan)
    interval = "" if one.interval is None else f" [{low:+.3f}, {high:+.3f}]"
    return f"{one.difference:+.3f}{interval} on {one.groups} groups"


def _answer(first: str, behind: Sequence[str], open_ones: Sequence[str], groups: int) -> str:
    if not behind:
        return f"These {groups} groups do not show which of {_listed([first, *open_ones])} agrees best with gold."
    if not open_ones:
        return f"{first} agrees better with gold than {_listed(behind)}."
    return (
        f"{first} agrees better with gold than {_listed(behind)}; these groups do not show that it does than "
        f"{_listed(open_ones)}."
    )


def _listed(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} others"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
