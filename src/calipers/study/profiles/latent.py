"""Solves the numbers from which a simulated judge answers with a profile's figures.

Where the answers do not separate two sources of error, ``assumed`` says what was taken. Not responsible for answering
(``judge``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from calipers.calibration.arrays import Array
from calipers.study.profiles.answers import Answers
from calipers.study.profiles.failing import failure_odds
from calipers.study.profiles.features import FEATURES
from calipers.study.profiles.movers import Movers, binned, is_clear, mean_quality, movers, quality_sd
from calipers.study.profiles.pair_moments import covariance_in_groups, opinion_tally
from calipers.study.profiles.probit import Errors, Probit, normal_nodes, with_shares
from calipers.study.profiles.profile import Latent, Profile
from calipers.study.profiles.simulated_lists import Lists

_HALVINGS = 16
_STEPS = 12
_ROUNDS = 8
_SETTLED = 1e-3
_NEWTONS = 6
_CLOSE = 1e-3
_STEP = 0.05
_LONGEST = 0.5
_MOST = np.array([2.25, 9.0])
_LEAST_GAIN = 0.1
_FINE, _MANY, _FEW = 200, 64, 12
_MOST_LEVELS = 40
_NO_NOISE = "answers to a repeated question are taken to be the same"
_NO_ORDERS = "another order is taken to change nothing"
_ONE_EACH = "no group has two scored answers with different gold: quality counts as much as it does between groups"
_NO_GOLD = "agreement with gold is unknown: it must be given"


@dataclass(frozen=True, slots=True)
class _Task:
    """What a model is solved from: a judge's profile, its answers, and what moves its opinions."""

    profile: Profile
    table: Answers
    movers: Movers
    levels: Array
    shares: Array
    target: Array
    inverse: Array
    lists: Lists

    @property
    def pairs(self) -> bool:
        return self.table.kind == "pairs"

    def model(self, effects: Array, errors: Errors) -> Probit:
        opinions = self.movers.opinions(effects)
        if self.pairs:
            opinions = np.concatenate([opinions, -opinions])
        loads = np.zeros(len(opinions)) if self.pairs else self.movers.loads
        return with_shares(self.levels, self.shares, binned(opinions, loads, self._bins(errors))[0], errors)

    def _bins(self, errors: Errors) -> int:
        """The number of opinions that stand for all: fewer if there are many kinds of groups as well."""
        return _MANY if len(errors.kinds[2]) == 1 else _FEW


def solve_latent(profile: Profile, table: Answers, features: Mapping[str, Array]) -> Latent:
    """Return the numbers of a simulated judge with ``profile``, which was fitted to ``table`` and ``features``."""
    task = _task(profile, table, features)
    effects, model = _solved(task)
    levels, shares = _levels(profile, table)
    thresholds = with_shares(levels, shares, model.opinions, model.errors).thresholds
    found = dict(zip(task.movers.names, map(float, effects), strict=True))
    half = 2 if task.pairs else 1
    errors = model.errors
    rate, per_doubling, usual = failure_odds(profile, table, features["length"])
    group_gain = found.pop("group_quality", None)
    group, candidate, order, call = (
        sqrt(one / half) for one in (errors.group, errors.candidate, errors.order, errors.call)
    )
    return Latent(
        gain=found.pop("quality", group_gain),
        group_sd=group,
        candidate_sd=candidate,
        order_sd=order,
        call_sd=call,
        thresholds=() if table.kind == "ranks" else tuple(map(float, thresholds)),
        log_spread=errors.log_spread,
        gain_sd=errors.gain_sd,
        group_gain=group_gain,
        centre=mean_quality(table),
        quality_sd=quality_sd(table),
        slope=found.pop("slope", 0.0),
        first=found.pop("first", 0.0),
        last=found.pop("last", 0.0),
        injected=found.pop("injection", 0.0),
        per_unit={name: found[name] for name in FEATURES if name in found},
        failures=rate,
        failures_per_doubling=per_doubling,
        usual_length=usual,
        assumed=_assumed(profile, table),
    )


