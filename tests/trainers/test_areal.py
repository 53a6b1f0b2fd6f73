"""The AReaL adapter on episodes as AReaL's workflows return them, and through its own batching and normalisation."""

# ruff: noqa: PLC0415 - AReaL is imported only where it is

from __future__ import annotations

import asyncio
import importlib.util
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers.areal import judged_group
from engine_contract import require_failures_without_effect
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer
from trainer_adapters import Characters, Seen, Tensor, areal_episode, areal_reward, tokens_of

HERE = importlib.util.find_spec("areal") is not None
with_areal = pytest.mark.skipif(not HERE, reason="AReaL is not installed (.ci/engines makes an environment)")
DATA = {"messages": [{"role": "user", "content": "Tell a joke."}]}


def workflow(*says: Any) -> type:
    """A workflow class that rolls out these episodes in turn; None is one that AReaL rejected, an exception one that
    broke.
    """
    waiting = list(says)

    class Scripted:
        tokenizer = Characters()

        async def arun_episode(self, engine: Any, data: Any) -> Any:
            await asyncio.sleep(0)
            episode = waiting.pop(0)
            if isinstance(episode, Exception):
                raise episode
            return areal_episode("Tell a joke.", episode) if isinstance(episode, str) else episode

    return Scripted


async def played(judge: Any, *says: Any, data: Any = DATA) -> Any:
    return await judged_group(workflow(*says), judge, size=len(says))().arun_episode(None, data)


async def test_what_was_sampled_is_the_assistants_with_its_versions_and_what_stood_between_the_users(
    faulty: FaultyServer,
) -> None:
    faulty.script(worth(never=(90,)))  # the group is rejected then, so that no tensors are joined
    watcher = Seen()
    parts = (("<user>Tell a joke.", -1), ("Hm.", 7), ("Go on.", -1), ("worth 20", 8))
    versions = [version for text, version in parts for _ in text]
    turns = {
        "input_ids": [Tensor(tokens_of("".join(text for text, _ in parts)))],
        "loss_mask": [Tensor(int(version >= 0) for version in versions)],
        "versions": [Tensor(versions)],
        "rewards": Tensor([0.0]),
    }
    assert await played(judge_at(faulty, watchers=[watcher]), turns, "worth 90") is None
    (group,) = watcher.groups
    assert list(group.context) == DATA["messages"]
    assert list(group.trajectories[0].messages) == [
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "worth 20"},
    ]
    assert [one.metadata for one in group.trajectories] == [{"policy_version": [7, 8]}, {}]


async def test_a_group_that_lacks_a_rollout_is_rejected_before_the_judge_is_paid(faulty: FaultyServer) -> None:
    assert await played(judge_at(faulty), "worth 20", None, "worth 90") is None
    with pytest.raises(ConnectionError, match="scripted"):
        await played(judge_at(faulty), "worth 20", ConnectionError("scripted"), "worth 90")
    with pytest.raises(ConfigError, match="not with agents behind AReaL's proxy"):
        await played(judge_at(faulty), {"completion-1": object()}, "worth 90")
    with pytest.raises(InputError, match="a prompt is a NoneType"):
        await played(judge_at(faulty), "worth 20", "worth 90", data={"question": "Tell a joke."})
    assert faulty.posts == []


# --- through AReaL --------------------------------------------------------------------------------------------------


class Policy:
    """AReaL's inference engine: answers in turn."""

    def __init__(self, says: Any) -> None:
        self.says = list(says)

    async def agenerate(self, request: Any) -> Any:
        from areal.api import ModelResponse

        tokens = tokens_of(self.says.pop(0))
        return ModelResponse(
            input_tokens=list(request.input_ids),
            output_tokens=tokens,
            output_logprobs=[-1.0] * len(tokens),
            output_versions=[0] * len(tokens),
        )


async def areals_own(judge: Any, texts: Any, *, prompt: str = "Tell a joke.") -> Any:
    """The judged episode of AReaL's own single-turn workflow, whose own reward is 1 for all."""
    from areal.api import RolloutWorkflow
    from areal.api.cli_args import GenerationHyperparameters
    from areal.workflow.rlvr import RLVRWorkflow

    made = judged_group(RLVRWorkflow, judge, size=len(texts))
    assert issubclass(made, RolloutWorkflow)
    workflow = made(
        reward_fn=areal_reward,
        gconfig=GenerationHyperparameters(n_samples=1),
        tokenizer=Characters(),
        get_input_ids_fn=lambda messages, *_: tokens_of(messages[0]["content"]),
    )
    return await workflow.arun_episode(Policy(texts), {"messages": [{"role": "user", "content": prompt}]})


@with_areal
async def test_an_episode_is_one_padded_batch_with_the_judges_rewards(faulty: FaultyServer) -> None:
    from areal.infra.workflow_executor import check_trajectory_format

    faulty.script(worth())
    batch = await areals_own(judge_at(faulty), ["worth 20", "it is worth 90", "worth 55"])
    assert batch["rewards"].tolist() == pytest.approx([1.2, 1.9, 1.55])
    assert batch["loss_mask"].sum(-1).tolist() == [8, 14, 8]
    assert check_trajectory_format(batch, batch_size=3)


LEVELS: list[dict[str, Any]] = [{}, {"std_level": None}, {"mean_leave1out": True}, {"std_unbiased": False}]


@with_areal
@pytest.mark.parametrize("levels", LEVELS, ids=str)
async def test_areal_trains_on_comparisons_and_a_rejected_group_leaves_the_next_ones_alone(
    faulty: FaultyServer, levels: dict[str, Any]
) -> None:
    """AReaL cuts a batch into slices of one size: what reaches it is whole groups only."""
    from areal.api.cli_args import NormConfig
    from areal.utils.data import Normalization, concat_padded_tensors

    def advantages(batch: Any, size: int) -> list[float]:
        norm = NormConfig(group_size=size, **({"mean_level": "group", "std_level": "group"} | levels))
        found: list[float] = Normalization(norm)(batch["rewards"]).tolist()
        return found

    async def train(judge: Any, groups: Any) -> list[Any]:
        prompts = ("Joke?", "Song?")
        batches = [await areals_own(judge, texts, prompt=prompts[number]) for number, texts in enumerate(groups)]
        size, kept = len(groups[0]), [batch for batch in batches if batch is not None]
        left = iter(advantages(concat_padded_tensors(kept), size))
        return [None if batch is None else [next(left) for _ in range(size)] for batch in batches]

    await require_failures_without_effect(faulty, train, lost=None)
    faulty.script(worth())
    (found,) = await train(judge_at(faulty), [["1st, worth 70", "worth 10", "2nd, worth 70"]])
    assert found[0] == found[2] > 0 > found[1]
