"""What a group becomes for an engine: finite numbers, None, and never one row's failure in another row's advantage."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.trainers import no_signal
from calipers.types import GroupResult, TrajectoryResult

REWARDS = st.lists(st.none() | st.floats(0, 1), max_size=16)


def result_of(rewards: list[float | None]) -> GroupResult:
    rows = tuple(
        TrajectoryResult(str(place), "failed" if reward is None else "scored", reward, reason="no answer came")
        for place, reward in enumerate(rewards, start=1)
    )
    return GroupResult("g", "partial", rows)


@given(REWARDS)
def test_rows_are_the_rewards_as_they_are(rewards: list[float | None]):
    assert no_signal.rows(result_of(rewards)) == rewards


@given(REWARDS)
def test_a_whole_group_is_all_of_it_or_nothing(rewards: list[float | None]):
    assert no_signal.whole(result_of(rewards)) == ([None] * len(rewards) if None in rewards else rewards)


@given(REWARDS, st.floats(-1, 1))
def test_a_constant_group_has_no_advantage_whatever_was_scored(rewards: list[float | None], value: float):
    given_out = no_signal.constant(result_of(rewards), value=value)
    if None in rewards:
        assert len(given_out) == len(rewards)
        assert {one.hex() for one in given_out} == {value.hex()}  # bit for bit: some engines divide by a tiny deviation
    else:
        assert given_out == rewards


@given(REWARDS)
def test_an_imputed_row_is_the_mean_of_the_scored(rewards: list[float | None]):
    given_out = no_signal.imputed(result_of(rewards))
    known = [reward for reward in rewards if reward is not None]
    for before, after in zip(rewards, given_out, strict=True):
        assert after == (before if before is not None else sum(known) / len(known) if known else 0.5) or math.isclose(
            after, sum(known) / len(known)
        )


def test_imputing_inflates_the_siblings_as_its_docstring_says():
    rewards: list[float | None] = [0.1, 0.9, 0.4, 0.3, 0.8, 0.2, 0.6, None]
    scored = [reward for reward in rewards if reward is not None]
    filled = no_signal.imputed(result_of(rewards))

    def deviation(values: list[float], less: int) -> float:
        mean = sum(values) / len(values)
        return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - less))

    assert deviation(scored, 1) / deviation(filled, 1) == pytest.approx(1.080, abs=0.001)  # TRL, verl
    assert deviation(scored, 0) / deviation(filled, 0) == pytest.approx(1.069, abs=0.001)  # ART


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_finite_number_is_no_signal(bad: float):
    result = result_of([0.2, bad])
    assert no_signal.rows(result) == [0.2, None]
    assert no_signal.whole(result) == [None, None]
    assert no_signal.constant(result) == [0.5, 0.5]
    assert no_signal.imputed(result) == [0.2, 0.2]
    assert [one.id for one in no_signal.unscored(result.trajectories)] == ["2"]


def test_reasons_are_told_once_each():
    assert no_signal.why(result_of([None, 0.5, None]).trajectories) == "1, 3 failed: no answer came"
    assert no_signal.why(result_of([0.5]).trajectories) == ""
