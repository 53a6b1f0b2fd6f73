"""slime's ``--group-rm``, through its own rollout of a group, its own filter and its own normalisation of rewards."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers.slime import group_rm
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer

PROMPT = "Tell a joke."


def sample(text: str, *, prompt: Any = PROMPT, status: str = "completed", **metadata: Any) -> Any:
    """What the adapter reads of slime's samples; the engine's own are used below."""
    state = SimpleNamespace(value=status)
    return SimpleNamespace(prompt=prompt, response=text, status=state, metadata=metadata, label=None)


GROUP = SimpleNamespace(group_rm=True)


async def test_a_rubric_of_the_data_comes_before_that_of_the_run_wherever_it_is(faulty: FaultyServer) -> None:
    faulty.script(worth())
    criteria = [{"criterion": "Only rhymes.", "points": 1}]
    reward = group_rm(judge_at(faulty), rubric="Only puns.")
    rows: list[dict[str, Any]] = [{}, {"rubric": "Only rhymes."}, {"reward_model": {"rubrics": criteria}}]
    for row in rows:
        assert await reward(GROUP, [sample("worth 20", **row), sample("worth 90", **row)]) == [0.2, 0.9]
    asked = [json.dumps(post) for post in faulty.posts]
    assert ["Only rhymes." in one for one in asked] == [False, True, True]
    assert ["Only puns." in one for one in asked] == [True, False, False]


async def test_the_label_is_shown_as_a_reference_where_asked_for(faulty: FaultyServer) -> None:
    faulty.script(worth())
    for reference in (True, False):
        samples = [sample("worth 20"), sample("worth 90")]
        for one in samples:
            one.label = "The answer is 42."
        await group_rm(judge_at(faulty), reference=reference)(GROUP, samples)
    assert ["The answer is 42." in json.dumps(post) for post in faulty.posts] == [True, False]


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
    with pytest.raises(InputError, match="different prompts"):
        await reward(GROUP, [sample("worth 20"), sample("worth 90", prompt="Sing.")])


# --- inside slime -----------------------------------------------------------------------------------------------------


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    rollout = pytest.importorskip("slime.rollout.sglang_rollout", reason="slime is not here (.ci/engines)")
    import torch  # noqa: PLC0415 - slime brings it
    from slime.rollout.filter_hub import dynamic_sampling_filters as filters  # noqa: PLC0415 - only where slime is
    from slime.utils.misc import SingletonMeta  # noqa: PLC0415 - likewise
    from slime.utils.types import Sample  # noqa: PLC0415 - likewise

    from engine_source import folder_of, taken  # noqa: PLC0415 - for installed engines only

    # Of slime's state only the places and the switch are used here; making a whole one needs a model's files.
    state = SimpleNamespace(aborted=False, semaphore=nullcontext_async(), dp_rank_context=nullcontext)
    monkeypatch.setitem(SingletonMeta._instances, rollout.GenerateState, state)
    normalise = taken(
        folder_of("slime") / "ray/rollout.py", "RolloutManager._post_process_rewards", torch=torch
    )._post_process_rewards
    return SimpleNamespace(rollout=rollout, Sample=Sample, filters=filters, normalise=normalise, torch=torch)


class nullcontext_async:  # noqa: N801 - like its synchronous twin
    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """A module of the user's, in which slime's flags find functions. slime remembers them, so each has its own name."""
    made = ModuleType(f"users_own_{tmp_path.name}")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def settings(size: int, name: str = "", **more: Any) -> Any:
    common = {
        "partial_rollout": False, "group_rm": True, "custom_generate_function_path": f"{name}.generate",
        "custom_rm_path": f"{name}.reward", "rollout_sample_hook_path": None, "reward_key": None,
        "advantage_estimator": "grpo", "rewards_normalization": True, "grpo_std_normalization": True,
        "n_samples_per_prompt": size, "rollout_batch_size": 1,
    }  # fmt: skip
    return SimpleNamespace(**{**common, **more})


async def rolled_out(engine: Any, module: ModuleType, judge: Any, texts: list[str], **more: Any) -> list[Any]:
    """A group of slime's, rolled out, judged and given back by slime."""

    async def generate(args: Any, one: Any, params: Any) -> Any:
        one.response, one.status = texts[one.index], engine.Sample.Status.COMPLETED
        return one

    module.generate, module.reward = generate, group_rm(judge)  # type: ignore[attr-defined]  # a module of the test's
    group = [engine.Sample(group_index=0, index=number, prompt=PROMPT) for number in range(len(texts))]
    done: list[Any] = await engine.rollout.generate_and_rm_group(
        settings(len(texts), module.__name__, **more), group, {}
    )
    return done


