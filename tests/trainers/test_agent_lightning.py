"""The Agent-Lightning adapter on completed rollouts, and through its own managers, batches and verl's advantages."""

# ruff: noqa: PLC0415 - Agent-Lightning is imported only where it is

from __future__ import annotations

import importlib.util
import math
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.trainers.agent_lightning import MIN_SCORED, judged_hooks, rewarded
from calipers.trainers.run import JudgedRun
from engine_contract import require_advantages_of_the_scored
from http_judge import judge_at, worth
from own_process import serving
from servers.faulty_server import FaultyServer
from trainer_adapters import AgentRollout, agent_call

HERE = importlib.util.find_spec("agentlightning") is not None
with_engine = pytest.mark.skipif(not HERE, reason="agentlightning is not installed (.ci/engines makes an environment)")


def completed(task: str, points: int, **fields: Any) -> AgentRollout:
    return AgentRollout(task, [agent_call(f"worth {points}")], **fields)


def final(rollouts: Sequence[Any]) -> list[float | None]:
    return [one.final_reward for one in rollouts]


def scored(faulty: FaultyServer, *step: Any, never: Sequence[int] = ()) -> list[Any]:
    faulty.script(worth(never=never))
    return rewarded(JudgedRun(judge_at(faulty), min_scored=MIN_SCORED), step)


@pytest.mark.parametrize(
    "lost",
    [
        completed("a", 99, triplets=[]),
        completed("a", 99, final_reward=math.nan),
        AgentRollout("a", [agent_call("worth 99", answered=False)], triplets=[]),
    ],
    ids=["no call that can be trained on", "a reward that is no number", "a call that failed"],
)
def test_a_lost_rollout_takes_no_part(faulty: FaultyServer, lost: AgentRollout) -> None:
    found = scored(faulty, completed("a", 20), lost, completed("a", 90))
    assert (final(found), found[1].triplets) == ([0.2, None, 0.9], [])
    assert "worth 99" not in str(faulty.posts)


def test_a_reward_of_its_own_that_only_some_have_leaves_the_others_out(faulty: FaultyServer) -> None:
    step = completed("a", 20, final_reward=1.0), completed("a", 50), completed("a", 90, final_reward=0.0)
    assert final(scored(faulty, *step)) == [1.2, None, 0.9]


def test_a_rollout_that_is_left_over_alone_is_left_out_too(faulty: FaultyServer) -> None:
    step = [completed(task, points) for task, points in (("a", 50), ("a", 90), ("b", 10), ("b", 30))]
    assert final(scored(faulty, *step, never=(50,))) == [None, None, 0.1, 0.3]


def test_a_step_of_groups_of_one_is_refused(faulty: FaultyServer) -> None:
    with pytest.raises(ConfigError, match=r"set actor_rollout_ref.rollout.n to 2 or more"):
        scored(faulty, completed("a", 20), completed("b", 50))


def test_of_calls_that_carry_on_one_conversation_the_last_is_shown_and_others_beside_it(faulty: FaultyServer) -> None:
    calls = [agent_call("Hm."), agent_call("Hm.", "Go on.", "First part."), agent_call("worth 20")]
    step = AgentRollout("a", [*calls, agent_call("?", answered=False)]), completed("a", 90)
    assert final(scored(faulty, *step)) == [0.2, 0.9]
    question = str(faulty.posts[0]["messages"][-1]["content"])
    assert question.count("Hm.") == 1
    assert "First part." in question


# --- through Agent-Lightning ----------------------------------------------------------------------------------------


def work(url: str, stopping: threading.Event) -> None:
    """Agents that take up the rollouts of Agent-Lightning's server: the n-th of a task says the task's n-th text.

    A task is ``{"says": [...], "reports": [...]}``; None as a text is an agent that fails, as a report one that reports
    no reward.
    """
    import httpx

    taken: Counter[str] = Counter()
    with httpx.Client(base_url=url, trust_env=False) as client:
        while not stopping.wait(0.02):
            for rollout in client.get("/api/rollouts", params={"state_in": "queuing"}).json():
                task = rollout["input"]
                taken[str(task)] += 1  # the same task may be in several steps
                nth = taken[str(task)] % len(task["says"])
                report = (task.get("reports") or [None] * 9)[nth]
                take(client, f"/api/rollouts/{rollout['rollout_id']}", task["says"][nth], report, token=10 + nth)


def take(client: Any, path: str, text: str | None, report: float | None, *, token: int) -> None:
    """Run a rollout, and tell the server of its model call, its reward and its end."""
    events = []
    if text is not None:
        data = {**agent_call(text)["data"], "http_status": 200}
        data["response"] |= {"prompt_token_ids": [1, 2]}
        logprobs = {"content": [{"logprob": -1.0}] * 2}
        data["response"]["choices"][0] |= {"token_ids": [3, token], "logprobs": logprobs}
        events.append({"event_type": "model_request", "data": data})
    if report is not None:
        events.append({"event_type": "reward", "data": {"value": report}})
    client.patch(path, json={"status": {"state": "running"}}).raise_for_status()
    for event in events:
        client.post(f"{path}/attempt/0/events", json=event).raise_for_status()
    client.patch(path, json={"status": {"state": "failed" if text is None else "succeeded"}}).raise_for_status()