def _task(profile: Profile, table: Answers, features: Mapping[str, Array]) -> _Task:
    columns = movers(profile, table, features)
    x = columns.x
    inverse = np.linalg.pinv(x.T @ x) @ x.T if columns.names else np.empty((0, len(x)))
    levels, shares = _coarse(*_levels(profile, table))
    return _Task(profile, table, columns, levels, shares, inverse @ columns.scores, inverse, Lists(columns))


def _levels(profile: Profile, table: Answers) -> tuple[Array, Array]:
    if table.kind == "ranks":
        size = max(int(np.median(table.asked.sum(axis=1))), 2)
        return np.linspace(0.0, 1.0, size), np.ones(size)
    found = profile.scale.levels
    return np.array([one.score for one in found]), np.array([one.share for one in found])


def _coarse(levels: Array, shares: Array) -> tuple[Array, Array]:
    """Return at most 40 levels: neighbours of a long scale together, at their mean score."""
    if len(levels) <= _MOST_LEVELS:
        return levels, shares
    place = np.minimum((np.cumsum(shares) - shares / 2) / shares.sum() * _MOST_LEVELS, _MOST_LEVELS - 1).astype(
        np.int64
    )
    place = np.unique(place, return_inverse=True)[1]
    share = np.bincount(place, weights=shares)
    return np.asarray(np.bincount(place, weights=shares * levels) / share), np.asarray(share, dtype=np.float64)


def _assumed(profile: Profile, table: Answers) -> tuple[str, ...]:
    found = []
    if not profile.agreement.per_quality.known:
        found.append(_NO_GOLD if np.isnan(table.quality).all() else _ONE_EACH)
    repeats = profile.repeatability
    found += [] if repeats.noise.known else [f"{repeats.noise.reason}: {_NO_NOISE}"]
    shown = table.key.mode != "pointwise"
    return (
        *found,
        *([f"{repeats.order_noise.reason}: {_NO_ORDERS}"] if shown and not repeats.order_noise.known else []),
    )


def _solved(task: _Task) -> tuple[Array, Probit]:
    """Return the effects and the model that also gives the judge's share of ties and its correlation with quality.

    Groups that differ in spread have more ties, and groups that differ in what quality counts have a lower correlation
    at the same mean effect of quality. Both are found together by Newton's method, and are at least 0.
    """
    effects, model = _solved_at(task, np.zeros(len(task.target)), Errors())
    wanted = _wanted(task)
    at = np.zeros(2)
    # With two levels, ties and the correlation follow from the levels' shares and the mean effect of quality.
    for _ in range(_NEWTONS if task.table.kind == "scores" and len(task.levels) > 2 else 0):
        off = _moments(task, effects, model) - wanted
        free = np.array([off[0] < 0 or at[0] > 0, off[1] > 0 or at[1] > 0]) & ~np.isnan(off)
        if not (free & (np.abs(off) > _CLOSE)).any():
            break
        jacobian = np.eye(2)
        for k in np.flatnonzero(free):
            there = at.copy()
            there[k] += _STEP
            moved = _moments(task, *_solved_at(task, effects, _at(task, effects, model, there)))
            jacobian[:, k] = (moved - wanted - off) / _STEP
        jacobian, off = jacobian[np.ix_(free, free)], off[free]
        at[free] -= np.clip(np.linalg.lstsq(jacobian, off, rcond=None)[0], -_LONGEST, _LONGEST)
        at = np.clip(at, 0.0, _MOST)
        effects, model = _solved_at(task, effects, _at(task, effects, model, at))
    return effects, model


def _at(task: _Task, effects: Array, model: Probit, at: Array) -> Errors:
    """Return the errors with groups that differ by ``at``: the squares of log_spread, and of gain_sd over the gain.

    Squares, because neither moment depends on small standard deviations in the first order.
    """
    gain = max(abs(task.movers.effect(effects, "quality")), _LEAST_GAIN)
    return replace(model.errors, log_spread=sqrt(at[0]), gain_sd=sqrt(at[1]) * gain)


def _wanted(task: _Task) -> Array:
    """Return the judge's share of ties and the size of its correlation with quality, NaN where unknown or not clear."""
    ties, agreement = task.profile.scale.ties.value, task.profile.agreement
    pearson = agreement.pearson.value if is_clear(agreement.per_quality) else None
    return np.array([np.nan if ties is None else ties, np.nan if pearson is None else abs(pearson)])


