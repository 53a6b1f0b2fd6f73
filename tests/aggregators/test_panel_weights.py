"""Weights of a panel's judges, learned without labels or from gold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.aggregators.panel_weights import gold_weights, learn_weights, repeatability
from calipers.calibration.measures import Array


def calls(noise: float, *, count: int = 4, groups: int = 300, sign: float = 1.0, seed: int = 0) -> Array:
    """A judge's calls about shared truths; (groups, calls, members)."""
    truth = np.random.default_rng(99).normal(size=(groups, 1, 4))
    return sign * truth + np.random.default_rng(seed).normal(scale=noise, size=(groups, count, 4))


def test_what_all_judges_say_in_every_call_is_weighed_by_its_noise():
    """Two judges of the same truth: the best weights are the signal over the noise of a standard score."""
    one, other = learn_weights([calls(0.5, seed=1, groups=3000), calls(1.0, seed=2, groups=3000)])
    assert one / other == pytest.approx(0.8**0.5 / 0.2 / (0.5**0.5 / 0.5), rel=0.2)


def fixed(*, count: int = 4, groups: int = 300, against: float = 0.0) -> Array:
    """A judge that always gives the same scores, by a rule that has nothing to do with quality or is ``against`` it."""
    rule = np.random.default_rng(7).normal(size=(groups, 1, 4)) - against * calls(0.0, count=1, groups=groups)
    return np.repeat(rule, count, axis=1)


def test_a_judge_that_follows_a_fixed_rule_captures_no_panel():
    """It repeats itself better than any honest judge: only its agreement shows it."""
    honest = [calls(0.8, seed=seed) for seed in range(4)]
    cases = {
        "flipped": calls(0.4, seed=9, sign=-1), "a rule": fixed(), "against quality": fixed(against=0.5),
        "asked once": fixed(against=0.5, count=1),
    }  # fmt: skip
    weights = {name: learn_weights([*honest, judge])[4] for name, judge in cases.items()}
    assert {name: round(weight, 2) for name, weight in weights.items() if weight > 0.11} == {}
    alone = learn_weights([calls(0.8, seed=1), fixed()])
    assert max(alone) < 0.6, "of two judges that do not agree, nothing says which is right"


def test_where_nothing_tells_judges_apart_they_weigh_alike():
    flat = np.ones((20, 3, 4))
    assert learn_weights([flat, flat]) == (0.5, 0.5)
    assert learn_weights([calls(0.5)]) == (1.0,)
    one_group = learn_weights([calls(0.1, groups=1, seed=1), calls(0.1, groups=1, seed=2, sign=-1)])
    assert min(one_group) > 0.2
    few = [learn_weights([calls(0.8, groups=5, seed=2 * number + judge) for judge in (0, 1)]) for number in range(20)]
    assert np.mean([abs(one - other) for one, other in few]) < 0.1


def test_repeatability_is_the_share_of_variance_that_comes_again():
    assert repeatability(calls(1.0, groups=3000)) == pytest.approx(0.5, abs=0.03)
    assert repeatability(calls(1.0, count=1)) is None
    # Scores that differ by rounding alone count as equal: a judge that always gives the same score repeats nothing.
    assert repeatability(np.array([[[0.5, 0.5 + 3e-5]] * 2])) is None
    assert repeatability(np.array([[[0.5, 0.5 + 5e-5]] * 2])) == pytest.approx(1.0)


def test_judges_asked_once_are_weighed_by_agreement_without_letting_shared_errors_win():
    weights = learn_weights([calls(noise, count=1, seed=n) for n, noise in enumerate((0.3, 0.3, 3.0))])
    assert weights[2] < min(weights[:2])
    generator = np.random.default_rng(0)
    truth, common = generator.normal(size=(2, 300, 1, 4))
    twins = [truth + common + generator.normal(scale=0.2, size=(300, 1, 4)) for _ in range(2)]
    assert sum(learn_weights([*twins, *(truth + generator.normal(size=(300, 1, 4)) for _ in range(2))])[:2]) < 0.62


def centred(values: Array) -> Array:
    off = values - values.mean(axis=-1, keepdims=True)
    return np.asarray(off / off.std(axis=-1, keepdims=True))


TRUTH = np.random.default_rng(99).normal(size=(400, 4))


def from_gold(errors: list[Array], truth: Array = TRUTH) -> tuple[float, ...]:
    """Weights of judges that say the truth (groups, members) plus their errors."""
    said = np.array([centred(truth + one) for one in errors])
    gold = centred(truth)
    products, scores = np.einsum("jgm,gm->j", said, gold), np.einsum("igm,jgm->ij", said, said)
    return gold_weights(scores, products, float((gold**2).sum()), len(truth))


def drawn(groups: int, *spreads: float, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [generator.normal(scale=one, size=(groups, 4)) for one in spreads]


def test_with_gold_a_judge_that_contradicts_it_gets_nothing_and_nothing_known_is_equal_weights():
    good, bad = drawn(400, 0.5, 0.5)
    assert from_gold([good, bad - 2 * TRUTH])[1] == 0
    assert from_gold([good - 2 * TRUTH, bad - 2 * TRUTH]) == (0.5, 0.5)
    assert from_gold([good, good]) == pytest.approx((0.5, 0.5))
    assert gold_weights(np.zeros((3, 3)), np.zeros(3), 0.0, 0) == (1 / 3,) * 3


@given(st.lists(st.floats(0.05, 5.0), min_size=2, max_size=5), st.integers(2, 40), st.integers(0, 1000))
def test_weights_from_gold_are_never_negative_and_sum_to_one(spreads: list[float], groups: int, seed: int):
    weights = from_gold(drawn(groups, *spreads, seed=seed), TRUTH[:groups])
    assert min(weights) >= 0
    assert sum(weights) == pytest.approx(1)
