"""How far one call of a judge agrees with gold, and how its failures are linked to what is judged.

Not responsible for agreement over several calls (``calibration``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import fidelity, pair_signs
from calipers.study.profiles.answers import Answers
from calipers.study.profiles.estimates import estimate, estimate_share, ratio, sum_by_group
from calipers.study.profiles.figures import Figure, untold
from calipers.study.profiles.preferences import has_gold, per_quality
from calipers.study.profiles.profile import Agreement, Failures
from calipers.study.profiles.repeats import ALL_EQUAL, ORDER, SAME, SHARED, variance_sums, why_no_noise
from calipers.types.counted import counted

_NO_GOLD = "the groups have no gold"
_SAME_GOLD = "all answers have the same gold"
_NO_SPREAD = "no answer scores two members of a group with different gold"
_NO_VERDICTS = "the judge gives scores, not verdicts of yes and no"
_NO_TEXTS = "the groups have no texts"
_FEWEST = 20
_GRADED = "gold has more than two values"


def agreement(table: Answers, placed: Array) -> Agreement:
    """Return the agreement of a judge's answers with gold, for its profile.

    ``placed`` are the scores less position bias.
    """
    if np.isnan(table.quality).all():
        return Agreement(*[untold(_SAME_GOLD if has_gold(table) else _NO_GOLD)] * 7)
    found = fidelity(table.scores, table.quality)
    concordance = somers_d(table.scores, table.quality)
    pearson = _mean_sums(found, table)
    scored = int((~np.isnan(table.scores + table.quality)).sum())
    variances, counts = variance_sums(table, placed)
    noise = ORDER if variances[:, ORDER + 1].any() else SAME
    return Agreement(
        *_verdict_rates(table),
        estimate(_mean_sums(concordance, table), ratio(0, 1), n=scored, reason=_NO_SPREAD),
        estimate(pearson, ratio(0, 1), n=scored, reason=_NO_SPREAD),
        per_quality(table, placed),
        estimate(
            np.concatenate([pearson, variances[:, SHARED : SHARED + 2], variances[:, noise : noise + 2]], axis=1),
            _pearson_at_quarter_spread,
            n=counts[SHARED],
            reason=_why_no_forecast(table, variances) if pearson[:, 1].any() else _NO_SPREAD,
        ),
    )


def somers_d(scores: Array, quality: Array) -> Array:
    """Return Somers' D of each list, for a profile: concordant less discordant pairs of those with different quality.

    It is in [-1, 1], and equal to 2 AUC - 1 and, for verdicts, to J within the list (Somers, *Am. Sociol. Rev.* 27,
    1962). NaN without such pairs.
    """
    known = ~np.isnan(scores + quality)
    signs, truth = pair_signs(scores, known), pair_signs(quality, known)
    pairs = np.abs(truth).sum(axis=(1, 2))
    return np.where(pairs > 0, (signs * truth).sum(axis=(1, 2)) / np.where(pairs > 0, pairs, 1.0), np.nan)


def _mean_sums(by_list: Array, table: Answers) -> Array:
    """Return each group's mean over its lists and a 1, so that every group counts the same; 0 without a list."""
    known = ~np.isnan(by_list)
    stacked = np.stack([np.nan_to_num(by_list), known.astype(np.float64)], axis=1)
    sums = sum_by_group(stacked, table.group, len(table.frame.groups))
    counted = sums[:, 1] > 0
    mean = sums[:, 0] / np.where(counted, sums[:, 1], 1.0)
    return np.stack([np.where(counted, mean, 0.0), counted.astype(np.float64)], axis=1)


