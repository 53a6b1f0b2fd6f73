"""Numbers that a person can compute: each aggregator on a case small enough for paper, and at its boundaries."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from calipers.aggregators.criteria import CriteriaScores
from calipers.aggregators.noise import Noise
from calipers.aggregators.pair_bias import PairBias, PairVerdict, shrink_into_bounds
from calipers.aggregators.panel import Panel
from calipers.aggregators.panel_weights import gold_weights, learn_weights
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.priors import Priors
from calipers.aggregators.resolution import StoppingRule
from calipers.rubric import Grading, as_rubric
from calipers.types import Comparison, Judgment, Rating, Scores, Verdict

KINDS: tuple[PairVerdict, ...] = ("first", "second")


def ratings(*rows: tuple[float | None, ...]) -> list[Judgment]:
    """One answer of each judge (slot), in the order of its slots."""
    return [
        Rating(item, value, slot, item, slot)
        for slot, row in enumerate(rows)
        for item, value in enumerate(row)
        if value is not None
    ]


def test_a_pair_bias_is_the_share_of_contradicted_verdicts_shrunk_to_what_chance_leaves() -> None:
    """20 pairs, 6 with "first" twice and 1 with "second" twice: 8/22 contradict, and 6.5/8 of them follow "first".

    That is 0.3125 above a half, with a variance of 1/28: times 1 - 1/28/2/0.3125² it is 0.2553571.
    """
    given = ["first second"] * 7 + ["second first"] * 6 + ["first first"] * 6 + ["second second", "tie first"]
    bias = PairBias.learn([tuple(one.split()) for one in given])  # type: ignore[misc]  # verdicts
    share, follow, agree = 8 / 22, 0.7553571, 7 / 22
    first, second = share * follow, share * (1 - follow)
    assert bias is not None
    assert (bias.pairs, bias.first_rate) == (20, 25 / 40)
    assert bias.first_contradicted == pytest.approx(first / (first + agree), abs=1e-6)
    assert bias.second_contradicted == pytest.approx(second / (second + agree), abs=1e-6)


def test_swapped_questions_go_to_the_weakest_verdict_first_until_the_calls_are_spent() -> None:
    leans = PairBias(100, 0.8, 0.6, 0.1)
    cases = [
        (leans, {}, (0.75 / 0.8, 0.0)),  # 1.75 calls a pair leave 0.75 of a call for 80 % of the verdicts
        (replace(leans, first_rate=0.5, second_contradicted=0.2), {}, (1.0, 0.5)),  # 0.25 of a call is left for 50 %
        (replace(leans, second_contradicted=0.7), {}, (0.55 / 0.8, 1.0)),
        (replace(leans, first_contradicted=0.15), {}, (0.0, 0.0)),  # no more than the doubt
        (leans, {"doubt": 0.05, "calls": 2.0}, (1.0, 1.0)), (leans, {"calls": 1.0}, (0.0, 0.0)),
        (replace(leans, first_rate=0.0), {}, (0.0, 0.0)),
    ]  # fmt: skip
    for bias, options, shares in cases:
        found = [bias.swap_share(kind, **options) for kind in KINDS]
        assert found == pytest.approx(list(shares)), (bias, options)
        assert bias.swap_share("tie", **options) == 1.0


def test_scores_outside_are_all_shrunk_by_the_factor_of_the_furthest() -> None:
    """The mean of 1.2, 0.6 and 0 is 0.6, and 0.6 above it has room for 0.4: all get two thirds of their distance."""
    found = shrink_into_bounds(Scores((1.2, 0.6, 0.0, None), (0.3, None, 0.3, None)), 0.0, 1.0)
    assert found == Scores((1.0, 0.6, 0.2, None), (0.2, None, 0.2, None))
    assert shrink_into_bounds(Scores((-0.2, 0.4, 1.0), (0.3,) * 3), 0.0, 1.0).values == (0.0, 0.4, 0.8)
    assert shrink_into_bounds(Scores((1.2, 1.4), (0.3, 0.3)), 0.0, 1.0) == Scores((1.0, 1.0), (0.0, 0.0))
    for inside in (Scores((0.0, 1.0, 0.1234567), (0.3,) * 3), Scores((None,), (None,))):
        assert shrink_into_bounds(inside, 0.0, 1.0) is inside


def test_a_position_bias_is_the_line_and_the_extra_of_the_first_with_mean_zero() -> None:
    bias = PositionBias(0.4, 0.3, 50)
    curves = {
        1: [0.0],
        2: [-0.2 + 0.15, 0.2 - 0.15],
        3: [-0.2 + 0.2, -0.1, 0.2 - 0.1],
        5: [-0.2 + 0.24, -0.16, -0.06, 0.04, 0.14],
    }
    for size, curve in curves.items():
        assert bias.curve(size) == pytest.approx(curve), size
    shown = [
        Rating(0, 0.5, 0, 2),
        Rating(1, 0.5, 0, 0),
        Rating(2, 0.5, 0, 1),
        Rating(0, 0.5, 1, 0),
        Rating(1, 0.5, 1, 1),
    ]
    assert [one.value for one in bias.without_bias(shown)] == pytest.approx([0.4, 0.5, 0.6, 0.55, 0.45])


def test_noise_is_the_pooled_variance_with_the_strength_that_its_spread_leaves() -> None:
    """Variances of 0 (six times) and 4 (twice), on 2 degrees of freedom each: mean 1, variance 3.

    Chance alone gives 2/2; a real variance of (3 - 1) / (1 + 1) = 1 remains, which weighs like 2 (1 + 1/1) = 4 degrees.
    On 1 degree (four groups) and 2 (four) the typical number is 4/3, so that (3 - 1.5) / 2.5 = 0.6 remain.
    """
    assert Noise.learn([0.0] * 6 + [8.0] * 2, [2] * 8) == Noise(1.0, 4.0)
    assert Noise(1.0, 4.0).variance_of(8.0, 2) == 2.0
    mixed = Noise.learn([0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 8.0, 5.0], [1] * 4 + [2] * 4 + [0])
    assert mixed is not None
    assert (mixed.variance, mixed.strength) == pytest.approx((1.0, 2 * (1 + 1 / 0.6)))


def test_a_further_call_is_worth_the_rise_of_the_correlation() -> None:
    """With a spread of 0.04, (0.3 x 0.04 + 3 x 0.06) / 3.3 of the 0.09 seen is real; noise falls from 0.03 to 0.02."""
    rule, real = StoppingRule(0.04), 0.192 / 3.3
    rise = math.sqrt(real / (real + 0.02)) - math.sqrt(real / (real + 0.03))
    assert rule.gain(0.09, 0.06, freedom=3, calls=2) == pytest.approx(rise)
    scores = Scores((0.1, 0.4, 0.7, None), (0.173, 0.173, 0.173, None))
    gains = StoppingRule(0.04, tolerance=rule.gain(0.09, 2 * 0.173**2, freedom=2, calls=2))
    assert not replace(gains, tolerance=gains.tolerance * 0.99).should_stop(scores, calls=2)
    assert replace(gains, tolerance=gains.tolerance * 1.01).should_stop(scores, calls=2)
    assert (rule.tolerance, rule.budget) == (0.015, 8)
    near = Scores((0.1, 0.2), (0.3, 0.3))
    assert [replace(rule, tolerance=0.0).should_stop(near, calls=calls) for calls in (7, 8)] == [False, True]


def test_judges_of_a_panel_err_by_how_much_they_differ_and_more_if_their_errors_go_together() -> None:
    """Standard scores (-1.22, 0, 1.22) and (-1.22, 1.22, 0) differ by 1.22 twice: a variance of 1.5 / 2 degrees.

    The mean of both has half of it, times the mean standard deviation of 0.408: 0.25. With a correlation of 0.5 the
    judges' variance is twice what they differ by, of which the mean keeps three quarters.
    """
    rows = ratings((0.0, 0.5, 1.0), (0.0, 1.0, 0.5))
    assert Panel((1.0, 1.0))(rows, 3) == Scores((0.0, 0.75, 0.75), (0.25,) * 3, "repeats", 2)
    related = Panel((1.0, 1.0), error_correlation=0.5)(rows, 3)
    assert related.stderrs == pytest.approx([math.sqrt(0.75 * 2 * 0.75) * math.sqrt(1 / 6)] * 3, abs=1e-6)
    one_sided = Panel((3.0, 1.0))(rows, 3)  # shares 3/4 and 1/4: differences of 1.5 x 3/16 x 2, squares of 10/16
    assert one_sided.values == pytest.approx((0.0, 0.625, 0.875), abs=1e-6)
    assert one_sided.stderrs == pytest.approx([math.sqrt(1.125 / 2 * 0.625 / 6)] * 3, abs=1e-6)
    assert Panel((1.0, 1.0, 0.0))(rows, 3) == Panel((2.0, 2.0))([*rows, Rating(0, 1.0, 2, 0, 2)], 3)


def test_learned_weights_follow_their_judges_and_no_scale() -> None:
    import numpy as np  # noqa: PLC0415 - for this test alone

    drawn = np.random.default_rng(5)
    truth = drawn.normal(size=(40, 1, 4))
    for counts in ((2, 2, 3), (1, 2, 2)):
        calls = [
            truth + drawn.normal(scale=noise, size=(40, count, 4))
            for noise, count in zip((0.3, 1, 2), counts, strict=True)
        ]
        weights = learn_weights(calls)
        assert sum(weights) == pytest.approx(1)
        assert learn_weights(calls[::-1]) == pytest.approx(weights[::-1])
        assert learn_weights([10 * calls[0] + 3, calls[1] - 7, calls[2]]) == pytest.approx(weights)
        assert learn_weights([one[:, :, ::-1] for one in calls]) == pytest.approx(weights)
        assert weights[0] > weights[1] > weights[2]
    # Much gold leaves least squares: 100 a + 50 b = 80 and 50 a + 100 b = 55 have the solution 0.7 and 0.2.
    scores, products = np.array([[100.0, 50], [50, 100]]), np.array([80.0, 55])
    assert gold_weights(scores, products, 68.0, 10**6) == pytest.approx((7 / 9, 2 / 9), abs=2e-3)
    assert gold_weights(scores, products, 68.0, 2) == (0.5, 0.5)
    assert gold_weights(scores, -products, 68.0, 100) == (0.5, 0.5)
    assert gold_weights(scores * 0, products, 68.0, 100) == (0.5, 0.5)


def test_priors_are_what_each_judge_showed_and_unknown_where_it_showed_too_little() -> None:
    """Two presentations that differ by 0.2 for one of two candidates have a residual sum of 0.2²/4 on one degree."""
    pairs: list[Judgment] = [Comparison(0, 1, 1.0, 0, 1), Comparison(1, 0, 1.0, 1, 1), Comparison(1, 0, -1.0, 2, 1)]
    rated: list[Judgment] = [Rating(0, 0.2, 0), Rating(1, 0.6, 0, 1), Rating(0, 0.2, 1), Rating(1, 0.8, 1, 1)]
    group = {0: rated, 1: pairs}
    known = Priors.learn([group] * 20, 2)
    first, second = known.judges
    assert (known.groups, Priors.learn([group] * 7, 2).judges[0].noise) == (20, None)
    assert first.noise == Noise(pytest.approx(0.01), 1e6)  # type: ignore[arg-type]  # a number
    # Scores of 0.2 and 0.6, or 0.8, have variances of 0.08 and 0.18; less the noise, 0.12 is real.
    assert first.spread == pytest.approx(0.12)
    assert (first.places, first.swaps) == (None, None)
    assert second.swaps is not None
    assert (second.swaps.pairs, second.swaps.first_rate, second.noise, second.spread) == (20, 1.0, None, None)
    assert known.weights is not None
    assert sum(known.weights) == pytest.approx(1)
    assert Priors.learn([group] * 19, 2).weights is None
    assert (Priors.learn([group] * 20, 1).weights, Priors.of(known.to_dict())) == (None, known)


def test_criteria_of_a_candidate_without_a_rubric_give_no_score_and_rules_alone_an_exact_one() -> None:
    rubric = as_rubric([{"id": "a", "text": "a", "points": 3}, {"id": "b", "text": "b", "points": 1}])
    said = [Verdict(True, "", item, name, call) for item in (0, 1) for name, call in (("a", 0), ("b", 0), ("a", 1))]
    grading = Grading(on_missing="partial", coverage=0.5)
    scores = CriteriaScores(grading, (rubric,))([*said, Verdict(False, "", 0, "b", 1)], 2)
    assert scores == Scores((0.875, None), (0.125, None), "repeats", 1)
    ruled = CriteriaScores(Grading(), (rubric,), checked=({"a": Verdict(True), "b": Verdict(False)},))
    assert ruled([], 1) == Scores((0.75,), (0.0,), "assumed")
