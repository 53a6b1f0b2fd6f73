"""An ordinal probit model of one judge's scores: opinions are normal, and thresholds divide them into levels.

An opinion is s * (mean + z * load + candidate's error) + group's error + order's error + call's error. The mean is what
quality and preferences add. Groups differ twice: s is a factor with the mean 1, because a judge sees more difference in
some groups than in others, and z is normal with the mean 0, because quality counts more in some groups than in others
(random slopes; ``load`` is quality less its mean). The errors are normal, and their variances sum to 1. Thresholds are
such that every level has its observed share. (McKelvey & Zavoina, *J. Math. Sociol.* 4, 1975; for s = 1 and z = 0, the
correlation of two such scores is Pearson's polychoric correlation.) Pure arithmetic: not responsible for which figures
the model is fitted to (``latent``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, sqrt

import numpy as np

from calipers.calibration.arrays import Array

_FINE, _USUAL, _COARSE = 361, 121, 61
_FEW_LEVELS = 12
_KINDS = 7
_LEAST_SD = 1e-6


@dataclass(frozen=True, slots=True)
class Errors:
    """The variances of errors of opinions, which sum to 1, and how groups differ.

    ``log_spread`` is the standard deviation of the logarithm of s, and ``gain_sd`` that of z.
    """

    group: float = 0.0
    candidate: float = 1.0
    order: float = 0.0
    call: float = 0.0
    log_spread: float = 0.0
    gain_sd: float = 0.0

    def within(self, *, group: float, order: float, call: float) -> Errors:
        """Return a profile's errors with these variances; the candidate's error has the rest of 1."""
        rest = max(1 - group - order - call, 0.0) / exp(self.log_spread**2)
        return replace(self, group=group, candidate=rest, order=order, call=call)

    @property
    def kinds(self) -> tuple[Array, Array, Array]:
        """Values of s and z that stand for all kinds of groups of a profile, and their weights."""
        return _kinds_of_groups(self.log_spread, self.gain_sd)


@dataclass(frozen=True, slots=True)
class Opinions:
    """Expected opinions of a profile's judge: their ``means``, how far groups move them (``loads``), ``weights``."""

    means: Array
    loads: Array
    weights: Array


@dataclass(frozen=True, slots=True)
class Probit:
    """Scores of a judge with rising ``levels``, separated by rising ``thresholds``, in number one less."""

    levels: Array
    thresholds: Array
    opinions: Opinions
    errors: Errors

    @property
    def total(self) -> Array:
        """The variance of an opinion about its centre, for each kind of group."""
        factor = self.errors.kinds[0]
        return np.asarray(self.errors.group + factor**2 * self.errors.candidate + self.errors.order + self.errors.call)

    def centres(self, opinions: Opinions | None = None) -> Array:
        """Return the centres of opinions in a profile, (opinions, kinds of groups)."""
        held = self.opinions if opinions is None else opinions
        factor, slope, _ = self.errors.kinds
        return np.asarray((held.means[:, None] + held.loads[:, None] * slope) * factor)

    def expected(self, centre: Array, sd: Array | float, *, power: int = 1) -> Array:
        """Return the expected score (to a ``power``) of opinions N(``centre``, ``sd``²) in a profile."""
        return np.asarray(self.levels[0] ** power + self._above(centre, sd) @ np.diff(self.levels**power))

    def expected_score(self, opinions: Opinions) -> Array:
        """Return the expected score in a profile for each of ``opinions``, over everything else."""
        return np.asarray(self.expected(self.centres(opinions), np.sqrt(self.total)) @ self.errors.kinds[2])

    def mean_square(self) -> float:
        """Return the mean squared score of a profile."""
        square = self.expected(self.centres(), np.sqrt(self.total), power=2) @ self.errors.kinds[2]
        return float(self.opinions.weights @ square)

    def shared_square(self, fresh: float) -> float:
        """Return the mean product of two scores in a profile that share all errors but of a variance ``fresh``."""
        given = self.given(np.maximum(self.total - fresh, 0.0), fresh)
        return float(self.opinions.weights @ (given**2 @ self.nodes[1]) @ self.errors.kinds[2])

    def given(self, shared: Array | float, fresh: Array | float) -> Array:
        """Return the expected score in a profile where an error is known, (opinions, kinds of groups, nodes).

        Variances ``shared`` are of the known error, ``fresh`` of the rest.
        """
        return self.expected(*self._known(shared, fresh))

    @property
    def nodes(self) -> tuple[Array, Array]:
        """Values of a known error in a profile, and their weights.

        Many are needed where scores have few steps, and few where kinds of groups are many.
        """
        several = len(self.errors.kinds[2]) > 1
        return normal_nodes(_COARSE if several else _FINE if len(self.levels) <= _FEW_LEVELS else _USUAL)

    def slope(self) -> float:
        """Return what a small shift of all opinions adds to the mean score of a profile, for each unit."""
        step, held = 1e-3, self.opinions
        up, down = (held.weights @ self.expected_score(replace(held, means=held.means + by)) for by in (step, -step))
        return float(up - down) / (2 * step)

    def _known(self, shared: Array | float, fresh: Array | float) -> tuple[Array, Array]:
        kinds = len(self.errors.kinds[2])
        known = np.broadcast_to(np.sqrt(shared), kinds)[:, None] * self.nodes[0]
        return self.centres()[:, :, None] + known, np.broadcast_to(np.sqrt(fresh), kinds)[:, None]

    def _above(self, centre: Array, sd: Array | float) -> Array:
        """Return the probability that an opinion exceeds each threshold, in a last axis."""
        width = np.maximum(np.broadcast_to(sd, centre.shape), _LEAST_SD)
        distance = centre[..., None] - self.thresholds
        distance /= width[..., None]
        return normal_cdf(distance)


