"""Near ties: what is near, made exactly equal, and nothing else touched."""

from calipers.rewards.identity import Identity
from calipers.rewards.near_ties import near_tied_clusters
from calipers.rewards.ties import Ties
from calipers.types import Scores
from viewed import view_of

NEAR = Scores((0.50, 0.52, 0.90, None), (0.05, 0.05, 0.05, None))


def test_scores_within_their_errors_hang_together():
    assert near_tied_clusters(NEAR, within=1.0) == [[2], [1, 0]]
    assert near_tied_clusters(NEAR, within=0.1) == [[2], [1], [0]]


def test_without_errors_only_equals_are_near():
    assert near_tied_clusters(Scores((0.5, 0.5, 0.51), (None, None, None)), within=3.0) == [[2], [0, 1]]


def test_what_is_near_gets_one_reward_bit_for_bit():
    rewards = Ties(Identity(), 1.0)(NEAR, view_of("a", "b", "c", "d"))
    assert rewards[0] == rewards[1] == 0.51
    assert rewards[2:] == (0.9, None)
