"""The reward function itself, called as TRL calls it. In TRL's own trainers: ``test_trl_trainers``."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.errors import ConfigError
from calipers.ledger import read_ledger
from calipers.ledger.contents import recorded_group, recorded_results
from calipers.trainers.trl import AsyncReward, BlockingReward, reward_func
from calipers.types import JudgeRequest
from servers.faulty_server import FaultyServer, error


def called(reward: AsyncReward, completions: list[Any], prompt: Any = "q", **columns: Any) -> list[float | None]:
    """As TRL calls it: everything by keyword."""
    given = {"completion_ids": [[1]] * len(completions), **columns}
    return asyncio.run(reward(prompts=[prompt] * len(completions), completions=completions, **given))


def silent_on(text: str) -> ContentJudge:
    """A judge that never says anything about a completion that holds ``text``."""

    def write(opinions: Mapping[str, int], request: JudgeRequest) -> str:
        shown = zip(request.keys, request.ask.order, strict=True)
        silent = {key for key, item in shown if text in repr(request.view.candidates[item].messages)}
        said = {key: value for key, value in opinions.items() if key not in silent}
        return str({"scores": said}).replace("'", '"')

    return ContentJudge(write)


def made_here() -> Judge:
    return Judge(ContentJudge())


# --- rewards --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("training", "split"), [(True, None), (False, "held_out")])
def test_the_step_is_recorded_and_the_judge_is_asked_the_same(tmp_path: Path, *, training: bool, split: str | None):
    asked = []
    for state in (None, SimpleNamespace(global_step=3)):
        ledger = tmp_path / f"{state}.db"
        model = SimpleNamespace(training=training)
        trainer = SimpleNamespace(model=model, num_generations=2, num_generations_eval=2, reward_funcs=[print])
        log = MethodType(lambda *_: None, trainer)
        reward = reward_func(Judge(ContentJudge(), ledger=ledger), num_generations=2)
        assert called(reward, ["worth 10", "worth 90"], log_metric=log, trainer_state=state) == [0.1, 0.9]
        reward.judge.close()
        with read_ledger(ledger) as reader:
            asked.append(reader.rows("SELECT key, request FROM answers"))
            group, (_, result) = recorded_group(reader, 1, 0), next(recorded_results(reader, 1))
        for one in (group, result):
            assert (one.get("step"), one.get("split")) == ((None, None) if state is None else (3, split))
    assert asked[0] == asked[1] != []


def test_what_stays_without_a_score_is_none_and_so_is_its_group_unless_the_judge_is_the_only_reward():
    completions = ["worth 10", "worth 90", "worth 40 mute", "worth 20"]
    one = reward_func(Judge(silent_on("mute"), question={"reasks": 0}), num_generations=2, only_reward=True)
    other = reward_func(Judge(silent_on("mute"), question={"reasks": 0}), num_generations=2)
    assert called(one, completions) == [0.1, 0.9, None, 0.2]
    assert called(other, completions) == [0.1, 0.9, None, None]


def test_empty_and_unreadable_completions_are_the_policys_and_stop_nothing():
    unreadable = [{"role": "martian", "content": "worth 99"}]
    texts: list[Any] = [[{"role": "assistant", "content": text}] for text in ("worth 10", "", "worth 30")]
    reward = reward_func(ContentJudge(), num_generations=4, only_reward=True)
    prompt = [{"role": "user", "content": "q"}]
    said: dict[str, list[str]] = {}
    found = called(reward, [*texts, unreadable], prompt, log_extra=said.__setitem__)
    assert found == [0.1, 0.5, 0.3, None]
    assert said["judge_says"][0].startswith("I like")
    assert "the role 'martian'" in said["judge_says"][3]


def test_a_rubric_column_and_a_reference_column_reach_the_judge():
    judge = ContentJudge()
    reward = reward_func(judge, num_generations=2, reference_column="answer")
    called(reward, ["worth 1", "worth 2"], rubric=["Only brevity counts."] * 2, answer=["forty-two"] * 2)
    system = judge.asked[0].messages[0]["content"]
    assert "Only brevity counts.\n\nFor this task there is a reference" in system
    assert "forty-two" in system
    with pytest.raises(ConfigError, match=r"no column 'answer'; .*: prompt, completion_ids"):
        called(reward, ["worth 1", "worth 2"])
    with pytest.raises(ConfigError, match=r"no column 'rub'; .*: prompt, completion_ids"):
        called(reward_func(judge, num_generations=2, rubric_column="rub"), ["worth 1", "worth 2"])
    with pytest.raises(ConfigError, match="only_reward='yes': write True, False, or None"):
        reward_func(judge, num_generations=2, only_reward="yes")  # type: ignore[arg-type]


# --- settings that cannot work --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_generations": 1}, "num_generations=1: a judge compares"),
        ({"num_generations": 2.0}, "num_generations=2.0: it must be a whole number"),
        ({"name": "the judge"}, "name='the judge': it must be an identifier such as"),
        ({"reference_column": 3}, "reference_column=3: it must be text"),
        ({"judge": 7}, "judge: it is a int; give a judge's name"),
        ({"judge": dict}, r"dict\(\) returned a dict; .* a function without arguments that returns a Judge"),
        ({"judge": "gpt-5"}, "is not a judge name: write provider/model"),
    ],
)
def test_settings_that_cannot_work_are_named_before_the_trainer_is_built(options: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        reward_func(**{"judge": "embedded", "num_generations": 4, **options})


def test_a_dead_judge_is_found_out_at_the_start(faulty: FaultyServer):
    faulty.get["/v1/models"] = error(401)
    with pytest.raises(ConfigError, match="does not accept the key"):
        reward_func(Judge("vllm/tiny", base_url=faulty.url), num_generations=4)
    reward_func(Judge("vllm/tiny", base_url=faulty.url), num_generations=4, check=False)


# --- the forms TRL takes --------------------------------------------------------------------------------------------


def test_it_can_be_sent_to_another_process_unless_it_holds_a_judge():
    for judge in ("embedded", made_here):
        for blocking in (False, True):
            reward: Any = reward_func(judge, num_generations=2, blocking=blocking, name="tone")
            sent: AsyncReward | BlockingReward = pickle.loads(pickle.dumps(reward))  # noqa: S301 - our own
            assert type(sent) is type(reward)
            assert sent.__name__ == "tone"
    assert sent([" q", " q"], ["worth 10", "worth 90"]) == [0.1, 0.9]
    with pytest.raises(ConfigError, match="a Judge holds connections and cannot be"):
        pickle.dumps(reward_func(made_here(), num_generations=2))
