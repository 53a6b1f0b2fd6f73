"""The judge of an arm: simulated, or any judge by its name, with the arm's options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.errors import ConfigError
from calipers.study.training.arrival import ArrivalJudge
from calipers.study.training.judges import judge_for, truth_for
from calipers.study.training.rewarding import Rewarder, Tally
from calipers.study.training.study_file import read_study
from calipers.study.training.task_text import RUBRIC
from training_studies import arm, batch, study

GROUPS = {"group_size": 8}


def test_the_judge_has_the_options_of_its_table_and_of_its_arm():
    made = arm({"options": {"orders": 2, "samples": 3}}, options={"orders": 4, "ties": 1.0})
    judge = judge_for(made, 5, truth_for(made.judge))
    settings = judge.settings
    assert (settings.orders, settings.samples, settings.seed, settings.reward.ties) == (4, 3, 5, 1.0)
    assert settings.rubric == RUBRIC
    assert not isinstance(judge, ArrivalJudge)
    assert isinstance(judge_for(arm(order="arrival"), 0, truth_for(made.judge)), ArrivalJudge)


def test_the_qualities_of_wrong_and_right_can_be_set():
    made = arm({"quality": [0.1, 0.8]})
    truth, tally = truth_for(made.judge), Tally()
    prompts, responses, found = batch(5, 4)
    rewards = (
        Rewarder(judge_for(made, 0, truth, tally), made, truth, tally, 0).rewards(0, prompts, responses, found).rewards
    )
    assert rewards == pytest.approx([0.8 if right else 0.1 for right in found.right], abs=1e-5)


def test_a_panels_judges_have_their_own_vices_and_randomness():
    noisy = {"vices": [{"kind": "Noise", "sd": 0.05}]}
    judges = {"noisy": noisy, "low": {"vices": [{"kind": "Constant", "value": 0.1}]}, "own": {}}
    made = study({"judge": "panel"}, judges={**judges, "panel": {"panel": ["noisy", "noisy", "low"]}}).arms[0]
    judge = judge_for(made, 0, truth_for(made.judge))
    names = [one.model for one in judge.settings.judges]
    assert len(set(names)) == 3
    assert [name.split("-")[0] for name in names] == ["Noise", "Noise", "Constant"]
    truth, tally = truth_for(made.judge), Tally()
    Rewarder(judge_for(made, 0, truth, tally), made, truth, tally, 0).rewards(0, *batch(5, 4))
    assert tally.calls == 15
    assert all(one.stderr > 0 for result in tally.results for one in result.trajectories if one.stderr is not None)


def test_a_panel_that_cannot_be_made_is_refused():
    judges = {
        "one": {"panel": ["own"]},
        "none": {"panel": ["owm", "own"]},
        "nested": {"panel": ["one", "own"]},
        "vicious": {"panel": ["own", "own"], "vices": []},
        "own": {},
    }
    with pytest.raises(ConfigError) as error:
        study(*({"judge": name} for name in ("one", "none", "nested")), judges=judges)
    assert [line.strip() for line in str(error.value).split("\n")[1:]] == [
        "test: [judges.one]: panel must be a list of two or more names of judges",
        "test: [judges.none]: panel: there is no judge 'owm'. Did you mean own?",
        (
            "test: [judges.nested]: panel: one cannot be in it: panel, options and quality are set in the panel's own "
            "table"
        ),
        (
            "test: [judges.vicious]: panel: own is named 2 times, and each time gives the same answers: name it once, "
            "or give it noise"
        ),
        "test: [judges.vicious]: a panel has no vices, profile or model; its judges have",
    ]


def test_a_scripted_judge_is_a_judge_by_its_name(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"none\.json"):
        arm({"model": f"scripted:{tmp_path / 'none.json'}"})


def test_the_embedded_judge_can_judge_the_task():
    made = arm({"model": "embedded"})
    truth, tally = truth_for(made.judge), Tally()
    rewards = Rewarder(judge_for(made, 0, truth, tally), made, truth, tally, 0).rewards(0, *batch(5, 4)).rewards
    assert all(one is not None for one in rewards)
    assert len(set(rewards)) > 1


def rewards_of(judge: dict[str, Any], prompts: Any, responses: Any, found: Any, **row: Any) -> list[float | None]:
    made = arm(judge, **row)
    truth, tally = truth_for(made.judge), Tally()
    return (
        Rewarder(judge_for(made, 3, truth, tally), made, truth, tally, 3).rewards(0, prompts, responses, found).rewards
    )


@pytest.mark.parametrize("profile", ["gpt-5.4-nano?fidelity=0.5", "posbias-claude-3-opus-20240229?fidelity=0.5"])
def test_a_judge_with_a_profile_knows_what_is_right_with_its_fidelity(profile: str):
    """Through questions and replies, on the task's own groups, which are seldom half right: so roughly."""
    prompts, responses, found = batch(150, 8, seed=1)
    first, again = (rewards_of({"profile": profile}, prompts, responses, found, training=GROUPS) for _ in range(2))
    assert first == again
    by_group = np.array(first, dtype=float).reshape(-1, 8)
    right = found.right.reshape(-1, 8)
    mixed = [number for number, row in enumerate(right) if 0 < row.sum() < 8]
    within = [np.corrcoef(by_group[n], right[n])[0, 1] if np.ptp(by_group[n]) else 0.0 for n in mixed]
    assert np.mean(within) == pytest.approx(0.45, abs=0.15)


