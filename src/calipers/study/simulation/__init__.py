"""Tier 1 of the study: GRPO simulated in seconds, on a policy whose gradients are known.

What it shows is what the arithmetic of GRPO makes of a judge's scores. It knows nothing of language.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calipers.study.simulation.configuration import read_simulation, scenario_names, scenario_text
from calipers.study.simulation.results import result_object
from calipers.study.simulation.runs import run_arm
from calipers.study.simulation.settings import Simulation
from calipers.study.simulation.summary import ArmSummary, summarise
from calipers.study.simulation.template import settings_text

__all__ = ["read_simulation", "scenario_names", "scenario_text", "settings_text", "simulate"]


def simulate(
    simulation: Simulation, *, done: Callable[[int], object] = lambda _: None
) -> tuple[dict[str, Any], list[ArmSummary]]:
    """Run all arms of a simulation, and return its result file's object and the summary of each arm.

    ``done`` is called with the number of steps that were made since it was last called.
    """
    arms = {
        arm.name: (
            arm,
            run_arm(arm, seeds=range(simulation.seeds), steps=simulation.steps, every=simulation.every, done=done),
        )
        for arm in simulation.arms
    }
    summaries = summarise(arms)
    return result_object(simulation, arms, summaries), summaries
