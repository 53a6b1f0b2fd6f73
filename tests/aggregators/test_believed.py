"""Standard errors from a judge's own probabilities, where there are no others."""

from __future__ import annotations

import pytest

from calipers.aggregators.believed import Believed
from calipers.aggregators.two_way import two_way
from calipers.types import Comparison, Rating


def test_one_answer_is_as_sure_as_it_said() -> None:
    scores = Believed()([Rating(0, 0.4, 0, spread=0.1), Rating(1, 0.6, 0, spread=0.2)], 3)
    assert scores.values == (0.4, 0.6, None)
    assert scores.stderrs == (0.1, 0.2, None)


def test_repeats_that_tell_an_error_are_believed_alone() -> None:
    ratings = [Rating(item, 0.5 + item / 10 + turn / 50 * item, turn, spread=0.3) for item in (0, 1) for turn in (0, 1)]
    assert Believed()(ratings, 2) == two_way(ratings, 2)


def test_repeats_of_one_candidate_alone_are_means_of_beliefs() -> None:
    ratings = [Rating(0, 0.5, turn, spread=0.2) for turn in range(4)]
    assert two_way(ratings, 1).stderrs == (None,)
    assert Believed()(ratings, 1).stderrs == (0.1,)


@pytest.mark.parametrize("spread", [None, 0.2])
def test_a_rating_without_probabilities_leaves_its_candidate_without_an_error(spread: float | None) -> None:
    scores = Believed()([Rating(0, 0.4, 0, spread=spread), Rating(1, 0.6, 0)], 2)
    assert scores.stderrs == (spread, None)


def test_what_is_no_rating_is_left_to_the_aggregator_within() -> None:
    assert Believed()([Comparison(0, 1, 0.5, 0)], 2).values == (None, None)
