"""The reward function in TRL's own trainers, with a judge behind HTTP: what its failures do to advantages.

The advantages are those the trainer computed, held against the same run in which nothing failed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from calipers import Judge
from calipers.errors import ConfigError
from calipers.trainers.trl import reward_func
from servers.faulty_server import FaultyServer, error
from servers.opinions import Opinions, reward_of

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]

from trl_runs import Run, train  # noqa: E402 - needs TRL


def advantages(rewards: Sequence[float], group: int = 4) -> list[float]:
    """(r - mean) / (std + 1e-4) in each group, of the rows that have a reward; 0 for those that have none."""
    found = []
    for start in range(0, len(rewards), group):
        rows = rewards[start : start + group]
        known = [reward for reward in rows if not math.isnan(reward)]
        deviation = stdev(known) if len(known) > 1 else 0.0
        found += [0.0 if math.isnan(reward) else (reward - fmean(known)) / (deviation + 1e-4) for reward in rows]
    return found


def close(numbers: Sequence[float]) -> Any:
    return pytest.approx(list(numbers), rel=1e-4, abs=1e-5, nan_ok=True)


def fault_free(run: Run) -> list[float]:
    """What the rewards of these completions are when nothing fails."""
    return [reward_of(text) for text in run.completions]


def groups_of(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + 4] for start in range(0, len(values), 4)]


# --- a run that cannot learn ----------------------------------------------------------------------------------------


def test_a_judge_that_refuses_every_question_ends_the_run_in_its_first_step(
    judge: Judge, server: FaultyServer, tmp_path: Path
):
    server.script(error(404, "The model `tiny` does not exist"))
    reward = reward_func(judge, num_generations=4, only_reward=True)
    begun = len(server.posts)
    with pytest.raises(ConfigError, match="every question was refused"):
        train([reward], tmp_path, steps=50)
    assert len(server.posts) - begun <= 4  # the groups of one step


# --- one reward function --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trainer", ["GRPO", "RLOO"])
def test_a_row_without_a_score_leaves_its_group_as_if_it_had_not_been(
    judge: Judge, server: FaultyServer, tmp_path: Path, trainer: str
):
    server.script(Opinions(silent_on_one=True))
    run = train([reward_func(judge, num_generations=4, only_reward=True)], tmp_path, trainer=trainer)
    missing = [math.isnan(one) for one in run.rewards["judge"]]
    assert [sum(group) for group in groups_of(missing)] == [1, 1, 1, 1]
    kept = [math.nan if gone else one for one, gone in zip(fault_free(run), missing, strict=True)]
    assert run.rewards["judge"] == close(kept)
    expected = advantages(kept) if trainer == "GRPO" else leave_one_out(kept)
    assert run.advantages == close(expected)
    assert all(one == 0.0 for one, gone in zip(run.advantages, missing, strict=True) if gone)


def leave_one_out(rewards: Sequence[float]) -> list[float]:
    """RLOO: a reward less the mean of the others that have one."""
    found = []
    for group in groups_of(rewards):
        known = [reward for reward in group if not math.isnan(reward)]
        found += [0.0 if math.isnan(one) else one - (sum(known) - one) / (len(known) - 1) for one in group]
    return found


def test_division_by_the_batchs_deviation_leaves_a_missing_row_out_too(
    judge: Judge, server: FaultyServer, tmp_path: Path
):
    server.script(Opinions(silent_on_one=True))
    run = train([reward_func(judge, num_generations=4, only_reward=True)], tmp_path, scale_rewards="batch")
    rewards = run.rewards["judge"]
    spread = stdev([one for one in rewards if not math.isnan(one)]) + 1e-4
    expected = []
    for group in groups_of(rewards):
        mean = fmean(one for one in group if not math.isnan(one))
        expected += [0.0 if math.isnan(one) else (one - mean) / spread for one in group]
    assert run.advantages == close(expected)


# --- what is brought ------------------------------------------------------------------------------------------------


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


@pytest.mark.skipif(find_spec("jmespath") is None, reason="TRL's tools need jmespath (pip install jmespath)")
def test_environments_that_change_the_prompts_of_a_group(judge: Judge, server: FaultyServer, tmp_path: Path):
    import trl  # noqa: PLC0415 - only where TRL is

    template = Path(trl.__file__).with_name("chat_templates") / "qwen2_5.jinja"
    run = train(
        [reward_func(judge, num_generations=4, only_reward=True)],
        tmp_path,
        conversational=True,
        template=template.read_text(),
        made_with={"environment_factory": Board},
    )
    question = server.posts[-1]["messages"][-1]["content"]
    assert question.count(" board ") == 4
    assert not any(map(math.isnan, run.rewards["judge"]))
    assert run.advantages == close(advantages(run.rewards["judge"]))


# --- evaluation, AsyncGRPO ------------------------------------------------------------------------------------------


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
