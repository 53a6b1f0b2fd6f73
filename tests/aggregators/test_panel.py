"""Panels: scales removed, weights without labels, failures left out."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.panel import Panel, Weights, learn_weights, repeatability, standard
from calipers.calibration.levels import Array
from calipers.types import Judgment, Rating, Scores

scores_ = st.floats(0, 1).map(lambda one: round(one, 2))
weights_ = st.floats(0.1, 3).map(lambda one: round(one, 1))


def ratings(*rows: tuple[float | None, ...]) -> list[Judgment]:
    return [
        Rating(item, value, slot, slot=slot)
        for slot, row in enumerate(rows)
        for item, value in enumerate(row)
        if value is not None
    ]


def calls(noise: float, *, count: int = 4, groups: int = 300, sign: float = 1.0, seed: int = 0) -> Array:
    """A judge's calls about shared truths; (groups, calls, members)."""
    truth = np.random.default_rng(99).normal(size=(groups, 1, 4))
    return sign * truth + np.random.default_rng(seed).normal(scale=noise, size=(groups, count, 4))


def test_offset_and_spread_of_a_judge_do_not_count():
    one = Panel((1.0, 1.0))(ratings((0.1, 0.2, 0.6), (0.3, 0.1, 0.5)), 3)
    other = Panel((1.0, 1.0))(ratings((0.91, 0.92, 0.96), (0.3, 0.1, 0.5)), 3)
    assert one.values == pytest.approx(other.values, abs=1e-5)


def test_the_judge_with_the_greater_weight_decides():
    rows = ratings((0.9, 0.1), (0.2, 0.8))
    assert (Panel((3.0, 1.0))(rows, 2).values[0] or 0.0) > 0
    assert (Panel((1.0, 3.0))(rows, 2).values[0] or 0.0) < 0


def test_a_judge_that_said_nothing_of_a_candidate_is_left_out_of_it():
    values = Panel((1.0, 1.0))(ratings((0.0, 0.5, 1.0), (0.0, 1.0, None)), 3).values
    assert values[2] == pytest.approx(standard((0.0, 0.5, 1.0))[2], abs=1e-5)


def test_a_judge_that_failed_is_left_out_and_its_error_is_unknown():
    scores = Panel((1.0, 1.0))(ratings((0.1, 0.7)), 2)
    assert scores.values == (-1.0, 1.0)
    assert scores.stderrs == (None, None)


def test_no_judgment_is_no_score():
    assert Panel((1.0,))([], 2) == Scores((None, None), (None, None))


def test_judges_that_agree_are_surer_than_judges_that_do_not():
    agree = Panel((1.0, 1.0))(ratings((0.1, 0.5, 0.9), (0.2, 0.5, 0.8)), 3).stderrs[0]
    differ = Panel((1.0, 1.0))(ratings((0.1, 0.5, 0.9), (0.8, 0.5, 0.2)), 3).stderrs[0]
    assert agree is not None
    assert differ is not None
    assert agree < differ


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=6))
def test_standard_scores_have_mean_zero_and_spread_one_or_zero(values: list[float | None]):
    known = [one for one in standard(values) if one is not None]
    if known:
        assert math.fsum(known) == pytest.approx(0, abs=1e-3)
        assert math.fsum(one**2 for one in known) / len(known) == pytest.approx(1, abs=1e-3) or not any(known)


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


def test_a_judge_alone_has_all_the_weight():
    learned = learn_weights([calls(0.5)])
    assert isinstance(learned, Weights)
    assert learned.weights == (1.0,)


def test_repeatability_is_the_share_of_variance_that_comes_again():
    found = repeatability(calls(1.0, groups=3000))
    assert found == pytest.approx(0.5, abs=0.03)
    assert repeatability(calls(1.0, count=1)) is None


def test_on_the_mean_scale_a_lone_judge_keeps_its_scores_and_several_keep_their_advantages():
    alone = Panel((1.0, 1.0), scale="mean")(ratings((0.2, 0.4, 0.9)), 3)
    assert alone.values == (0.2, 0.4, 0.9)
    both = ratings((0.1, 0.2, 0.6), (0.3, 0.4, 0.5))
    there, standard_ = Panel((3.0, 1.0), scale="mean")(both, 3).values, Panel((3.0, 1.0))(both, 3).values
    assert np.corrcoef(np.array(there, float), np.array(standard_, float))[0, 1] == pytest.approx(1.0)
    assert np.mean(np.array(there, float)) == pytest.approx((3 * 0.3 + 0.4) / 4)


@given(st.lists(st.tuples(scores_, scores_, scores_), min_size=2, max_size=8), st.tuples(weights_, weights_, weights_))
def test_scores_on_the_mean_scale_stay_on_the_judges_scale_and_in_order(
    rows: list[tuple[float, float, float]], weights: tuple[float, float, float]
):
    columns = list(zip(*rows, strict=True))
    found = Panel(weights, scale="mean")(ratings(*columns), len(rows))
    standards = Panel(weights)(ratings(*columns), len(rows)).values
    for value in found.values:
        assert value is not None
        assert min(map(min, columns)) - 1e-6 <= value <= max(map(max, columns)) + 1e-6
    there, before = np.array(found.values, float), np.array(standards, float)
    assert all(
        (there[a] - there[b]) * (before[a] - before[b]) >= 0 for a, b in itertools.combinations(range(len(rows)), 2)
    )


def test_a_candidate_that_too_few_judges_scored_has_no_score():
    found = Panel((1.0, 1.0), quorum=2, scale="mean")(ratings((0.1, 0.5, 0.9), (0.2, 0.6, None)), 3)
    assert found.values[2] is None
    assert None not in found.values[:2]
    assert Panel((1.0, 1.0), quorum=2, scale="mean")(ratings((0.1, 0.9)), 2).values == (None, None)


def test_a_judge_without_weight_does_not_count_towards_the_quorum():
    rows = ratings((0.1, 0.7), (0.2, 0.8))
    assert Panel((1.0, 0.0), quorum=2)(rows, 2).values == (None, None)
    assert Panel((1.0, 1e-9), quorum=2)(rows, 2).values == (-1.0, 1.0)


def test_a_judge_without_weight_leaves_the_other_judges_scores_as_they_are():
    rows = ratings((0.1, 0.7), (0.9, 0.2))
    assert Panel((1.0, 0.0), scale="mean")(rows, 2).values == (0.1, 0.7)


def test_one_group_says_nothing_of_chance_so_every_judge_keeps_its_weight():
    learned = learn_weights([calls(0.1, groups=1, seed=1), calls(0.1, groups=1, seed=2, sign=-1)])
    assert min(learned.weights) > 0.2
