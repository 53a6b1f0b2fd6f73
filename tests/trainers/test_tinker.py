"""The tinker-cookbook adapter inside its own group rollouts and its own advantages; the judge is a real server."""

# ruff: noqa: PLC0415 - tinker-cookbook is imported only where it is

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.trainers.tinker import JudgedGroup, conversation_of
from engine_contract import require_advantages_of_the_scored
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer
from trainer_adapters import tokens_of

HERE = importlib.util.find_spec("tinker_cookbook") is not None
with_cookbook = pytest.mark.skipif(
    not HERE, reason="tinker-cookbook is not installed (.ci/engines makes an environment)"
)
PROMPT = "Tell a joke."


# --- a group without tinker-cookbook --------------------------------------------------------------------------------


class Characters:
    """A renderer whose tokens are characters; a reply that ends in no full stop is malformed."""

    def build_generation_prompt(self, messages: Sequence[Any], **_: Any) -> Any:
        import tinker

        return tinker.ModelInput.from_ints(tokens_of("".join(str(message["content"]) for message in messages)))

    def get_stop_sequences(self) -> list[str]:
        return ["."]

    def parse_response(self, tokens: Sequence[int]) -> tuple[dict[str, Any], Any]:
        text = "".join(map(chr, tokens))
        ending = "stop_sequence"
        if HERE:
            from tinker_cookbook.renderers.base import ParseTermination

            ending = ParseTermination.STOP_SEQUENCE if text.endswith(".") else ParseTermination.MALFORMED
        return {"role": "assistant", "content": text}, ending


@dataclass
class Question:
    """What the adapter knows a problem environment by."""

    renderer: Characters = field(default_factory=Characters)
    convo_prefix: tuple[Any, ...] = ()

    def get_question(self) -> str:
        return PROMPT


def trajectory(text: str, reward: float = 0.0) -> Any:
    return SimpleNamespace(transitions=[SimpleNamespace(ac=SimpleNamespace(tokens=tokens_of(text)), reward=reward)])


@dataclass
class Inner:
    """A group builder; ``bonus`` is what it gives each rollout of its own."""

    bonus: tuple[float, ...] = ()

    async def compute_group_rewards(self, trajectory_group: list[Any], env_group: Sequence[Any]) -> list[Any]:
        return [(one, {"bonus": one}) for one in self.bonus]


async def test_a_rollout_without_a_score_has_its_siblings_mean_total(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(50,)))
    rollouts = [trajectory("worth 20.", 0.5), trajectory("worth 50.", -8.0), trajectory("worth 90.")]
    group = JudgedGroup(Inner(bonus=(0.5, 0.25, 0.0)), judge_at(faulty))
    found = await group.compute_group_rewards(rollouts, [Question() for _ in rollouts])
    assert [metrics for _, metrics in found] == [
        {"bonus": 0.5, "judge/reward": 0.2},
        {"bonus": 0.25},
        {"bonus": 0.0, "judge/reward": 0.9},
    ]
    totals = [one.transitions[0].reward + reward for one, (reward, _) in zip(rollouts, found, strict=True)]
    assert totals == [1.2, pytest.approx(1.05), 0.9]


def embedded() -> calipers.Judge:
    return calipers.Judge("embedded")


def test_it_is_pickled_with_a_judges_name_or_a_function_but_not_with_a_judge() -> None:
    for judge in ("embedded", embedded):
        group = JudgedGroup(Inner(), judge, patience=3)
        assert pickle.loads(pickle.dumps(group)) == group  # noqa: S301 - our own bytes
        assert group.bonus == ()  # and has what the builder has
    with pytest.raises(ConfigError, match="a module's function that returns the Judge"):
        pickle.dumps(JudgedGroup(Inner(), embedded()))


def test_an_unknown_environment_needs_a_conversation_of_its_own() -> None:
    with pytest.raises(ConfigError, match="cannot read the messages of a SimpleNamespace"):
        conversation_of(trajectory("Hello."), SimpleNamespace())


# --- inside tinker-cookbook -----------------------------------------------------------------------------------------


