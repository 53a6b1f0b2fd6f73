"""Advantages of known groups, with and without missing rewards."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.study.simulation.advantages import advantages

NONE = float("nan")


def of_group(*rewards: float, scale: str = "group", epsilon: float = 0.0) -> list[float]:
    found = advantages(np.array([[rewards]]), scale=scale, epsilon=epsilon)  # type: ignore[arg-type]
    return [float(one) for one in found[0, 0]]


def test_rewards_are_centred_and_divided_by_the_standard_deviation() -> None:
    deviation = statistics.stdev([0.0, 1.0, 5.0])
    assert of_group(0.0, 1.0, 5.0) == pytest.approx([-2 / deviation, -1 / deviation, 3 / deviation])
    assert of_group(0.0, 1.0, 5.0, epsilon=0.5) == pytest.approx([one / (deviation + 0.5) for one in (-2, -1, 3)])
    assert of_group(0.0, 1.0, 5.0, scale="none") == [-2.0, -1.0, 3.0]


def test_a_missing_reward_changes_neither_mean_nor_deviation() -> None:
    assert of_group(0.0, NONE, 1.0, 5.0) == pytest.approx(
        [*of_group(0.0, 1.0, 5.0)[:1], 0.0, *of_group(0.0, 1.0, 5.0)[1:]]
    )
    assert of_group(NONE, 3.0, NONE) == [0.0, 0.0, 0.0]
    assert of_group(NONE, NONE) == [0.0, 0.0]


@given(st.floats(-1e6, 1e6), st.integers(2, 9))
def test_equal_rewards_have_no_advantage_whatever_they_are(value: float, size: int) -> None:
    assert of_group(*[value] * size, epsilon=1e-6) == [0.0] * size


def test_the_batch_deviation_is_that_of_all_known_rewards_of_a_run() -> None:
    rewards = np.array([[[0.0, 1.0], [2.0, NONE]], [[1.0, 1.5], [0.0, 3.0]]])
    found = advantages(rewards, scale="batch", epsilon=0.0)
    first = statistics.stdev([0.0, 1.0, 2.0])
    second = statistics.stdev([1.0, 1.5, 0.0, 3.0])
    assert found[0].tolist() == [pytest.approx([-0.5 / first, 0.5 / first]), [0.0, 0.0]]
    assert found[1].tolist() == [
        pytest.approx([-0.25 / second, 0.25 / second]),
        pytest.approx([-1.5 / second, 1.5 / second]),
    ]
