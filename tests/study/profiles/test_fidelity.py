"""The fidelity of a judge with a profile, and the same judge at another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import calipers
from calipers.errors import ConfigError
from calipers.study.profiles.fidelity import agreement_for, fidelity_of, with_agreement
from calipers.study.profiles.judge import ProfileJudge
from calipers.study.profiles.named import profile_judge, profile_judge_of, shipped_profile
from calipers.types import Trajectory, TrajectoryGroup

SCORES, PAIRS, RANKS = "gpt-5.4-nano", "posbias-claude-3-sonnet-20240229", "rank-vicuna-7b"


def groups_of_eight(count: int) -> list[TrajectoryGroup]:
    def one(group: int, number: int) -> Trajectory:
        text = f"answer {number} of group {group}"
        return Trajectory(f"{number}", ({"role": "assistant", "content": text},), gold=float(number % 2))

    return [TrajectoryGroup(f"g{group}", tuple(one(group, number) for number in range(8))) for group in range(count)]


@pytest.mark.parametrize("name", [SCORES, PAIRS, RANKS])
async def test_a_judges_answers_have_the_fidelity_that_was_asked_for(name: str) -> None:
    """Through the whole pipeline, in reply text, from one answer about each group."""
    judge = calipers.Judge(f"profile:{name}?fidelity=0.5")
    found = []
    for group in groups_of_eight(400):
        scores = [one.score or 0.0 for one in (await judge.score_group(group)).trajectories]
        golds = [one.gold or 0.0 for one in group.trajectories]
        found.append(np.corrcoef(scores, golds)[0, 1] if np.ptp(scores) > 0 else 0.0)
    assert np.mean(found) == pytest.approx(0.5, abs=0.05)  # four standard errors


def test_an_agreement_is_found_for_each_fidelity_that_noise_allows() -> None:
    profile = shipped_profile(SCORES)
    for wanted in (0.0, 0.3, 0.6):
        latent = with_agreement(profile, agreement_for(profile, wanted), None)
        assert fidelity_of(profile, latent) == pytest.approx(wanted, abs=0.002)
    with pytest.raises(ConfigError, match=r"cannot have the fidelity 0\.9: .* one answer has from 0 to 0\.67"):
        agreement_for(profile, 0.9)


@pytest.mark.parametrize("part", [{"call_sd": 2.0}, {"order_sd": 2.0}, {"gain_sd": 4.0}, {"slope": 4.0}])
def test_noise_bias_and_uneven_groups_lower_the_fidelity(part: dict[str, Any]) -> None:
    profile = shipped_profile(SCORES)
    latent = with_agreement(profile, None, None)
    assert fidelity_of(profile, replace(latent, **part)) < fidelity_of(profile, latent) - 0.05


def test_a_fidelity_is_a_judges_option_and_excludes_an_agreement() -> None:
    judge = profile_judge(f"{PAIRS}?fidelity=0.4")
    assert judge.model == ProfileJudge(judge.profile, agreement=agreement_for(judge.profile, 0.4)).model
    with pytest.raises(ConfigError, match="agreement= and fidelity= both say how far the judge agrees: leave one out"):
        profile_judge(f"{PAIRS}?fidelity=0.4&agreement=0.5")


@pytest.mark.parametrize("option", ["quality=gold", "low=0", "high=1", "seed=1"])
def test_what_follows_from_a_study_is_no_option_of_its_judge(option: str) -> None:
    known = {("g", "1"): 1.0}
    study: dict[str, Any] = {"quality": lambda group, member: known[group, member], "seed": 1}
    assert profile_judge_of("gpt-5.4?agreement=0.4", **study).profile.name == "gpt-5.4"
    with pytest.raises(ConfigError, match="leave it out; it follows from the study"):
        profile_judge_of(f"gpt-5.4?{option}", **study)
