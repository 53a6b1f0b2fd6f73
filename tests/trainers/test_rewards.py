"""What a group becomes for an engine: finite numbers, None, and never one row's failure in another row's advantage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.trainers import rewards as no_signal
from calipers.types import GroupResult, TrajectoryResult

REWARDS = st.lists(st.none() | st.floats(0, 1), max_size=16)


def differing(rewards: list[float | None]) -> bool:
    known = [reward for reward in rewards if reward is not None]
    return len(known) < 2 or max(known) - min(known) > 1e-9


UNEQUAL = REWARDS.filter(differing)


def result_of(rewards: list[float | None]) -> GroupResult:
    rows = tuple(
        TrajectoryResult(str(place), "failed" if reward is None else "scored", reward, reason="no answer came")
        for place, reward in enumerate(rewards, start=1)
    )
    return GroupResult("g", "partial", rows)


@given(UNEQUAL)
def test_a_whole_group_is_all_of_it_or_nothing(rewards: list[float | None]):
    assert no_signal.rewards_or_none(result_of(rewards)) == ([None] * len(rewards) if None in rewards else rewards)


@given(UNEQUAL)
def test_a_constant_group_has_no_advantage_whatever_was_scored(rewards: list[float | None]):
    given_out = no_signal.rewards_or_constant(result_of(rewards))
    if None in rewards:
        assert len(given_out) == len(rewards)
        assert {one.hex() for one in given_out} == {
            no_signal.NEUTRAL.hex()
        }  # bit for bit: some engines divide by a tiny deviation
    else:
        assert given_out == rewards


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_finite_number_is_no_signal(bad: float):
    result = result_of([0.2, bad])
    assert no_signal.trajectory_rewards(result) == [0.2, None]
    assert no_signal.rewards_or_none(result) == [None, None]
    assert no_signal.rewards_or_constant(result) == [0.5, 0.5]
    assert [one.id for one in no_signal.unscored_trajectories(result.trajectories)] == ["2"]


def advantages(rewards: list[float], epsilon: float) -> list[float]:
    """As engines compute them: in single precision, the sample's deviation plus a little in the divisor."""
    values = np.array(rewards, dtype=np.float32)
    centred = values - np.float32(sum(values, np.float32(0)) / np.float32(len(values)))
    deviation = np.sqrt(np.sum(centred * centred, dtype=np.float32) / np.float32(len(values) - 1), dtype=np.float32)
    return [float(one) for one in centred / (deviation + np.float32(epsilon))]


@given(st.floats(-100, 100, allow_subnormal=False), st.integers(2, 256))
def test_equal_rewards_reach_engines_as_numbers_that_have_no_advantage_there(reward: float, count: int):
    given_out = no_signal.rewards_or_constant(result_of([reward] * count))
    assert {one.hex() for one in given_out} == {given_out[0].hex()}
    assert given_out[0] == pytest.approx(reward, rel=2**-16)
    assert set(advantages(given_out, 1e-9)) == {0.0}
    assert max(map(abs, advantages([0.97] * 8, 1e-6))) > 0.1, "what would happen otherwise"


@given(st.integers(0, 100), st.integers(1, 100))
def test_a_tie_of_some_stays_as_it_is(low: int, step: int):
    rewards: list[float | None] = [low / 100, low / 100, (low + step) / 100]
    assert no_signal.trajectory_rewards(result_of(rewards)) == rewards
