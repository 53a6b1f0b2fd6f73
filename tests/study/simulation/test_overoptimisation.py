"""Forms of overoptimisation: recovered from curves that follow them, and told apart on runs they were not fitted on."""

from __future__ import annotations

import numpy as np
import pytest

from calipers.study.simulation.arrays import Array
from calipers.study.simulation.overoptimisation import FORMS, Form, fit_forms, predict
from calipers.study.simulation.runs import run_arm
from calipers.study.simulation.settings import Arm, GrpoSettings, JudgeSettings, PolicySettings


def curves(form: Form, noise: float) -> tuple[Array, Array]:
    """Gains of eight runs that follow a form with alpha .5 and beta .2, and their divergences."""
    dice = np.random.default_rng(3)
    kl = np.linspace(0, 4, 40) * dice.uniform(0.8, 1.2, (8, 1))
    gain = predict(form, kl, 0.5, None if form == "linear" else 0.2)
    return gain + noise * dice.standard_normal(kl.shape) * (kl > 0), kl


@pytest.mark.parametrize("form", FORMS)
def test_a_form_s_own_parameters_are_found(form: Form) -> None:
    fit = next(one for one in fit_forms(*curves(form, 0.0)) if one.form == form)
    assert fit.alpha == pytest.approx(0.5)
    assert fit.beta is None if form == "linear" else fit.beta == pytest.approx(0.2)
    assert fit.held_out.mean == pytest.approx(0.0, abs=1e-20)


def test_each_form_is_worth_what_gao_writes() -> None:
    d = 1.7
    kl = np.array([d**2])
    assert predict("best_of_n", kl, 0.5, 0.2) == pytest.approx(d * (0.5 - 0.2 * d))
    assert predict("reinforcement", kl, 0.5, 0.2) == pytest.approx(d * (0.5 - 0.2 * np.log(d)))
    assert predict("linear", kl, 0.5, None) == pytest.approx(0.5 * d)
    assert all(predict(form, np.zeros(1), 0.5, 0.2) == 0.0 for form in FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_the_true_form_has_the_least_error_on_held_out_runs(form: Form) -> None:
    fits = {fit.form: fit for fit in fit_forms(*curves(form, 0.02))}
    own = fits[form].held_out.mean
    assert own == pytest.approx(0.02**2, rel=0.3)
    assert own <= min(fit.held_out.mean for fit in fits.values()) * 1.02
    if form != "linear":
        assert fits[form].less_linear.mean < 0
        assert fits[form].less_linear.is_clear


def test_a_straight_line_is_not_beaten_where_the_truth_is_straight() -> None:
    for fit in fit_forms(*curves("linear", 0.02)):
        assert fit.less_linear.mean > -0.02 * 0.02**2


def test_one_run_has_no_held_out_error() -> None:
    with pytest.raises(ValueError, match="at least two runs"):
        fit_forms(np.zeros((1, 3)), np.zeros((1, 3)))


def test_truth_turns_over_along_a_heavy_tail_and_not_along_a_light_one() -> None:
    """At an equal mean and nearly equal spread of lengths, an equal preference and an equal harm."""
    after = {}
    for tail, floor in (("normal", 3), ("pareto", 36)):
        policy = PolicySettings(
            ease=0.8, length_cap=200, length_mean=40.0, length_sd=12.0, length_effect=-0.5, length_floor=floor,
            length_tail=tail,  # type: ignore[arg-type]
        )  # fmt: skip
        arm = Arm("a", policy=policy, judge=JudgeSettings(noise=0.3, length=0.3), grpo=GrpoSettings(groups=32))
        truth = run_arm(arm, seeds=range(4), steps=220, every=10).by_name["truth"]
        after[tail] = truth[:, -1] - truth.max(axis=1)
        assert (truth.max(axis=1) > truth[:, 0] + 0.2).all()
    assert (after["normal"] > -0.01).all()
    assert (after["pareto"] < -0.1).all()
