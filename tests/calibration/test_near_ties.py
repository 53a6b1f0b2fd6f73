"""What near ties cost: fidelity where scores are signal, next to nothing where they are noise, None where unknown."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.aggregators.noise import Noise
from calipers.calibration.near_ties import near_tie_figures
from calipers.calibration.repeats import Learned, learn_noise


def drawn(noise: float, *, groups: int = 150, members: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Calls (groups, 3, members) of a judge with this noise, and gold."""
    dice = np.random.default_rng(0)
    gold = dice.normal(size=(groups, members))
    return gold[:, None, :] + noise * dice.normal(size=(groups, 3, members)), gold


@pytest.mark.parametrize("shared", [False, True])
def test_ties_cost_a_judge_whose_scores_are_mostly_signal(shared: bool):  # noqa: FBT001 - a parameter
    calls, gold = drawn(0.5)
    found = near_tie_figures(calls, gold, learn_noise(calls, shared=shared), shared=shared)
    assert found is not None
    assert found.interval is not None
    assert 0 < found.interval[0] < found.cost < found.interval[1] < 0.05
    assert found.groups == len(gold)


def test_a_judge_that_never_repeats_or_never_differs_has_no_figure():
    calls, gold = drawn(0.5)
    assert near_tie_figures(calls[:, :1], gold, learn_noise(calls[:, :1], shared=False), shared=False) is None
    assert near_tie_figures(calls, gold, Learned(Noise(0.0, 1.0), 1.0), shared=False) is None
    assert near_tie_figures(calls, np.full_like(gold, np.nan), Learned(Noise(0.1, 1.0), 1.0), shared=False) is None


def test_missing_scores_stay_missing_and_the_rest_of_the_group_counts():
    calls, gold = drawn(0.5, groups=40)
    calls[:, :, 0] = np.nan
    found = near_tie_figures(calls, gold, Learned(Noise(0.25, 10.0), 1.0), shared=True)
    without = near_tie_figures(calls[:, :, 1:], gold[:, 1:], Learned(Noise(0.25, 10.0), 1.0), shared=True)
    assert found == without
