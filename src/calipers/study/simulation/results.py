"""The result file of a simulation: settings, curves of every run, and the summary, as one JSON object.

Its keys are a contract; ``format`` changes with them. Numbers have six significant digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from calipers._version import __version__
from calipers.study.intervals import Estimate
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.configuration import settings_as_tables
from calipers.study.simulation.overoptimisation import Fit
from calipers.study.simulation.runs import Curves
from calipers.study.simulation.settings import Arm, Simulation
from calipers.study.simulation.summary import ArmSummary

FORMAT: Final = "calipers-simulation/1"


def result_object(
    simulation: Simulation, arms: Mapping[str, tuple[Arm, Curves]], summaries: Sequence[ArmSummary]
) -> dict[str, Any]:
    """Return a simulation's result file as an object that JSON can hold."""
    return {
        "format": FORMAT,
        "calipers": __version__,
        "title": simulation.title,
        "steps": simulation.steps,
        "seeds": list(range(simulation.seeds)),
        "arms": [
            {
                "name": name,
                "against": arm.against or None,
                "settings": settings_as_tables(arm),
                "curves": {"step": list(curves.steps), **{key: _rows(rows) for key, rows in curves.by_name.items()}},
                "figures": _estimates(summary.figures),
                "differences": _estimates(summary.differences),
                "overoptimisation": [_fit(one) for one in summary.overoptimisation],
            }
            for (name, (arm, curves)), summary in zip(arms.items(), summaries, strict=True)
        ],
    }


def _rows(rows: Array) -> list[list[float | None]]:
    """Return a curve of every run; None where it was not measured."""
    return [[rounded(one) for one in row] for row in rows.tolist()]


def rounded(value: float) -> float | None:
    """Return a number of a result file with six significant digits; None for one that is not known."""
    return float(f"{value:.6g}") if value == value else None  # noqa: PLR0124 - NaN is not equal to itself


def _estimates(found: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: _rounded_values(asdict(one)) for name, one in found.items()}


def _fit(fit: Fit) -> dict[str, Any]:
    """Return a form fitted to an arm's runs, as the result file has it."""
    errors = {
        "held_out": _rounded_values(asdict(fit.held_out)),
        "less_linear": _rounded_values(asdict(fit.less_linear)),
    }
    return {"form": fit.form, **_rounded_values({"alpha": fit.alpha, "beta": fit.beta}), **errors}


def _rounded_values(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: rounded(value) if isinstance(value, float) else value for key, value in found.items()}
