"""Clusters of near ties: every two of one are near, and nothing else depends on anything but the scores."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.rewards.identity import Identity
from calipers.rewards.length import LengthControl
from calipers.rewards.near_ties import near_tied_clusters
from calipers.rewards.rank import Rank
from calipers.rewards.ties import Ties
from calipers.types import Scores
from viewed import view_of

LADDER = tuple(round(0.90 - 0.08 * step, 2) for step in range(6))
"""Each a standard error of its difference from the next, and the ends 4.7 of them apart."""

members = st.tuples(
    st.none() | st.floats(0, 1) | st.integers(0, 20).map(lambda step: step / 20),
    st.none() | st.just(0.0) | st.floats(0, 0.3) | st.sampled_from([0.05, 0.06]),
)
groups = st.lists(members, min_size=2, max_size=16)


def scores_of(group: list[tuple[float | None, float | None]]) -> Scores:
    return Scores(tuple(value for value, _ in group), tuple(None if v is None else error for v, error in group))


def bound(scores: Scores, one: int, other: int, within: float) -> float:
    first, second = scores.stderrs[one], scores.stderrs[other]
    return within * math.hypot(first, second) if first and second else 0.0


def apart(scores: Scores, within: float) -> list[tuple[int, int]]:
    """Pairs, the better first, whose difference is beyond the bound."""
    found = []
    for one, other in itertools.permutations(range(len(scores.values)), 2):
        better, worse = scores.values[one], scores.values[other]
        if better is None or worse is None:
            continue
        if better - worse > bound(scores, one, other, within) * (1 + 1e-9):
            found.append((one, other))
    return found


def test_a_ladder_of_scores_is_not_one_cluster():
    clusters = near_tied_clusters(Scores(LADDER, (0.06,) * 6), within=1.0)
    assert clusters == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize("made", [Ties(Identity(), 1.0), LengthControl(Identity(), 0.6), Ties(Rank(), 1.0)])
def test_the_ends_of_a_ladder_keep_their_order(made: Ties | LengthControl):
    lengths = view_of(*("x" * length for length in (60, 50, 40, 30, 20, 10)))
    rewards = made(Scores(LADDER, (0.06,) * 6), lengths)
    assert rewards[0] is not None
    assert rewards[5] is not None
    assert all((rewards[one] or 0) > (rewards[one + 2] or 0) for one in range(4))


@given(groups, st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0]))
def test_every_two_of_a_cluster_are_near(group: list[tuple[float | None, float | None]], within: float):
    scores = scores_of(group)
    place = {
        item: number for number, cluster in enumerate(near_tied_clusters(scores, within=within)) for item in cluster
    }
    assert set(place) == {item for item, value in enumerate(scores.values) if value is not None}
    assert all(place[better] < place[worse] for better, worse in apart(scores, within))


@given(groups, st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0]), st.data())
def test_the_order_of_the_candidates_changes_no_cluster(
    group: list[tuple[float | None, float | None]], within: float, data: st.DataObject
):
    order = data.draw(st.permutations(range(len(group))))
    here = near_tied_clusters(scores_of(group), within=within)
    there = near_tied_clusters(scores_of([group[item] for item in order]), within=within)
    assert [set(cluster) for cluster in here] == [{order[place] for place in cluster} for cluster in there]


@given(groups)
def test_equal_scores_are_together_and_clusters_do_not_overlap(group: list[tuple[float | None, float | None]]):
    scores = scores_of(group)
    clusters = [[scores.values[item] or 0.0 for item in cluster] for cluster in near_tied_clusters(scores, within=1.0)]
    spans = [(min(values), max(values)) for values in clusters]
    assert all(lower[1] < upper[0] for upper, lower in itertools.pairwise(spans))


@given(groups, st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0, 1), st.data())
def test_no_pair_beyond_the_bound_is_made_equal_or_changes_order(
    group: list[tuple[float | None, float | None]], within: float, strength: float, data: st.DataObject
):
    scores = scores_of(group)
    lengths = data.draw(st.lists(st.integers(1, 40), min_size=len(group), max_size=len(group)))
    view = view_of(*("x" * length for length in lengths))
    for inner in (Identity(), Identity((-1.0, 3.0)), Rank()):
        plain = inner(scores, view)
        swallowed = len(set(plain)) < len(set(scores.values))  # floats made two scores one before
        for made in (
            Ties(inner, within),
            LengthControl(inner, strength, within),
            Ties(LengthControl(inner, strength, within), within),
        ):
            rewards = made(scores, view)
            assert [reward is None for reward in rewards] == [value is None for value in scores.values]
            for better, worse in apart(scores, within):
                above, below = rewards[better] or 0.0, rewards[worse] or 0.0
                assert above > below or (swallowed and above == below)
