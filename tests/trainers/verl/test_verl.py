"""calipers in verl 0.9, through verl's own agent loop, replay buffers, reward loop and advantages.

All of it happens once, in a process of its own (``verl_run.py``); the tests look at what it reports.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from example_loops import run_loop
from own_process import reported

_HERE = Path(__file__).resolve().parent
_NEEDED = ("verl", "ray", "transfer_queue", "uvicorn", "fastapi", "cachetools", "pandas")
_missing = [name for name in _NEEDED if find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return reported(_HERE / "verl_run.py", tmp_path_factory.mktemp("verl"), seconds=840)


# --- the agent loop -------------------------------------------------------------------------------------------------


def rewards_of(name: str, told: dict[str, Any]) -> dict[str, Any]:
    """The rewards of a prompt's rollouts, by what they say."""
    labels = ((label.split(": "), reward) for label, reward in told["rewards"].items())
    return {said: pytest.approx(reward, abs=1e-6) for (prompt, said), reward in labels if prompt == name}


ALL = {"worth 30": 0.3, "worth 90": 0.9, "worth 60": 0.6, "worth 10": 0.1}
THREE = {said: reward for said, reward in ALL.items() if said != "worth 90"}
GROUPS = {
    "plain": (ALL, "finished"),  # however late its siblings are
    "tools": (ALL, "finished"),
    "unscored": (THREE, "finished"),
    "nan": (THREE, "finished"),
    "dead": ({}, "failure"),
    "lone": ({}, "failure"),
    "empty": ({}, "failure"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_each_scored_rollout_has_its_own_reward_and_a_group_that_failed_never_trains(
    report: dict[str, Any], name: str
) -> None:
    told = report["agent_loop"]
    assert (rewards_of(name, told), told["status"][name]) == GROUPS[name]


def test_a_group_is_one_question_and_one_more_for_what_the_answer_left_out(report: dict[str, Any]) -> None:
    first, again = 10, 4  # all but "empty"; "unscored", "nan", "both" and "lone"
    assert report["agent_loop"]["questions"] == first + again


def test_what_tools_answered_is_shown_apart_from_what_the_policy_wrote(report: dict[str, Any]) -> None:
    """Through verl's own tool agent: the mask tells who wrote what."""
    shown = report["agent_loop"]["tools shown"]
    turns = re.findall(r"^@\w+ (assistant|result -)\n(.*?)(?=^@)", shown, re.DOTALL | re.MULTILINE)
    assert [who for who, _ in turns] == ["assistant", "result -", *["assistant"] * 4]  # what they share is shown once
    assert 'tool_call>{"name": "weigh"' in turns[0][1]
    assert "12 stone" in turns[1][1]
    assert sorted(said.strip() for _, said in turns[2:]) == ["worth 10", "worth 30", "worth 60", "worth 90"]


def test_a_lost_sibling_is_not_waited_for_and_not_in_the_group(report: dict[str, Any]) -> None:
    said = rewards_of("lost", report["agent_loop"])
    assert len(said) == 3
    assert said.keys() <= THREE.keys()
    assert report["agent_loop"]["status"]["lost"] == "failure"
    assert len(rewards_of("both", report["agent_loop"])) == 2


def test_every_rollout_brings_the_same_keys_and_numbers(report: dict[str, Any]) -> None:
    for told in (report["agent_loop"], report["agent_loop"]["validation"], report["absolute"]["rules"]):
        assert {tuple(sorted(info)) for info in told["info"]} == {("calipers_rewarded", "calipers_score")}
        assert all(math.isfinite(number) for info in told["info"] for number in info.values())


@pytest.mark.parametrize(
    "estimator", ["grpo", "rloo", "grpo_vectorized", "rloo_vectorized", "opo", "reinforce_plus_plus_baseline"]
)
def test_advantages_are_those_of_the_groups_without_their_failed_members(
    report: dict[str, Any], estimator: str
) -> None:
    """verl's trainer, on what came through its agent loop, against verl's estimator on the survivors alone."""
    measured, expected = report["agent_loop"]["advantages"][estimator]
    assert measured == expected
    assert all(math.isfinite(one) for one in measured.values())
    assert measured["ties: worth 50"] == measured["ties: it is worth 50"]
    assert {label.split(": ")[0] for label in measured} == {
        *("plain", "ties", "even", "unscored", "nan", "lost", "both", "tools")
    }


def test_asynchronous_trainers_replace_groups_that_lost_a_rollout_and_keep_those_the_judge_did_not_score_whole(
    report: dict[str, Any],
) -> None:
    asynchronous = report["agent_loop"]["async"]
    assert asynchronous["trained"] == ["even", "nan", "plain", "ties", "tools", "unscored"]
    assert asynchronous["refilled"] == 6  # five, and the group of one
    assert asynchronous["metrics"] == ["training/rollout_failure/evicted_samples"]


def test_a_step_without_any_reward_ends_a_synchronous_run_and_trains_nothing(report: dict[str, Any]) -> None:
    told = report["agent_loop"]["failed step"]
    assert "no materializable trajectories" in told
    assert "sync_refill_failed_groups" in told
    refilled = report["agent_loop"]["refilled step"]
    assert refilled == [f"plain: {said}" for said in ("worth 10", "worth 30", "worth 60", "worth 90")]


def test_the_ledger_says_after_how_many_updates_a_group_was_judged_and_whether_it_was_validation(
    report: dict[str, Any],
) -> None:
    steps = report["agent_loop"]["recorded steps"]
    assert (steps["s"], steps["v"], steps["a"]) == ([2, None], [1, "held_out"], [0, None])


def test_a_group_of_one_gets_the_middle_in_validation_without_a_call_and_never_trains(report: dict[str, Any]) -> None:
    """For verl the reward of a rollout that is alone would be its advantage, whatever the reward is."""
    validated, trained = report["agent_loop"]["validation"], report["agent_loop"]["training alone"]
    assert (validated["status"], list(validated["rewards"].values())) == ({"plain": "finished"}, [0.5])
    assert (trained["status"], trained["rewards"]) == ({"plain": "failure"}, {})


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("no judge", r"names no judge: add \+calipers.judge="),
        ("lone", r"rollout.n=1: rollouts are compared"),
        ("unreachable", "Nothing answers at http://127.0.0.1:9"),
        ("old trainer", r"is for verl's V1 trainer: set trainer.use_v1=true"),
    ],
)
def test_what_cannot_work_is_refused_before_any_rollout(report: dict[str, Any], wrong: str, sentence: str) -> None:
    assert re.match(f"ConfigError: .*{sentence}", report["agent_loop"]["refused"][wrong], re.DOTALL)


