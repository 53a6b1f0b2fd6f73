"""SkyRL's generator, judged: through its own generator, environments, post-processing and advantages."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers.skyrl import judged
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer


class Tokens:
    """A tokenizer to which a character is a token."""

    eos_token_id = 0

    def decode(self, tokens: Sequence[int], skip_special_tokens: bool = False) -> str:  # noqa: FBT001, FBT002 - theirs
        return "".join(map(chr, tokens))

    def apply_chat_template(self, conversation: Any, **_: Any) -> Any:
        if conversation and isinstance(conversation[0], list):
            return [self.apply_chat_template(one) for one in conversation]
        return [ord(char) for message in conversation for char in message["content"]] + [0]


class Plain:
    """A generator of SkyRL's form that says what it is told to."""

    def __init__(self, texts: Sequence[str], rewards: Sequence[Any], **more: Any) -> None:
        self.tokenizer, self.texts, self.rewards, self.more = Tokens(), texts, rewards, more

    async def generate(self, input_batch: Any, disable_tqdm: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - theirs
        ids = [[ord(char) for char in text] for text in self.texts]
        return {
            "response_ids": ids,
            "rewards": list(self.rewards),
            "loss_masks": [[1] * len(one) for one in ids],
            **self.more,
        }


def batch(instances: str, **more: Any) -> dict[str, Any]:
    """A trajectory for each letter, which names its instance."""
    return {
        "prompts": [[{"role": "user", "content": f"Question {name}?"}] for name in instances],
        "trajectory_ids": [SimpleNamespace(instance_id=name, repetition_id=n) for n, name in enumerate(instances)],
        "env_classes": ["judged_env"] * len(instances),
        "env_extras": [{} for _ in instances],
        "sampling_params": None,
        **more,
    }


async def rewards(faulty: FaultyServer, instances: str, texts: Sequence[str], own: Sequence[Any], **more: Any) -> Any:
    made = judged(Plain, judge_at(faulty), rubric="Only puns.")(texts, own, **more)
    return (await made.generate(batch(instances)))["rewards"]


async def test_a_rubric_in_a_rows_extras_comes_before_that_of_the_run(faulty: FaultyServer) -> None:
    faulty.script(worth())
    made = judged(Plain, judge_at(faulty), rubric="Only puns.")(["worth 20", "worth 90"] * 2, [0.0] * 4)
    own = {"extra_info": {"rubrics": [{"criterion": "Only limericks.", "points": 1}]}}
    got = await made.generate(batch("aabb", env_extras=[own, own, {}, {}]))
    assert got["rewards"] == [0.2, 0.9, 0.2, 0.9]
    asked = [json.dumps(post) for post in faulty.posts]
    assert sorted(("Only limericks." in one, "Only puns." in one) for one in asked) == [(False, True), (True, False)]


async def test_the_environments_own_rewards_are_kept_a_token_or_a_trajectory_each(faulty: FaultyServer) -> None:
    faulty.script(worth())
    texts = ["worth 20", "worth 90"]
    assert await rewards(faulty, "aa", texts, [1.0, None]) == pytest.approx([1.2, 0.9])
    assert await rewards(faulty, "aa", texts, [[1.0, 0.0], [0.0, 0.25]]) == [[1.0, 0.2], [0.0, pytest.approx(1.15)]]


async def test_what_cannot_be_compared_is_refused(faulty: FaultyServer) -> None:
    made = judged(Plain, judge_at(faulty))
    two = (["worth 20", "worth 90"], [0.0, 0.0])
    with pytest.raises(ConfigError, match="step_wise_trajectories=false"):
        await made(*two, is_last_step=[True, True]).generate(batch("aa"))
    with pytest.raises(ConfigError, match="no trajectory_ids"):
        await made(*two).generate(batch("aa", trajectory_ids=None))
    other = batch("aa", prompts=[[{"role": "user", "content": text}] for text in ("one", "two")])
    with pytest.raises(InputError, match="different prompts"):
        await made(*two).generate(other)
    with pytest.raises(InputError, match="a reward of nan"):
        await made(["worth 20", "worth 90"], [float("nan"), 0.0]).generate(batch("aa"))


def test_the_judged_generator_has_the_signature_of_its_own() -> None:
    made = judged(Plain, "embedded")
    assert issubclass(made, Plain)
    assert inspect.signature(made.generate) == inspect.signature(Plain.generate)


# --- inside SkyRL -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Any:
    theirs = pytest.importorskip("skyrl.train.generators.skyrl_gym_generator", reason="SkyRL is not here (.ci/engines)")
    import numpy  # noqa: PLC0415, ICN001 - beside torch
    import skyrl_gym  # noqa: PLC0415 - only where SkyRL is
    import torch  # noqa: PLC0415 - SkyRL brings it
    from skyrl.backends.skyrl_train.utils import ppo_utils  # noqa: PLC0415 - only where SkyRL is
    from skyrl.train.generators.base import TrajectoryID  # noqa: PLC0415 - likewise
    from skyrl.train.generators.utils import get_metrics_from_generator_output  # noqa: PLC0415 - likewise
    from skyrl.train.utils import trainer_utils  # noqa: PLC0415 - likewise

    from engine_source import folder_of, taken  # noqa: PLC0415 - for installed engines only

    post = taken(
        folder_of("skyrl") / "train/trainer.py",
        "RayPPOTrainer.postprocess_generator_output",
        get_metrics_from_generator_output=get_metrics_from_generator_output,
        zero_variance_filter=trainer_utils.zero_variance_filter,
        logger=SimpleNamespace(info=lambda _: None),
    ).postprocess_generator_output
    skyrl_gym.register(id="judged_env", entry_point=own_environment(skyrl_gym))
    return SimpleNamespace(
        Generator=theirs.SkyRLGymGenerator, TrajectoryID=TrajectoryID, checks=trainer_utils, post=post, ppo=ppo_utils,
        torch=torch, numpy=numpy,
    )  # fmt: skip


def own_environment(skyrl_gym: Any) -> type:
    """An environment of one turn, whose own reward is 0."""
    from skyrl_gym.envs.base_text_env import BaseTextEnv  # noqa: PLC0415 - only where SkyRL is

    class Environment(BaseTextEnv):  # type: ignore[misc]  # the engine is not typed here
        def __init__(self, env_config: Any = None, extras: Any = None) -> None:
            super().__init__()

        def step(self, action: str) -> dict[str, Any]:
            return {"observations": [], "reward": 0.0, "done": True, "metadata": {}}

    return Environment


class Settings(SimpleNamespace):
    """A configuration in which what is not named is off."""

    def __getattr__(self, name: str) -> Any:
        return None


def generator(engine: Any, judge: Any, texts: Sequence[str]) -> Any:
    async def generate(engine_input: Any, model: Any = None) -> dict[str, Any]:
        ids = [[ord(char) for char in text] for text in texts]
        return {"responses": list(texts), "response_ids": ids, "stop_reasons": ["stop"] * len(ids)}

    cfg = Settings(
        max_turns=1, batched=True, chat_template=Settings(source="name", name_or_path=None), chat_template_kwargs={},
        inference_engine=Settings(), sampling_params=Settings(max_generate_length=100), max_input_length=100,
    )  # fmt: skip
    client = Settings(generate=generate)
    return judged(engine.Generator, judge)(cfg, Settings(max_env_workers=0), client, Tokens())


async def advantages(engine: Any, judge: Any, instances: str, texts: Sequence[str]) -> tuple[list[float], list[int]]:
    """SkyRL's advantages, and how many tokens of each trajectory it trains on."""
    ids = [engine.TrajectoryID(name, number) for number, name in enumerate(instances)]
    made = generator(engine, judge, texts)
    output = await made.generate(batch(instances, trajectory_ids=ids))
    engine.checks.validate_generator_output(len(texts), output)
    cfg = Settings(
        generator=Settings(n_samples_per_prompt=2),
        trainer=Settings(algorithm=Settings(zero_variance_filter=True, zero_variance_filter_tol=0.0)),
    )
    trainer = SimpleNamespace(cfg=cfg, all_metrics={})
    done, uids = engine.post(trainer, output, list(instances))
    width = max(map(len, done["rewards"]))
    tensor = engine.torch.tensor([[*one, *[0.0] * (width - len(one))] for one in done["rewards"]])
    got, _ = engine.ppo.compute_grpo_outcome_advantage(tensor, engine.torch.ones_like(tensor), engine.numpy.array(uids))
    return [float(one[0]) for one in got], [sum(mask) for mask in done["loss_masks"]]


MIXED = ("ababb", ["worth 20", "worth 30", "worth 90", "worth 10", "worth 60"])


async def test_skyrl_trains_on_each_instances_own_comparison(engine: Any, faulty: FaultyServer) -> None:
    faulty.script(worth())
    got, trained = await advantages(engine, judge_at(faulty), *MIXED)
    assert got == pytest.approx([-0.7071, -0.1325, 0.7071, -0.9272, 1.0596], abs=1e-3)
    assert all(trained)


@pytest.mark.parametrize("failing", [{"never": [90]}, {"never": [20, 90]}, {"down": "Question a?"}])
async def test_failed_judgments_are_no_advantage_and_leave_other_groups_alone(
    engine: Any, faulty: FaultyServer, failing: dict[str, Any]
) -> None:
    faulty.script(worth())
    whole, _ = await advantages(engine, judge_at(faulty), *MIXED)
    faulty.script(worth(**failing))
    got, trained = await advantages(engine, judge_at(faulty), *MIXED)
    assert [got[0], got[2]] == [0.0, 0.0]
    assert [got[1], *got[3:]] == [whole[1], *whole[3:]]
    assert [bool(tokens) for tokens in trained] == [False, True, False, True, True]


@pytest.mark.parametrize("points", [97, 81, 60, 30])
async def test_equal_scores_are_no_advantage_to_the_last_bit(engine: Any, faulty: FaultyServer, points: int) -> None:
    faulty.script(worth())
    texts = [f"worth {points}{'!' * number}" for number in range(8)]
    got, _ = await advantages(engine, judge_at(faulty), "a" * 8, texts)
    assert got == [0.0] * 8


async def test_the_step_that_scheduled_a_batch_is_its_rollouts_version_of_the_policy(faulty: FaultyServer) -> None:
    faulty.script(worth())
    seen: list[Any] = []

    class Seen:
        def seen(self, group: Any, result: Any) -> Any:
            seen.append(group.extra.get("policy_version"))
            return result

    judge = judge_at(faulty, watchers=[Seen()])
    for step in (None, 12):
        about = {} if step is None else {"batch_metadata": SimpleNamespace(global_step=step)}
        made = judged(Plain, judge)([f"worth {step or 20}", "worth 90"], [0.0] * 2)
        await made.generate(batch("aa", **about))
    assert seen == [None, 12]
