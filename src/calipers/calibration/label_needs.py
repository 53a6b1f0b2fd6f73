"""What 20, 50 or 200 groups with gold suffice for: how exactly a fidelity is known, and which differences show.

Computed from how much the fidelity varies between the groups that have gold now. Not responsible for which groups to
label.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from calipers.calibration import measures
from calipers.calibration.arrays import Array
from calipers.calibration.choice import Choice
from calipers.calibration.ways import Way

LABELS: Final = (20, 50, 200)
_SURE: Final = 1.96
_FOUND: Final = 1.96 + 0.8416
"""A difference of so many standard errors is significant at 5 % in 80 % of samples (Cohen 1988)."""
_FEWEST: Final = 10
_EQUAL: Final = 0.0005
"""A smaller difference is shown as 0.000."""


@dataclass(frozen=True, slots=True)
class LabelNeed:
    """With gold in ``groups`` groups: the half width of a fidelity's 95 % interval, and the smallest difference between
    the recommended way and its rival that would be found in four of five samples.
    """

    groups: int
    half_width: float
    smallest_difference: float | None


@dataclass(frozen=True, slots=True)
class LabelNeeds:
    """What numbers of groups with gold would show of the recommended way and ``other``, the best way that does not ask
    the same judges.

    ``gap`` is the recommended way's fidelity less the other's on the ``compared`` groups that both scored, and
    ``groups_for_gap`` the number of groups that would show this gap in four of five samples (None if there is no gap or
    no other way).
    """

    by_number: tuple[LabelNeed, ...]
    other: Way | None
    gap: float | None
    groups_for_gap: int | None
    compared: int = 0

    @property
    def rival(self) -> str | None:
        """The name of the other way that this calibration compares with; None if there is none."""
        return None if self.other is None else self.other.name

    def as_text(self, names: Mapping[str, str]) -> str:
        """Return a sentence of a calibration on the recommended way's lead over the other; empty if there is none.

        ``names`` are what judges are called.
        """
        if self.other is None or self.gap is None:
            return ""
        name = self.other.called(names)
        if abs(self.gap) < _EQUAL:
            return f"The chosen way agrees with gold as well as {name}."
        told = f"The chosen way leads {name} by {self.gap:.3f}" if self.gap > 0 else (
            f"The chosen way is {-self.gap:.3f} behind {name}"
        )  # fmt: skip
        if self.groups_for_gap is None:
            return f"{told}."
        if self.groups_for_gap <= self.compared:
            return f"{told}; {self.groups_for_gap:,} groups are enough to see that (4 times in 5)."
        return (
            f"{told}; it takes about {self.groups_for_gap:,} groups to see that (4 times in 5), and these are "
            f"{self.compared:,}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the object ``labels`` of the calibration's JSON report."""
        return {
            "by_number": [
                {"groups": one.groups, "half_width": one.half_width, "smallest_difference": one.smallest_difference}
                for one in self.by_number
            ],
            "rival": self.rival,
            "gap": self.gap,
            "groups_for_gap": self.groups_for_gap,
        }


def label_needs(choice: Choice | None, ways: Sequence[Way]) -> LabelNeeds | None:
    """Return what numbers of labelled groups suffice for in a calibration; None below ten groups with gold."""
    own = np.empty(0) if choice is None else _known(choice.way.fidelity)
    if choice is None or len(own) < _FEWEST:
        return None
    rival, apart = _rival(choice.way, ways)
    spread = None if rival is None else float(apart.std(ddof=1))
    gap = None if rival is None else float(apart.mean())
    by_number = tuple(
        LabelNeed(
            count,
            _SURE * float(own.std(ddof=1)) / math.sqrt(count),
            None if spread is None else _FOUND * spread / math.sqrt(count),
        )
        for count in LABELS
    )
    needed = math.ceil((_FOUND * spread / gap) ** 2) if spread and gap else None
    return LabelNeeds(by_number, rival, gap, needed, len(apart))


def _rival(way: Way, ways: Sequence[Way]) -> tuple[Way | None, Array]:
    """Return the best way that does not ask the same judges as ``way``, and the differences from it on common
    groups.
    """
    best: tuple[float, Way | None, Array] = (-math.inf, None, np.empty(0))
    for one in ways:
        apart = _known(way.fidelity - one.fidelity)
        if set(one.judges) != set(way.judges) and len(apart) >= _FEWEST:
            level = measures.mean_over_groups(one.fidelity)
            if level is not None and level > best[0]:
                best = (level, one, apart)
    return best[1], best[2]


def _known(values: Array) -> Array:
    return np.asarray(values[~np.isnan(values)])
