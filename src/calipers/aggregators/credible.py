"""Two-way scores with standard errors that lean on what is known of the judge's noise, so that one call has some.

Not responsible for learning the noise (``noise``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calipers.aggregators.noise import Noise
from calipers.aggregators.two_way import fit
from calipers.types import Judgment, Rating, Scores


@dataclass(frozen=True, slots=True)
class Credible:
    """Scores of one judge's ratings; ``noise`` is by slot, and a slot without it is read as ``two_way`` reads it.

    Ratings of several slots are taken as one judge's, with the mean of their variances.
    """

    noise: Mapping[int, Noise]

    def __call__(self, judgments: Sequence[Judgment], n: int) -> Scores:
        """Values as from ``two_way``; standard errors from the judge's noise and what this group's repeats add to it."""
        found = fit(judgments, n)
        slots = {judgment.slot for judgment in judgments if isinstance(judgment, Rating)}
        known = [
            self.noise[slot].variance_of(found.squares, found.freedom) for slot in sorted(slots & self.noise.keys())
        ]
        if known and len(known) == len(slots):
            return found.scores(sum(known) / len(known))
        return found.scores(found.squares / found.freedom if found.freedom > 0 else None)
