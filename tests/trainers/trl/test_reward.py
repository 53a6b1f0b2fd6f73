"""The reward function itself, called as TRL calls it: rewards, settings, and what it knows of the TRL around it.

In TRL's own trainers: ``test_any`` and ``test_environments``.
"""

from __future__ import annotations

import asyncio
import pickle
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from art_judges import ContentJudge
from calipers import Judge
from calipers.errors import ConfigError
from calipers.ledger import read_ledger
from calipers.ledger.contents import recorded_group, recorded_groups
from calipers.trainers.trl import AsyncReward, BlockingReward, reward_func
from calipers.trainers.trl import reward as trl_reward
from calipers.types import GroupResult, JudgeRequest, TrajectoryResult, Usage
from servers.faulty_server import FaultyServer, error


class Trainer:
    """As much of a trainer as a reward function's ``log_metric`` leads to."""

    def __init__(self, *, training: bool = True, functions: int = 1, size: int = 4) -> None:
        self.model = SimpleNamespace(training=training)
        self.num_generations, self.num_generations_eval = size, 2
        self.reward_funcs = [print] * functions

    def log(self, name: str, value: float) -> None: ...

    def columns(self, step: int = 5) -> dict[str, Any]:
        return {"log_metric": self.log, "trainer_state": SimpleNamespace(global_step=step)}


def called(reward: AsyncReward, completions: list[Any], prompt: Any = "q", **columns: Any) -> list[float | None]:
    """As TRL calls it: everything by keyword."""
    prompts = prompt if isinstance(prompt, list) else [prompt] * len(completions)
    given = {"completion_ids": [[1]] * len(completions), **columns}
    return asyncio.run(reward(prompts=prompts, completions=completions, **given))


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


FOUR = [f"worth {number}" for number in (10, 20, 30, 40)]

# --- rewards --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("training", "split"), [(True, None), (False, "held_out")])
def test_the_step_is_recorded_and_the_judge_is_asked_the_same(tmp_path: Path, *, training: bool, split: str | None):
    asked = []
    for columns in ({}, Trainer(training=training, size=2).columns(step=3)):
        ledger = tmp_path / f"{len(columns)}.db"
        reward = reward_func(Judge(ContentJudge(), ledger=ledger), num_generations=2)
        assert called(reward, ["worth 10", "worth 90"], **columns) == [0.1, 0.9]
        reward.judge.close()
        with read_ledger(ledger) as reader:
            asked.append(reader.rows("SELECT key, request FROM answers"))
            group, (_, result) = recorded_group(reader, 1, 0), next(recorded_groups(reader, 1, "result"))
        for one in (group, result):
            assert (one.get("step"), one.get("split")) == ((3, split) if columns else (None, None))
    assert asked[0] == asked[1] != []


def test_what_stays_without_a_score_is_none_and_so_is_its_group_unless_the_judge_is_the_only_reward():
    completions = ["worth 10", "worth 90", "worth 40 mute", "worth 20"]
    for only_reward, last in ((True, 0.2), (None, None)):
        judge = Judge(silent_on("mute"), question={"reasks": 0})
        reward = reward_func(judge, num_generations=2, only_reward=only_reward)
        assert called(reward, completions) == [0.1, 0.9, None, last]


def test_empty_and_unreadable_completions_are_the_policys_and_stop_nothing():
    reward = reward_func(ContentJudge(), num_generations=4, only_reward=True)
    texts: list[Any] = [[{"role": "assistant", "content": text}] for text in ("worth 10", "")]
    unreadable = [{"role": "martian", "content": "worth 99"}]
    prompts = [[{"role": "user", "content": "q"}] for _ in range(4)]
    said: dict[str, list[str]] = {}
    assert called(reward, [*texts, unreadable, None], prompts, log_extra=said.__setitem__) == [0.1, 0.5, None, None]
    assert said["judge_says"][0].startswith("I like")
    assert "the role 'martian'" in said["judge_says"][2]


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


# --- the trainer around it ------------------------------------------------------------------------------------------


def test_a_group_has_the_trainers_own_size_and_in_evaluation_its_size_there() -> None:
    judge = ContentJudge()
    called(reward_func(judge, num_generations=4), FOUR, **Trainer().columns())
    called(reward_func(judge, num_generations=4), FOUR, **Trainer(training=False).columns())
    assert len(judge.asked) == 1 + 2
    with pytest.raises(ConfigError, match="given num_generations=2, but the trainer has 4"):
        called(reward_func(judge, num_generations=2), FOUR, **Trainer().columns())
    with pytest.raises(ConfigError, match="does not show its group size"):
        called(reward_func(judge), FOUR)
    with pytest.raises(ConfigError, match="only_reward=True, but the trainer has 2 reward functions"):
        called(reward_func(judge, only_reward=True), FOUR, **Trainer(functions=2).columns())


