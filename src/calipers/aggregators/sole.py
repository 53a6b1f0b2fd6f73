"""The scores of one judge where several were asked in turn: those of two are never mixed within a group.

Not responsible for who is asked when (``planners.panel``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.aggregators.two_way import two_way
from calipers.interfaces import Aggregator
from calipers.types import Judgment, Scores, Verdict


@dataclass(frozen=True, slots=True)
class Sole:
    """Takes the judgments of one slot through ``within``: where most candidates were scored, most often, the first."""

    within: Aggregator = two_way

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """That judge's scores and standard errors; None throughout where nobody said anything."""
        slots: dict[int, list[Judgment]] = {}
        for judgment in judgments:
            if not isinstance(judgment, Verdict):
                slots.setdefault(judgment.slot, []).append(judgment)
        if not slots:
            return self.within((), n)
        found = [(self.within(said, n), len(said)) for _, said in sorted(slots.items())]
        return max(found, key=lambda one: (sum(value is not None for value in one[0].values), one[1]))[0]
