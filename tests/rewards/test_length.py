"""Length control: it decides only where the judge does not."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from calipers.rewards.identity import Identity
from calipers.rewards.length import LengthControl, policy_text_length
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
