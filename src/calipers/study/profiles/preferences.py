"""A judge's preferences for features of answers, at equal gold.

Not responsible for the features (``features``), or for preferences that agree with gold: without gold, they cannot be
separated.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import centred_values
from calipers.study.profiles.answers import Answers
from calipers.study.profiles.estimates import estimate, estimates, ratio, sum_by_group
from calipers.study.profiles.features import FEATURES
from calipers.study.profiles.figures import Figure, untold
from calipers.study.profiles.positions import normal_sums, solve_normal
from calipers.study.profiles.profile import Feature, Preference
from calipers.testing.features import TEXT_FEATURES

_NO_GOLD = "no gold: a preference cannot be told from a preference for quality"
_NO_TEXT = "the groups have no texts"
_NO_AUTHORS = "no group names authors of the judge's model family and of another"
_NO_ATTACK = "no candidate addresses the judge"
_ALIKE = "the answers of each group are alike in this"
_FEWEST = 20
_EDGE = 1e-9


def preferences(
    table: Answers, placed: Array, features: Mapping[str, Array]
) -> tuple[dict[Feature, Preference], Figure]:
    """Return a judge's preference for each feature, and for prompt injections, for its profile.

    ``placed`` are the scores less position bias, and ``features`` each feature's (groups, members) in the frame.
    """
    listed = {name: table.of_members(values) for name, values in features.items()}
    per_unit = _per_unit(table, placed, {name: listed[name] for name in (*TEXT_FEATURES, "injection")})
    per_unit |= {"own_family": _per_unit(table, placed, {"own_family": listed["own_family"]})["own_family"]}
    found: dict[Feature, Preference] = {
        name: Preference(
            per_unit[name],
            _covariance(table, placed, listed[name], name),
            _without_spread(table, placed, listed[name], name),
        )
        for name in FEATURES
    }
    return found, per_unit["injection"]


def per_quality(table: Answers, placed: Array) -> Figure:
    """Return the score that quality from 0 to 1 adds within a list, for a judge's profile."""
    return _regressed(table, placed, {"quality": table.quality})["quality"]


def has_gold(table: Answers) -> bool:
    """Return whether any member in a profile's lists has gold, be it the same for all."""
    return not bool(np.isnan(table.of_members(table.frame.gold)).all())


def _per_unit(table: Answers, placed: Array, columns: Mapping[str, Array]) -> dict[str, Figure]:
    """Return the effect of a unit of each column on the score, with quality and the other columns held equal."""
    reasons = {name: _why_not(name, values) for name, values in columns.items()}
    if not has_gold(table):
        return {name: untold(reason or _NO_GOLD) for name, reason in reasons.items()}
    usable = {name: values for name, values in columns.items() if reasons[name] is None}
    # Where all have the same gold, it is equal without being held equal.
    held = {} if np.isnan(table.quality).all() else {"quality": table.quality}
    found = _regressed(table, placed, {**held, **usable}) if usable else {}
    return {name: found.get(name) or untold(reasons[name] or _ALIKE) for name in columns}


def _why_not(name: str, values: Array) -> str | None:
    """Return why a feature has no effect that could be measured, or None."""
    known = ~np.isnan(values)
    if not known.any():
        return _NO_AUTHORS if name == "own_family" else _NO_TEXT
    vary = int((np.abs(centred_values(values, known)) > _EDGE).any(axis=1).sum())
    if vary >= _FEWEST:
        return None
    if vary:
        return f"it differs within {vary} lists only, fewer than {_FEWEST}"
    return {"injection": _NO_ATTACK, "own_family": _NO_AUTHORS}.get(name, _ALIKE)


