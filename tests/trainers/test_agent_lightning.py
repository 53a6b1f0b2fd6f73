"""The Agent-Lightning adapter on completed rollouts, and through its own managers, batches and verl's advantages."""

# ruff: noqa: PLC0415 - Agent-Lightning is imported only where it is

from __future__ import annotations

import importlib.util
import math
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import pytest

from calipers.errors import ConfigError
from calipers.trainers.agent_lightning import judged_hooks, rewarded
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer

HERE = importlib.util.find_spec("agentlightning") is not None
with_engine = pytest.mark.skipif(not HERE, reason="agentlightning is not installed (.ci/engines makes an environment)")


@dataclass(frozen=True)
class Record:
    """What the adapter touches of Agent-Lightning's records, which are pydantic models."""

    def model_copy(self, *, update: dict[str, Any]) -> Any:
        return replace(self, **update)


@dataclass(frozen=True)
class Turn(Record):
    reward: float | None = None


@dataclass(frozen=True)
class Completed(Record):
    data_id: str
    events: tuple[Any, ...]
    triplets: list[Any] = field(default_factory=lambda: [Turn(), Turn()])
    final_reward: float | None = None


def call(*texts: str, status: int = 200, answered: bool = True) -> dict[str, Any]:
    """The record of a model call: prompt, then user and assistant in turns; the last one is the reply."""
    roles = ["user", *(("assistant", "user") * len(texts))]
    messages = [{"role": role, "content": text} for role, text in zip(roles, ("Tell a joke.", *texts), strict=False)]
    response = {"choices": [{"message": messages.pop()}]} if answered else {"error": "scripted"}
    return {
        "event_type": "model_request",
        "data": {"request": {"messages": messages}, "response": response, "http_status": status},
    }


def completed(task: str, text: str, **fields: Any) -> Completed:
    return Completed(task, (call(text),), **fields)


def final(rollouts: Sequence[Any]) -> list[float | None]:
    return [one.final_reward for one in rollouts]


def test_the_judges_reward_is_added_to_their_own(faulty: FaultyServer) -> None:
    faulty.script(worth())
    step = [completed("a", "worth 20", final_reward=1.0), completed("a", "worth 90", final_reward=-1.0)]
    assert final(rewarded(step, judge_at(faulty))) == [1.2, pytest.approx(-0.1)]


@pytest.mark.parametrize(
    "lost",
    [
        completed("a", "worth 99", triplets=[]),
        completed("a", "worth 99", final_reward=math.nan),
        Completed("a", (call("worth 99", status=500),), triplets=[]),
    ],
    ids=["no call that can be trained on", "a reward that is no number", "a call that failed"],
)
def test_a_lost_rollout_takes_no_part(faulty: FaultyServer, lost: Completed) -> None:
    faulty.script(worth())
    step = [completed("a", "worth 20"), lost, completed("a", "worth 90")]
    found = rewarded(step, judge_at(faulty))
    assert (final(found), found[1].triplets) == ([0.2, None, 0.9], [])
    assert "worth 99" not in str(faulty.posts)


def test_a_reward_of_ones_own_that_only_some_have_leaves_the_others_out(faulty: FaultyServer) -> None:
    faulty.script(worth())
    step = [
        completed("a", "worth 20", final_reward=1.0),
        completed("a", "worth 50"),
        completed("a", "worth 90", final_reward=0.0),
    ]
    assert final(rewarded(step, judge_at(faulty))) == [1.2, None, 0.9]


def test_one_left_over_alone_is_left_out_too(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(50,)))
    step = [
        *(completed("a", f"worth {one}") for one in (50, 90)),
        *(completed("b", f"worth {one}") for one in (10, 30)),
    ]
    assert final(rewarded(step, judge_at(faulty))) == [None, None, 0.1, 0.3]


def test_validation_is_left_as_it_is_unless_the_judge_is_absolute(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(50,)))
    step = [completed("a", "worth 20", final_reward=1.0), completed("b", "worth 50")]
    assert rewarded(step, judge_at(faulty), is_train=False) == step
    assert faulty.posts == []
    found = rewarded(step, judge_at(faulty, absolute=True), is_train=False)
    assert final(found) == [1.2, None]
    assert found[1] == step[1]  # it stays, and is counted as one without a reward