@pytest.fixture
def agents() -> Iterator[str]:
    """The URL of Agent-Lightning's own server, where agents are at work."""
    from agentlightning.server.app import create_app

    proxy = {"model_name": "m", "train": {"temperature": 1.0}, "val": {"temperature": 1.0}}
    stopping = threading.Event()
    with serving(create_app({"key": "", "default_proxy": proxy})) as url:
        working = threading.Thread(target=work, args=(url, stopping), daemon=True)
        working.start()
        try:
            yield url
        finally:
            stopping.set()
            working.join(10)


imports_verl = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
"""What verl's own modules warn of when they are imported."""


def step_of(agents: str, judge: Any, *tasks: dict[str, Any], asynchronous: bool = False) -> list[Any]:
    """Agent-Lightning's completed rollouts of a training step, with the hooks as its trainer starts them."""
    from agentlightning.verl.agl_rollout_manager import AglAsyncRolloutManager, AglRolloutManager

    hooks = judged_hooks(judge)()
    hooks.on_startup()
    manager = (AglAsyncRolloutManager if asynchronous else AglRolloutManager)(
        agl_base_url=agents, agl_key="", model="m", step=1, train_rollout_n=len(tasks[0]["says"]), hooks=hooks,
        poll_interval_seconds=0.02,
    )  # fmt: skip
    data = {key: [task.get(key) for task in tasks] for key in ("says", "reports")}
    with manager.client:
        if asynchronous:
            rollouts, waiting = manager.enqueue_and_wait_until_group_completed(
                data, [], is_train=True, target_finished_group_num=len(tasks)
            )
            assert waiting == []
        else:
            rollouts = manager.enqueue_and_wait_until_completed(data, is_train=True)
    return sorted(rollouts, key=lambda one: (one.sample_idx_in_step, one.enqueue_time))


def advantages(rollouts: Sequence[Any]) -> dict[str, float]:
    """verl's advantage of each rollout in Agent-Lightning's own batch, by what it said."""
    import torch
    from agentlightning.verl.rollout_adapter import RolloutAdapter
    from agentlightning.verl.rollout_level_advantage import compute_rollout_level_advantage
    from verl.trainer.ppo.core_algos import AdvantageEstimator

    adapter = RolloutAdapter(max_prompt_length=4, max_response_length=4, device=torch.device("cpu"), pad_token_id=0)
    batch, _ = adapter.get_train_data_batch(list(rollouts))
    batch.batch["token_level_rewards"] = batch.batch["token_level_scores"]
    batch.batch["response_mask"] = batch.batch["attention_mask"][:, -4:]
    batch, _ = compute_rollout_level_advantage(
        batch, adv_estimator=AdvantageEstimator.GRPO, gamma=1.0, lam=1.0, num_repeat=1
    )
    texts = {
        one.rollout_id: one.events[0]["data"]["response"]["choices"][0]["message"]["content"]
        for one in rollouts
        if one.events
    }
    found = zip(batch.non_tensor_batch["rollout_id_list"], batch.batch["advantages"], strict=True)
    return {texts[name]: float(row[0]) for name, row in found}


@with_engine
@imports_verl
async def test_agent_lightning_trains_on_the_scored_as_on_the_group_without_the_others(
    agents: str, faulty: FaultyServer
) -> None:
    def train(judge: Any, groups: Any) -> list[Any]:
        found = advantages(step_of(agents, judge, *({"says": list(texts)} for texts in groups)))
        return [[found.get(text) for text in texts] for texts in groups]

    await require_advantages_of_the_scored(faulty, train, unscored=None)


@with_engine
@imports_verl
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_lost_sibling_changes_no_advantage(agents: str, faulty: FaultyServer, *, asynchronous: bool) -> None:
    faulty.script(worth())
    judge, says = judge_at(faulty), ["worth 20", None, "worth 90"]
    found = advantages(step_of(agents, judge, {"says": says}, asynchronous=asynchronous))
    assert found == advantages(step_of(agents, judge, {"says": says[::2]}, asynchronous=asynchronous))


@with_engine
@imports_verl
def test_a_reported_reward_is_added_and_hooks_that_start_twice_judge_once(agents: str, faulty: FaultyServer) -> None:
    faulty.script(worth())
    task = {"says": ["worth 20", "worth 90"], "reports": [1.0, 0.5]}
    judged_hooks("embedded")().on_startup()
    rewards = [one.final_reward for one in step_of(agents, judge_at(faulty), task)]
    assert sorted(rewards) == [1.2, 1.4]  # in whatever order they were taken up
    assert len(faulty.posts) == 1


@with_engine
@imports_verl
def test_agent_lightning_finds_the_one_class_in_the_hooks_file(tmp_path: Path) -> None:
    from agentlightning.hooks import RolloutHooks, load_hooks

    file = tmp_path / "judged.py"
    code = "from calipers.trainers.agent_lightning import judged_hooks\nJudged = judged_hooks('embedded')\n"
    file.write_text(code, encoding="utf-8")
    assert isinstance(load_hooks(str(file)), RolloutHooks)
