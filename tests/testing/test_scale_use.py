"""Levels, comparisons and rankings: what a simulated judge makes of its opinions."""

import pytest

from asking import question, request
from calipers.errors import ConfigError
from calipers.testing import Levels, PairLevels, Ranked


def test_an_opinion_gets_the_score_of_the_interval_it_is_in() -> None:
    levels = Levels((0.0, 0.5, 1.0), (-1.0, 2.0))
    assert levels.sway([-3.0, -1.0, 1.9, 2.0], question()) == [0.0, 0.5, 0.5, 1.0]


def test_a_pair_has_a_winner_and_a_loser_or_a_tie() -> None:
    pair = PairLevels((0.0, 0.5, 1.0), (-0.1, 0.1))
    assert pair.sway([2.0, 1.0], question()) == [1.0, 0.0]
    assert pair.sway([1.0, 2.0], question()) == [0.0, 1.0]
    assert pair.sway([1.0, 1.05], question()) == [0.5, 0.5]


def test_a_longer_list_is_compared_pair_by_pair_and_one_candidate_with_nothing() -> None:
    pair = PairLevels((0.0, 1.0), (0.0,))
    assert pair.sway([3.0, 1.0, 2.0], question()) == [1.0, 0.0, 0.5]
    assert pair.sway([3.0], question()) == [1.0]
    assert pair.sway([-3.0], question()) == [0.0]


def test_ranks_are_even_steps_and_the_first_of_equals_is_higher() -> None:
    assert Ranked().sway([0.3, 9.0, 0.3, -4.0], question()) == pytest.approx([2 / 3, 1.0, 1 / 3, 0.0])
    assert Ranked().sway([7.0], question(request())) == [0.5]


@pytest.mark.parametrize("kind", [Levels, PairLevels])
@pytest.mark.parametrize(
    ("scores", "thresholds", "says"),
    [
        ((0.0, 1.0), (), "needs one threshold less than scores, not 0 for 2"),
        ((1.0, 0.0), (0.0,), "must rise"),
        ((0.0, 0.5, 1.0), (1.0, 0.0), "must rise"),
        ((0.0, 2.0), (0.0,), "must be from 0 to 1"),
        ((0.0, 1.0), (float("nan"),), "must be a finite number"),
    ],
)
def test_levels_that_do_not_fit_are_refused(
    kind: type, scores: tuple[float, ...], thresholds: tuple[float, ...], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        kind(scores, thresholds)
