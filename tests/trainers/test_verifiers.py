"""The verifiers adapter inside verifiers' own episodes, and prime-rl's own credit for what comes out of them.

Policy and judge are real servers on loopback. prime-rl is not on any package index: its part runs where its source is
on the path (.ci/engines fetches it).
"""

# ruff: noqa: PLC0415 - verifiers and prime-rl are imported only where they are

from __future__ import annotations

import asyncio
import importlib.util
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import calipers
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.testing import SimulatedJudge
from calipers.trainers.verifiers import best_of_n, judge_episode
from http_judge import judge_at, worth
from servers.faulty_server import Answer, FaultyServer, error

HERE = importlib.util.find_spec("verifiers.v1") is not None  # tests/verifiers is a "verifiers", too
with_verifiers = pytest.mark.skipif(not HERE, reason="verifiers is not installed (.ci/engines makes an environment)")


# --- without verifiers: what is written on traces -------------------------------------------------------------------


def trace_of(text: str, *, ok: bool = True, trainable: bool = True, reward: float = 0.0, name: str = "agent") -> Any:
    """What the adapter touches of a trace, for where verifiers is not installed."""
    dumped = SimpleNamespace(model_dump=lambda **_: {"role": "assistant", "content": text})
    trace = SimpleNamespace(
        id=f"trace-{text}",
        ok=ok,
        last_error=None,
        agent=SimpleNamespace(trainable=trainable, name=name),
        rewards={},
        reward=reward,
        info={},
        branches=[SimpleNamespace(messages=[dumped], tools=[], trainable=True)],
    )
    trace.record_reward = lambda name, value, weight: trace.rewards.__setitem__(name, (value, weight))
    return trace


def episode_with(*traces: Any) -> Any:
    return SimpleNamespace(id="e1", traces=list(traces))


async def test_an_unscored_trace_has_no_reward_and_is_not_trained_on() -> None:
    judge = SimulatedJudge({"trace-a": 0.2, "trace-b": 0.9})
    episode = episode_with(trace_of("a"), trace_of("b"), trace_of("frozen", trainable=False))
    await judge_episode(episode, calipers.Judge(judge), weight=2.0)
    assert [trace.rewards for trace in episode.traces] == [{"judge": (0.2, 2.0)}, {"judge": (0.9, 2.0)}, {}]
    episode = episode_with(trace_of("a"), trace_of("b", name="solver"))
    await judge_episode(episode, calipers.Judge(judge), agent="solver")
    assert [sorted(trace.info) for trace in episode.traces] == [[], ["judge"]]


async def test_another_reward_that_is_not_finite_is_named_before_the_judge_is_asked() -> None:
    with pytest.raises(InputError, match="trace-b has a reward of nan"):
        await judge_episode(episode_with(trace_of("a"), trace_of("b", reward=math.nan)), "embedded")


async def test_a_second_reward_of_the_same_name_is_refused() -> None:
    first = trace_of("a")
    first.rewards["judge"] = (1.0, 1.0)
    with pytest.raises(InputError, match="choose another name="):
        await judge_episode(episode_with(first, trace_of("b")), "embedded")


async def test_an_episode_without_a_finished_rollout_is_an_error() -> None:
    with pytest.raises(CalipersError, match="1 of 1 rollouts failed"):
        await judge_episode(episode_with(trace_of("a", ok=False)), "embedded")
    with pytest.raises(CalipersError, match="no rollouts to judge"):
        await judge_episode(episode_with(), "embedded")


@pytest.mark.skipif(HERE, reason="verifiers is installed")
def test_without_verifiers_the_remedy_is_named() -> None:
    with pytest.raises(ConfigError, match=r"pip install .verifiers"):
        best_of_n("embedded")


# --- inside verifiers -----------------------------------------------------------------------------------------------


@pytest.fixture
def policy() -> Iterator[FaultyServer]:
    with FaultyServer() as server:
        yield server


def completion(text: str) -> Answer:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    envelope = {"id": "x", "object": "chat.completion", "created": 0, "model": "policy"}
    return Answer(body={**envelope, "choices": [choice], "usage": usage})


async def play(env_class: Any, policy: FaultyServer, *says: str | None) -> Any:
    """verifiers' episode of as many attempts; None is a model call that fails."""
    import verifiers.v1 as vf
    from verifiers.v1.envs.best_of_n.env import BestOfNEnvConfig

    policy.script(*(error(400, "scripted") if text is None else completion(text) for text in says))
    agent = {"runtime": {"type": "subprocess"}}
    env = env_class(BestOfNEnvConfig(taskset={"id": "verifiers_plugin"}, agent=agent, n=len(says)))
    client = vf.EvalClientConfig(base_url=policy.url, api_key_var="NO_KEY_NEEDED")
    context = vf.ModelContext(client=client, model="policy", sampling=vf.SamplingConfig())
    async with env.serving():
        return await env.run_episode(next(iter(env.taskset)), context)


def arrived(episode: Any) -> Any:
    """The episode as prime-rl's own client takes it from the wire, with tokens to train on."""
    import verifiers.v1 as vf
    from prime_rl.orchestrator.envs import Env

    for trace in episode.traces:
        for node in trace.nodes:
            node.token_ids, node.mask = [1, 2], [False, node.sampled]
            node.logprobs = [-1.0] if node.sampled else []
    wired = vf.WireEpisode.model_validate(episode.model_dump(mode="python"))

    class Client:
        async def run(self, **_: Any) -> Any:
            return wired

    env = Env(None, "")
    env._env_client = Client()
    return asyncio.run(env.run(None, "policy", None, {}))


