"""The simulator against theory, before anything is concluded from it: bounds follow from the formulas.

A mean over independent groups or runs must be within 4.5 of its own standard errors of what theory says, which chance
alone breaks once in 150,000 times; the seeds are fixed. Where an identity is exact, it is tested as one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from calipers.study.simulation.advantages import advantages
from calipers.study.simulation.arrays import Array
from calipers.study.simulation.audit import drift, properties, somers_d
from calipers.study.simulation.grpo import Learner
from calipers.study.simulation.orders import position_effects, positions_in
from calipers.study.simulation.policy import PARAMETERS, Policy
from calipers.study.simulation.runs import run_arm
from calipers.study.simulation.settings import (
    Arm,
    AskingSettings,
    GrpoSettings,
    JudgeSettings,
    PolicySettings,
    Scale,
    TreatmentSettings,
)
from calipers.study.simulation.theory import (
    arrival_covariance,
    group_factor,
    quality_drift,
    score_drift,
    verdict_drift,
    zeroed_drift,
)
from calipers.study.simulation.treatment import rewards_of
from simulated import first_batch, first_judged, near

ONE_KIND = PolicySettings(quality=(0.4,))


def group_drifts(values: Array, gained: Array) -> Array:
    """The covariance with the advantage in each group, where advantages sum to 0: its expectation is the drift."""
    return np.asarray((values * gained).mean(axis=-1).ravel())


# --- drift of a feature = its covariance with the advantage ----------------------------------------------------------


@pytest.mark.parametrize("scale", ["group", "batch", "none"])
def test_a_step_moves_each_choice_by_its_covariance_with_the_advantage(scale: Scale) -> None:
    """Exactly: advantages of a whole group sum to 0, so the mean of A (t - E t) is that of A t within groups."""
    arm = Arm("a", judge=JudgeSettings(noise=0.5, format=0.3, length=-0.1, confidence=0.2))
    policy, responses, scores = first_batch(arm)
    gained = advantages(scores, scale=scale, epsilon=1e-4)
    learner = Learner.start(policy, GrpoSettings(learning_rate=1.0), 1)
    learner.update(responses, gained)
    moved = dict(zip(PARAMETERS, learner.theta[0], strict=True))
    for name, values in properties(responses).items():
        if name in ("length", "format", "flattery", "injection", "quality"):
            assert moved[name] == pytest.approx(float(drift(values, gained)[0]), abs=1e-12), name


def test_a_small_step_changes_a_features_mean_by_its_variance_times_its_covariance() -> None:
    arm = Arm("a", judge=JudgeSettings(noise=0.5, format=0.3, length=-0.1))
    policy, responses, scores = first_batch(arm)
    gained = advantages(scores, scale="group", epsilon=1e-4)
    rate = 1e-5
    learner = Learner.start(policy, GrpoSettings(learning_rate=rate), 1)
    before = policy.expectations(learner.theta)
    learner.update(responses, gained)
    after = policy.expectations(learner.theta)
    measured = properties(responses)
    length = (after.length - before.length)[0] / policy.sd_length / rate
    assert length == pytest.approx(float(drift(measured["length"], gained)[0]), rel=1e-3)
    assert (after.format - before.format)[0] / rate == pytest.approx(
        0.3 * 0.7 * float(drift(measured["format"], gained)[0]), rel=1e-3
    )


# --- noise -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 4, 8, 16])
@pytest.mark.parametrize("reliability", [1.0, 0.7, 0.2])
def test_division_by_the_groups_deviation_attenuates_by_the_root_of_the_reliability(
    size: int, reliability: float
) -> None:
    dice = np.random.default_rng(size)
    quality = dice.standard_normal((1, 40_000, size))
    noise = math.sqrt(1 / reliability - 1)
    scores = quality + noise * dice.standard_normal(quality.shape)
    for scale in ("group", "none"):
        gained = advantages(scores, scale=scale, epsilon=0.0)
        assert near(group_drifts(quality, gained), quality_drift(1.0, noise, size, scale=scale))
    assert quality_drift(1.0, noise, size) == pytest.approx(math.sqrt(reliability) * group_factor(size))
    assert quality_drift(1.0, noise, size, scale="none") == pytest.approx((size - 1) / size)


def test_the_finite_group_correction_is_known_for_small_groups_and_vanishes_for_large_ones() -> None:
    assert group_factor(2) == pytest.approx(0.5 * math.sqrt(2 / math.pi))
    assert group_factor(3) == pytest.approx(2 / 3 * math.sqrt(math.pi) / 2)
    assert group_factor(5000) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("noise", [0.0, 0.0707, 0.2])
def test_a_judges_noise_attenuates_the_drift_of_a_graded_policy_so(noise: float) -> None:
    """Fifty criteria at one half are nearly normal: the skewness is 0, the excess kurtosis -.04."""
    policy = PolicySettings(quality=(0.5,), criteria=50)
    arm = Arm("a", policy=policy, judge=JudgeSettings(noise=noise), grpo=GrpoSettings(groups=40_000))
    _, responses, scores = first_batch(arm)
    gained = advantages(scores, scale="group", epsilon=0.0)
    deviation = math.sqrt(0.25 / 50)
    found = group_drifts(responses.quality, gained)
    expected = quality_drift(deviation, noise, 8)
    assert abs(found.mean() - expected) < 4.5 * found.std() / math.sqrt(len(found)) + 0.002 * expected


@pytest.mark.parametrize("noise", [1e-3, 1.0, 1e3])
def test_a_group_without_true_spread_gets_noise_at_full_size(noise: float) -> None:
    """Exactly: the mean square of the advantages is (G - 1) / G however small the noise is."""
    arm = Arm("a", judge=JudgeSettings(noise=noise))
    _, responses, scores = first_batch(arm)
    without = responses.quality.std(axis=-1) == 0
    assert 0.05 < without.mean() < 0.5
    squares = (advantages(scores, scale="group", epsilon=0.0) ** 2).mean(axis=-1)
    assert squares[without] == pytest.approx(7 / 8)
    assert squares[~without] == pytest.approx(7 / 8)
    small = (advantages(scores, scale="none", epsilon=0.0) ** 2).mean(axis=-1)[without]
    assert near(small, noise**2 * 7 / 8)


# --- order of judging ------------------------------------------------------------------------------------------------


SKEWED = PolicySettings(quality=(0.3,))
SYMMETRIC = PolicySettings(quality=(0.3,), length_tail="normal", length_floor=1, length_cap=29, length_mean=15.0)


def arrival(judge: JudgeSettings, *, orders: int = 1, policy: PolicySettings = SKEWED) -> tuple[Array, float]:
    """The measured first drift of length in every group, and what theory predicts without any sampling."""
    asking = AskingSettings(order="arrival", orders=orders)
    arm = Arm("a", policy=policy, judge=judge, asking=asking, grpo=GrpoSettings(groups=40_000))
    known, responses, scores = first_batch(arm)
    gained = advantages(scores, scale="group", epsilon=0.0)
    shown = [positions_in(order, np.arange(8.0), asking) for order in range(orders)]
    effects: Array = np.mean(
        [position_effects(one, slope=judge.slope, first=judge.first, last=judge.last) for one in shown], axis=0
    )
    z = (known.lengths - known.mean_length) / known.sd_length
    covariance = arrival_covariance(known._length_probabilities(np.zeros((1, 7)))[0], z, effects)
    variance = 0.3 * 0.7 + judge.noise**2 / orders + float((effects**2).sum()) / 7
    return group_drifts(responses.z, gained), score_drift(covariance, variance, 8)


@pytest.mark.parametrize(
    ("judge", "orders", "sign"),
    [
        ({"slope": -0.5}, 1, -1),
        ({"slope": -0.1}, 1, -1),
        ({"slope": 0.5}, 1, 1),
        ({"first": 0.5}, 1, -1),
        ({"last": 0.5}, 1, 1),
        ({"first": 0.5}, 2, 1),
        ({"first": 0.5, "last": 0.5}, 1, 1),
        ({"slope": -0.5}, 2, 0),
        ({"first": 0.5}, 16, 0),
    ],
)
def test_position_bias_in_order_of_arrival_rewards_length_with_the_sign_and_size_that_theory_gives(
    judge: dict[str, float], orders: int, sign: int
) -> None:
    found, predicted = arrival(JudgeSettings(noise=0.5, **judge), orders=orders)  # type: ignore[arg-type]
    assert abs(found.mean() - predicted) < 4.5 * found.std() / math.sqrt(len(found)) + 0.03 * abs(predicted)
    assert np.sign(round(predicted, 9)) == sign


def test_a_bonus_for_both_ends_rewards_length_only_where_the_longest_are_further_out_than_the_shortest() -> None:
    """So a reversed second order, which gives a first-place bonus to the last place too, cancels it for symmetry."""
    judge = JudgeSettings(noise=0.5, first=0.5)
    found, predicted = arrival(judge, orders=2, policy=SYMMETRIC)
    assert abs(predicted) < 1e-3
    assert near(found, predicted)
    assert arrival(judge, orders=2)[1] > 0.02


def test_content_random_order_makes_noise_of_position_bias_and_no_drift() -> None:
    """For nearly normal quality, so that the attenuation is exact but for half a percent."""
    policy = PolicySettings(quality=(0.5,), criteria=50)
    judge = JudgeSettings(noise=0.07, slope=-0.1)
    _, responses, scores = first_batch(Arm("a", policy=policy, judge=judge, grpo=GrpoSettings(groups=40_000)))
    gained = advantages(scores, scale="group", epsilon=0.0)
    assert near(group_drifts(responses.z, gained), 0.0)
    effects = position_effects(np.arange(8.0), slope=-0.1, first=0.0)
    variance = 0.25 / 50
    expected = score_drift(variance, variance + 0.07**2 + float((effects**2).sum()) / 7, 8)
    found = group_drifts(responses.quality, gained)
    assert abs(found.mean() - expected) < 4.5 * found.std() / math.sqrt(len(found)) + 0.005 * expected
    assert expected < 0.95 * quality_drift(math.sqrt(variance), 0.07, 8)


# --- verdicts: the sign of J -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["group", "none"])
@pytest.mark.parametrize(("tpr", "fpr"), [(0.9, 0.1), (0.7, 0.6), (0.6, 0.6), (0.2, 0.2), (0.5, 0.6), (0.1, 0.9)])
def test_the_first_drift_under_class_conditional_noise_has_the_size_and_sign_that_j_gives(
    tpr: float, fpr: float, scale: Scale
) -> None:
    arm = Arm("a", policy=ONE_KIND, judge=JudgeSettings(tpr=tpr, fpr=fpr), grpo=GrpoSettings(groups=40_000))
    _, responses, verdicts = first_batch(arm)
    gained = advantages(verdicts, scale=scale, epsilon=1e-4)
    expected = verdict_drift(0.4, tpr, fpr, 8, scale=scale)
    found = group_drifts(responses.quality, gained)
    assert near(found, expected)
    assert np.sign(expected) == np.sign(tpr - fpr)
    if abs(tpr - fpr) >= 0.1:
        assert np.sign(found.mean()) == np.sign(tpr - fpr)
    if scale == "none":
        assert expected == pytest.approx(0.4 * 0.6 * (tpr - fpr) * 7 / 8)
    assert abs(float(somers_d(verdicts, responses.quality)[0]) - (tpr - fpr)) < 0.01


@pytest.mark.parametrize(("tpr", "fpr", "rises"), [(0.6, 0.5, True), (0.5, 0.6, False)])
def test_class_conditional_noise_only_slows_a_policy_whose_judge_has_a_positive_j(
    tpr: float, fpr: float, *, rises: bool
) -> None:
    curves = run_arm(Arm("a", judge=JudgeSettings(tpr=tpr, fpr=fpr)), seeds=range(10), steps=80, every=10)
    truth = curves.by_name["truth"]
    assert ((truth[:, -1] > truth[:, 0]) == rises).all()


def test_with_a_feature_bias_truth_falls_while_j_stays_positive() -> None:
    """What the judge rewards wrongly is learned more easily than quality, so it moves further at an equal drift."""
    policy = PolicySettings(flattery_effect=-1.5, ease=0.3)
    ends = {}
    for flattery in (0.0, 0.3):
        judge = JudgeSettings(tpr=0.7, fpr=0.3, flattery=flattery)
        found = run_arm(Arm("a", policy=policy, judge=judge), seeds=range(10), steps=100, every=5).by_name
        ends[flattery] = found["truth"][:, -1] - found["truth"][:, 0]
        assert (found["somers_d"][:, :-1].mean(axis=0) > 0.2).all()  # J, measured again every five steps
    assert (ends[0.0] > 0.02).all()
    assert (ends[0.3] < -0.04).all()


# --- failures as zero ------------------------------------------------------------------------------------------------


def zeroed(judge: dict[str, Any]) -> tuple[Array, float]:
    """The measured drift of length in every group where failures count as zero, and the drift that theory predicts."""
    settings = JudgeSettings(**judge)
    arm = Arm(
        "a",
        policy=ONE_KIND,
        judge=settings,
        treatment=TreatmentSettings(failures="zero"),
        grpo=GrpoSettings(groups=40_000),
    )
    policy, responses, judged = first_judged(arm)
    gained = advantages(rewards_of(arm, judged, responses), scale="none", epsilon=0.0)
    return group_drifts(responses.z, gained), 7 / 8 * _predicted(settings, policy)


def _predicted(judge: JudgeSettings, policy: Policy) -> float:
    """By sums over all lengths: within a prompt, reward and failure depend on length and on independent quality."""
    lengths, chances = policy.lengths, policy._length_probabilities(np.zeros((1, 7)))[0]
    z = (lengths - policy.mean_length) / policy.sd_length
    doublings = np.log2((lengths + 1) / (policy.mean_length + 1))
    reward = 0.4 * judge.gain + judge.length * doublings
    logits = math.log(judge.failures / (1 - judge.failures)) + judge.failures_by_length * doublings
    failure = 1 / (1 + np.exp(-logits))
    mean_reward, mean_failure = float(chances @ reward), float(chances @ failure)
    third = float(chances @ (z * (reward - mean_reward) * (failure - mean_failure)))
    predicted = zeroed_drift(
        float(chances @ (z * reward)), mean_failure, mean_reward, float(chances @ (z * failure)), third
    )
    assert predicted == pytest.approx(float(chances @ (z * reward * (1 - failure))))  # the identity itself
    return predicted


def test_independent_failures_as_zero_attenuate_by_the_share_that_did_not_fail() -> None:
    with_failures, expected = zeroed({"length": 0.2, "failures": 0.3})
    assert near(with_failures, expected)
    without, _ = zeroed({"length": 0.2, "failures": 1e-12})
    assert expected == pytest.approx(0.7 * float(without.mean()), rel=0.02)


def test_failures_that_follow_length_steer_it_although_the_judge_does_not_care_for_length() -> None:
    found, expected = zeroed({"failures": 0.2, "failures_by_length": 1.0})
    assert near(found, expected)
    assert expected < -0.02  # long responses fail more often, so length falls
    assert near(zeroed({"failures": 0.2})[0], 0.0)


def test_both_parts_add_up_when_the_judge_likes_what_it_fails_on() -> None:
    found, expected = zeroed({"length": 0.2, "failures": 0.2, "failures_by_length": 1.0})
    assert near(found, expected)


@pytest.mark.parametrize("failures", ["abstain", "drop"])
def test_failures_that_are_no_signal_do_not_steer(failures: Any) -> None:
    arm = Arm(
        "a",
        policy=ONE_KIND,
        judge=JudgeSettings(failures=0.2, failures_by_length=1.0),
        treatment=TreatmentSettings(failures=failures),
        grpo=GrpoSettings(groups=40_000),
    )
    _, responses, judged = first_judged(arm)
    for scale in ("none", "group"):
        gained = advantages(rewards_of(arm, judged, responses), scale=scale, epsilon=1e-4)
        assert near(group_drifts(responses.z, gained), 0.0)
