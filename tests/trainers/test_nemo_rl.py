"""NeMo-RL's environment, through its own collection of rewards and its own advantage estimator."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.trainers import nemo_rl
from engine_contract import require_exact_ties, require_failures_without_effect
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
    monkeypatch.setattr(nemo_rl, "import_library", lambda module, **_: engine[module])
    return nemo_rl.judge_environment(partial(judge_at, faulty, rubric="Only puns."), group_size=3)({})


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


# --- inside NeMo-RL ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine() -> Any:
    """NeMo-RL's collection of rewards and its advantage estimator; an actor's call is the call itself here."""
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
    rollouts = taken(
        folder / "experience/rollouts.py",
        "calculate_rewards",
        ray=SimpleNamespace(get=lambda futures: [asyncio.run(future) for future in futures]),
        torch=torch,
        EnvironmentReturn=interfaces.EnvironmentReturn,
        get_keys_from_message_log=lambda log, keys: [{key: message[key] for key in keys} for message in log],
    )
    return SimpleNamespace(
        interfaces=interfaces, torch=torch, advantages=estimator.compute_advantage, collected=rollouts.calculate_rewards
    )


@pytest.mark.parametrize("leave_one_out", [True, False])
async def test_nemo_rl_trains_on_comparisons_and_never_on_a_failed_one(
    engine: Any, faulty: FaultyServer, *, leave_one_out: bool
) -> None:
    torch, settings = engine.torch, SimpleNamespace(use_leave_one_out_baseline=leave_one_out, normalize_rewards=True)

    def train(judge: Any, groups: Any) -> list[Any]:
        made = nemo_rl.judge_environment(judge, group_size=len(groups[0]))({})
        logs = [log(text, ("Joke?", "Song?")[number]) for number, texts in enumerate(groups) for text in texts]
        batch = {"message_log": logs, "task_name": ["judge"] * len(logs), "extra_env_info": [{}] * len(logs)}
        done = engine.collected(batch, {"judge": SimpleNamespace(step=SimpleNamespace(remote=made.step))})
        assert done.rewards.dtype == torch.float32
        assert bool(done.terminateds.all())
        ids = torch.tensor([[number] * 2 for number, texts in enumerate(groups) for _ in texts])
        got = iter(engine.advantages(settings, ids, done.rewards, torch.ones(len(logs), 1))[:, 0].tolist())
        return [[next(got) for _ in texts] for texts in groups]

    await require_failures_without_effect(faulty, train)
    await require_exact_ties(faulty, train)


async def test_the_environment_goes_to_its_actor_as_ray_sends_it(engine: Any, faulty: FaultyServer) -> None:
    cloudpickle = pytest.importorskip("ray.cloudpickle", reason="ray is not here")
    faulty.script(worth())
    cases = (
        ("embedded", ("Why did the lamp cross the road? To lighten up.", "")),
        (judge_at(faulty), ("worth 90", "worth 20")),
    )
    for judge, texts in cases:
        made = cloudpickle.loads(cloudpickle.dumps(nemo_rl.judge_environment(judge, group_size=2)))
        assert issubclass(made, engine.interfaces.EnvironmentInterface)
        done = await made({}).step([log(text) for text in texts], [None, None])
        assert len({float(reward) for reward in done.rewards}) == 2
