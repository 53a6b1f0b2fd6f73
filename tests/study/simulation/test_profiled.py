"""A simulation's judge that has a profile: what follows from it, and what a file may still set."""

from __future__ import annotations

from dataclasses import replace
from math import hypot
from pathlib import Path

import numpy as np
import pytest

from calipers.errors import ConfigError
from calipers.study.profiles import write_profile
from calipers.study.profiles.fidelity import fidelity_of, with_agreement, with_even_groups
from calipers.study.profiles.named import shipped_profile
from calipers.study.simulation.configuration import read_simulation, settings_as_tables, simulation_from
from calipers.study.simulation.judge import on_scale
from calipers.study.simulation.profiled import settings_of_profile
from calipers.study.simulation.runs import run_arm
from calipers.study.simulation.settings import Arm, GrpoSettings, TreatmentSettings


def one_arm(**judge: object) -> Arm:
    return simulation_from({"arms": [{"name": "a", "judge": judge}]}, source="t").arms[0]


def test_the_settings_are_the_profiles_latent_numbers() -> None:
    profile = shipped_profile("llmbar-chatgpt")
    latent = with_even_groups(profile, with_agreement(profile, None, None))
    judge = one_arm(profile="llmbar-chatgpt").judge
    assert (judge.gain, judge.response_noise) == (latent.gain, latent.candidate_sd)
    assert judge.noise == hypot(latent.order_sd, latent.call_sd)
    assert (judge.slope, judge.first, judge.last) == (latent.slope, latent.first, latent.last)
    assert judge.slope < 0
    assert judge.length == latent.per_unit["length"] > 0
    assert judge.format == latent.per_unit["markdown"]
    assert judge.thresholds == judge.scores == ()  # of pairs: opinions themselves
    refusals = one_arm(profile="vice-refusals").judge
    assert refusals.failures > 0 < refusals.failures_by_length


def test_the_noise_of_a_response_stands_for_uneven_groups() -> None:
    """Otherwise the simulated judge would agree with the truth better than the profile: 0.92 in place of 0.71."""
    profile = shipped_profile("gpt-5.4")
    latent = with_agreement(profile, None, None)
    even = with_even_groups(profile, latent)
    assert (even.group_sd, even.log_spread, even.gain_sd) == (0, 0, 0)
    assert even.candidate_sd > latent.candidate_sd
    assert fidelity_of(profile, even) == pytest.approx(fidelity_of(profile, latent), abs=0.002)
    assert one_arm(profile="gpt-5.4").judge.response_noise == even.candidate_sd


def test_a_policy_learns_what_is_right_from_a_profiles_judge() -> None:
    arm = replace(one_arm(profile="gpt-5.4-nano"), grpo=GrpoSettings(groups=16, size=8))
    truth = run_arm(arm, seeds=range(2), steps=40).by_name["truth"]
    assert (truth[:, -1] > truth[:, 0] + 0.05).all()


def test_scores_are_those_that_the_profile_gives_for_the_same_opinion() -> None:
    profile = shipped_profile("gpt-5.4-nano")
    latent = with_agreement(profile, None, None)
    judge = one_arm(profile="gpt-5.4-nano").judge
    quality = np.linspace(-1, 2, 50)
    expected = np.searchsorted(latent.thresholds, (latent.gain or 0) * (quality - latent.centre), side="right")
    levels = np.array([one.score for one in profile.scale.levels])
    assert list(on_scale(judge, judge.gain * quality)) == list(levels[expected])


def test_a_files_own_keys_win_over_those_of_the_profile_but_not_over_an_arms_profile() -> None:
    content = {
        "judge": {"noise": 0.5},
        "arms": [
            {"name": "a", "judge": {"profile": "gpt-5.4-nano"}},
            {"name": "b", "judge": {"profile": "gpt-5.4-nano", "noise": 2.0}},
            {"name": "c"},
        ],
    }
    found = [arm.judge.noise for arm in simulation_from(content, source="t").arms]
    assert found == [settings_of_profile("gpt-5.4-nano")["noise"], 2.0, 0.5]


def test_a_profile_of_a_panel_and_written_settings_are_read_as_they_were(tmp_path: Path) -> None:
    members = [{"profile": "gpt-5.4?fidelity=0.5"}, {"profile": "posbias-claude-3-opus-20240229?agreement=0.7"}]
    arm = simulation_from({"arms": [{"name": "a", "panel": members}]}, source="t").arms[0]
    assert [judge.slope > 0 for judge in arm.panel] == [False, True]
    again = simulation_from({"arms": [{"name": "a", **settings_as_tables(arm)}]}, source="t").arms[0]
    assert settings_as_tables(again) == settings_as_tables(arm)


@pytest.mark.parametrize(
    ("profile", "says"),
    [
        ('"gpt-5.4-mni"', "arm 'a': judge: there is no profile 'gpt-5.4-mni'"),
        ('"posbias-gemini-pro"', "was fitted without gold"),
        ('"gpt-5.4?seed=1"', "seed=: leave it out; it follows from the study"),
        ("3", "profile=3: it must be a profile's name or file"),
        ('"none.json"', "none.json: there is no such file"),
    ],
)
def test_a_profile_that_cannot_be_used_is_a_problem_of_the_file(tmp_path: Path, profile: str, says: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(f'[[arms]]\nname = "a"\njudge = {{ profile = {profile} }}\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_simulation(str(path))
    assert says in str(caught.value)


def test_a_judge_that_always_gives_one_score_teaches_nothing() -> None:
    """Of such a judge, a profile has one level and no thresholds."""
    arm = one_arm(scores=[0.5], noise=0.1)
    assert (on_scale(arm.judge, np.linspace(-1, 2, 5)) == 0.5).all()
    treated = replace(arm, treatment=TreatmentSettings(ties=1.0, weights="reliability", length_control=0.3))
    for one in (arm, treated):
        curves = run_arm(one, seeds=range(2), steps=3).by_name
        assert (curves["truth"] == curves["truth"][:, :1]).all()
        assert (curves["no_spread"][:, :-1] >= 0).all()


def test_a_profile_of_one_level_is_simulated(tmp_path: Path) -> None:
    """Such a profile is that of a judge whose recorded scores are all equal."""
    profile = shipped_profile("gpt-5.4-nano")
    assert profile.latent is not None
    flat = replace(
        profile,
        scale=replace(profile.scale, levels=(replace(profile.scale.levels[0], share=1.0),)),
        latent=replace(profile.latent, thresholds=()),
    )
    write_profile(tmp_path / "flat.json", flat)
    judge = one_arm(profile=str(tmp_path / "flat.json")).judge
    assert (judge.thresholds, len(judge.scores)) == ((), 1)