def _verdict_rates(table: Answers) -> tuple[Figure, Figure, Figure]:
    """Return the rates of true and false positives and their difference J, of verdicts against binary gold."""
    known = ~np.isnan(table.scores + table.quality)
    if table.kind != "scores" or not np.isin(table.scores[known], (0.0, 1.0)).all():
        return (untold(_NO_VERDICTS),) * 3
    if not np.isin(table.quality[known], (0.0, 1.0)).all():
        return (untold(_GRADED),) * 3
    columns = [(known & (table.quality == value), table.scores) for value in (1.0, 0.0)]
    by_list = np.stack(
        [part for held, scores in columns for part in (np.where(held, scores, 0.0).sum(axis=1), held.sum(axis=1))],
        axis=1,
    )
    sums = sum_by_group(by_list, table.group, len(table.frame.groups))
    missing = "no answer about good ones", "no answer about bad ones"
    rates = [
        estimate_share(sums, place, place + 1, n=sums[:, place + 1].sum(), reason=reason)
        for place, reason in zip((0, 2), missing, strict=True)
    ]
    why = missing[1] if rates[0].known else missing[0]
    difference = estimate(sums, lambda one: ratio(0, 1)(one) - ratio(2, 3)(one), n=known.sum(), reason=why)
    return rates[0], rates[1], difference


def _why_no_forecast(table: Answers, variances: Array) -> str:
    why = why_no_noise(table, variances)
    return why if why == ALL_EQUAL else f"{why}: the noise is unknown"


def _pearson_at_quarter_spread(sums: Array) -> Array:
    """Return the correlation expected at V/4, from sums of the correlation, V and v with their divisors.

    Noise attenuates a correlation by sqrt(V / (V + v)) (Spearman 1904), so the factor is the ratio of two of these.
    """
    correlation, spread, noise = (ratio(place, place + 1)(sums) for place in (0, 2, 4))
    spread = np.maximum(spread, 0.0)
    factor = (spread + noise) / np.where(spread + 4 * noise > 0, spread + 4 * noise, np.nan)
    return np.asarray(correlation * np.sqrt(factor))


def failures(table: Answers, features: Mapping[str, Array]) -> Failures:
    """Return how often a judge's answers cannot be used, and with what that correlates, for its profile."""
    asked = table.asked
    failed = np.where(asked, np.isnan(table.scores), np.nan).astype(np.float64)
    lists = np.stack([np.nansum(failed, axis=1), asked.sum(axis=1)], axis=1)
    sums = sum_by_group(lists, table.group, len(table.frame.groups))
    size = np.where(asked, asked.sum(axis=1)[:, None], np.nan).astype(np.float64)
    return Failures(
        estimate_share(sums, 0, 1, n=sums[:, 1].sum(), reason="nothing was asked"),
        _linked(table, failed, table.of_members(features["length"]), _NO_TEXTS, "all answers are equally long"),
        _linked(table, failed, table.quality, _SAME_GOLD if has_gold(table) else _NO_GOLD, _SAME_GOLD),
        _linked(table, failed, size, "nothing was asked", "all lists have the same size"),
    )


def _linked(table: Answers, failed: Array, other: Array, missing: str, alike: str) -> Figure:
    """Return the correlation of a failure with ``other`` over all candidates that were asked about."""
    known = ~np.isnan(failed + other)
    if not known.any():
        return untold(missing)
    count = int(failed[known].sum())
    if count < _FEWEST:
        return untold(f"{counted(count, 'answer')} failed, fewer than {_FEWEST}" if count else "no answer failed")
    if count == known.sum():
        return untold("every answer failed")
    if np.ptp(other[known]) <= 0:
        return untold(alike)
    x, y = np.where(known, failed, 0.0), np.where(known, other - np.mean(other[known]), 0.0)
    columns = [known.astype(np.float64), x, y, x * x, y * y, x * y]
    sums = sum_by_group(np.stack([one.sum(axis=1) for one in columns], axis=1), table.group, len(table.frame.groups))
    return estimate(sums, _correlation, n=known.sum(), reason=alike)


def _correlation(sums: Array) -> Array:
    count, x, y, xx, yy, xy = (sums[..., place] for place in range(6))
    size = (xx - x**2 / count) * (yy - y**2 / count)
    return np.where(size > 1e-12, (xy - x * y / count) / np.sqrt(np.where(size > 1e-12, size, 1.0)), np.nan)
