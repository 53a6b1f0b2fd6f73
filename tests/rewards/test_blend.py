"""Two rewards put together; half of one is none."""

import math
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from calipers.rewards.blend import Blend, blend_rewards

ONE = st.floats(0, 1).map(lambda one: round(one, 3)) | st.none()


def test_sums_and_weights():
    assert blend_rewards((0.5, 0.2), (1.0, 0.0), how="sum") == (1.5, 0.2)
    assert blend_rewards((0.5, 0.2), (1.0, 0.0), how="weighted", weight=0.25) == (0.875, 0.05)


def test_the_own_reward_decides_and_the_judge_among_equals():
    first, second, third = blend_rewards((0.1, 0.9, 1.0), (1.0, 1.0, 0.0), how="lexicographic")
    assert third is not None
    assert first is not None
    assert second is not None
    assert third < first < second < 1.5
    assert blend_rewards((0.1, 0.9), (1.0, 1.0), how="lexicographic") == (1.1, 1.9)
    assert blend_rewards((0.5, 0.5), (1.0, 0.0), how="lexicographic") == (1.0, 0.0)


@given(st.lists(st.tuples(ONE, ONE), max_size=8), st.sampled_from(["sum", "weighted", "lexicographic", "normalised"]))
def test_where_either_is_missing_there_is_none(pairs: list[tuple[float | None, float | None]], how: Blend):
    judged, own = [a for a, _ in pairs], [b for _, b in pairs]
    for one, (a, b) in zip(blend_rewards(judged, own, how=how), pairs, strict=True):
        assert (one is None) == (a is None or b is None)


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=8))
@example([(0.0, 0.0), (2.225073858507e-311, 0.5)])
def test_a_better_own_reward_is_never_passed(pairs: list[tuple[float, float]]):
    rewards = blend_rewards([a for a, _ in pairs], [b for _, b in pairs], how="lexicographic")
    for one, (_, mine) in zip(rewards, pairs, strict=True):
        for other, (_, yours) in zip(rewards, pairs, strict=True):
            assert one is not None
            assert other is not None
            assert mine <= yours or one > other


def test_the_lengths_must_agree():
    with pytest.raises(ValueError, match="zip"):
        blend_rewards((0.1,), (), how="sum")


def test_normalised_parts_have_the_same_share_in_every_group():
    wide, narrow = (0.0, 10.0, 20.0), (0.4, 0.5, 0.6)
    own = (1.0, 0.0, 0.5)
    found = blend_rewards(wide, own, how="normalised", weight=0.25)
    assert found == blend_rewards(narrow, own, how="normalised", weight=0.25)
    assert found == pytest.approx((0.25 * -1 + 0.75 * 1, 0.75 * -1, 0.25), abs=1e-9)


def test_a_part_without_spread_is_0_and_a_missing_one_stays_missing():
    assert blend_rewards((0.5, 0.5, 0.5), (1.0, 0.0, 0.5), how="normalised") == (0.5, -0.5, 0.0)
    assert blend_rewards((0.5, 0.5), (1.0, 1.0), how="normalised") == (0.0, 0.0)
    assert blend_rewards((0.9, None, 0.1, 0.3), (1.0, 0.0, None, 0.0), how="normalised") == pytest.approx(
        (2**-0.5, None, None, -(2**-0.5))
    )
    assert blend_rewards((0.9,), (1.0,), how="normalised") == (0.0,)
    assert blend_rewards((None,), (1.0,), how="normalised") == (None,)
    assert blend_rewards((), (), how="normalised") == ()


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), max_size=8), st.floats(0, 1))
def test_a_normalised_blend_is_never_nan(pairs: list[tuple[float, float]], weight: float):
    for one in blend_rewards([a for a, _ in pairs], [b for _, b in pairs], how="normalised", weight=weight):
        assert one is not None
        assert abs(one) < 4


HUGE = st.floats(-sys.float_info.max, sys.float_info.max)


@given(st.lists(st.tuples(ONE, HUGE), max_size=6), st.sampled_from(["sum", "weighted", "lexicographic", "normalised"]))
@example([(0.1, 1e160), (0.2, 2e160)], "normalised")
@example([(0.1, sys.float_info.max), (0.9, -sys.float_info.max)], "lexicographic")
def test_rewards_of_any_size_give_no_error_and_no_infinity(pairs: list[tuple[float | None, float]], how: Blend):
    found = blend_rewards([a for a, _ in pairs], [b for _, b in pairs], how=how)
    assert all(one is None or math.isfinite(one) for one in found)


def test_where_one_sum_is_too_large_the_whole_group_has_no_reward():
    most = sys.float_info.max
    assert blend_rewards((0.9, 0.1), (most, -most), how="lexicographic") == (None, None)
    assert blend_rewards((most, 0.0), (most, 1.0), how="sum") == (None, None)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e160, 1e200])
def test_a_normalised_blend_does_not_depend_on_the_unit_of_own_rewards(scale: float):
    found = blend_rewards((0.5, 0.5, 0.5), (-scale, 0.0, scale), how="normalised")
    assert found == (-0.5, 0.0, 0.5)


def test_rounding_errors_of_equal_own_rewards_are_no_signal():
    own = (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1, 0.6, 0.6)
    assert len(set(own)) > 1
    assert blend_rewards((0.5, 0.5, 0.5, 0.5), own, how="normalised") == (0.0,) * 4