def with_shares(levels: Array, shares: Array, opinions: Opinions, errors: Errors) -> Probit:
    """Return a profile's model in which every level has its share."""
    wanted = np.cumsum(shares)[:-1] / shares.sum()
    model = Probit(levels, np.zeros(len(wanted)), opinions, errors)
    centre, sd, parts = model.centres()[..., None], np.sqrt(model.total)[:, None], errors.kinds[2]
    reach = 10.0 + float(np.abs(centre).max(initial=0.0))
    low, high = np.full(len(wanted), -reach), np.full(len(wanted), reach)
    for _ in range(36):
        middle = (low + high) / 2
        below = np.einsum("b,s,bst->t", opinions.weights, parts, normal_cdf((middle - centre) / sd))
        low, high = np.where(below < wanted, middle, low), np.where(below < wanted, high, middle)
    return replace(model, thresholds=np.maximum.accumulate((low + high) / 2))


def normal_cdf(x: Array) -> Array:
    """Return the standard normal distribution function of a profile's numbers, to 1e-7.

    Abramowitz & Stegun, *Handbook of Mathematical Functions*, 26.2.17.
    """
    # In place: a fit spends its time here, and would spend half of it on getting memory.
    found = np.abs(x)
    t = 1 / (1 + 0.2316419 * found)
    tail = t * 1.330274429
    for coefficient in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        tail += coefficient
        tail *= t
    found *= found
    found /= -2
    np.exp(found, out=found)
    found /= sqrt(2 * np.pi)
    found *= tail
    return np.asarray(np.subtract(1, found, out=found, where=x > 0))


@lru_cache(maxsize=4)
def normal_nodes(count: int = _FINE) -> tuple[Array, Array]:
    """Return nodes and weights for a profile's expectations under a standard normal.

    They are evenly spaced, because scores on few levels have steps that Gauss's rules would miss.
    """
    nodes = np.linspace(-6.0, 6.0, count)
    weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


@lru_cache(maxsize=64)
def _kinds_of_groups(log_spread: float, gain_sd: float) -> tuple[Array, Array, Array]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(_KINDS)
    none, all_of_it = np.zeros(1), np.ones(1)
    spreads, parts = (nodes, weights / weights.sum()) if log_spread > 0 else (none, all_of_it)
    slopes, shares = (nodes, weights / weights.sum()) if gain_sd > 0 else (none, all_of_it)
    factor = np.exp(log_spread * spreads - log_spread**2 / 2)
    return np.repeat(factor, len(slopes)), np.tile(gain_sd * slopes, len(factor)), np.outer(parts, shares).ravel()
