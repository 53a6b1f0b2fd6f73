"""Ranks: order kept, ties equal, None staying None."""

from hypothesis import given
from hypothesis import strategies as st

from calipers.interfaces import RewardTransform
from calipers.rewards.rank import Rank
from calipers.types import Scores
from viewed import view_of

VALUES = st.lists(st.floats(-5, 5).map(lambda one: round(one, 2)) | st.none(), min_size=1, max_size=8)


def rewarded(transform: RewardTransform, *values: float | None) -> tuple[float | None, ...]:
    return transform(Scores(values, (None,) * len(values)), view_of(*("x" * len(values))))


def test_ranks_are_spread_evenly_and_equals_share_the_middle():
    assert rewarded(Rank(), 0.1, 0.9, 0.5) == (0.0, 1.0, 0.5)
    assert rewarded(Rank(), 0.1, 0.9, 0.9) == (0.0, 0.75, 0.75)
    assert rewarded(Rank((-1.0, 1.0)), 0.1, None, 0.9) == (-1.0, None, 1.0)
    assert rewarded(Rank(), None, 0.3) == (None, 0.5)


@given(VALUES)
def test_order_is_kept_ties_are_bit_equal_and_nothing_leaves_the_range(
    values: list[float | None],
):
    rewards = rewarded(Rank(), *values)
    known = [(one, reward) for one, reward in zip(values, rewards, strict=True) if one is not None]
    assert all(reward is None for one, reward in zip(values, rewards, strict=True) if one is None)
    for one, reward in known:
        assert reward is not None
        assert 0 <= reward <= 1
        for other, another in known:
            assert another is not None
            assert (one - other) * (reward - another) >= 0
            assert one != other or reward == another