def _regressed(table: Answers, placed: Array, columns: Mapping[str, Array]) -> dict[str, Figure]:
    every = np.stack([*columns.values()], axis=-1)
    known = ~np.isnan(placed) & ~np.isnan(every).any(axis=-1)
    y = centred_values(placed, known)
    x = np.stack([centred_values(column, known) for column in columns.values()], axis=-1)
    width = len(columns)
    present = np.asarray((np.abs(x) > _EDGE).any(axis=(0, 1)))
    sums = normal_sums(x, y, table.group, len(table.frame.groups))
    scores = int(known.sum())
    found = estimates(sums, lambda one: solve_normal(one, width, present=present), n=scores, reason=_ALIKE)
    return dict(zip(columns, found, strict=True))


def _covariance(table: Answers, placed: Array, feature: Array, name: str) -> Figure:
    """Return cov(score, feature) among the members of a list that have the same gold.

    Where gold is too finely graded for that, what gold explains by a straight line is taken out.
    """
    found = _covaried(table, placed, feature, name, "two answers of a group with the same gold")
    if found.known or _why_not(name, feature) is not None or np.isnan(table.quality).all():
        return found
    known = ~np.isnan(placed + feature + table.quality)
    y, x, q = (centred_values(one, known) for one in (placed, feature, table.quality))
    freedom = np.maximum(known.sum(axis=1) - 1.0, 0.0)
    parts = [(y * x).sum(axis=1), (y * q).sum(axis=1), (x * q).sum(axis=1), (q * q).sum(axis=1), freedom]
    sums = sum_by_group(np.stack(parts, axis=1), table.group, len(table.frame.groups))
    return estimate(sums, _partial_covariance, n=int(known.sum()), reason=_ALIKE)


def _partial_covariance(sums: Array) -> Array:
    both, score, feature, gold, freedom = (sums[..., place] for place in range(5))
    explained = np.where(gold > 0, score * feature / np.where(gold > 0, gold, 1.0), 0.0)
    return np.where(freedom > 0, (both - explained) / np.where(freedom > 0, freedom, 1.0), np.nan)


def _without_spread(table: Answers, placed: Array, feature: Array, name: str) -> Figure:
    """Return cov(score, feature) in the lists whose members all have the same gold."""
    gold = table.of_members(table.frame.gold)
    low, high = (np.where(np.isnan(gold), fill, gold) for fill in (np.inf, -np.inf))
    alike = (high.max(axis=1) - low.min(axis=1)) <= 0
    return _covaried(
        table, np.where(alike[:, None], placed, np.nan), feature, name, "groups with the same gold throughout"
    )


def _covaried(table: Answers, placed: Array, feature: Array, name: str, among: str) -> Figure:
    if (reason := _why_not(name, feature)) is not None:
        return untold(reason)
    if not has_gold(table):
        return untold(_NO_GOLD)
    sums, vary = _sums_at_equal_gold(table, placed, feature)
    if vary >= _FEWEST:
        return estimate(sums, ratio(0, 1), n=sums[:, 1].sum(), reason=_ALIKE)
    return untold(f"it differs within {vary} lists only, fewer than {_FEWEST}, among {among}")


def _sums_at_equal_gold(table: Answers, placed: Array, feature: Array) -> tuple[Array, int]:
    """Return each group's sum of products less the means at equal gold and its degrees of freedom.

    The second value is the number of lists in which the feature differs at equal gold.
    """
    gold = table.of_members(table.frame.gold)
    known = ~np.isnan(placed + feature + gold)
    y, x = (np.where(known, one, 0.0) for one in (placed, feature))
    same = known[:, :, None] & known[:, None, :] & (gold[:, :, None] == gold[:, None, :])
    alike = np.maximum(same.sum(axis=2), 1)
    apart = x[:, :, None] - x[:, None, :]
    # The covariance within a cell is half the mean product of differences over its pairs.
    products = np.where(same, apart * (y[:, :, None] - y[:, None, :]), 0.0).sum(axis=2) / (2 * alike)
    freedom = np.where(known, 1 - 1 / alike, 0.0)
    total = np.stack([products.sum(axis=1), freedom.sum(axis=1)], axis=1)
    vary = (same & (np.abs(apart) > _EDGE)).any(axis=(1, 2))
    return sum_by_group(total, table.group, len(table.frame.groups)), int(vary.sum())
