"""EasyR1's batch reward function, through its own reward manager and its own advantages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers.easyr1 import batch_reward
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer


def row(text: str, name: str = "a", **fields: Any) -> dict[str, Any]:
    answer = json.dumps({"id": name, "prompt": f"Question {name}?", **fields})
    return {"response": text, "response_length": len(text), "ground_truth": answer}


def overall(scores: Sequence[dict[str, float]]) -> list[float]:
    return [one["overall"] for one in scores]


def test_the_answer_column_may_be_an_object_with_messages_and_a_rubric(faulty: FaultyServer) -> None:
    faulty.script(worth())
    column = {
        "id": 7,
        "prompt": [{"role": "user", "content": "Sing."}],
        "rubric": "Only rhymes.",
        "reference": "It is 42.",
    }
    rows = [{"response": f"worth {points}", "response_length": 8, "ground_truth": column} for points in (20, 90)]
    assert overall(batch_reward(judge_at(faulty), rubric="Only puns.")(rows)) == [0.2, 0.9]
    assert "Only rhymes." in json.dumps(faulty.posts[0])
    assert "It is 42." in json.dumps(faulty.posts[0])
    assert "Only puns." not in json.dumps(faulty.posts[0])


@pytest.mark.parametrize("column", ["42", "an answer", '{"id": "a"}', ["a"], None])
def test_another_answer_column_is_told_what_to_hold(faulty: FaultyServer, column: Any) -> None:
    with pytest.raises(InputError, match="the answer column holds"):
        batch_reward(judge_at(faulty))([{"response": "x", "response_length": 1, "ground_truth": column}])


def test_a_sequential_reward_function_cannot_compare(faulty: FaultyServer) -> None:
    with pytest.raises(ConfigError, match="takes a whole batch"):
        batch_reward(judge_at(faulty))(row("worth 20"))  # type: ignore[arg-type]  # wrong on purpose


# --- inside EasyR1 ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Any:
    """EasyR1 calls its package verl; the real verl has no such reward manager."""
    reward = pytest.importorskip("verl.workers.reward.function", reason="EasyR1 is not here (.ci/engines)")
    import numpy  # noqa: PLC0415, ICN001 - beside torch
    import torch  # noqa: PLC0415 - EasyR1 brings it
    from verl.protocol import DataProto  # noqa: PLC0415 - only where EasyR1 is
    from verl.trainer import core_algos  # noqa: PLC0415 - likewise

    return SimpleNamespace(reward=reward, DataProto=DataProto, algorithms=core_algos, torch=torch, numpy=numpy)


class Tokens:
    def decode(self, tokens: Any, skip_special_tokens: bool) -> str:  # noqa: FBT001 - theirs
        return "".join(chr(int(token)) for token in tokens)


def manager(engine: Any, folder: Path, code: str) -> Any:
    """EasyR1's reward manager for a file of the user's."""
    path = folder / "judge_reward.py"
    path.write_text(f"from calipers.trainers.easyr1 import batch_reward\n{code}\n", encoding="utf-8")
    config = engine.reward.RewardConfig(reward_function=f"{path}:reward")
    config.post_init()
    return engine.reward.AutoRewardManager(config, Tokens())


def batch(engine: Any, rows: Sequence[dict[str, Any]]) -> Any:
    torch, width = engine.torch, max(len(one["response"]) for one in rows)
    ids = torch.tensor([[ord(char) for char in one["response"].ljust(width)] for one in rows])
    mask = torch.tensor([[int(place < len(one["response"])) for place in range(width)] for one in rows])
    truths = engine.numpy.array([one["ground_truth"] for one in rows], dtype=object)
    return engine.DataProto.from_dict(
        tensors={"responses": ids, "response_mask": mask}, non_tensors={"ground_truth": truths}
    )


def advantages(engine: Any, rewarding: Any, rows: Sequence[dict[str, Any]], uids: Sequence[str]) -> list[float]:
    data = batch(engine, rows)
    rewards, metrics = rewarding.compute_reward(data)
    assert len(metrics["judge_scored"]) == len(rows)
    got, _ = engine.algorithms.compute_grpo_outcome_advantage(rewards, data.batch["response_mask"].float(), uids)
    return [float(one[0]) for one in got]


def served(faulty: FaultyServer) -> str:
    return (
        "from calipers import Judge\n"
        f"reward = batch_reward(Judge('openai/judge', base_url={faulty.url!r}, api_key='k', calls={{'attempts': 1}}))"
    )


MIXED = [row("worth 20"), row("worth 30", "b"), row("worth 90"), row("worth 10", "b"), row("worth 60", "b")]


def test_easyr1_trains_on_each_groups_own_comparison(engine: Any, faulty: FaultyServer, tmp_path: Path) -> None:
    faulty.script(worth())
    got = advantages(engine, manager(engine, tmp_path, served(faulty)), MIXED, "ababb")
    assert got == pytest.approx([-0.7071, -0.1325, 0.7071, -0.9272, 1.0596], abs=1e-3)


@pytest.mark.parametrize("failing", [{"never": [90]}, {"never": [20, 90]}, {"down": "Question a?"}])
def test_failed_judgments_are_no_advantage_and_leave_other_groups_alone(
    engine: Any, faulty: FaultyServer, tmp_path: Path, failing: dict[str, Any]
) -> None:
    rewarding = manager(engine, tmp_path, served(faulty))
    faulty.script(worth())
    without = advantages(engine, rewarding, [one for one in MIXED if "Question b" in one["ground_truth"]], "bbb")
    faulty.script(worth(**failing))
    got = advantages(engine, rewarding, MIXED, "ababb")
    assert [got[0], got[2]] == [0.0, 0.0]
    assert [got[1], *got[3:]] == without


@pytest.mark.parametrize("points", [97, 81, 60, 30])
def test_equal_scores_are_no_advantage_to_the_last_bit(
    engine: Any, faulty: FaultyServer, tmp_path: Path, points: int
) -> None:
    faulty.script(worth())
    rows = [row(f"worth {points}{'!' * number}") for number in range(8)]
    assert advantages(engine, manager(engine, tmp_path, served(faulty)), rows, "a" * 8) == [0.0] * 8
