"""Weights of a panel's judges, learned without labels."""

import numpy as np
import pytest

from calipers.aggregators.panel_weights import Weights, learn_weights, repeatability
from calipers.calibration.measures import Array


def calls(noise: float, *, count: int = 4, groups: int = 300, sign: float = 1.0, seed: int = 0) -> Array:
    """A judge's calls about shared truths; (groups, calls, members)."""
    truth = np.random.default_rng(99).normal(size=(groups, 1, 4))
    return sign * truth + np.random.default_rng(seed).normal(scale=noise, size=(groups, count, 4))


def test_a_judge_that_repeats_itself_weighs_more_and_weights_sum_to_one():
    learned = learn_weights([calls(0.3, seed=1), calls(2.0, seed=2)])
    assert learned.weights[0] > 3 * learned.weights[1]
    assert sum(learned.weights) == pytest.approx(1)


def test_noise_alone_weighs_next_to_nothing():
    learned = learn_weights([calls(0.5, seed=1), calls(0.5, seed=2), calls(100.0, seed=3)])
    assert learned.weights[2] < 0.02


def test_judges_asked_once_are_weighed_by_agreement():
    learned = learn_weights([calls(noise, count=1, seed=n) for n, noise in enumerate((0.3, 0.3, 3.0))])
    assert learned.repeatability == (None, None, None)
    assert learned.weights[2] < min(learned.weights[:2])


def test_a_judge_that_contradicts_the_others_counts_nothing_however_sure_it_is():
    learned = learn_weights([calls(0.4, seed=1), calls(0.4, seed=2), calls(0.4, seed=3, sign=-1)])
    assert learned.weights[2] == 0


def test_one_steady_judge_is_not_outvoted_by_unsteady_ones_that_agree_on_something_else():
    steady = calls(0.2, seed=1)
    others = [calls(3.0, seed=n, sign=-1) for n in (2, 3, 4)]
    learned = learn_weights([steady, *others])
    assert learned.weights[0] > 0.5


def test_judges_that_all_say_nothing_weigh_alike():
    flat = np.ones((20, 3, 4))
    assert learn_weights([flat, flat]).weights == (0.5, 0.5)


@pytest.mark.parametrize(
    ("apart", "repeats", "agrees"), [(3e-5, False, False), (4e-5, True, False), (5e-5, True, True)]
)
def test_scores_that_differ_by_rounding_alone_count_as_equal(apart: float, *, repeats: bool, agrees: bool):
    """Else a judge that always gives the same score would pass for one that repeats itself, or agrees with others."""
    scores = np.array([[[0.5, 0.5 + apart]]])
    assert repeatability(np.repeat(scores, 2, axis=1)) == (pytest.approx(1.0) if repeats else None)
    agreement = learn_weights([scores, scores]).agreement[0]
    assert agreement is not None
    assert (agreement > 0.5) is agrees


def test_a_judge_alone_has_all_the_weight():
    learned = learn_weights([calls(0.5)])
    assert isinstance(learned, Weights)
    assert learned.weights == (1.0,)


def test_repeatability_is_the_share_of_variance_that_comes_again():
    found = repeatability(calls(1.0, groups=3000))
    assert found == pytest.approx(0.5, abs=0.03)
    assert repeatability(calls(1.0, count=1)) is None


def test_one_group_says_nothing_of_chance_so_every_judge_keeps_its_weight():
    learned = learn_weights([calls(0.1, groups=1, seed=1), calls(0.1, groups=1, seed=2, sign=-1)])
    assert min(learned.weights) > 0.2


def shared_errors(*, count: int, seed: int = 0) -> list[Array]:
    """Two judges with common errors that barely repeat themselves otherwise, and two with errors of their own."""
    generator = np.random.default_rng(seed)
    truth, common = generator.normal(size=(2, 300, 1, 4))
    noises = (0.2, 0.2, 1.0, 1.0)
    return [
        truth + (common if judge < 2 else 0.0) + generator.normal(scale=noise, size=(300, count, 4))
        for judge, noise in enumerate(noises)
    ]


def test_twins_with_common_errors_get_little_more_than_their_share_where_only_agreement_is_known():
    learned = learn_weights(shared_errors(count=1))
    assert learned.agreement[0] is not None
    assert sum(learned.weights[:2]) < 0.56


def test_a_judge_that_repeats_nonsense_does_not_take_over():
    truthful = [calls(0.5, seed=1), calls(0.5, seed=2), calls(0.5, seed=3)]
    nonsense = np.random.default_rng(5).normal(size=(300, 1, 4)) + 0.1 * calls(0.5, seed=6)
    assert learn_weights([*truthful, nonsense]).weights[3] < 0.5


def test_few_groups_leave_weights_of_judges_that_repeat_themselves_alike_nearly_equal():
    apart = []
    for number in range(20):
        one, other = learn_weights([calls(0.8, groups=5, seed=2 * number + judge) for judge in (0, 1)]).weights
        apart.append(abs(one - other))
    assert np.mean(apart) < 0.1


def test_what_all_judges_say_in_every_call_is_weighed_by_its_noise():
    """Two judges of the same truth: the best weights are the signal over the noise of a standard score."""
    one, other = learn_weights([calls(0.5, seed=1, groups=3000), calls(1.0, seed=2, groups=3000)]).weights
    assert one / other == pytest.approx(0.8**0.5 / 0.2 / (0.5**0.5 / 0.5), rel=0.15)
