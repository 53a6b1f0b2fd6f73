"""What moves a judge's opinions: quality, preferences and positions, as columns for a least-squares fit.

Only what a profile's figures tell apart from 0 is a column: a part of the position curve moves nothing if its interval
contains 0, and so does a preference if the interval of its covariance at equal gold contains 0, too. Not responsible
for the model of opinions (``probit``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calipers.calibration.arrays import Array, Flags
from calipers.calibration.measures import centred_values
from calipers.study.profiles.answers import Answers, Numbers
from calipers.study.profiles.figures import Figure
from calipers.study.profiles.positions import weights_of
from calipers.study.profiles.probit import Opinions
from calipers.study.profiles.profile import Profile

_LEAST_SD = 0.02
"""Mean qualities of groups that vary less than this are taken to be equal."""


@dataclass(frozen=True, slots=True)
class Movers:
    """Columns by ``names``; an entry is a scored candidate of a list, or of pairs, a list.

    ``x`` (entries, columns) is centred within lists, and ``scores`` are less their mean. ``raw`` is what a simulated
    judge adds for a unit of each effect: quality less its mean, and features less their mean over the list. Of a pair,
    all are differences of the candidate shown first and the other. ``list_of`` is the list of each entry.
    """

    names: tuple[str, ...]
    x: Array
    raw: Array
    scores: Array
    list_of: Numbers
    of_pairs: bool = False

    def opinions(self, effects: Array) -> Array:
        """Return the opinion to expect for each entry, by the ``effects`` of a profile's columns."""
        return np.asarray(self.raw @ effects) if len(effects) else np.zeros(max(len(self.list_of), 1))

    @property
    def loads(self) -> Array:
        """Quality less its mean, for each entry of a profile; 0 without gold, and for pairs."""
        if "quality" not in self.names or self.of_pairs:
            return np.zeros(max(len(self.list_of), 1))
        return np.asarray(self.raw[:, self.names.index("quality")])

    def effect(self, effects: Array, name: str) -> float:
        """Return the effect of the column ``name`` of a profile, 0 if it moves nothing."""
        return float(effects[self.names.index(name)]) if name in self.names else 0.0


def movers(profile: Profile, table: Answers, features: Mapping[str, Array]) -> Movers:
    """Return what moves opinions according to the figures of ``profile``, which were measured on ``table``."""
    columns = _columns(profile, table, features)
    raw = np.stack(list(columns.values()), axis=-1) if columns else np.empty((*table.scores.shape, 0))
    known = np.asarray(~np.isnan(table.scores) & ~np.isnan(raw).any(axis=-1))
    raw = np.where(known[..., None], raw, 0.0)
    if table.kind == "pairs":
        return _of_pairs(tuple(columns), raw, table, known)
    centred = [_centred(name, raw[..., k], known) for k, name in enumerate(columns)]
    x = np.stack([one for one, _ in centred], axis=-1) if columns else raw
    added = np.stack([one for _, one in centred], axis=-1) if columns else raw
    list_of = np.repeat(np.arange(len(known)), known.sum(axis=1))
    scores = table.scores[known] - table.scores[known].mean()
    return Movers(tuple(columns), x[known], added[known], scores, list_of)


def _centred(name: str, raw: Array, known: Flags) -> tuple[Array, Array]:
    """Return a column as it is fitted, and as a simulated judge adds it.

    Everything is compared within lists, but for the mean quality of a group. Quality is added as it is, and features
    less their mean.
    """
    if name == "group_quality":
        found = np.where(known, raw - raw[known].mean(), 0.0)
        return found, found
    within = centred_values(raw, known)
    return within, raw if name == "quality" else within


def _columns(profile: Profile, table: Answers, features: Mapping[str, Array]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    by_group = _group_quality(table)
    if profile.agreement.per_quality.known:
        found["quality"] = table.quality - (mean_quality(table) if by_group is None else by_group)
    if by_group is not None:
        found["group_quality"] = by_group
    for name, preference in profile.preferences.items():
        if preference.per_unit.known and (is_clear(preference.per_unit) or is_clear(preference.covariance)):
            found[name] = table.of_members(features[name])
    if is_clear(profile.injection):
        found["injection"] = table.of_members(features["injection"])
    for part in ("slope", "first", "last"):
        if is_clear(getattr(profile.position, part)):
            found[part] = weights_of(part, table.places, table.sizes)
    return found


def _group_quality(table: Answers) -> Array | None:
    """Return the mean quality of each list's members, if the judge scores them alone and the mean differs; else None.

    How a judge scores good and bad groups need not follow from how it scores good and bad members of one group.
    """
    counts = (~np.isnan(table.quality)).sum(axis=1)
    mean = np.where(counts > 0, np.nan_to_num(table.quality).sum(axis=1) / np.maximum(counts, 1), np.nan)
    if table.key.mode != "pointwise" or np.isnan(mean).all() or np.nanstd(mean) < _LEAST_SD:
        return None
    return np.where(table.asked, mean[:, None], np.nan)


def _of_pairs(names: tuple[str, ...], raw: Array, table: Answers, known: Flags) -> Movers:
    both = np.asarray(known[:, :2].all(axis=1))
    sign = np.where(table.places[both, 0] == 0, 1.0, -1.0)
    gaps = sign[:, None] * (raw[both, 0] - raw[both, 1])
    return Movers(
        names, gaps, gaps, sign * (table.scores[both, 0] - table.scores[both, 1]), np.arange(len(gaps)), of_pairs=True
    )


def mean_quality(table: Answers) -> float:
    """Return the mean quality of the candidates that a profile's judge scored; 0 without gold."""
    known = table.quality[~np.isnan(table.quality + table.scores)]
    return float(known.mean()) if len(known) else 0.0


def quality_sd(table: Answers) -> float:
    """Return the standard deviation of quality within the lists of a profile's judge; 0 without gold."""
    known = np.asarray(~np.isnan(table.quality + table.scores))
    freedom = int(np.maximum(known.sum(axis=1) - 1, 0).sum())
    return float(np.sqrt((centred_values(table.quality, known) ** 2).sum() / freedom)) if freedom else 0.0


def is_clear(figure: Figure) -> bool:
    """Return whether the interval of a profile's figure excludes 0."""
    return figure.low is not None and figure.high is not None and (figure.low > 0 or figure.high < 0)


def binned(values: Array, loads: Array, most: int) -> tuple[Opinions, Numbers]:
    """Return at most ``most`` opinions that stand for a profile's ``values``, and the number of each value's.

    ``loads`` are averaged with the values.
    """
    distinct, number = np.unique(np.round(values, 9), return_inverse=True)
    if len(distinct) > most:
        edges = np.quantile(values, np.linspace(0, 1, most + 1)[1:-1])
        number = np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)[1]
    counts = np.bincount(number).astype(np.float64)
    means, own = (np.bincount(number, weights=one) / counts for one in (values, loads))
    return Opinions(means, own, counts / counts.sum()), number