def test_rollouts_of_different_prompts_are_no_group_unless_environments_may_have_extended_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A group of answers to different questions would be rewarded for its questions."""
    mixed, answers = ["6*7?", "5*5?"] * 3, [f"worth {number}" for number in range(40, 46)]
    state = {"trainer_state": SimpleNamespace(global_step=1)}
    cases: list[tuple[str, list[str], dict[str, Any], bool, bool]] = [
        ("no state, as in a loop of one's own", mixed, {}, True, False),
        ("TRL's trainer", mixed, state, True, False),
        ("TRL's trainer with one group", mixed[:3], state, True, False),
        ("environments extend prompts", mixed, {**state, "environments": [object()] * 6}, False, False),
        ("AsyncGRPO passes one group, and does not show its environments", mixed[:3], {}, False, True),
        ("equal prompts", ["6*7?"] * 3 + ["5*5?"] * 3, {}, False, False),
    ]
    for name, prompts, columns, refused, warned in cases:
        caplog.clear()
        reward = reward_func(ContentJudge(), num_generations=3)
        with pytest.raises(ConfigError, match="different prompts") if refused else nullcontext():
            assert None not in called(reward, answers[: len(prompts)], prompts, **columns), name
        assert ("different prompts" in caplog.text) == warned, name


SCORED = TrajectoryResult("1", "scored", 0.5, 0.5, 0.1, "good")
ABSTAINED = TrajectoryResult("2", "abstained", reason="not in the reply")
FAILED = TrajectoryResult("3", "failed", reason="it has no messages", extra={"metadata": {"unreadable": "the role"}})
RESULTS = [
    GroupResult("a", "partial", (SCORED, ABSTAINED), judge_calls=3, usage=Usage(30, 6, 0, 0.5), attempts=5, unusable=1),
    GroupResult("b", "partial", (SCORED, FAILED), judge_calls=1, usage=Usage(10, 2, 0, 0.25), attempts=1),
]


def entries(results: Sequence[GroupResult], rewards: Sequence[float | None]) -> list[trl_reward.Entry]:
    rows = [(row, result) for result in results for row in result.trajectories]
    return [(reward, row, result) for reward, (row, result) in zip(rewards, rows, strict=True)]


def test_trls_log_gets_shares_of_rows_and_means_a_group_and_no_number_for_what_is_unknown() -> None:
    metrics = trl_reward.judge_metrics(entries(RESULTS, [None, None, 0.5, None]), alone=True)
    assert metrics == {
        "scored": 0.5, "abstained": 0.25, "failed": 0.25, "no_signal": 0.75, "calls": 2, "attempts": 3, "unusable": 0.5,
        "input_tokens": 20, "output_tokens": 4, "stderr": pytest.approx(0.1), "cost_usd": 0.375,
    }  # fmt: skip
    unknown = [GroupResult("a", "failed", (FAILED,)), GroupResult("b", "scored", (SCORED,), 1, Usage(10, 2))]
    assert "cost_usd" not in trl_reward.judge_metrics(entries(unknown, [None, 0.5]), alone=True)
    # Processes that are several log the same names, whatever happened in each.
    alike = [trl_reward.judge_metrics(entries([result], [0.5] * 2), alone=False).keys() for result in RESULTS]
    assert alike[0] == alike[1] == metrics.keys() - {"stderr", "cost_usd"}


# --- what cannot work -----------------------------------------------------------------------------------------------


def test_settings_that_cannot_work_are_named_before_the_trainer_is_built():
    cases: list[tuple[dict[str, Any], str]] = [
        ({"num_generations": 1}, "num_generations=1: a judge compares"),
        ({"num_generation": 2}, "no argument 'num_generation'. Did you mean num_generations?"),
        ({"base_url": "http://x"}, "pass judge=Judge.*base_url="),
        ({"num_generations": 2.0}, "num_generations=2.0: it must be a whole number"),
        ({"only_reward": "yes"}, "only_reward='yes': write True, False, or None"),
        ({"name": "the judge"}, "name='the judge': it must be an identifier such as"),
        ({"reference_column": 3}, "reference_column=3: it must be text"),
        ({"judge": 7}, "judge: it is a int; give a judge's name"),
        ({"judge": dict}, r"dict\(\) returned a dict; .* a function without arguments that returns a Judge"),
        ({"judge": "gpt-5"}, "is not a judge name: write provider/model"),
    ]
    for options, words in cases:
        with pytest.raises(ConfigError, match=words):
            reward_func(**{"judge": "embedded", "num_generations": 4, **options})


def test_a_trl_that_cannot_do_it_is_named_with_the_remedy_and_others_are_not() -> None:
    cases: list[tuple[tuple[int, int] | None, dict[str, bool], str]] = [
        ((0, 17), {}, "too old"),
        ((1, 9), {}, "pass blocking=True"),
        ((1, 5), {"only_reward": True, "blocking": True}, "counts a row without a reward as 0.*install trl>=1.6"),
        ((0, 18), {"blocking": True}, ""),
        ((1, 10), {}, ""),
        ((1, 6), {"only_reward": True, "blocking": True}, ""),
        (None, {"only_reward": True}, ""),
    ]
    wrong = []
    for version, options, words in cases:
        try:
            trl_reward._check_version(version, **{"only_reward": False, "blocking": False, **options})
            said = ""
        except ConfigError as raised:
            said = str(raised)
        if bool(words) != bool(said) or not re.search(words, said):
            wrong.append((version, options, said))
    assert not wrong


def test_a_dead_judge_is_found_out_at_the_start(faulty: FaultyServer):
    faulty.get["/v1/models"] = error(401)
    with pytest.raises(ConfigError, match="The key is not accepted"):
        reward_func(Judge("vllm/tiny", base_url=faulty.url), num_generations=4)
    reward_func(Judge("vllm/tiny", base_url=faulty.url), num_generations=4, check=False)


def test_it_can_be_sent_to_another_process_unless_it_holds_a_judge():
    for judge in ("embedded", made_here):
        for blocking in (False, True):
            reward: Any = reward_func(judge, num_generations=2, blocking=blocking, name="tone")
            sent: AsyncReward | BlockingReward = pickle.loads(pickle.dumps(reward))  # noqa: S301 - our own
            assert type(sent) is type(reward)
            assert sent.__name__ == "tone"
    assert sent([" q", " q"], ["worth 10", "worth 90"]) == [0.1, 0.9]
    with pytest.raises(ConfigError, match="each copy of a Judge would have limits"):
        pickle.dumps(reward_func(made_here(), num_generations=2))
