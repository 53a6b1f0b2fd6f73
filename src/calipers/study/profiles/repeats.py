"""How a judge's answers vary: between repeats of a question, between orders, between temperatures, between groups.

Variances are means over all two lists of the same members, so that lists may be repeated unequally often. Scores of
lists are compared less the list's mean, which decides no advantage. Not responsible for position bias (``positions``),
which is taken out before orders are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calipers.calibration.arrays import Array, Flags
from calipers.calibration.measures import centred_values
from calipers.study.profiles.answers import Answers, pairs_of_lists
from calipers.study.profiles.estimates import Statistic, estimate, ratio, sum_by_group
from calipers.study.profiles.figures import Figure, untold
from calipers.study.profiles.profile import NoiseAt, Repeatability

_NO_REPEATS = "no question was asked twice"
_UNSCORED = "no two answers about the same candidates have scores that could be compared"
ALL_EQUAL = "all scores of a group are equal: there is neither spread nor noise"
_NO_LISTS = "no answer scores two members of a group"
_NO_ORDERS = "no group was shown in two orders"
SAME, ORDER, SHARED, WITHIN, BETWEEN = 0, 2, 4, 6, 8
"""The first columns of ``variance_sums``: each is a sum, and the next column what to divide it by."""


def repeatability(table: Answers, placed: Array, others: Sequence[Answers] = ()) -> Repeatability:
    """Return the variation in a judge's answers, for its profile.

    ``placed`` are the scores less position bias. ``others`` are the judge's answers at other temperatures.
    """
    sums, counts = variance_sums(table, placed)
    temperatures = _by_temperature([table, *others])
    noise = ORDER if sums[:, ORDER + 1].any() else SAME
    again, same = why_no_noise(table, sums), _same_questions(table)

    def figure(at: int, reason: str) -> Figure:
        return estimate(sums[:, at : at + 2], ratio(0, 1, root=True), n=counts[at], reason=reason)

    return Repeatability(
        figure(SAME, _UNSCORED if same.any() else _NO_REPEATS),
        figure(ORDER, _UNSCORED if not same.all() else _NO_ORDERS),
        figure(SHARED, again),
        figure(WITHIN, _NO_LISTS),
        estimate(sums[:, BETWEEN:], _between, n=counts[BETWEEN], reason=_NO_LISTS),
        estimate(sums, _reliability(noise), n=counts[SHARED], reason=again),
        temperatures,
        _per_temperature([table, *others]),
    )


def why_no_noise(table: Answers, sums: Array) -> str:
    """Return why a judge's noise and the spread without noise cannot be compared, from its ``variance_sums``."""
    if sums[:, SAME + 1].any() or sums[:, ORDER + 1].any():
        return ALL_EQUAL  # there are answers to compare, so that only zeros leave nothing to compare
    return _UNSCORED if len(_same_questions(table)) else _NO_REPEATS


def _same_questions(table: Answers) -> Flags:
    """Return, for every two lists of the same members, whether they answer the same question."""
    one, other = pairs_of_lists(table)
    return np.asarray(table.question[one] == table.question[other])


def variance_sums(table: Answers, placed: Array) -> tuple[Array, Mapping[int, int]]:
    """Return the sums over each group of the frame from which a profile's variances follow, (groups, 12).

    The second value is the number of scores behind each pair of columns, by the first of the two.
    """
    groups = len(table.frame.groups)
    one, other = pairs_of_lists(table)
    same = table.question[one] == table.question[other]
    alone = table.key.mode == "pointwise"
    either = same if same.all() else ~same
    parts = {
        SAME: (_differences(table.scores, one[same], other[same], shared=not alone), one[same], other[same]),
        ORDER: (_differences(placed, one[~same], other[~same], shared=not alone), one[~same], other[~same]),
        SHARED: (_products(placed, one[either], other[either]), one[either], other[either]),
    }
    known = ~np.isnan(table.scores)
    counts = {at: int(known[np.union1d(first, second)].sum()) for at, (_, first, second) in parts.items()}
    sums = [sum_by_group(values, table.group[first], groups) for values, first, _ in parts.values()]
    sums += [sum_by_group(values, table.group, groups) for values in (_within(table.scores), _cross(table.scores))]
    scores = int(known.sum())
    return np.concatenate(sums, axis=1), {**counts, WITHIN: scores, BETWEEN: scores}