def advantages(engine: Any, samples: list[Any], **more: Any) -> list[float]:
    manager = SimpleNamespace(args=settings(len(samples), **more), custom_reward_post_process_func=None)
    _, rewards = engine.normalise(manager, samples)
    return list(rewards)


async def test_slime_asks_once_for_a_group_and_each_sample_gets_its_own(
    engine: Any, module: ModuleType, faulty: FaultyServer
) -> None:
    faulty.script(worth())
    samples = await rolled_out(engine, module, judge_at(faulty), ["worth 20", "worth 90", "worth 55"])
    assert [one.reward for one in samples] == [0.2, 0.9, 0.55]
    assert len(faulty.posts) == 1
    assert engine.filters.check_reward_nonzero_std(settings(3), samples).keep
    assert advantages(engine, samples) == pytest.approx([-1, 1, 0], abs=1e-5)


@pytest.mark.parametrize("failing", [{"never": [55]}, {"never": [20, 90, 55]}, {"down": PROMPT}])
async def test_failed_judgments_are_no_advantage_and_slimes_filter_drops_the_group(
    engine: Any, module: ModuleType, faulty: FaultyServer, failing: dict[str, Any]
) -> None:
    faulty.script(worth(**failing))
    samples = await rolled_out(engine, module, judge_at(faulty), ["worth 20", "worth 90", "worth 55"])
    assert advantages(engine, samples) == [0.0] * 3
    assert not engine.filters.check_reward_nonzero_std(settings(3), samples).keep


@pytest.mark.parametrize("points", [97, 81, 60, 30])
async def test_equal_scores_are_no_advantage_to_the_last_bit(
    engine: Any, module: ModuleType, faulty: FaultyServer, points: int
) -> None:
    """slime adds 1e-6 to the deviation: eight rewards of 0.97 as they came made advantages of 0.11."""
    faulty.script(worth())
    samples = await rolled_out(engine, module, judge_at(faulty), [f"worth {points}{'!' * n}" for n in range(8)])
    assert [one.reward for one in samples] == pytest.approx([points / 100] * 8, rel=2e-5)
    assert advantages(engine, samples) == [0.0] * 8


async def test_a_file_of_two_lines_is_what_the_flag_names(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slime.utils.misc import load_function  # noqa: PLC0415 - only where slime is

    code = "from calipers.trainers.slime import group_rm\nreward = group_rm('embedded')\n"
    (tmp_path / "judge_rm.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    reward = load_function("judge_rm.reward")
    rewards = await reward(GROUP, [sample("Why did the lamp cross the road? To lighten up."), sample("")])
    assert len(set(rewards)) == 2


class Seen:
    """A watcher of the judge that keeps what each group's rollouts say about the policy's versions."""

    def __init__(self) -> None:
        self.groups: list[Any] = []

    def seen(self, group: Any, result: Any) -> Any:
        self.groups.append([one.metadata for one in group.trajectories])
        return result


async def test_the_weight_versions_that_the_server_named_are_recorded_with_the_sample(faulty: FaultyServer) -> None:
    faulty.script(worth())
    watcher = Seen()
    samples = [sample("worth 20"), sample("worth 90"), sample("worth 55"), sample("worth 10")]
    for one, versions in zip(samples, (["3"], ["3", "4", "4"], [], ["default"]), strict=True):
        one.weight_versions = versions
    await group_rm(judge_at(faulty, watchers=[watcher]))(GROUP, samples)
    assert watcher.groups == [[{"policy_version": 3}, {"policy_version": [3, 4]}, {}, {}]]