def test_a_training_step_of_groups_of_one_is_refused_or_judged_absolutely(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(50,)))
    step = [completed("a", "worth 20"), completed("b", "worth 50")]
    with pytest.raises(ConfigError, match=r"set actor_rollout_ref.rollout.n to 2 or more"):
        rewarded(step, judge_at(faulty))
    found = rewarded(step, judge_at(faulty, absolute=True))
    assert (final(found), found[1].triplets) == ([0.2, None], [])


def test_of_calls_that_carry_on_one_conversation_the_last_is_shown_and_others_beside_it(faulty: FaultyServer) -> None:
    faulty.script(worth())
    one = Completed(
        "a", (call("Hm."), call("Hm.", "Go on.", "First part."), call("worth 20"), call("?", answered=False))
    )
    assert final(rewarded([one, completed("a", "worth 90")], judge_at(faulty))) == [0.2, 0.9]
    question = str(faulty.posts[0]["messages"][-1]["content"])
    assert question.count("Hm.") == 1
    assert "First part." in question


@pytest.mark.skipif(HERE, reason="agentlightning is installed")
def test_without_agent_lightning_the_remedy_is_named() -> None:
    with pytest.raises(ConfigError, match=r"pip install .agentlightning"):
        judged_hooks("embedded")
    with pytest.raises(ConfigError, match="weight=inf"):
        judged_hooks("embedded", weight=math.inf)


# --- through Agent-Lightning ----------------------------------------------------------------------------------------


class Agents:
    """Agent-Lightning's own server, and agents that take up its rollouts: the n-th of a task says its n-th text.

    A task is ``{"says": [...], "reports": [...]}``; None as a text is an agent that fails, as a report one that reports
    no reward.
    """

    def __init__(self) -> None:
        import uvicorn
        from agentlightning.server.app import create_app

        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        proxy = {"model_name": "m", "train": {"temperature": 1.0}, "val": {"temperature": 1.0}}
        app = create_app({"key": "", "default_proxy": proxy})
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True),
            threading.Thread(target=self._work, daemon=True),
        ]
        self._taken: set[str] = set()
        self._nth: dict[str, int] = {}

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._server.should_exit = True
        for thread in self._threads:
            thread.join(10)
        self._socket.close()

    def _work(self) -> None:
        import httpx

        with httpx.Client(base_url=self.url, trust_env=False) as client:
            while not self._stopping.wait(0.02):
                if self._server.started:
                    for rollout in client.get("/api/rollouts", params={"state_in": "queuing"}).json():
                        if rollout["rollout_id"] not in self._taken:
                            self._take(client, rollout)

    def _take(self, client: Any, rollout: Any) -> None:
        name, task = rollout["rollout_id"], rollout["input"]
        self._taken.add(name)
        nth = self._nth[str(task)] = self._nth.get(str(task), -1) + 1
        text, report = task["says"][nth], (task.get("reports") or [None] * 9)[nth]
        events = []
        if text is not None:
            data = call(text)["data"]
            data["response"] |= {"prompt_token_ids": [1, 2]}
            logprobs = {"content": [{"logprob": -1.0}] * 2}
            data["response"]["choices"][0] |= {"token_ids": [3, 10 + nth], "logprobs": logprobs}
            events.append({"event_type": "model_request", "data": data})
        if report is not None:
            events.append({"event_type": "reward", "data": {"value": report}})
        path, states = f"/api/rollouts/{name}", ("running", "failed" if text is None else "succeeded")
        self._ok(client.patch(path, json={"status": {"state": states[0]}}))
        for event in events:
            self._ok(client.post(f"{path}/attempt/0/events", json=event))
        self._ok(client.patch(path, json={"status": {"state": states[1]}}))

    def _ok(self, response: Any) -> None:
        assert response.is_success, response.text


@pytest.fixture
def agents() -> Iterator[Agents]:
    with Agents() as running:
        yield running


