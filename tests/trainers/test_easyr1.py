"""EasyR1's batch reward function, through its own reward manager and its own advantages."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers.easyr1 import batch_reward
from engine_contract import require_exact_ties, require_failures_without_effect
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer
from trainer_adapters import Characters, tokens_of


def row(text: str, column: Any) -> dict[str, Any]:
    return {"response": text, "response_length": len(text), "ground_truth": column}


def test_the_answer_column_may_be_an_object_with_messages_and_a_reference(faulty: FaultyServer) -> None:
    faulty.script(worth())
    column = {"id": 7, "prompt": [{"role": "user", "content": "Sing."}], "reference": "It is 42."}
    reward = batch_reward(judge_at(faulty))
    for form in (column, json.dumps(column)):
        assert reward([row("worth 20", form), row("worth 90", form)]) == [{"overall": 0.2}, {"overall": 0.9}]
    assert all("It is 42." in str(post["messages"]) for post in faulty.posts)


@pytest.mark.parametrize("column", ["42", "an answer", '{"id": "a"}', "[" * 100_000, ["a"], None])
def test_another_answer_column_is_told_what_to_hold(column: Any) -> None:
    with pytest.raises(InputError, match="the answer column holds"):
        batch_reward("embedded")([row("x", column)])


def test_a_sequential_reward_function_cannot_compare() -> None:
    with pytest.raises(ConfigError, match="takes a whole batch"):
        batch_reward("embedded")(row("worth 20", {}))  # type: ignore[arg-type]  # wrong on purpose


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


async def test_easyr1_trains_on_comparisons_and_never_on_a_failed_one(
    engine: Any, faulty: FaultyServer, tmp_path: Path
) -> None:
    torch, path = engine.torch, tmp_path / "judge_reward.py"
    path.write_text(
        "from calipers import Judge\nfrom calipers.trainers.easyr1 import batch_reward\n\n"
        f"judge = Judge('openai/judge', base_url={faulty.url!r}, api_key='k', calls={{'attempts': 1}})\n"
        "reward = batch_reward(judge)\n",
        encoding="utf-8",
    )
    config = engine.reward.RewardConfig(reward_function=f"{path}:reward")
    config.post_init()
    manager = engine.reward.AutoRewardManager(config, Characters())

    def train(_: Any, groups: Any) -> list[Any]:
        # The first row of each group, then the second of each: EasyR1 shuffles a batch.
        places = [(number, at) for at in range(len(groups[0])) for number in range(len(groups))]
        names, width = ("Joke", "Song"), max(len(text) for texts in groups for text in texts)
        texts = [groups[number][at] for number, at in places]
        columns = [json.dumps({"id": names[number], "prompt": f"{names[number]}?"}) for number, _ in places]
        mask = torch.tensor([[int(place < len(text)) for place in range(width)] for text in texts])
        data = engine.DataProto.from_dict(
            tensors={
                "responses": torch.tensor([tokens_of(text.ljust(width)) for text in texts]),
                "response_mask": mask,
            },
            non_tensors={"ground_truth": engine.numpy.array(columns, dtype=object)},
        )
        rewards, metrics = manager.compute_reward(data)
        assert len(metrics["overall"]) == len(texts)
        uids = [names[number] for number, _ in places]
        got, _ = engine.algorithms.compute_grpo_outcome_advantage(rewards, mask.float(), uids)
        found = dict(zip(places, got[:, 0].tolist(), strict=True))
        return [[found[number, at] for at in range(len(group))] for number, group in enumerate(groups)]

    await require_failures_without_effect(faulty, train)
    await require_exact_ties(faulty, train)
