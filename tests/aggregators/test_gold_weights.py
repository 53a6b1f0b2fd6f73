"""Weights of a panel's judges, learned from gold and shrunk to equal ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.gold_weights import gold_weights
from calipers.calibration.measures import Array


def centred(values: Array) -> Array:
    off = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(off / off.std(axis=-1, keepdims=True))


def learned(errors: list[Array], truth: Array) -> tuple[float, ...]:
    """Weights of judges that say the truth (groups, members) plus their errors."""
    said = np.array([centred(truth + one) for one in errors])
    gold = centred(truth)
    products, scores = np.einsum("jgm,gm->j", said, gold), np.einsum("igm,jgm->ij", said, said)
    return gold_weights(scores, products, float((gold**2).sum()), len(truth))


def drawn(groups: int, *spreads: float, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [generator.normal(scale=one, size=(groups, 4)) for one in spreads]


TRUTH = np.random.default_rng(99).normal(size=(400, 4))


def test_a_better_judge_weighs_more_than_its_reliability_alone():
    """With unrelated errors the best weights are reliability over one minus its square."""
    weights = learned(drawn(400, 0.4, 1.5), TRUTH)
    assert weights[0] > 4 * weights[1] > 0
    assert sum(weights) == pytest.approx(1)


def test_twins_with_common_errors_share_one_vote():
    common, third = drawn(400, 0.8, 0.8)
    small = drawn(400, 0.05, 0.05, seed=1)
    one, other, alone = learned([common + small[0], common + small[1], third], TRUTH)
    assert one + other == pytest.approx(0.5, abs=0.06)
    assert alone == pytest.approx(0.5, abs=0.06)


def test_judges_that_do_not_differ_get_nearly_equal_weights_though_their_fits_do():
    fitted, shrunk = [], []
    for seed in range(20):
        errors = drawn(8, 1.0, 1.0, 1.0, seed=seed)
        said = np.array([centred(TRUTH[:8] + one).ravel() for one in errors])
        least_squares = np.linalg.lstsq(said.T, centred(TRUTH[:8]).ravel(), rcond=None)[0]
        fitted.append(np.ptp(least_squares / least_squares.sum()))
        shrunk.append(np.ptp(learned(errors, TRUTH[:8])))
    assert np.mean(shrunk) < 0.5 * np.mean(fitted)


def test_more_groups_move_weights_further_from_equal():
    gaps = []
    for groups in (5, 20, 400):
        weights = [learned(drawn(groups, 0.7, 1.2, seed=seed), TRUTH[:groups]) for seed in range(20)]
        gaps.append(float(np.mean([one - other for one, other in weights])))
    assert gaps == sorted(gaps)
    assert gaps[-1] > 1.5 * gaps[0]


def test_a_judge_that_contradicts_gold_gets_nothing_and_judges_that_all_do_are_equal():
    good, bad = drawn(400, 0.5, 0.5)
    assert learned([good, bad - 2 * TRUTH], TRUTH)[1] == 0
    assert learned([good - 2 * TRUTH, bad - 2 * TRUTH], TRUTH) == (0.5, 0.5)


def test_nothing_known_is_equal_weights():
    assert gold_weights(np.zeros((3, 3)), np.zeros(3), 0.0, 0) == (1 / 3,) * 3
    assert gold_weights(np.eye(1), np.ones(1), 1.0, 50) == (1.0,)
    same = drawn(50, 0.5)[0]
    assert learned([same, same], TRUTH[:50]) == pytest.approx((0.5, 0.5))


@given(st.lists(st.floats(0.05, 5.0), min_size=2, max_size=5), st.integers(2, 40), st.integers(0, 1000))
def test_weights_are_never_negative_and_sum_to_one(spreads: list[float], groups: int, seed: int):
    weights = learned(drawn(groups, *spreads, seed=seed), TRUTH[:groups])
    assert min(weights) >= 0
    assert sum(weights) == pytest.approx(1)