imports_verl = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
"""What verl's own modules warn of when they are imported."""


Mode = Literal["synchronous", "asynchronous"]


def step_of(agents: Agents, judge: Any, *tasks: dict[str, Any], mode: Mode = "synchronous") -> list[Any]:
    """Agent-Lightning's completed rollouts of a training step, with the hooks as its trainer starts them."""
    from agentlightning.verl.agl_rollout_manager import AglAsyncRolloutManager, AglRolloutManager

    hooks = judged_hooks(judge)()
    hooks.on_startup()
    manager = (AglAsyncRolloutManager if mode == "asynchronous" else AglRolloutManager)(
        agl_base_url=agents.url,
        agl_key="",
        model="m",
        step=1,
        train_rollout_n=len(tasks[0]["says"]),
        hooks=hooks,
        poll_interval_seconds=0.02,
    )
    data = {key: [task.get(key) for task in tasks] for key in ("says", "reports")}
    with manager.client:
        if mode == "asynchronous":
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
    said = {
        one.rollout_id: one.events[0]["data"]["response"]["choices"][0]["message"]["content"]
        for one in rollouts
        if one.events
    }
    found = zip(batch.non_tensor_batch["rollout_id_list"], batch.batch["advantages"], strict=True)
    return {said[name]: float(row[0]) for name, row in found}


POINTS = (10, 30, 55, 65, 95)


def texts(*points: int) -> list[str]:
    return [f"worth {one}" for one in points]


@with_engine
@imports_verl
@pytest.mark.parametrize("never", [(30,), (30, 65), (10, 30, 65)])
def test_advantages_are_those_of_the_group_without_the_members_the_judge_did_not_score(
    agents: Agents, faulty: FaultyServer, never: tuple[int, ...]
) -> None:
    faulty.script(worth(never=never))
    judge, other = judge_at(faulty), {"says": texts(20, 25, 40, 60, 80)}
    found = advantages(step_of(agents, judge, {"says": texts(*POINTS)}, other))
    expected = advantages(step_of(agents, judge, {"says": texts(*(one for one in POINTS if one not in never))}))
    assert {text: found[text] for text in expected} == expected
    assert found.keys() - expected.keys() == set(other["says"])


@with_engine
@imports_verl
@pytest.mark.parametrize("mode", ["synchronous", "asynchronous"])
def test_a_lost_sibling_changes_no_advantage(agents: Agents, faulty: FaultyServer, mode: Mode) -> None:
    faulty.script(worth())
    judge = judge_at(faulty)
    found = advantages(step_of(agents, judge, {"says": ["worth 20", None, "worth 90"]}, mode=mode))
    assert found == advantages(step_of(agents, judge, {"says": ["worth 20", "worth 90"]}, mode=mode))


@with_engine
@imports_verl
def test_ties_have_equal_advantages_to_the_last_bit(agents: Agents, faulty: FaultyServer) -> None:
    faulty.script(worth())
    found = advantages(step_of(agents, judge_at(faulty), {"says": ["1st, worth 70", "worth 10", "2nd, worth 70"]}))
    assert found["1st, worth 70"] == found["2nd, worth 70"] > 0 > found["worth 10"]


@with_engine
@imports_verl
def test_a_reported_reward_is_added_and_hooks_that_start_twice_judge_once(agents: Agents, faulty: FaultyServer) -> None:
    faulty.script(worth())
    task = {"says": ["worth 20", "worth 90"], "reports": [1.0, 0.5]}
    judged_hooks("embedded")().on_startup()
    assert final(step_of(agents, judge_at(faulty), task)) == [1.2, 1.4]
    assert len(faulty.posts) == 1


@with_engine
@imports_verl
def test_agent_lightning_finds_the_one_class_in_the_hooks_file(tmp_path: Path) -> None:
    from agentlightning.hooks import RolloutHooks, load_hooks

    file = tmp_path / "judged.py"
    file.write_text(
        "from calipers.trainers.agent_lightning import judged_hooks\nJudged = judged_hooks('embedded')\n",
        encoding="utf-8",
    )
    assert isinstance(load_hooks(str(file)), RolloutHooks)
