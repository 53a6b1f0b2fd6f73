"""What a Judge shows of itself, and what of it travels to another process."""

import copy
import multiprocessing
import pickle
from pathlib import Path
from typing import Any, get_args

import pytest

import calipers
from calipers.judging.instances import judges_in, value_for_each_judge
from calipers.judging.judge import Judge, replaying_judge
from calipers.ledger import Unrecorded, open_ledger
from calipers.rubric.grading import Task
from calipers.testing import SimulatedJudge
from groups import group_of

GROUP = group_of({"a": "17 * 24 = 408", "b": "17 * 24 = 398"})
SECRET = "sk-unguessable"  # noqa: S105 - no real key


def unpickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - of this test


def judged_there(pickled: bytes) -> list[float | None]:
    judge = pickle.loads(pickled)  # noqa: S301 - likewise
    result: calipers.GroupResult = calipers.run(judge.score_group(GROUP))
    return result.rewards


def test_a_judge_shows_its_names_and_how_it_asks_and_no_password():
    shown = {
        "Judge('embedded')": Judge("embedded", rubric="Good is good. " * 10_000),
        "Judge('embedded', protocol='pairwise', orders=2)": Judge("embedded", protocol="pairwise", orders=2),
        "Judge('vllm/m@http://gpu1:8000/v1')": Judge(f"vllm/m@http://me:{SECRET}@gpu1:8000/v1", api_key=SECRET),
        "Judge(['embedded', 'SimulatedJudge'])": Judge(["embedded", SimulatedJudge({})]),
    }
    assert [repr(judge) for judge in shown.values()] == list(shown)


def test_copies_of_a_judge_are_the_judge_so_that_budget_and_run_stay_one():
    judge = Judge("embedded", budget={"calls": 3})
    assert copy.deepcopy({"judge": judge})["judge"] is judge
    assert copy.copy(judge) is judge


def test_a_pickled_judge_judges_in_another_process_as_here(tmp_path: Path):
    judge = Judge("embedded", orders=2, reward="rank", ledger=tmp_path / "l.db")
    here = calipers.run(judge.score_group(GROUP)).rewards  # it has judged, and its ledger is open
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(judged_there, (pickle.dumps(judge),)) == here
    again = unpickled(judge)
    assert repr(again) == repr(judge)
    assert again.settings.to_dict() == Judge("embedded", orders=2, reward="rank").settings.to_dict()


def test_a_key_of_the_environment_is_never_in_a_pickle_and_a_given_one_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    pickled = pickle.dumps(Judge("openai/gpt-5-mini"))
    assert SECRET.encode() not in pickled
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(calipers.ConfigError, match="OPENAI_API_KEY"):
        pickle.loads(pickled)  # noqa: S301 - likewise
    given = pickle.dumps(Judge("openai/gpt-5-mini", api_key=SECRET))
    assert SECRET.encode() in given
    assert repr(unpickled(Judge("openai/gpt-5-mini", api_key=SECRET))) == "Judge('openai/gpt-5-mini')"


def test_an_open_ledger_and_a_replay_stay_in_their_process(tmp_path: Path):
    ledger = open_ledger(tmp_path / "l.db")
    judge = Judge("embedded", ledger=ledger)
    with pytest.raises(TypeError, match="give ledger= a path or URL"):
        pickle.dumps(judge)
    with pytest.raises(TypeError, match="replays a ledger"):
        pickle.dumps(replaying_judge(judge.settings, Unrecorded()))
    ledger.close()


def test_results_and_groups_survive_pickle_and_deepcopy():
    result = calipers.run(Judge("embedded").score_group(GROUP))
    for one in (result, GROUP, result.trajectories[0], GROUP.trajectories[0]):
        assert unpickled(one) == one
        assert copy.deepcopy(one) == one


def test_an_option_of_one_judge_must_name_it_in_a_panel():
    assert value_for_each_judge("api_key", "k", ["a/x"]) == ["k"]
    assert value_for_each_judge("api_key", None, ["a/x", "b/y"]) == [None, None]
    assert value_for_each_judge("api_key", {"b/y": "k"}, ["a/x", "b/y"]) == [None, "k"]
    for value, words in (("k", "there are 2 judges, so name the one"), ({"c/z": "k"}, "'c/z' is none of the judges")):
        with pytest.raises(calipers.ConfigError, match=words):
            value_for_each_judge("api_key", value, ["a/x", "b/y"])
    with pytest.raises(calipers.ConfigError, match="at least one"):
        judges_in([])


def test_a_kind_of_task_adds_one_sentence_to_the_built_in_standards():
    rubrics = {task: Judge("embedded", question={"task": task}).settings.rubric for task in get_args(Task)}
    assert all(str(rubric).startswith(f"{calipers.DEFAULT_RUBRIC}\n- What matters") for rubric in rubrics.values())
    assert len(set(rubrics.values())) == len(get_args(Task))
