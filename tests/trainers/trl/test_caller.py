"""What a reward function can know of the TRL around it, what is refused because of it, and what TRL's log gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from art_judges import ContentJudge
from calipers.errors import ConfigError
from calipers.trainers.trl import reward as trl_reward
from calipers.trainers.trl import reward_func
from calipers.types import GroupResult, TrajectoryResult, Usage


class Trainer:
    """As much of a trainer as a reward function's ``log_metric`` leads to."""

    def __init__(self, *, training: bool = True, functions: int = 1, **more: Any) -> None:
        self.model = SimpleNamespace(training=training)
        self.num_generations, self.num_generations_eval = 4, 2
        self.reward_funcs = [print] * functions
        self.__dict__.update(more)

    def log(self, name: str, value: float) -> None: ...

    def columns(self, **more: Any) -> dict[str, Any]:
        return {"log_metric": self.log, "trainer_state": SimpleNamespace(global_step=5), **more}


def function(judge: Any = None, **options: Any) -> Any:
    return reward_func(ContentJudge() if judge is None else judge, check=False, **options)


PROMPTS, TEXTS = ["What is it worth?"] * 4, [f"worth {number}" for number in (10, 20, 30, 40)]


def test_a_trl_that_cannot_do_it_is_named_with_the_remedy_and_others_are_not() -> None:
    cases: list[tuple[tuple[int, int] | None, dict[str, bool], str]] = [
        ((0, 17), {}, "too old"),
        ((1, 9), {}, "pass blocking=True"),
        ((1, 5), {"only_reward": True, "blocking": True}, "counts a row without a reward as 0.*install trl>=1.6"),
        ((0, 18), {"blocking": True}, ""),
        ((1, 16), {"only_reward": True}, ""),
        (None, {"only_reward": True}, ""),
    ]
    wrong = []
    for version, options, words in cases:
        try:
            trl_reward._check_version(version, **{"only_reward": False, "blocking": False, **options})
            said = ""
        except ConfigError as error:
            said = str(error)
        if bool(words) != bool(said) or not re.search(words, said):
            wrong.append((version, options, said))
    assert not wrong


async def test_a_group_has_the_trainers_own_size_and_in_evaluation_its_size_there() -> None:
    judge = ContentJudge()
    await function(judge, num_generations=4)(PROMPTS, TEXTS, **Trainer().columns())
    await function(judge, num_generations=4)(PROMPTS, TEXTS, **Trainer(training=False).columns())
    assert len(judge.asked) == 1 + 2
    with pytest.raises(ConfigError, match="given num_generations=2, but the trainer has 4"):
        await function(num_generations=2)(PROMPTS, TEXTS, **Trainer().columns())
    with pytest.raises(ConfigError, match="does not show its group size"):
        await function()(PROMPTS, TEXTS)
    with pytest.raises(ConfigError, match="only_reward=True, but the trainer has 2 reward functions"):
        await function(only_reward=True)(PROMPTS, TEXTS, **Trainer(functions=2).columns())


async def test_rollouts_of_different_prompts_are_no_group_unless_environments_may_have_extended_them() -> None:
    """A group of answers to different questions would be rewarded for its questions."""
    mixed, answers = ["6*7?", "5*5?"] * 3, [f"worth {number}" for number in range(40, 46)]
    state = {"trainer_state": SimpleNamespace(global_step=1)}
    cases: list[tuple[str, list[str], dict[str, Any], bool]] = [
        ("no state, as in a loop of one's own", mixed, {}, True),
        ("TRL's trainer", mixed, state, True),
        ("environments extend prompts", mixed, {**state, "environments": [object()] * 6}, False),
        ("AsyncGRPO passes one group, and does not show its environments", mixed[:3], {}, False),
        ("equal prompts", ["6*7?"] * 3 + ["5*5?"] * 3, {}, False),
    ]
    wrong = []
    for name, prompts, columns, refused in cases:
        try:
            rewards = await function(num_generations=3)(prompts, answers[: len(prompts)], **columns)
            if refused or None in rewards:
                wrong.append(name)
        except ConfigError as error:
            if not refused or "different prompts" not in str(error):
                wrong.append(name)
    assert not wrong


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
        "scored": 0.5,
        "abstained": 0.25,
        "failed": 0.25,
        "no_signal": 0.75,
        "calls": 2,
        "attempts": 3,
        "unusable": 0.5,
        "input_tokens": 20,
        "output_tokens": 4,
        "stderr": pytest.approx(0.1),
        "cost_usd": 0.375,
    }
    unknown = [GroupResult("a", "failed", (FAILED,)), GroupResult("b", "scored", (SCORED,), 1, Usage(10, 2))]
    assert "cost_usd" not in trl_reward.judge_metrics(entries(unknown, [None, 0.5]), alone=True)
    # Processes that are several log the same names, whatever happened in each.
    alike = [trl_reward.judge_metrics(entries([result], [0.5] * 2), alone=False).keys() for result in RESULTS]
    assert alike[0] == alike[1] == metrics.keys() - {"stderr", "cost_usd"}
