"""The AReaL adapter on episodes as AReaL's workflows return them, and through its own batching and normalisation."""

# ruff: noqa: PLC0415 - AReaL is imported only where it is

from __future__ import annotations

import asyncio
import importlib.util
import math
from collections.abc import Sequence
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers.areal import conversation_of, judged_group, no_reward
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer

HERE = importlib.util.find_spec("areal") is not None
with_areal = pytest.mark.skipif(not HERE, reason="AReaL is not installed (.ci/engines makes an environment)")
DATA = {"messages": [{"role": "user", "content": "Tell a joke."}]}


class Characters:
    """A tokenizer whose tokens are characters."""

    eos_token_id, pad_token_id = 3, 0

    def decode(self, tokens: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(map(chr, tokens))


class Rows:
    """A tensor of one row, as far as reading it goes."""

    def __init__(self, *row: float) -> None:
        self.row = list(row)

    def __getitem__(self, number: int) -> Any:
        return self

    def tolist(self) -> list[float]:
        return self.row


def episode(*parts: tuple[str, bool], reward: float = 0.0) -> dict[str, Any]:
    """Tensors of one rollout: texts that were given, and texts that were sampled."""
    tokens = [ord(letter) for text, _ in parts for letter in text]
    mask = [int(sampled) for text, sampled in parts for _ in text]
    if not HERE:
        return {"input_ids": Rows(*tokens), "loss_mask": Rows(*mask), "rewards": [reward]}
    import torch

    return {
        "input_ids": torch.tensor([tokens], dtype=torch.int32),
        "loss_mask": torch.tensor([mask], dtype=torch.int32),
        "attention_mask": torch.ones(1, len(tokens), dtype=torch.bool),
        "rewards": torch.tensor([reward]),
    }


def test_what_was_sampled_is_the_assistants_and_what_stood_between_the_users() -> None:
    rollout = episode(("<user>Tell a joke.", False), ("Hm.", True), ("Go on.", False), ("Ha.", True))
    assert conversation_of(DATA, rollout, Characters()) == [
        *DATA["messages"],
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": "Ha."},
    ]
    assert conversation_of(DATA, episode(("<user>Tell a joke.", False)), Characters()) == []


def workflow(*says: Any, own: Sequence[float] = ()) -> type:
    """A workflow class that rolls out these texts in turn; None is one that AReaL rejected, an exception one that
    broke.
    """
    base: type = object
    if HERE:
        from areal.api import RolloutWorkflow

        base = RolloutWorkflow
    waiting = list(zip(says, (*own, *[0.0] * len(says)), strict=False))

    class Scripted(base):  # type: ignore[misc]  # the engine is untyped
        tokenizer = Characters()

        async def arun_episode(self, engine: Any, data: Any) -> Any:
            await asyncio.sleep(0)
            text, reward = waiting.pop(0)
            if isinstance(text, Exception):
                raise text
            return None if text is None else episode(("Tell a joke.", False), (text, True), reward=reward)

    return Scripted


def played(judge: Any, *says: Any, own: Sequence[float] = (), **settings: Any) -> Any:
    made = judged_group(workflow(*says, own=own), judge, size=len(says), **settings)
    return asyncio.run(made().arun_episode(None, DATA))


def test_the_versions_of_sampled_tokens_and_the_current_one_reach_the_judges_records(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(90,)))  # the group is rejected then, so that no tensors are joined
    groups: list[Any] = []

    class Seen:
        def seen(self, group: Any, result: Any) -> Any:
            groups.append(group)
            return result

    class Engine:
        def get_version(self) -> int:
            return 9

    base = workflow("worth 20", "worth 90")

    class Versioned(base):  # type: ignore[misc, valid-type]
        async def arun_episode(self, engine: Any, data: Any) -> Any:
            made = await super().arun_episode(engine, data)
            sampled = made["loss_mask"][0].tolist()
            half = len(sampled) - 2
            versions = [-1 if not one else 7 if at < half else 8 for at, one in enumerate(sampled)]
            return {**made, "versions": Rows(*versions)}

    made = judged_group(Versioned, judge_at(faulty, watchers=[Seen()]), size=2)
    assert asyncio.run(made().arun_episode(Engine(), DATA)) is None
    (group,) = groups
    assert [one.metadata for one in group.trajectories] == [{"policy_version": [7, 8]}] * 2
    assert group.extra["current_version"] == 9


def test_a_group_that_lacks_a_rollout_is_rejected_before_the_judge_is_paid(faulty: FaultyServer) -> None:
    assert played(judge_at(faulty), "worth 20", None, "worth 90") is None
    with pytest.raises(ConnectionError, match="scripted"):
        played(judge_at(faulty), "worth 20", ConnectionError("scripted"), "worth 90")
    assert faulty.posts == []


