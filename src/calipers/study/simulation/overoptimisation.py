"""Overoptimisation: true quality against the distance from the first policy, by three forms held against each other.

With d = √KL, Gao et al. 2022 (arXiv:2210.10760) found d (α - β d) for best-of-n and d (α - β log d) for reinforcement
learning; the null is a straight line, α d. A form with more parameters fits better wherever it is fitted, so forms are
compared by their error on runs that they were not fitted on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from calipers.study.intervals import Estimate, estimate, paired_difference
from calipers.study.simulation.arrays import Array

Form: TypeAlias = Literal["best_of_n", "reinforcement", "linear"]
FORMS: Final[tuple[Form, ...]] = ("best_of_n", "reinforcement", "linear")


@dataclass(frozen=True, slots=True)
class Fit:
    """A form fitted to all runs of an arm, and its squared error on runs that it was not fitted on.

    ``beta`` is None for the straight line. ``held_out`` is the mean squared error over runs, each predicted from the
    others; ``less_linear`` is its paired difference from the straight line's.
    """

    form: Form
    alpha: float
    beta: float | None
    held_out: Estimate
    less_linear: Estimate


def fit_forms(gain: Array, kl: Array) -> list[Fit]:
    """Return the fit of each form to the ``gain`` in true quality of an arm's runs, both arrays (runs, points).

    Points with KL 0 say nothing and are left out. Raises ValueError with fewer than two runs.
    """
    if len(gain) < 2:
        raise ValueError("held-out errors need at least two runs")
    errors = {form: _held_out_errors(form, gain, kl) for form in FORMS}
    found = []
    for form in FORMS:
        alpha, *beta = _coefficients(form, gain, kl).tolist()
        difference = paired_difference(errors[form], errors["linear"])
        found.append(Fit(form, alpha, -beta[0] if beta else None, estimate(errors[form]), difference))
    return found


def predict(form: Form, kl: Array, alpha: float, beta: float | None) -> Array:
    """Return the gain in true quality that a form of overoptimisation predicts at a divergence; 0 at 0."""
    terms = _terms(form, kl)
    return np.asarray(alpha * terms[0] - (beta or 0.0) * (terms[1] if len(terms) > 1 else 0.0))


def _terms(form: Form, kl: Array) -> Array:
    d = np.sqrt(kl)
    match form:
        case "best_of_n":
            return np.stack([d, d**2])
        case "reinforcement":
            return np.stack([d, d * np.log(np.where(d > 0, d, 1.0))])
    return d[None]


def _coefficients(form: Form, gain: Array, kl: Array) -> Array:
    """Return the least-squares coefficients of a form's terms, over all points of all runs."""
    terms = _terms(form, kl).reshape(-1, gain.size)
    normal = (terms[:, None] * terms[None]).sum(axis=-1)
    return np.asarray(np.linalg.pinv(normal) @ (terms * gain.reshape(-1)).sum(axis=-1))


def _held_out_errors(form: Form, gain: Array, kl: Array) -> list[float]:
    found = []
    for run in range(len(gain)):
        others = np.arange(len(gain)) != run
        terms = _terms(form, kl[run])
        predicted = (_coefficients(form, gain[others], kl[others])[:, None] * terms).sum(axis=0)
        moved = kl[run] > 0
        found.append(float(((gain[run] - predicted)[moved] ** 2).mean()) if moved.any() else 0.0)
    return found
