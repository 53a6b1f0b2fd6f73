"""Lists of scores drawn from a probit model, for moments of whole lists: ties, correlation with quality, rank noise.

The draws are the same for every model, so that a moment changes smoothly with the model's numbers. Not responsible for
the model (``probit``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import fidelity, mean_over_groups, pair_signs
from calipers.study.profiles.answers import Numbers
from calipers.study.profiles.movers import Movers
from calipers.study.profiles.probit import Probit

_ENTRIES = 60_000
"""About as many scores are drawn: enough for a share of ties to 0.003."""


@dataclass(frozen=True)
class Lists:
    """The lists of a profile's judge, from which scores are drawn again."""

    columns: Movers

    @cached_property
    def entries(self) -> Numbers:
        """The numbers of the movers' entries in a profile's lists, (lists, members); -1 for none.

        Lists are repeated in turn, or left out, to about 60,000 scores.
        """
        starts = np.flatnonzero(np.diff(self.columns.list_of, prepend=-1))
        lengths = np.diff([*starts, len(self.columns.list_of)])
        place = np.arange(int(lengths.max(initial=1)))
        found = np.where(place < lengths[:, None], starts[:, None] + place, -1)
        return np.asarray(found[np.arange(max(_ENTRIES // found.shape[1], 1)) % len(found)])

    @cached_property
    def draws(self) -> dict[str, Array]:
        """Standard normal draws for every error of a profile's lists; two calls have different ones."""
        draw = np.random.default_rng(0)
        shape, column = self.entries.shape, (len(self.entries), 1)
        sizes = {"spread": column, "slope": column, "group": column, "candidate": shape, "order": shape}
        return {name: draw.normal(size=size) for name, size in (sizes | {"call": shape, "again": shape}).items()}

    def opinions(self, model: Probit, effects: Array, *, call: str = "call") -> Array:
        """Return opinions drawn from a profile's ``model``, NaN for no entry. ``call`` is "call" or "again"."""
        errors, draws = model.errors, self.draws
        mean, load = self.columns.opinions(effects)[self.entries], self.columns.loads[self.entries]
        inner = mean + errors.gain_sd * draws["slope"] * load + np.sqrt(errors.candidate) * draws["candidate"]
        found = np.exp(errors.log_spread * draws["spread"] - errors.log_spread**2 / 2) * inner
        for name, variance in (("group", errors.group), ("order", errors.order), (call, errors.call)):
            found = found + np.sqrt(variance) * draws[name]
        return np.where(self.entries >= 0, found, np.nan)

    def scores(self, model: Probit, effects: Array, *, call: str = "call") -> Array:
        """Return scores drawn from a profile's ``model``."""
        opinions = self.opinions(model, effects, call=call)
        level = np.searchsorted(model.thresholds, np.nan_to_num(opinions), side="right")
        return np.where(np.isnan(opinions), np.nan, model.levels[level])

    def ranks(self, model: Probit, effects: Array, *, call: str = "call") -> Array:
        """Return rankings drawn from a profile's ``model``: 1 for the highest opinion of a list, 0 for the lowest."""
        opinions = self.opinions(model, effects, call=call)
        order = np.where(np.isnan(opinions), np.inf, opinions).argsort(axis=1).argsort(axis=1).astype(np.float64)
        last = np.maximum((~np.isnan(opinions)).sum(axis=1, keepdims=True) - 1, 1)
        return np.where(np.isnan(opinions), np.nan, order / last)

    def ties(self, scores: Array) -> float:
        """Return the share of ties among two members of a list, for a profile."""
        known = ~np.isnan(scores)
        count = known.sum(axis=1)
        pairs = float((count * (count - 1)).sum())
        return 1 - float(np.abs(pair_signs(scores, known)).sum()) / pairs if pairs else 0.0

    def pearson(self, scores: Array) -> float | None:
        """Return the mean correlation of scores and quality within the lists of a profile; None without quality."""
        if "quality" not in self.columns.names:
            return None
        quality = self.columns.raw[:, self.columns.names.index("quality")]
        return mean_over_groups(fidelity(scores, np.where(self.entries >= 0, quality[self.entries], np.nan)))

    def rank_noise(self, model: Probit, effects: Array) -> float:
        """Return the variance of a rank between two calls of a profile's judge, as ``repeats`` measures it."""
        off = self.ranks(model, effects) - self.ranks(model, effects, call="again")
        known = ~np.isnan(off)
        freedom = np.maximum(known.sum(axis=1) - 1, 0).sum()
        return float((np.where(known, off, 0.0) ** 2).sum() / 2 / freedom) if freedom else 0.0
