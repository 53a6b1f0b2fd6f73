"""NeMo-RL's environment, through its own collection of rewards and its own advantage estimator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.trainers import nemo_rl
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer


def log(text: str, prompt: str = "Joke?") -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": text}]


@pytest.fixture
def environment(faulty: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An environment for groups of three, with lists in place of NeMo-RL's records and tensors."""
    interfaces = SimpleNamespace(EnvironmentInterface=object, EnvironmentReturn=SimpleNamespace)
    torch = SimpleNamespace(tensor=lambda row, **_: row, ones=lambda count, **_: [True] * count)
    torch.float32 = torch.bool = None
    engine = {"torch": torch, "nemo_rl.environments.interfaces": interfaces}
    monkeypatch.setattr(nemo_rl, "import_engine", lambda module, **_: engine[module])
    return nemo_rl.judge_environment(partial(judge_at, faulty), group_size=3, rubric="Only puns.")({})


async def test_a_batch_is_judged_prompt_by_prompt_by_its_rows_rubrics(faulty: FaultyServer, environment: Any) -> None:
    faulty.script(worth(never=[90]))
    own, rules = {"rubric": "Only limericks."}, {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    logs = [log("worth 20"), log("worth 90"), log("worth 30", "Song?"), log("worth 10", "Song?")]
    with pytest.warns(UserWarning, match="the rules in instruction_id_list"):
        done = await environment.step(logs, [own, own, rules, rules])
    assert done.rewards == [0.5, 0.5, 0.3, 0.1]
    asked = [str(post["messages"]) for post in faulty.posts]
    assert {("Only limericks." in one, "Only puns." in one) for one in asked} == {(True, False), (False, True)}


async def test_generations_that_come_one_by_one_wait_for_their_group(faulty: FaultyServer, environment: Any) -> None:
    faulty.script(worth())
    steps = (environment.step([log(text)], [None]) for text in ("worth 20", "worth 90", "worth 55"))
    assert [done.rewards for done in await asyncio.gather(*steps)] == [[0.2], [0.9], [0.55]]
    assert len(faulty.posts) == 1
    with pytest.raises(InputError, match="so it has no prompt"):
        await environment.step([[{"role": "assistant", "content": "x"}]], [None])


@pytest.mark.skipif(find_spec("nemo_rl") is not None, reason="NeMo-RL is installed here")
def test_without_nemo_rl_the_environment_says_so() -> None:
    with pytest.raises(ConfigError, match="NeMo-RL is needed"):
        nemo_rl.judge_environment("embedded", group_size=4)


# --- inside NeMo-RL ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Any:
    interfaces = pytest.importorskip("nemo_rl.environments.interfaces", reason="NeMo-RL is not here (.ci/engines)")
    import torch  # noqa: PLC0415 - NeMo-RL brings it

    from engine_source import folder_of, taken  # noqa: PLC0415 - for installed engines only

    folder = folder_of("nemo_rl")
    baseline = taken(folder / "algorithms/utils.py", "calculate_baseline_and_std_per_prompt", torch=torch)
    estimator = taken(
        folder / "algorithms/advantage_estimator.py",
        "GRPOAdvantageEstimator.compute_advantage",
        torch=torch,
        calculate_baseline_and_std_per_prompt=baseline.calculate_baseline_and_std_per_prompt,
    )
    return SimpleNamespace(interfaces=interfaces, estimator=estimator, torch=torch, folder=folder, taken=taken)


def collected(engine: Any, environment: Any, logs: Sequence[Any]) -> Any:
    """What NeMo-RL makes of a batch's steps; an actor's call is the call itself here, and getting it is its result."""
    ray = SimpleNamespace(get=lambda futures: [asyncio.run(future) for future in futures])
    calculate = engine.taken(
        engine.folder / "experience/rollouts.py",
        "calculate_rewards",
        ray=ray,
        torch=engine.torch,
        EnvironmentReturn=engine.interfaces.EnvironmentReturn,
        get_keys_from_message_log=lambda log, keys: [{key: message[key] for key in keys} for message in log],
    ).calculate_rewards
    actor = SimpleNamespace(step=SimpleNamespace(remote=environment.step))
    batch = {
        "message_log": logs,
        "task_name": ["judge"] * len(logs),
        "extra_env_info": [{"row": number} for number in range(len(logs))],
    }
    return calculate(batch, {"judge": actor})


def advantages(engine: Any, rewards: Any, prompts: Sequence[int], *, leave_one_out: bool) -> list[float]:
    torch = engine.torch
    settings = SimpleNamespace(use_leave_one_out_baseline=leave_one_out, normalize_rewards=True)
    ids = torch.tensor([[prompt, prompt] for prompt in prompts])
    got = engine.estimator.compute_advantage(settings, ids, rewards, torch.ones(len(prompts), 1))
    return [float(one) for one in got[:, 0]]


@pytest.mark.parametrize("leave_one_out", [True, False])
@pytest.mark.parametrize("failing", [{}, {"never": [55]}, {"never": [20, 90, 55]}, {"down": "Joke?"}])
def test_nemo_rl_trains_on_comparisons_and_never_on_a_failed_one(
    engine: Any, faulty: FaultyServer, *, leave_one_out: bool, failing: dict[str, Any]
) -> None:
    environment = nemo_rl.judge_environment(partial(judge_at, faulty), group_size=3)({})
    logs = [log("worth 20"), log("worth 90"), log("worth 55"), log("worth 30", "Song?"), log("worth 10", "Song?")]
    faulty.script(worth(**failing))
    done = collected(engine, environment, logs)
    assert done.rewards.dtype == engine.torch.float32
    assert bool(done.terminateds.all())
    assert [one["row"] for one in done.metadata] == list(range(5))
    got = advantages(engine, done.rewards, [0, 0, 0, 1, 1], leave_one_out=leave_one_out)
    other = advantages(engine, done.rewards[3:], [1, 1], leave_one_out=leave_one_out)
    assert got[3:] == other
    assert got[3] > 0 > got[4]
    if failing:
        assert got[:3] == [0.0] * 3
    else:
        assert got[0] < got[2] < got[1]


@pytest.mark.parametrize("leave_one_out", [True, False])
@pytest.mark.parametrize("points", [97, 81, 60, 30])
def test_equal_scores_are_no_advantage_to_the_last_bit(
    engine: Any, faulty: FaultyServer, points: int, *, leave_one_out: bool
) -> None:
    faulty.script(worth())
    environment = nemo_rl.judge_environment(partial(judge_at, faulty), group_size=7)({})
    done = collected(engine, environment, [log(f"worth {points}{'!' * number}") for number in range(7)])
    assert advantages(engine, done.rewards, [0] * 7, leave_one_out=leave_one_out) == [0.0] * 7


def test_the_environment_goes_to_its_actor_as_ray_sends_it(engine: Any) -> None:
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="ray is not here")
    made = cloudpickle.loads(cloudpickle.dumps(nemo_rl.judge_environment("embedded", group_size=2)))
    done = asyncio.run(made({}).step([log("Why did the lamp cross the road? To lighten up."), log("")], [None, None]))
    assert len({float(reward) for reward in done.rewards}) == 2


def test_the_environment_is_one_of_nemo_rls(engine: Any) -> None:
    made = nemo_rl.judge_environment("embedded", group_size=2)
    assert issubclass(made, engine.interfaces.EnvironmentInterface)
    batch = object()
    assert made({}).global_post_process_and_metrics(batch) == (batch, {})
