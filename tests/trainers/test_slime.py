"""slime's ``--group-rm``, through its own rollout of a group, its own filter and its own normalisation of rewards."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.trainers.slime import group_rm
from engine_contract import require_exact_ties, require_failures_without_effect
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer
from trainer_adapters import Seen
from trainer_adapters import slime_sample as sample

GROUP = SimpleNamespace(group_rm=True)


async def test_the_label_is_shown_as_a_reference_where_asked_for(faulty: FaultyServer) -> None:
    faulty.script(worth())
    samples = [sample(text, label="The answer is 42.") for text in ("worth 20", "worth 90")]
    for reference in (True, False):
        assert await group_rm(judge_at(faulty), reference=reference)(GROUP, samples) == [0.2, 0.9]
    assert ["The answer is 42." in str(post["messages"]) for post in faulty.posts] == [True, False]


async def test_an_aborted_sample_costs_its_group_the_rewards_and_not_the_run(faulty: FaultyServer) -> None:
    faulty.script(worth())
    samples = [sample("worth 20"), sample("worth 9", status="aborted"), sample("worth 90")]
    assert await group_rm(judge_at(faulty))(GROUP, samples) == [0.5] * 3


async def test_single_samples_and_fanned_out_ones_are_refused_with_the_remedy(faulty: FaultyServer) -> None:
    reward = group_rm(judge_at(faulty))
    with pytest.raises(ConfigError, match="start slime with --group-rm"):
        await reward(SimpleNamespace(group_rm=False), sample("worth 20"))
    with pytest.raises(ConfigError, match="returns one sample"):
        await reward(GROUP, [[sample("worth 20")], [sample("worth 90")]])


async def test_the_weight_versions_that_the_server_named_are_recorded_with_the_sample(faulty: FaultyServer) -> None:
    faulty.script(worth())
    watcher = Seen()
    samples = [
        sample(text, weight_versions=versions)
        for text, versions in (("worth 20", ["3"]), ("worth 90", ["3", "4", "4"]), ("worth 55", []))
    ]
    await group_rm(judge_at(faulty, watchers=[watcher]))(GROUP, samples)
    (group,) = watcher.groups
    versions = [one.metadata for one in group.trajectories]
    assert versions == [{"policy_version": 3}, {"policy_version": [3, 4]}, {}]


# --- inside slime -----------------------------------------------------------------------------------------------------


class Unlimited:
    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """slime's parts, and a module of the user's in which its flags find functions."""
    rollout = pytest.importorskip("slime.rollout.sglang_rollout", reason="slime is not here (.ci/engines)")
    import torch  # noqa: PLC0415 - slime brings it
    from slime.rollout.filter_hub import dynamic_sampling_filters as filters  # noqa: PLC0415 - only where slime is
    from slime.utils.misc import SingletonMeta  # noqa: PLC0415 - likewise
    from slime.utils.types import Sample  # noqa: PLC0415 - likewise

    from engine_source import folder_of, taken  # noqa: PLC0415 - for installed engines only

    # Of slime's state only the places and the switch are used here; making a whole one needs a model's files.
    state = SimpleNamespace(aborted=False, semaphore=Unlimited(), dp_rank_context=nullcontext)
    monkeypatch.setitem(SingletonMeta._instances, rollout.GenerateState, state)
    normalise = taken(folder_of("slime") / "ray/rollout.py", "RolloutManager._post_process_rewards", torch=torch)
    module = ModuleType(f"users_own_{tmp_path.name}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return SimpleNamespace(
        rollout=rollout, Sample=Sample, filters=filters, normalise=normalise._post_process_rewards, module=module
    )


def settings(size: int, **paths: str) -> Any:
    return SimpleNamespace(
        partial_rollout=False, group_rm=True, rollout_sample_hook_path=None, reward_key=None,
        advantage_estimator="grpo", rewards_normalization=True, grpo_std_normalization=True,
        n_samples_per_prompt=size, rollout_batch_size=1, **paths,
    )  # fmt: skip


async def rolled_out(engine: Any, judge: Any, texts: Any, prompt: str = "Joke?") -> list[Any]:
    """A group of slime's, rolled out, judged and given back by slime."""

    async def generate(args: Any, one: Any, params: Any) -> Any:
        one.response, one.status = texts[one.index], engine.Sample.Status.COMPLETED
        return one

    paths = {}
    for flag, function in (("custom_generate_function_path", generate), ("custom_rm_path", group_rm(judge))):
        name = f"function_{len(vars(engine.module))}"  # slime remembers functions by their names
        setattr(engine.module, name, function)
        paths[flag] = f"{engine.module.__name__}.{name}"
    group = [engine.Sample(group_index=0, index=number, prompt=prompt) for number in range(len(texts))]
    done: list[Any] = await engine.rollout.generate_and_rm_group(settings(len(texts), **paths), group, {})
    return done


async def test_slime_trains_on_comparisons_never_on_a_failed_one_and_its_filter_drops_that(
    engine: Any, faulty: FaultyServer
) -> None:
    async def train(judge: Any, groups: Any) -> list[Any]:
        advantages = []
        for number, texts in enumerate(groups):
            samples = await rolled_out(engine, judge, texts, "Joke?" if number == 0 else "Song?")
            manager = SimpleNamespace(args=settings(len(texts)), custom_reward_post_process_func=None)
            advantages.append(list(engine.normalise(manager, samples)[1]))
            kept = engine.filters.check_reward_nonzero_std(settings(len(texts)), samples).keep
            assert kept == any(advantages[-1])
        return advantages

    await require_failures_without_effect(faulty, train)
    await require_exact_ties(faulty, train)
