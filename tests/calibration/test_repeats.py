"""Noise, honest errors, and stopping early, over simulated calls."""

import math

import numpy as np
import pytest

from calipers.calibration import repeats
from calipers.calibration.measures import Array

GENERATOR = np.random.default_rng(5)
TRUTH = GENERATOR.normal(size=(600, 1, 4))
CALLS = TRUTH + GENERATOR.normal(scale=0.6, size=(600, 8, 4))
LISTS = CALLS + GENERATOR.normal(scale=3.0, size=(600, 8, 1))
"""The same, with a level of its own for every list."""


@pytest.mark.parametrize("half", [2, 3, 4])
@pytest.mark.parametrize(("calls", "shared"), [(CALLS, False), (LISTS, True)], ids=["pointwise", "listwise"])
def test_standard_errors_are_honest_from_two_calls_on(calls: Array, half: int, *, shared: bool):
    assert repeats.stderr_ratio(calls[:, : 2 * half], shared=shared) == pytest.approx(1, abs=0.12)


def test_the_level_of_a_list_is_no_noise_and_what_is_not_shared_is():
    shared, alone = repeats.learn_noise(LISTS, shared=True), repeats.learn_noise(LISTS, shared=False)
    assert shared is not None
    assert alone is not None
    assert shared.noise.variance == pytest.approx(0.36, rel=0.05)
    assert alone.noise.variance > 5


def test_missing_scores_take_their_degrees_of_freedom_with_them():
    gaps = CALLS[:3].copy()
    gaps[0, 0, 0] = gaps[1, :, 2] = math.nan
    gaps[2] = math.nan
    assert repeats.squared_residuals(gaps, shared=False)[1].tolist() == [27, 21, 0]
    assert repeats.squared_residuals(gaps, shared=True)[1].tolist() == [20, 14, 0]


def test_below_two_calls_a_half_nothing_is_said():
    assert repeats.stderr_ratio(CALLS[:, :3], shared=False) is None
    assert repeats.learn_noise(CALLS[:, :1], shared=False) is None


def test_asking_until_settled_beats_as_many_calls_for_all():
    learned = repeats.learn_noise(CALLS[:300], shared=False)
    assert learned is not None
    rule = learned.rule(tolerance=0.02, budget=8)
    used, levels_reached = repeats.simulate_stopping(CALLS[300:], TRUTH[300:, 0], learned, rule, shared=False)
    calls = used.mean()
    assert 1 < calls < 6
    levels = [
        float(np.mean([_fidelity(np.roll(CALLS[300:], -start, axis=1)[:, :count].mean(axis=1)) for start in range(8)]))
        for count in range(1, 9)
    ]
    assert levels_reached.mean() > float(np.interp(calls, np.arange(1, 9), levels)) + 0.002


def _fidelity(scores: Array) -> float:
    return float(np.mean([np.corrcoef(one, true)[0, 1] for one, true in zip(scores, TRUTH[300:, 0], strict=True)]))


def test_gold_does_not_enter_the_rule():
    learned = repeats.learn_noise(CALLS, shared=False)
    assert learned is not None
    rule = learned.rule(tolerance=0.02, budget=8)
    one = repeats.simulate_stopping(CALLS[:40], TRUTH[:40, 0], learned, rule, shared=False)
    other = repeats.simulate_stopping(CALLS[:40], -TRUTH[:40, 0], learned, rule, shared=False)
    assert one[0].tolist() == other[0].tolist()
    assert one[1] == pytest.approx(-other[1])