# --- rows with criteria or rules --------------------------------------------------------------------------------------


def test_verls_own_reward_loop_grades_rows_with_criteria_by_compute_score(report: dict[str, Any]) -> None:
    """With the columns of RuscaRL, on two judge servers; rollouts that could not be graded do not train."""
    told = report["absolute"]["criteria"]
    assert rewards_of("plain", told) == {"worth 30": 0.5, "worth 90": 1.0, "worth 60": 0.5, "worth 10": 0.0}
    assert rewards_of("unscored", told) == {"worth 30": 0.5, "worth 60": 0.5, "worth 10": 0.0}
    assert told["status"] == {"plain": "finished", "unscored": "failure"}
    # Three answers stand in both groups, under one prompt: asked in the same moment by one worker they share a call.
    questions = Counter(json.dumps(messages) for messages in told["judged"])
    assert len(questions) == 5
    assert max(questions.values()) <= 2
    assert sum(told["served"]) == questions.total() <= 8


def test_the_agent_loop_checks_rules_and_asks_a_judge_about_the_rest(report: dict[str, Any]) -> None:
    told = report["absolute"]["rules"]
    assert rewards_of("plain", told) == {"worth 30": 1.0, "worth 90": 0.0, "worth 60": 1.0, "worth 10": 1.0}
    assert rewards_of("unscored", told) == {"worth 30": 1.0, "worth 60": 1.0, "worth 10": 1.0}
    assert told["status"] == {"plain": "finished", "unscored": "finished"}
    assert set(told["alone"]["rewards"].values()) <= {0.0, 1.0}
    assert told["alone"]["status"] == {"plain": "finished"}


# --- a judge that is not there --------------------------------------------------------------------------------------


def test_a_mistyped_model_ends_a_run_that_replaces_failed_groups_and_any_run_at_its_next_step(
    report: dict[str, Any],
) -> None:
    """verl takes what rollouts raise for their failure; what ends it is raised where it sends prompts to its
    workers.
    """
    told = report["no_judge"]
    assert set(told["first step"].values()) == {"failure"}
    assert re.search("ConfigError.*every question was refused", told["refilling"], re.DOTALL)
    assert re.search("ConfigError.*does not exist", told["next step"], re.DOTALL)


def test_patience_ends_the_run_after_so_many_lost_groups_in_a_row(report: dict[str, Any]) -> None:
    told = report["no_judge"]
    assert told["patient"] == [{"dead": "failure"}, {"plain": "finished"}]
    assert told["out"] == [{"dead": "failure"}] * 2
    assert "2 groups in a row were lost (patience=2), the last because failed: " in told["out of patience"]


@pytest.mark.parametrize(("log", "lost"), [("first log", 0), ("second log", 3)])
def test_lost_groups_and_the_end_of_the_run_are_a_line_each_in_verls_log(
    report: dict[str, Any], log: str, lost: int
) -> None:
    lines = report["no_judge"][log]
    told = [line for line in lines if "could not be scored" in line]
    assert len(told) == lost
    assert all(
        re.search(r"failed group (n0|o\d)-dead: 4 of 4 rollouts could not be scored, so it does not", line)
        for line in told
    )
    assert sum("the run ends: " in line for line in lines) == 1


# --- the example ------------------------------------------------------------------------------------------------------


def test_the_loop_with_verls_parts_makes_the_policy_better(tmp_path: Path) -> None:
    assert "settings verl's loader accepts" in run_loop("verl_loop.py", tmp_path)
    words = shlex.split((tmp_path / "train.sh").read_text(encoding="utf-8"), comments=True)
    assert words[:3] == ["python", "-m", "verl.trainer.main_ppo"]
    assert "+calipers.base_url=http://localhost:8000/v1" in words
