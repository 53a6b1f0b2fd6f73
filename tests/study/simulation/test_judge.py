"""What a simulated judge's scores are made of, each property by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.policy import Responses
from calipers.study.simulation.settings import Arm, AskingSettings, GrpoSettings, JudgeSettings, TreatmentSettings
from simulated import first_batch, near

MANY = GrpoSettings(groups=4000, size=6)


def judged(
    judge: dict[str, Any],
    *,
    panel: tuple[JudgeSettings, ...] = (),
    treatment: dict[str, Any] | None = None,
    **asking: Any,
) -> tuple[Responses, Array]:
    arm = Arm(
        "a",
        judge=JudgeSettings(**judge),
        panel=panel,
        asking=AskingSettings(**asking),
        treatment=TreatmentSettings(**(treatment or {})),
        grpo=MANY,
    )
    _, responses, scores = first_batch(arm)
    return responses, scores


def test_an_honest_judge_says_the_quality() -> None:
    responses, scores = judged({})
    assert (scores == responses.quality).all()


def test_every_preference_adds_what_it_says() -> None:
    responses, scores = judged({"gain": 0.5, "format": 0.1, "flattery": 0.2, "confidence": 0.4, "injection": 0.8})
    features = (responses.optional[0], responses.optional[1], responses.confidence, responses.optional[2])
    expected = 0.5 * responses.quality + sum(
        adds * has for adds, has in zip((0.1, 0.2, 0.4, 0.8), features, strict=True)
    )
    assert np.allclose(scores, expected)


def test_length_adds_by_doublings() -> None:
    responses, scores = judged({"gain": 0.0, "length": 0.3})
    by_length = {int(n): float(one) for n, one in zip(responses.length.ravel(), scores.ravel(), strict=True)}
    assert by_length[7] - by_length[3] == pytest.approx(0.3)
    assert by_length[15] - by_length[7] == pytest.approx(0.3)


def test_injected_text_works_as_often_as_the_judge_obeys() -> None:
    responses, scores = judged({"gain": 0.0, "injection": 1.0, "obeys": 0.3})
    injected = responses.optional[2] == 1
    assert near(scores[injected], 0.3)
    assert (scores[~injected] == 0).all()


def test_noise_is_averaged_over_answers_and_a_responses_own_error_is_not() -> None:
    for samples in (1, 4):
        responses, scores = judged({"noise": 0.6}, samples=samples)
        assert near((scores - responses.quality) ** 2, 0.36 / samples)
        responses, scores = judged({"response_noise": 0.6}, samples=samples)
        assert near((scores - responses.quality) ** 2, 0.36)


def test_the_first_answer_is_the_same_whether_another_follows_or_not() -> None:
    responses, one = judged({"noise": 0.6})
    _, two = judged({"noise": 0.6}, samples=2)
    second = 2 * two - one - responses.quality
    assert abs(np.corrcoef((one - responses.quality).ravel(), second.ravel())[0, 1]) < 0.03


def test_levels_are_equally_spaced_and_thresholds_are_where_they_are() -> None:
    _, scores = judged({"noise": 0.5, "levels": 5})
    assert set(scores.ravel()) == {0.0, 0.25, 0.5, 0.75, 1.0}
    _, opinions = judged({"noise": 0.5})
    _, scores = judged({"noise": 0.5, "thresholds": (0.1, 0.8), "scores": (0.0, 0.3, 0.9)})
    assert (scores == np.where(opinions < 0.1, 0.0, np.where(opinions < 0.8, 0.3, 0.9))).all()


def test_verdicts_pass_at_their_rates_and_features_change_the_chances() -> None:
    responses, verdicts = judged({"tpr": 0.8, "fpr": 0.25, "flattery": 0.15})
    assert set(verdicts.ravel()) == {0.0, 1.0}
    right, flattering = responses.quality == 1, responses.optional[1] == 1
    for chosen, rate in ((right & ~flattering, 0.8), (~right & ~flattering, 0.25), (right & flattering, 0.95)):
        assert near(verdicts[chosen], rate)


def test_position_effects_average_out_over_orders_that_cancel_them() -> None:
    for asking, cancels in (({}, False), ({"orders": 2}, True), ({"orders": 6, "turning": "rotated"}, True)):
        responses, scores = judged({"slope": 0.4}, order="arrival", **asking)
        assert np.allclose(scores, responses.quality) is cancels
    responses, scores = judged({"first": 0.4}, order="arrival", orders=2)
    assert not np.allclose(scores, responses.quality)  # one reversal does not cancel an extra for the first
    responses, scores = judged({"first": 0.4}, order="arrival", orders=12)
    assert np.allclose(scores, responses.quality)


def test_a_known_position_curve_is_subtracted() -> None:
    known = {"known_slope": 0.4, "known_first": -0.3}
    responses, scores = judged({"slope": 0.4, "first": -0.3}, treatment=known, order="arrival")
    assert np.allclose(scores, responses.quality)


@pytest.mark.parametrize("reasks", [0, 2])
def test_failures_come_at_their_rate_and_re_asks_recover_the_independent_ones(reasks: int) -> None:
    _, scores = judged({"failures": 0.2}, reasks=reasks)
    assert near(np.isnan(scores), 0.2 ** (1 + reasks))


def test_failures_follow_the_features_that_they_are_linked_to() -> None:
    judge = {"failures": 0.1, "failures_by_length": 1.0, "failures_by_flattery": -2.0}
    responses, scores = judged(judge)
    policy_mean = 9.7
    for length in (3, 8, 15):
        for flattery in (0, 1):
            chosen = (responses.length == length) & (responses.optional[1] == flattery)
            logit = math.log(0.1 / 0.9) + math.log2((length + 1) / (policy_mean + 1)) - 2 * flattery
            assert near(np.isnan(scores[chosen]), 1 / (1 + math.exp(-logit)))


def test_a_failure_of_a_list_loses_the_whole_group() -> None:
    _, scores = judged({"failures": 0.3, "fails": "group"})
    missing = np.isnan(scores)
    assert (missing.all(axis=-1) == missing.any(axis=-1)).all()
    assert near(missing[..., 0], 0.3)


def test_a_response_with_one_usable_answer_is_scored_by_it() -> None:
    responses, scores = judged({"failures": 0.5}, samples=3)
    assert near(np.isnan(scores), 0.5**3)
    assert (scores[~np.isnan(scores)] == responses.quality[~np.isnan(scores)]).all()


def test_the_judges_of_a_panel_have_noise_and_failures_of_their_own() -> None:
    member = JudgeSettings(noise=0.5, failures=0.3)
    responses, scores = judged({}, panel=(member,) * 2, treatment={"panel": "mean"})
    assert near(np.isnan(scores), 0.3**2)
    both = ~np.isnan(scores)
    # Of the scores there are, 0.49 of 0.91 are means of two judges.
    assert near((scores - responses.quality)[both] ** 2, 0.25 * (0.49 / 2 + 0.42) / 0.91)