def _differences(scores: Array, one: Array, other: Array, *, shared: bool) -> Array:
    """Return half the squared differences of two lists' scores, summed, and their degrees of freedom.

    With ``shared``, the lists' means may differ and take a degree of freedom.
    """
    off = scores[one] - scores[other]
    known = ~np.isnan(off)
    count = known.sum(axis=1)
    off = centred_values(off, known) if shared else np.where(known, off, 0.0)
    freedom = np.maximum(count - 1, 0) if shared else count
    return np.stack([(off**2).sum(axis=1) / 2, freedom.astype(np.float64)], axis=1)


def _products(scores: Array, one: Array, other: Array) -> Array:
    """Return the products of two lists' scores less their means, summed, and their degrees of freedom."""
    known = ~np.isnan(scores[one] + scores[other])
    product = centred_values(scores[one], known) * centred_values(scores[other], known)
    return np.stack([product.sum(axis=1), np.maximum(known.sum(axis=1) - 1.0, 0.0)], axis=1)


def _within(scores: Array) -> Array:
    """Return the squared scores less their list's mean, summed, and their degrees of freedom."""
    known = ~np.isnan(scores)
    return np.stack(
        [(centred_values(scores, known) ** 2).sum(axis=1), np.maximum(known.sum(axis=1) - 1.0, 0.0)], axis=1
    )


def _cross(scores: Array) -> Array:
    """Return the products of different members' scores in a list, their number, the scores' sum and their number."""
    known = ~np.isnan(scores)
    count = known.sum(axis=1).astype(np.float64)
    filled = np.where(known, scores, 0.0)
    total = filled.sum(axis=1)
    return np.stack([total**2 - (filled**2).sum(axis=1), count * (count - 1), total, count], axis=1)


def _between(sums: Array) -> Array:
    """Return the standard deviation of groups' mean scores, without what their members' differences contribute."""
    pairs, count = sums[..., 1], sums[..., 3]
    known = pairs > 0
    product = sums[..., 0] / np.where(known, pairs, 1.0)
    mean = sums[..., 2] / np.where(known, count, 1.0)
    return np.where(known, np.sqrt(np.maximum(product - mean**2, 0.0)), np.nan)


def _reliability(noise: int) -> Statistic:
    spread_of, noise_of = ratio(SHARED, SHARED + 1), ratio(noise, noise + 1)

    def statistic(sums: Array) -> Array:
        spread, noise_variance = np.maximum(spread_of(sums), 0.0), noise_of(sums)
        whole = spread + noise_variance
        return np.where(whole > 0, spread / np.where(whole > 0, whole, 1.0), np.nan)

    return statistic


def _by_temperature(tables: Sequence[Answers]) -> tuple[NoiseAt, ...]:
    found = _repeats_by_temperature(tables)
    return tuple(
        NoiseAt(temperature, estimate(sums, ratio(0, 1, root=True), n=scores, reason=_NO_REPEATS))
        for temperature, (sums, scores) in found.items()
    )


def _repeats_by_temperature(tables: Sequence[Answers]) -> Mapping[float, tuple[Array, int]]:
    """Return, by temperature, each group's sums of squared differences between repeats and their freedom.

    The second value is the number of scores behind them.
    """
    found = {}
    for temperature, place in sorted((one.key.temperature or 0.0, place) for place, one in enumerate(tables)):
        if tables[place].key.temperature is not None:
            sums, counts = variance_sums(tables[place], tables[place].scores)
            found[temperature] = sums[:, SAME : SAME + 2], counts[SAME]
    return found


def _per_temperature(tables: Sequence[Answers]) -> Figure:
    """Return the slope of the noise on temperature, by least squares over the temperatures."""
    by = _repeats_by_temperature(tables)
    if len(by) < 2:
        return untold("answers at one temperature only were recorded")
    at = np.array(list(by))
    weights = (at - at.mean()) / ((at - at.mean()) ** 2).sum()

    def slope(sums: Array) -> Array:
        noises = [ratio(2 * place, 2 * place + 1, root=True)(sums) for place in range(len(at))]
        return np.asarray(np.stack(noises, axis=-1) @ weights)

    sums = np.concatenate([one for one, _ in by.values()], axis=1)
    return estimate(sums, slope, n=sum(count for _, count in by.values()), reason=_NO_REPEATS)
