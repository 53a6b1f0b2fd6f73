"""Two rewards put together; half of one is none."""

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


@given(st.lists(st.tuples(ONE, ONE), max_size=8), st.sampled_from(["sum", "weighted", "lexicographic"]))
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
