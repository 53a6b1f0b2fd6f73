"""Length control: it decides only where the judge does not."""

import random
import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.rewards.identity import Identity
from calipers.rewards.length import LengthControl, policy_text_length, share_of_change
from calipers.rewards.near_ties import near_tied_clusters
from calipers.types import Candidate, Scores
from viewed import view_of


def test_of_two_the_judge_cannot_tell_apart_the_shorter_gets_more():
    near = Scores((0.50, 0.52, 0.90), (0.05, 0.05, 0.05))
    view = view_of("short", "much, much longer than that", "the longest of all, and the best by far")
    assert LengthControl(Identity(), 1.0)(near, view) == (0.52, 0.5, 0.9)
    half = LengthControl(Identity(), 0.5)(near, view)
    assert half[0] == half[1] == 0.51
    assert LengthControl(Identity(), 0.0)(near, view) == (0.5, 0.52, 0.9)


def test_exact_ties_stay_and_a_group_without_errors_is_left_alone():
    level = Scores((0.5, 0.5), (0.1, 0.1))
    assert LengthControl(Identity(), 1.0)(level, view_of("a", "aaaa")) == (0.5, 0.5)
    unknown = Scores((0.5, 0.51), (None, None))
    assert LengthControl(Identity(), 1.0)(unknown, view_of("a", "aaaa")) == (0.5, 0.51)


def test_only_what_the_policy_wrote_counts():
    shared = ({"role": "user", "content": "a long question"},)
    assert [policy_text_length(one, 1) for one in view_of("ab", "abcd", shared=shared).candidates] == [2, 4]
    messages = (
        {"role": "assistant", "content": [{"type": "text", "text": "abc"}, {"type": "image_url", "image_url": {}}]},
        {"role": "tool", "content": "the tool's own words"},
        {"role": "assistant", "content": None},
    )
    assert policy_text_length(Candidate((0,), messages, ()), 0) == 3


scores_ = st.lists(st.floats(0, 1).map(lambda one: round(one, 2)), min_size=2, max_size=7)


@given(scores_, st.floats(0, 1), st.randoms(use_true_random=False))
def test_nobody_passes_a_candidate_that_is_surely_better(values: list[float], strength: float, random: object):
    lengths = [random.randrange(1, 50) for _ in values]  # type: ignore[attr-defined]  # a Random
    scores = Scores(tuple(values), (0.05,) * len(values))
    rewards = LengthControl(Identity(), strength)(scores, view_of(*("x" * length for length in lengths)))
    chains = near_tied_clusters(scores, within=1.0)
    for better, worse in pairwise(chains):
        assert min(rewards[one] or 0.0 for one in better) >= max(rewards[one] or 0.0 for one in worse) - 1e-9


def test_the_size_of_rewards_changes_no_share():
    near = Scores((0.50, 0.52, 0.90), (0.05, 0.05, 0.05))
    view = view_of("a", "aaa", "aaaaa")
    usual = LengthControl(Identity(), 0.3)(near, view)
    assert usual != Identity()(near, view)
    for unit in (1e-200, 1e200):
        found = LengthControl(Identity((0.0, unit)), 0.3)(near, view)
        assert [one / unit for one in found if one is not None] == pytest.approx(usual)


def test_a_group_without_reliability_is_left_alone():
    noise = Scores((0.50, 0.52, 0.48), (0.05, 0.05, 0.05))
    assert LengthControl(Identity(), 1.0)(noise, view_of("aaa", "aa", "a")) == (0.50, 0.52, 0.48)


def test_as_a_group_converges_length_gets_no_more_than_its_share_of_the_variance():
    """Without the bound, of eight scores that are all near ties, length .3 would have a correlation of .36."""
    dice = random.Random(8)
    for strength in (0.1, 0.3, 0.6):
        largest = 0.0
        for _ in range(300):
            values = tuple(0.5 + 0.05 * dice.gauss(0, 1) for _ in range(8))
            lengths = dice.sample(range(10, 400), 8)
            error = 0.95 * statistics.stdev(values)
            made = LengthControl(Identity(), strength)(
                Scores(values, (error,) * 8), view_of(*("x" * one for one in lengths))
            )
            rewards = [one or 0.0 for one in made]
            changes = [one - other for one, other in zip(rewards, values, strict=True)]
            largest = max(largest, statistics.variance(changes) / statistics.variance(rewards))
        assert largest <= strength + 1e-6
        assert largest > 0


def test_the_formula_for_a_group_that_is_one_near_tie():
    """λ ρ sd(u) / √((1 - λ)² + (λ ρ sd(u))²), with the range ρ in deviations and the sd of ranks u on [0, 1]."""
    dice = random.Random(2)
    for strength, expected in ((0.3, 0.39), (0.5, 0.70)):
        found = []
        for _ in range(2000):
            values = [dice.gauss(0, 1) for _ in range(8)]
            ranks = dice.sample(range(8), 8)
            low, high = min(values), max(values)
            moved = [
                (1 - strength) * one + strength * (low + rank / 7 * (high - low))
                for one, rank in zip(values, ranks, strict=True)
            ]
            found.append(statistics.correlation(moved, [float(one) for one in ranks]))
        assert statistics.fmean(found) == pytest.approx(expected, abs=0.05)


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), max_size=7),
    st.just(0.0) | st.floats(0.01, 1),
)
def test_the_share_of_a_change_is_bounded(pairs: list[tuple[float, float]], most: float):
    before, after = [one for one, _ in pairs], [other for _, other in pairs]
    factor = share_of_change(before, after, most=most)
    assert 0 <= factor <= 1
    if len(pairs) > 1:
        mixed = [one + factor * (other - one) for one, other in pairs]
        changes = [factor * (other - one) for one, other in pairs]
        assert statistics.pvariance(changes) <= most * statistics.pvariance(mixed) * (1 + 1e-6) + 1e-12
