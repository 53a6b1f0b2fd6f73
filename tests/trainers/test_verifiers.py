"""The verifiers adapter inside verifiers' own episodes, and prime-rl's own credit for what comes out of them.

Policy and judge are real servers on loopback. prime-rl is not on any package index: its part runs where its source is
on the path (.ci/engines fetches it).
"""

# ruff: noqa: PLC0415 - verifiers and prime-rl are imported only where they are

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import calipers
from calipers.errors import CalipersError, InputError
from calipers.trainers.run import JudgedRun
from calipers.trainers.verifiers import best_of_n, judge_episode
from engine_contract import require_advantages_of_the_scored
from http_judge import judge_at, worth
from servers.faulty_server import Answer, FaultyServer, error
from trainer_adapters import trace_of

HERE = importlib.util.find_spec("verifiers.v1") is not None  # tests/verifiers is a "verifiers", too
with_verifiers = pytest.mark.skipif(not HERE, reason="verifiers is not installed (.ci/engines makes an environment)")
with_prime_rl = pytest.mark.skipif(
    not HERE or importlib.util.find_spec("prime_rl") is None,
    reason="prime-rl's source is not on the path (.ci/engines)",
)


# --- without verifiers: what is written on traces -------------------------------------------------------------------


async def judged(judge: calipers.Judge, *traces: Any) -> None:
    await judge_episode(JudgedRun(judge, min_scored=1), SimpleNamespace(id="e1", traces=list(traces)))


async def test_an_unscored_trace_has_no_reward_and_is_not_trained_on(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(50,)))
    traces = [trace_of(f"worth {points}") for points in (20, 50, 90)]
    await judged(judge_at(faulty), *traces)
    assert [trace.rewards["judge"] for trace in traces] == [0.2, None, 0.9]
    assert [trace.agent.trainable for trace in traces] == [True, False, True]
    assert [trace.info["judge"]["status"] for trace in traces] == ["scored", "abstained", "scored"]


async def test_episodes_that_cannot_be_judged_are_errors_before_the_judge_is_asked() -> None:
    taken = trace_of("a")
    taken.rewards["judge"] = 1.0
    with pytest.raises(InputError, match="already has a reward named 'judge'"):
        await judged(calipers.Judge("embedded"), taken, trace_of("b"))
    with pytest.raises(CalipersError, match="1 of 2 rollouts failed"):
        await judged(calipers.Judge("embedded"), trace_of("a", ok=False), trace_of("b"))


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


@with_verifiers
async def test_each_attempt_has_the_judges_reward_and_what_it_said(policy: FaultyServer, faulty: FaultyServer) -> None:
    faulty.script(worth())
    made = best_of_n(judge_at(faulty), rubric=lambda task: f"Rubric of: {task.data.prompt}")
    episode = await play(made, policy, "worth 20", "worth 90", "worth 55")
    assert episode.ok
    assert [trace.reward for trace in episode.traces] == [0.2, 0.9, 0.55]
    assert [trace.info["judge"]["status"] for trace in episode.traces] == ["scored"] * 3
    question = str(faulty.posts[0]["messages"][-1]["content"])
    assert question.count("Be brief.") == question.count("\nTell a joke.") == 1  # the prompt is shown once for all
    assert "Rubric of: Tell a joke." in str(faulty.posts[0]["messages"])


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


async def arrived(policy: FaultyServer, judge: Any, *says: str | None) -> Any:
    """A judged episode as prime-rl's own client takes it from the wire, with tokens to train on."""
    import verifiers.v1 as vf
    from prime_rl.orchestrator.envs import Env

    episode = await play(best_of_n(judge), policy, *says)
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
    return await env.run(None, "policy", None, {})


async def advantages(episode: Any, algorithm: str = "grpo") -> dict[str, float]:
    """What prime-rl's algorithm gives each trace it trains on, by what it said; the same number for each token."""
    from prime_rl.configs.algorithm import GRPOAlgoConfig, MaxRLAlgoConfig
    from prime_rl.orchestrator.algo import ALGORITHM_CLASSES
    from prime_rl.orchestrator.algo.base import iter_trainable_traces

    config = {"grpo": GRPOAlgoConfig, "max_rl": MaxRLAlgoConfig}[algorithm]()
    if any(True for _ in iter_trainable_traces([episode])):
        await ALGORITHM_CLASSES[algorithm](config, None).score_group([episode])
    return {
        str(trace.branches[0].messages[-1].content): next(node.advantages[0] for node in trace.nodes if node.advantages)
        for _, trace in iter_trainable_traces([episode])
    }


@with_prime_rl
@pytest.mark.parametrize("algorithm", ["grpo", "max_rl"])
async def test_prime_rl_trains_on_the_scored_as_on_the_group_without_the_others(
    policy: FaultyServer, faulty: FaultyServer, algorithm: str
) -> None:
    async def train(judge: Any, groups: Any) -> list[Any]:
        found = []
        for texts in groups:
            by_text = await advantages(await arrived(policy, judge, *texts), algorithm)
            found.append([by_text.get(text) for text in texts])
        return found

    await require_advantages_of_the_scored(faulty, train, unscored=None)


@with_prime_rl
async def test_nothing_is_trained_on_when_the_judge_is_down_or_a_sibling_is_lost_or_all_are_tied(
    policy: FaultyServer, faulty: FaultyServer
) -> None:
    from prime_rl.configs.orchestrator import AdvRangeGateConfig
    from prime_rl.orchestrator.curriculum.gates.adv import AdvRangeGate

    faulty.script(worth(never=(20, 90)))
    judge = judge_at(faulty)
    assert await advantages(await arrived(policy, judge, "worth 20", "worth 90")) == {}
    assert await advantages(await arrived(policy, judge, "worth 20", None, "worth 90")) == {}
    tied = await arrived(policy, judge, "first, worth 50", "second, worth 50", "third, worth 50")
    assert list((await advantages(tied)).values()) == [0.0, 0.0, 0.0]
    assert not AdvRangeGate(AdvRangeGateConfig()).admit([tied])
