"""SkyRL's generator, judged: through its own generator, environments, post-processing and advantages."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.trainers.skyrl import judged
from engine_contract import require_exact_ties, require_failures_without_effect
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer
from trainer_adapters import Characters, Seen, SkyGenerator, tokens_of


def batch(instances: Sequence[str], **more: Any) -> dict[str, Any]:
    """A trajectory for each name of an instance, which is its question."""
    return {
        "prompts": [[{"role": "user", "content": f"{name}?"}] for name in instances],
        "trajectory_ids": [SimpleNamespace(instance_id=name, repetition_id=n) for n, name in enumerate(instances)],
        "env_classes": ["judged_env"] * len(instances),
        "env_extras": [{} for _ in instances],
        "sampling_params": None,
        "texts": ["worth 20", "worth 90"],
        "own": [0.0, 0.0],
        **more,
    }


async def test_the_environments_own_rewards_are_kept_a_token_or_a_trajectory_each(faulty: FaultyServer) -> None:
    faulty.script(worth())
    generator = judged(SkyGenerator, judge_at(faulty))()
    for own, expected in (([1.0, None], [1.2, 0.9]), ([[1.0, 0.0], [0.0, 0.25]], [[1.0, 0.2], [0.0, 1.15]])):
        got = (await generator.generate(batch("aa", own=own)))["rewards"]
        assert [pytest.approx(one) for one in expected] == got


async def test_what_cannot_be_compared_is_refused(faulty: FaultyServer) -> None:
    generator = judged(SkyGenerator, judge_at(faulty))()
    with pytest.raises(ConfigError, match="step_wise_trajectories=false"):
        await generator.generate(batch("aa", more={"is_last_step": [True, True]}))
    with pytest.raises(ConfigError, match="no trajectory_ids"):
        await generator.generate(batch("aa", trajectory_ids=None))


def test_the_judged_generator_has_the_signature_of_its_own() -> None:
    made = judged(SkyGenerator, "embedded")
    assert issubclass(made, SkyGenerator)
    assert inspect.signature(made.generate) == inspect.signature(SkyGenerator.generate)


async def test_the_step_that_scheduled_a_batch_is_its_rollouts_version_of_the_policy(faulty: FaultyServer) -> None:
    faulty.script(worth())
    watcher = Seen()
    generator = judged(SkyGenerator, judge_at(faulty, watchers=[watcher]))()
    for about in ({}, {"batch_metadata": SimpleNamespace(global_step=12)}):
        await generator.generate(batch("aa", **about))
    assert [group.extra.get("policy_version") for group in watcher.groups] == [None, 12]


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
    skyrl_gym.register(id="judged_env", entry_point=own_environment())
    return SimpleNamespace(
        Generator=theirs.SkyRLGymGenerator, TrajectoryID=TrajectoryID, checks=trainer_utils, post=post, ppo=ppo_utils,
        torch=torch, numpy=numpy,
    )  # fmt: skip


def own_environment() -> type:
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
        ids = list(map(tokens_of, texts))
        return {"responses": list(texts), "response_ids": ids, "stop_reasons": ["stop"] * len(ids)}

    cfg = Settings(
        max_turns=1, batched=True, chat_template=Settings(source="name", name_or_path=None), chat_template_kwargs={},
        inference_engine=Settings(), sampling_params=Settings(max_generate_length=100), max_input_length=100,
    )  # fmt: skip
    client = Settings(generate=generate)
    return judged(engine.Generator, judge)(cfg, Settings(max_env_workers=0), client, Characters())


async def test_skyrl_trains_on_comparisons_never_on_a_failed_one_and_its_filter_masks_that(
    engine: Any, faulty: FaultyServer
) -> None:
    async def train(judge: Any, groups: Any) -> list[Any]:
        names = ("Joke", "Song")
        instances = [names[number] for number, texts in enumerate(groups) for _ in texts]
        ids = [engine.TrajectoryID(name, number) for number, name in enumerate(instances)]
        output = await generator(engine, judge, [text for texts in groups for text in texts]).generate(
            batch(instances, trajectory_ids=ids)
        )
        engine.checks.validate_generator_output(len(instances), output)
        algorithm = Settings(zero_variance_filter=True, zero_variance_filter_tol=0.0)
        cfg = Settings(generator=Settings(n_samples_per_prompt=2), trainer=Settings(algorithm=algorithm))
        done, uids = engine.post(SimpleNamespace(cfg=cfg, all_metrics={}), output, instances)
        width = max(map(len, done["rewards"]))
        tensor = engine.torch.tensor([[*one, *[0.0] * (width - len(one))] for one in done["rewards"]])
        mask = engine.torch.ones_like(tensor)
        advantages, _ = engine.ppo.compute_grpo_outcome_advantage(tensor, mask, engine.numpy.array(uids))
        left = iter(zip(advantages[:, 0].tolist(), done["loss_masks"], strict=True))
        found = [[next(left) for _ in texts] for texts in groups]
        for group in found:
            assert any(sum(tokens) for _, tokens in group) == any(one for one, _ in group)
        return [[one for one, _ in group] for group in found]

    await require_failures_without_effect(faulty, train)
    await require_exact_ties(faulty, train)
