"""What a simulation's curves say: figures of each arm, and its paired differences from another arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from calipers.study.intervals import Estimate, estimate, paired_difference
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.audit import DRIFTS
from calipers.study.simulation.overoptimisation import Fit, fit_forms
from calipers.study.simulation.runs import Curves
from calipers.study.simulation.settings import Arm

_LAST: Final = ("truth", "length", "format", "flattery", "injection", "confidence", "confident_error", "kl")
_FIRST: Final = ("somers_d", "no_spread", *(f"drift_{name}" for name in DRIFTS))
FIGURES: Final = ("truth", "truth_area", "after_peak", *_LAST[1:], "failed", *_FIRST)
"""The figures of an arm.

``truth_area`` is the mean of the true quality over all points of the curve, ``after_peak`` its last value less its
highest, ``failed`` the mean share of missing scores. ``somers_d``, ``no_spread`` and the drifts are those of the first
step; the others are last values.
"""


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """An arm's figures by name, and their paired differences from the arm ``against`` ({} without one).

    A figure that some run could not show is omitted. ``overoptimisation`` has the fitted forms; it is empty with fewer
    than two runs.
    """

    name: str
    against: str
    figures: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]
    overoptimisation: tuple[Fit, ...]

    @property
    def runs(self) -> int:
        """The number of runs of the arm."""
        return self.figures["truth"].n


def summarise(arms: Mapping[str, tuple[Arm, Curves]]) -> list[ArmSummary]:
    """Return the figures of a simulation's arms, in their order."""
    values = {name: figures_of_runs(curves) for name, (_, curves) in arms.items()}
    found = []
    for name, (arm, curves) in arms.items():
        truth, kl = curves.by_name["truth"], curves.by_name["kl"]
        control = values[arm.against] if arm.against else {}
        found.append(
            ArmSummary(
                name,
                arm.against,
                {key: estimate(runs.tolist()) for key, runs in values[name].items()},
                {
                    key: paired_difference(runs.tolist(), control[key].tolist())
                    for key, runs in values[name].items()
                    if key in control
                },
                tuple(fit_forms(truth - truth[:, :1], kl)) if len(truth) > 1 else (),
            )
        )
    return found


def figures_of_runs(curves: Curves) -> dict[str, Array]:
    """Return the figures of each run of an arm, by name, with the shape (runs,)."""
    truth = curves.by_name["truth"]
    found: dict[str, Array] = {name: curves.by_name[name][:, -1] for name in _LAST}
    found |= {name: curves.by_name[name][:, 0] for name in _FIRST}
    found["truth_area"] = np.asarray(truth.mean(axis=1))
    found["after_peak"] = np.asarray(truth[:, -1] - truth.max(axis=1))
    # The last point is after the last step, so that nothing was judged there.
    found["failed"] = np.asarray(curves.by_name["failed"][:, :-1].mean(axis=1))
    return {name: found[name] for name in FIGURES if not np.isnan(found[name]).any()}