def test_another_reward_that_is_not_finite_is_an_error_before_the_judge_is_asked(faulty: FaultyServer) -> None:
    with pytest.raises(InputError, match="rollout 2 has a reward of nan of its own"):
        played(judge_at(faulty), "worth 20", "worth 90", own=[0.0, math.nan])
    assert faulty.posts == []


def test_what_is_no_rollout_in_tensors_is_refused(faulty: FaultyServer) -> None:
    class Agent:
        async def arun_episode(self, engine: Any, data: Any) -> Any:
            return {"completion-1": object()}

    with pytest.raises(ConfigError, match="not with agents behind AReaL's proxy"):
        asyncio.run(judged_group(Agent, "embedded", size=2)().arun_episode(None, DATA))


# --- through AReaL --------------------------------------------------------------------------------------------------


def advantages(batch: Any, *, size: int, **levels: Any) -> list[float]:
    """AReaL's normalisation of rewards, in groups of ``size``."""
    from areal.api.cli_args import NormConfig
    from areal.utils.data import Normalization

    norm = Normalization(NormConfig(group_size=size, **({"mean_level": "group", "std_level": "group"} | levels)))
    return [float(one) for one in norm(batch["rewards"])]


@with_areal
def test_an_episode_is_one_padded_batch_with_the_judges_rewards(faulty: FaultyServer) -> None:
    from areal.infra.workflow_executor import check_trajectory_format

    faulty.script(worth())
    batch = played(judge_at(faulty), "worth 20", "it is worth 90", "worth 55", own=[1.0, 0.0, 0.0], weight=2.0)
    assert batch["rewards"].tolist() == pytest.approx([1.4, 1.8, 1.1])
    assert batch["attention_mask"].sum(-1).tolist() == [20, 26, 20]
    assert check_trajectory_format(batch, batch_size=3)


@with_areal
def test_areal_takes_the_class_as_a_workflow_of_its_own() -> None:
    from areal.api import RolloutWorkflow

    made = judged_group(workflow("worth 20"), "embedded", size=1)
    assert issubclass(made, RolloutWorkflow)
    assert made.__name__ == "JudgedScripted"


LEVELS: list[dict[str, Any]] = [{}, {"std_level": None}, {"mean_leave1out": True}, {"std_unbiased": False}]


@with_areal
@pytest.mark.parametrize("levels", LEVELS, ids=str)
def test_a_rejected_group_leaves_the_next_ones_advantages_alone(faulty: FaultyServer, levels: dict[str, Any]) -> None:
    """AReaL cuts a batch into slices of ``size``: what reaches it is whole groups only."""
    from areal.utils.data import concat_padded_tensors

    faulty.script(worth(never=(50,)))
    judge = judge_at(faulty)
    good = [played(judge, *(f"worth {one}" for one in points)) for points in ((20, 90, 70), (10, 50, 30), (60, 80, 85))]
    kept = [batch for batch in good if batch is not None]
    assert len(kept) == 2
    together = advantages(concat_padded_tensors(kept), size=3, **levels)
    assert together == [one for batch in kept for one in advantages(batch, size=3, **levels)]
    assert all(map(math.isfinite, together))


@with_areal
@pytest.mark.parametrize("levels", LEVELS, ids=str)
def test_ties_have_equal_advantages_to_the_last_bit(faulty: FaultyServer, levels: dict[str, Any]) -> None:
    faulty.script(worth())
    found = advantages(played(judge_at(faulty), "1st, worth 70", "worth 10", "2nd, worth 70"), size=3, **levels)
    assert found[0] == found[2] > 0 > found[1]


@with_areal
def test_areals_own_single_turn_workflow_becomes_a_judged_group(faulty: FaultyServer) -> None:
    from areal.api import ModelResponse
    from areal.api.cli_args import GenerationHyperparameters
    from areal.workflow.rlvr import RLVRWorkflow

    class Engine:
        """The inference engine: answers in turn."""

        def __init__(self) -> None:
            self.says = ["worth 20", "worth 90", "worth 55"]

        async def agenerate(self, request: Any) -> Any:
            tokens = [ord(letter) for letter in self.says.pop(0)]
            return ModelResponse(
                input_tokens=list(request.input_ids),
                output_tokens=tokens,
                output_logprobs=[-1.0] * len(tokens),
                output_versions=[0] * len(tokens),
            )

    faulty.script(worth())
    made = judged_group(RLVRWorkflow, judge_at(faulty), size=3)(
        reward_fn=no_reward,
        gconfig=GenerationHyperparameters(n_samples=1),
        tokenizer=Characters(),
        get_input_ids_fn=lambda messages, *_: [ord(letter) for letter in messages[0]["content"]],
    )
    batch = asyncio.run(made.arun_episode(Engine(), DATA))
    assert batch["rewards"].tolist() == pytest.approx([0.2, 0.9, 0.55])
    assert batch["loss_mask"].sum(-1).tolist() == [8, 8, 8]