def environments(kind: str, size: int) -> list[Any]:
    """tinker-cookbook's own environments, each asking for a joke."""
    from tinker_cookbook.rl.message_env import EnvFromMessageEnv
    from tinker_cookbook.rl.problem_env import ProblemEnv
    from tinker_cookbook.tool_use.agent_tool_message_env import AgentToolMessageEnv

    class Problem(ProblemEnv):  # type: ignore[misc]  # not installed where types are checked
        def get_question(self) -> str:
            return PROMPT

        def check_answer(self, sample_str: str) -> bool:
            return False

        def check_format(self, sample_str: str) -> bool:
            return True

        def get_reference_answer(self) -> str:
            return ""

    async def ungraded(history: Any) -> Any:
        return 0.0, {}

    def messages() -> Any:
        prompt = [{"role": "user", "content": PROMPT}]
        inner = AgentToolMessageEnv(tools=[], initial_messages=prompt, max_turns=1, reward_fn=ungraded)
        return EnvFromMessageEnv(Characters(), inner, failed_parse_reward=0.0)

    return [messages() if kind == "messages" else Problem(Characters()) for _ in range(size)]


async def rolled_out(judge: Any, says: Sequence[str | None], kind: str = "problem", strategy: Any = None) -> Any:
    """tinker-cookbook's own group rollout; the policy says these in turn, and None is a sampling that fails."""
    from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
    from tinker_cookbook.rl.rollouts import do_group_rollout
    from tinker_cookbook.rl.types import EnvGroupBuilder

    class Builder(EnvGroupBuilder):  # type: ignore[misc]  # not installed where types are checked
        async def make_envs(self) -> Sequence[Any]:
            return environments(kind, len(says))

    waiting = list(says)

    class Policy(TokenCompleter):  # type: ignore[misc]  # not installed where types are checked
        async def __call__(self, model_input: Any, stop: Any, *, max_tokens: int | None = None) -> Any:
            text = waiting.pop(0)
            if text is None:
                raise ConnectionError("scripted")
            return TokensWithLogprobs(tokens_of(text), [-1.0] * len(text))

    return await do_group_rollout(JudgedGroup(Builder(), judge), Policy(), strategy=strategy)


def advantages(group: Any) -> list[float]:
    from tinker_cookbook.rl.data_processing import compute_advantages

    found: list[float] = compute_advantages([group])[0].tolist()
    return found


@with_cookbook
@pytest.mark.parametrize("kind", ["problem", "messages"])
async def test_its_own_environments_are_shown_with_prompt_and_reply(faulty: FaultyServer, kind: str) -> None:
    faulty.script(worth())
    group = await rolled_out(judge_at(faulty), ["worth 20.", "worth 90 and cut o"], kind)
    assert [one["judge/reward"] for one in group.metrics_G] == [0.2, 0.9]
    question = str(faulty.posts[0]["messages"][-1]["content"])
    assert (question.count(PROMPT), question.count("worth")) == (1, 2)


@with_cookbook
async def test_tinker_trains_on_the_scored_as_on_the_group_without_the_others(faulty: FaultyServer) -> None:
    async def train(judge: Any, groups: Any) -> list[Any]:
        return [advantages(await rolled_out(judge, [f"{text}." for text in texts])) for texts in groups]

    await require_advantages_of_the_scored(faulty, train, unscored=0.0)


@with_cookbook
async def test_a_lost_sibling_ends_the_group_under_fail_fast_and_shrinks_it_under_a_viable_minimum(
    faulty: FaultyServer,
) -> None:
    from tinker_cookbook.rl.rollout_strategy import MinViableGroup

    faulty.script(worth())
    with pytest.raises(ConnectionError):
        await rolled_out(judge_at(faulty), ["worth 20.", None, "worth 90."])
    assert faulty.posts == []
    viable = MinViableGroup(min_successful=2, max_retries=0)
    found = advantages(await rolled_out(judge_at(faulty), ["worth 20.", None, "worth 90."], strategy=viable))
    # In whatever order the strategy found them finished.
    assert sorted(found) == sorted(advantages(await rolled_out(judge_at(faulty), ["worth 20.", "worth 90."])))
