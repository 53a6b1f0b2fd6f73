"""Figures of arms and their paired differences, from curves that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calipers.study.intervals import paired_difference
from calipers.study.simulation import simulate
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.configuration import simulation_from
from calipers.study.simulation.runs import Curves
from calipers.study.simulation.settings import Arm
from calipers.study.simulation.summary import FIGURES, figures_of_runs, summarise


def known_curves(truth: list[list[float]]) -> Curves:
    names = [name for name in FIGURES if name not in {"truth", "truth_area", "after_peak"}]
    rows: dict[str, Array] = {name: np.arange(6.0).reshape(2, 3) for name in names}
    return Curves((0, 1, 2), rows | {"truth": np.array(truth)})


def test_figures_are_last_first_and_mean_values() -> None:
    found = figures_of_runs(known_curves([[0.4, 0.9, 0.6], [0.4, 0.5, 0.6]]))
    assert tuple(found) == FIGURES
    assert found["truth"].tolist() == [0.6, 0.6]
    assert found["truth_area"].tolist() == pytest.approx([1.9 / 3, 0.5])
    assert found["after_peak"].tolist() == pytest.approx([-0.3, 0.0])
    assert found["length"].tolist() == [2.0, 5.0]
    assert found["drift_length"].tolist() == [0.0, 3.0]
    assert found["failed"].tolist() == [0.5, 3.5]


def test_a_figure_that_a_run_cannot_show_is_omitted_and_not_made_up() -> None:
    curves = known_curves([[0.4, 0.9, 0.6], [0.4, 0.5, 0.6]])
    curves.by_name["somers_d"][1, 0] = math.nan
    assert "somers_d" not in figures_of_runs(curves)


def test_differences_are_paired_by_seed() -> None:
    one, other = known_curves([[0.4, 0.5, 0.9], [0.4, 0.4, 0.4]]), known_curves([[0.4, 0.4, 0.8], [0.4, 0.4, 0.2]])
    control, arm = summarise({"a": (Arm("a"), other), "b": (Arm("b", against="a"), one)})
    assert control.differences == {}
    assert arm.differences["truth"] == paired_difference([0.9, 0.4], [0.8, 0.2])
    assert arm.runs == 2


def test_every_arm_is_in_the_result_with_its_settings_curves_and_fits() -> None:
    content = {
        "steps": 6,
        "seeds": 3,
        "every": 2,
        "grpo": {"groups": 8},
        "arms": [{"name": "a"}, {"name": "b", "against": "a", "judge": {"noise": 0.5}}],
    }
    result, summaries = simulate(simulation_from(content, source="test"))
    assert [one.name for one in summaries] == ["a", "b"]
    first, second = result["arms"]
    assert (first["against"], second["against"]) == (None, "a")
    assert second["settings"]["judge"]["noise"] == 0.5
    assert second["settings"]["grpo"]["groups"] == 8
    assert second["curves"]["step"] == [0, 2, 4, 6]
    assert {len(rows) for name, rows in second["curves"].items() if name != "step"} == {3}
    assert [fit["form"] for fit in second["overoptimisation"]] == ["best_of_n", "reinforcement", "linear"]
    assert second["differences"]["truth"]["n"] == 3
    assert set(second["figures"]) <= set(FIGURES)