def test_a_profiles_preferences_are_for_features_of_the_task():
    """Headings do not begin a line in the task's responses, but count as formatting."""
    prompts, responses, found = batch(100, 8)
    rewards = np.array(rewards_of({"profile": "vice-markdown"}, prompts, responses, found, training=GROUPS))
    rest = rewards[~found.right]
    assert rest[found.format[~found.right]].mean() > rest[~found.format[~found.right]].mean() + 0.02


@pytest.mark.parametrize("name", ["families", "order-profiles"])
def test_every_judge_of_the_studies_of_profiles_rewards_three_steps(name: str):
    read, _ = read_study(name)
    for made in read.arms:
        truth, tally = truth_for(made.judge), Tally()
        rewarder = Rewarder(judge_for(made, 0, truth, tally), made, truth, tally, 0)
        for step in range(3):
            rewards = rewarder.rewards(step, *batch(2, made.training.group_size, seed=step)).rewards
            assert None not in rewards
        assert tally.groups == 6


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ({"vices": [], "model": "embedded"}, "a judge has one of vices, profile and model; not vices and model"),
        ({"vices": [], "profile": "gpt-5.4"}, "a judge has one of vices, profile and model; not vices and profile"),
        ({"profile": ""}, "profile='': it must be a profile's name or file"),
        ({"profile": "gpt-5.4-mni"}, "there is no profile 'gpt-5.4-mni'"),
        ({"profile": "posbias-gemini-pro"}, "was fitted without gold"),
        ({"profile": "gpt-5.4?fidelity=0.99"}, "cannot have the fidelity 0.99"),
        ({"profile": "gpt-5.4?quality=gold"}, "quality=: leave it out; it follows from the study"),
        ({"profile": "gpt-5.4", "quality": [0.2, 0.8]}, "quality is for judges with vices"),
        ({"model": ""}, "model='': it must be a judge's name"),
        ({"model": "nobody/at-home"}, "nobody"),
        ({"quality": [0.1]}, "quality=[0.1]: it must be two numbers from 0 to 1"),
        ({"quality": [0.1, 1.1]}, "it must be two numbers from 0 to 1"),
        ({"quality": "high"}, "it must be two numbers from 0 to 1"),
        ({"options": {"ordres": 2}}, "unknown option 'ordres'. Did you mean orders?"),
        ({"options": {"orders": 0}}, "orders=0"),
        ({"options": {"api_key": "k"}}, "a study cannot set api_key: set the provider's environment variable"),
        ({"options": {"ledger": "x.db"}}, "a study cannot set ledger"),
        ({"options": {"protocol": "checklist"}}, "protocol checklist needs a rubric with criteria"),
    ],
)
def test_a_judge_that_cannot_work_is_refused_before_the_first_step(judge: Any, said: Any):
    with pytest.raises(ConfigError) as error:
        arm(judge)
    assert said in str(error.value)
    where = "[judges.own]: " if "" in judge.values() else "arm 'arm 1': judge 'own': "
    assert str(error.value).startswith(f"test: {where}")
