"""What a simulation's curves say: figures of each arm, and its paired differences from another arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from calipers.study.intervals import Estimate, estimate, paired_difference
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.runs import Curves
from calipers.study.simulation.settings import Arm

FINAL: Final = ("truth", "length", "format", "flattery", "injection", "confidence", "confident_error", "kl")
"""Curves whose last value is a figure."""


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """An arm's figures, and their paired differences from the arm ``against``, by name.

    ``truth_area`` is the mean of the true quality over all points of the curve; the others are last values.
    """

    name: str
    against: str
    figures: Mapping[str, Estimate]
    differences: Mapping[str, Estimate]


def summarise(arms: Mapping[str, tuple[Arm, Curves]]) -> list[ArmSummary]:
    """Return the figures of a simulation's arms, in their order."""
    values = {name: figures_of_runs(curves) for name, (_, curves) in arms.items()}
    return [
        ArmSummary(
            name,
            arm.against,
            {key: estimate(runs.tolist()) for key, runs in values[name].items()},
            {
                key: paired_difference(runs.tolist(), values[arm.against][key].tolist())
                for key, runs in values[name].items()
                if arm.against
            },
        )
        for name, (arm, _) in arms.items()
    ]


def figures_of_runs(curves: Curves) -> dict[str, Array]:
    """Return the figures of each run of an arm, by name, with the shape (runs,)."""
    found = {name: curves.by_name[name][:, -1] for name in FINAL}
    return {"truth_area": np.asarray(curves.by_name["truth"].mean(axis=1)), **found}