def _moments(task: _Task, effects: Array, model: Probit) -> Array:
    scores = task.lists.scores(model, effects)
    return np.array([task.lists.ties(scores), abs(task.lists.pearson(scores) or 0.0)])


def _solved_at(task: _Task, effects: Array, errors: Errors) -> tuple[Array, Probit]:
    """Return the effects and the model at one logarithmic spread of groups' factors, near those given."""
    for _ in range(_ROUNDS):
        effects, model = _with_effects(task, effects, errors)
        before, errors = errors, _with_errors(task, effects, model)
        if max(abs(errors.group - before.group), abs(errors.call - before.call)) < _SETTLED:
            break
    return effects, task.model(effects, errors)


def _with_effects(task: _Task, effects: Array, errors: Errors) -> tuple[Array, Probit]:
    """Return effects on opinions that give scores the least-squares effects ``target``, by quasi-Newton steps."""
    model = task.model(effects, errors)
    for _ in range(_STEPS if len(task.target) else 0):
        opinions, number = binned(task.movers.opinions(effects), task.movers.loads, _FINE)
        expected = model.expected_score(opinions)[number]
        implied = task.inverse @ (2 * expected - 1 if task.pairs else expected)
        step = (task.target - implied) / max(model.slope() * (2 if task.pairs else 1), 1e-6)
        effects = effects + np.clip(step, -1.0, 1.0)
        model = task.model(effects, errors)
        if np.abs(step).max() < 1e-4:
            break
    return effects, model


def _with_errors(task: _Task, effects: Array, model: Probit) -> Errors:
    """Return the errors that give scores the judge's noise, between repeats, orders and groups."""
    figures, half = task.profile.repeatability, 2 if task.pairs else 1
    call = order = group = 0.0
    square = model.mean_square()
    if (noise := figures.noise.value) is not None and task.table.kind == "ranks":
        call = _root(lambda share: task.lists.rank_noise(_with_call(model, share), effects) - noise**2)
    elif noise is not None:
        call = _root(lambda share: square - model.shared_square(share) - noise**2 / half)
    if (moved := figures.order_noise.value) is not None:
        gap = _root(lambda share: _between_orders(task, effects, model, share) - moved**2)
        order = max(gap - call, 0.0)
    if task.table.kind == "scores" and (between := figures.between_groups.value):
        tally = opinion_tally(task.movers, effects)
        group = _root(lambda share: covariance_in_groups(model, tally, share) - between**2)
    return model.errors.within(group=min(group, 1 - call - order), order=order, call=call)


def _with_call(model: Probit, share: float) -> Probit:
    return replace(model, errors=model.errors.within(group=0.0, order=0.0, call=share))


def _root(rising: Callable[[float], float]) -> float:
    """Return where a function that rises with a share from 0 to 1 is 0, or the nearer end."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def _between_orders(task: _Task, effects: Array, model: Probit, share: float) -> float:
    """Return the variance of a score between orders if a variance ``share`` of opinions is drawn anew for each.

    A pair's two orders are compared from the view of one candidate, which is shown first in one of them.
    """
    if not task.pairs:
        return model.mean_square() - model.shared_square(share)
    nodes, weights = normal_nodes()
    shift = -task.movers.effect(effects, "slope")
    alone = task.movers.opinions(effects) - shift
    opinions = binned(alone, np.zeros(len(alone)), _MANY)[0]
    means, parts = opinions.means, opinions.weights
    known, sd = sqrt(1 - share) * nodes, sqrt(share)
    there = model.expected(means[:, None] + known + shift, sd)
    back = 1 - model.expected(-means[:, None] - known + shift, sd)
    lost = 1 - 2 * model.expected(shift - means, 1.0) + model.expected(shift - means, 1.0, power=2)
    square = model.expected(means + shift, 1.0, power=2) + lost
    gap = parts @ ((there - back) @ weights)
    return float(parts @ (square - 2 * (there * back) @ weights) - gap**2)