def advantages(*episodes: Any, algorithm: str = "grpo") -> list[float]:
    """What prime-rl's algorithm gives each trace it trains on; the same number for each of its tokens."""
    from prime_rl.configs.algorithm import GRPOAlgoConfig, MaxRLAlgoConfig
    from prime_rl.orchestrator.algo import ALGORITHM_CLASSES
    from prime_rl.orchestrator.algo.base import iter_trainable_traces

    config = {"grpo": GRPOAlgoConfig, "max_rl": MaxRLAlgoConfig}[algorithm]()
    if any(True for _ in iter_trainable_traces(list(episodes))):
        asyncio.run(ALGORITHM_CLASSES[algorithm](config, None).score_group(list(episodes)))
    return [
        next(node.advantages[0] for node in trace.nodes if node.advantages)
        for _, trace in iter_trainable_traces(list(episodes))
    ]


def has_prime_rl() -> bool:
    return HERE and importlib.util.find_spec("prime_rl") is not None


with_prime_rl = pytest.mark.skipif(not has_prime_rl(), reason="prime-rl's source is not on the path (.ci/engines)")


@with_verifiers
async def test_each_attempt_has_the_judges_reward_and_what_it_said(policy: FaultyServer, faulty: FaultyServer) -> None:
    faulty.script(worth())
    episode = await play(best_of_n(judge_at(faulty)), policy, "worth 20", "worth 90", "worth 55")
    assert episode.ok
    assert [trace.reward for trace in episode.traces] == [0.2, 0.9, 0.55]
    assert [trace.info["judge"]["status"] for trace in episode.traces] == ["scored"] * 3
    question = str(faulty.posts[0]["messages"][-1]["content"])
    assert question.count("Be brief.") == question.count("Tell a joke.") == 1  # the prompt is shown once for all


@with_verifiers
async def test_a_lost_sibling_fails_the_episode_before_the_judge_is_paid(
    policy: FaultyServer, faulty: FaultyServer
) -> None:
    faulty.script(worth())
    episode = await play(best_of_n(judge_at(faulty)), policy, "worth 20", None, "worth 90")
    assert not episode.ok
    assert "1 of 3 rollouts failed" in episode.last_error.message
    assert faulty.posts == []


@with_verifiers
async def test_a_rubric_may_follow_from_the_task(policy: FaultyServer, faulty: FaultyServer) -> None:
    faulty.script(worth())
    env_class = best_of_n(judge_at(faulty), rubric=lambda task: f"Rubric of: {task.data.prompt}")
    await play(env_class, policy, "worth 20", "worth 90")
    assert "Rubric of: Tell a joke." in str(faulty.posts[0]["messages"])


@with_verifiers
def test_verifiers_finds_the_environment_by_the_name_of_the_users_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verifiers.v1.utils.loaders import resolve_env_config

    source = "from calipers.trainers.verifiers import best_of_n\nJudged = best_of_n('embedded')\n__all__ = ['Judged']\n"
    (tmp_path / "my_judged_env.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    config = resolve_env_config({"id": "my-judged-env", "taskset": {"id": "verifiers_plugin"}, "n": 8})
    assert (config.env_id, config.n) == ("my-judged-env+verifiers_plugin", 8)


# --- prime-rl's own credit ------------------------------------------------------------------------------------------


def played(policy: FaultyServer, faulty: FaultyServer, *says: str | None, never: tuple[int, ...] = ()) -> Any:
    faulty.script(worth(never=never))
    return arrived(asyncio.run(play(best_of_n(judge_at(faulty)), policy, *says)))


@with_prime_rl
@pytest.mark.parametrize("algorithm", ["grpo", "max_rl"])
@pytest.mark.parametrize("never", [(30,), (30, 65), (10, 30, 65)])
def test_advantages_are_those_of_the_group_without_the_members_the_judge_did_not_score(
    policy: FaultyServer, faulty: FaultyServer, never: tuple[int, ...], algorithm: str
) -> None:
    points = (10, 30, 55, 65, 95)
    whole = played(policy, faulty, *(f"worth {one}" for one in points), never=never)
    without = played(policy, faulty, *(f"worth {one}" for one in points if one not in never))
    found, expected = advantages(whole, algorithm=algorithm), advantages(without, algorithm=algorithm)
    assert len(found) == len(points) - len(never)
    assert found == expected


@with_prime_rl
def test_nothing_is_trained_on_when_the_judge_is_down_or_a_sibling_is_lost(
    policy: FaultyServer, faulty: FaultyServer
) -> None:
    assert advantages(played(policy, faulty, "worth 20", "worth 90", never=(20, 90))) == []
    assert advantages(played(policy, faulty, "worth 20", None, "worth 90")) == []


@with_prime_rl
def test_ties_have_equal_advantages_and_a_group_of_ties_is_rejected_as_prime_rl_rejects_any(
    policy: FaultyServer, faulty: FaultyServer
) -> None:
    from prime_rl.configs.orchestrator import AdvRangeGateConfig
    from prime_rl.orchestrator.curriculum.gates.adv import AdvRangeGate

    two = advantages(played(policy, faulty, "first, worth 70", "worth 10", "second, worth 70"))
    assert two[0] == two[2]
    tied = played(policy, faulty, "first, worth 50", "second, worth 50", "third, worth 50")
    assert advantages(tied) == [0.0, 0.0, 0.0]
    assert not AdvRangeGate(AdvRangeGateConfig()).admit([tied])
