"""What only newer TRLs do, in their own trainers: environments, rollout functions, evaluation, a row left out alone.

The judge is behind HTTP. The advantages are those the trainer computed. What every TRL does is in ``test_any``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers import Judge
from calipers.trainers.trl import reward_func
from servers.faulty_server import FaultyServer
from servers.opinions import Opinions, reward_of

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]

from trl_runs import QWEN, Run, advantages_of, close, train  # noqa: E402 - needs TRL

tools = pytest.mark.skipif(find_spec("jmespath") is None, reason="TRL's tools need jmespath (pip install jmespath)")


def fault_free(run: Run) -> list[float]:
    """What the rewards of these completions are when nothing fails."""
    return [reward_of(text) for text in run.completions]


def leave_one_out(rewards: Sequence[float]) -> Any:
    """RLOO: a reward less the mean of the others in its group that have one."""
    found = []
    for start in range(0, len(rewards), 4):
        group = rewards[start : start + 4]
        known = [reward for reward in group if not math.isnan(reward)]
        found += [0.0 if math.isnan(one) else one - (sum(known) - one) / (len(known) - 1) for one in group]
    return close(found)


@pytest.mark.parametrize("trainer", ["GRPO", "RLOO"])
def test_a_row_without_a_score_leaves_its_group_as_if_it_had_not_been(
    judge: Judge, server: FaultyServer, tmp_path: Path, trainer: str
):
    server.script(Opinions(silent_on_one=True))
    alone = {"num_generations": 4, "only_reward": True} if trainer == "RLOO" else {}  # GRPO's are found out
    run = train([reward_func(judge, **alone)], tmp_path, trainer=trainer)  # type: ignore[arg-type]
    missing = [math.isnan(one) for one in run.rewards["judge"]]
    assert [sum(missing[start : start + 4]) for start in range(0, 16, 4)] == [1, 1, 1, 1]
    kept = [math.nan if gone else one for one, gone in zip(fault_free(run), missing, strict=True)]
    assert run.rewards["judge"] == close(kept)
    assert run.advantages == (advantages_of if trainer == "GRPO" else leave_one_out)(kept)
    assert all(one == 0.0 for one, gone in zip(run.advantages, missing, strict=True) if gone)


class Board:
    """An environment that begins each rollout with another board."""

    boards = 0

    def reset(self, **_: Any) -> str:
        Board.boards += 1
        return f" board {Board.boards}"

    def move(self, to: str) -> str:
        """Make a move.

        Args:
            to: where to
        """
        return f"moved to {to}"


class Paid(Board):
    def get_reward(self) -> float:
        return 1.0


def played(reward: Any, folder: Path, environment: type) -> Run:
    made_with = {"environment_factory": environment}
    return train([reward], folder, conversational=True, template=QWEN.read_text(), made_with=made_with)


@tools
def test_environments_that_change_the_prompts_of_a_group(judge: Judge, server: FaultyServer, tmp_path: Path):
    run = played(reward_func(judge, num_generations=4, only_reward=True), tmp_path, Board)
    question = server.posts[-1]["messages"][-1]["content"]
    assert question.count(" board ") == 4
    assert question.count("where to") == 1, "the tools that the policy was offered"
    assert not any(map(math.isnan, run.rewards["judge"]))
    assert run.advantages == advantages_of(run.rewards["judge"])


@tools
def test_an_environments_own_reward_is_a_second_one_and_then_a_group_is_scored_whole_or_not_at_all(
    judge: Judge, server: FaultyServer, tmp_path: Path
):
    server.script(Opinions(silent_on_one=True))
    run = played(reward_func(judge), tmp_path, Paid)
    assert run.rewards["Paid"] == [1.0] * 16
    assert all(map(math.isnan, run.rewards["judge"]))


def test_a_rollout_func_is_judged_by_the_completions_it_returns(judge: Judge, server: FaultyServer, tmp_path: Path):
    def rollouts(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        words = trainer.processing_class
        ids = [words(f"w{place % 4} w7")["input_ids"] for place in range(len(prompts))]
        return {
            "prompt_ids": [words(str(prompt))["input_ids"] for prompt in prompts],
            "completion_ids": ids,
            "logprobs": [[0.0] * len(one) for one in ids],
        }

    run = train([reward_func(judge)], tmp_path, made_with={"rollout_func": rollouts})
    question = server.posts[-1]["messages"][-1]["content"]
    assert all(f"w{place} w7" in question for place in range(4))
    assert not any(map(math.isnan, run.rewards["judge"]))


def test_in_evaluation_groups_may_have_another_size_and_alone_there_is_nothing_to_compare(
    judge: Judge, server: FaultyServer, tmp_path: Path
):
    reward = reward_func(judge, num_generations=4)
    pairs = train([reward], tmp_path, evaluate=True, num_generations_eval=2, per_device_eval_batch_size=8)
    assert pairs.rewards["judge"] == close(fault_free(pairs))
    asked = len(server.posts)
    alone = train([reward], tmp_path, evaluate=True, num_generations_eval=1, per_device_eval_batch_size=4)
    assert alone.rewards["judge"] == [0.5] * 4
    assert len(server.posts) == asked
