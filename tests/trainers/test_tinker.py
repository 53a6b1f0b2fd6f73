"""The tinker-cookbook adapter inside its own group rollouts and its own advantages; the judge is a real server."""

# ruff: noqa: PLC0415 - tinker-cookbook is imported only where it is

from __future__ import annotations

import asyncio
import importlib.util
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError, InputError
from calipers.trainers.tinker import JudgedGroup, conversation_of
from http_judge import judge_at, worth
from servers.faulty_server import FaultyServer

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

        return tinker.ModelInput.from_ints([ord(letter) for message in messages for letter in str(message["content"])])

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


def trajectory(*replies: str, rewards: Sequence[float] = (0.0,)) -> Any:
    steps = [SimpleNamespace(ac=SimpleNamespace(tokens=[ord(letter) for letter in text])) for text in replies]
    for step, reward in zip(steps, (*rewards, *[0.0] * len(steps)), strict=False):
        step.reward = reward
    return SimpleNamespace(transitions=steps)


@dataclass
class Inner:
    """A group builder of as many equal questions; ``bonus`` is what it gives each rollout of its own."""

    size: int = 1
    bonus: tuple[float, ...] = ()
    cleaned: list[str] = field(default_factory=list)

    async def make_envs(self) -> Sequence[Any]:
        return [Question() for _ in range(self.size)]

    async def compute_group_rewards(self, trajectory_group: list[Any], env_group: Sequence[Any]) -> list[Any]:
        return [(one, {"bonus": one}) for one in self.bonus or [0.0] * len(trajectory_group)]

    async def cleanup(self) -> None:
        self.cleaned.append("cleaned")

    def logging_tags(self) -> list[str]:
        return ["jokes"]


async def rewarded(group: JudgedGroup, *rollouts: Any) -> list[tuple[float, Any]]:
    return await group.compute_group_rewards(list(rollouts), [Question() for _ in rollouts])


async def test_the_judges_reward_is_added_to_the_builders_own(faulty: FaultyServer) -> None:
    faulty.script(worth())
    group = JudgedGroup(Inner(bonus=(0.25, 0.5)), judge_at(faulty), weight=2.0)
    found = await rewarded(group, trajectory("worth 20."), trajectory("worth 90."))
    assert found == [
        (0.25 + 0.4, {"bonus": 0.25, "judge/scored": 1, "judge/reward": 0.2}),
        (0.5 + 1.8, {"bonus": 0.5, "judge/scored": 1, "judge/reward": 0.9}),
    ]


async def test_a_rollout_without_a_score_has_its_siblings_mean_total(faulty: FaultyServer) -> None:
    faulty.script(worth(never=(50,)))
    group = JudgedGroup(Inner(bonus=(0.5, 0.25, 0.0)), judge_at(faulty))
    rollouts = [
        trajectory("worth 20.", rewards=(0.5,)),
        trajectory("worth 50.", rewards=(-8.0,)),
        trajectory("worth 90."),
    ]
    found = await rewarded(group, *rollouts)
    assert found[1][1] == {"bonus": 0.25, "judge/scored": 0}
    totals = [
        sum(step.reward for step in one.transitions) + reward for one, (reward, _) in zip(rollouts, found, strict=True)
    ]
    assert totals == [1.2, pytest.approx(1.05), 0.9]


async def test_another_reward_that_is_not_finite_is_an_error_before_the_judge_is_asked(faulty: FaultyServer) -> None:
    for rollout, bonus in ((trajectory("worth 20.", rewards=(math.nan,)), 0.0), (trajectory("worth 20."), math.inf)):
        with pytest.raises(InputError, match=r"rollout 1 has a reward of (nan|inf)"):
            await rewarded(JudgedGroup(Inner(bonus=(bonus,)), judge_at(faulty)), rollout)
    assert faulty.posts == []


def embedded() -> calipers.Judge:
    return calipers.Judge("embedded")


def test_it_is_pickled_with_a_judges_name_or_a_function_but_not_with_a_judge() -> None:
    for judge in ("embedded", embedded):
        group = JudgedGroup(Inner(size=3), judge, rubric="Short.")
        assert pickle.loads(pickle.dumps(group)) == group  # noqa: S301 - our own bytes
    with pytest.raises(ConfigError, match="a module's function that returns the Judge"):
        pickle.dumps(JudgedGroup(Inner(), embedded()))


def test_an_unknown_environment_needs_a_conversation_of_its_own() -> None:
    with pytest.raises(
        ConfigError, match=r"cannot read the messages of a SimpleNamespace: pass a function .* as JudgedGroup"
    ):
        conversation_of(trajectory("Hello."), SimpleNamespace())


# --- inside tinker-cookbook -----------------------------------------------------------------------------------------


def environments(kind: str, size: int) -> list[Any]:
    """tinker-cookbook's own environments, each asking for a joke."""
    from tinker_cookbook.rl.message_env import EnvFromMessageEnv
    from tinker_cookbook.rl.preference_envs import PreferenceEnv
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

    prompt = [{"role": "user", "content": PROMPT}]
    made: dict[str, Any] = {
        "problem": lambda: Problem(Characters()),
        "preference": lambda: PreferenceEnv(prompt, Characters()),
        "messages": lambda: EnvFromMessageEnv(
            Characters(),
            AgentToolMessageEnv(tools=[], initial_messages=list(prompt), max_turns=1, reward_fn=ungraded),
            failed_parse_reward=0.0,
        ),
    }
    return [made[kind]() for _ in range(size)]


def rolled_out(judge: Any, *says: str | None, kind: str = "problem", strategy: Any = None, **settings: Any) -> Any:
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
            return TokensWithLogprobs([ord(letter) for letter in text], [-1.0] * len(text))

    return asyncio.run(do_group_rollout(JudgedGroup(Builder(), judge, **settings), Policy(), strategy=strategy))


def advantages(group: Any) -> list[float]:
    from tinker_cookbook.rl.data_processing import compute_advantages

    return [float(one) for one in compute_advantages([group])[0]]


@with_cookbook
@pytest.mark.parametrize("kind", ["problem", "preference", "messages"])
def test_its_own_environments_are_shown_with_prompt_and_reply(faulty: FaultyServer, kind: str) -> None:
    faulty.script(worth())
    group = rolled_out(judge_at(faulty), "worth 20.", "worth 90.", kind=kind)
    assert [one["judge/reward"] for one in group.metrics_G] == [0.2, 0.9]
    question = str(faulty.posts[0]["messages"][-1]["content"])
    assert question.count(PROMPT) == 1
    assert question.count("worth") == 2


@with_cookbook
def test_a_reply_that_could_not_be_parsed_is_shown_as_far_as_it_came(faulty: FaultyServer) -> None:
    faulty.script(worth())
    group = rolled_out(judge_at(faulty), "worth 20.", "worth 90 and th", kind="messages")
    assert [one["judge/reward"] for one in group.metrics_G] == [0.2, 0.9]


@with_cookbook
@pytest.mark.parametrize("never", [(30,), (30, 65), (10, 30, 65)])
def test_advantages_are_those_of_the_group_without_the_members_the_judge_did_not_score(
    faulty: FaultyServer, never: tuple[int, ...]
) -> None:
    points = (10, 30, 55, 65, 95)
    faulty.script(worth(never=never))
    found = advantages(rolled_out(judge_at(faulty), *(f"worth {one}." for one in points)))
    kept = [one for one in points if one not in never]
    expected = advantages(rolled_out(judge_at(faulty), *(f"worth {one}." for one in kept)))
    survivors = [one for one, point in zip(found, points, strict=True) if point not in never]
    assert survivors == pytest.approx(expected, abs=1e-7)
    assert [one for one, point in zip(found, points, strict=True) if point in never] == pytest.approx(
        [0.0] * len(never), abs=1e-7
    )


@with_cookbook
def test_ties_have_equal_advantages_to_the_last_bit(faulty: FaultyServer) -> None:
    faulty.script(worth())
    found = advantages(rolled_out(judge_at(faulty), "first, worth 70.", "worth 10.", "second, worth 70."))
    assert found[0] == found[2] > 0 > found[1]


@with_cookbook
def test_a_lost_sibling_ends_the_group_under_fail_fast_and_shrinks_it_under_a_viable_minimum(
    faulty: FaultyServer,
) -> None:
    from tinker_cookbook.rl.rollout_strategy import MinViableGroup

    faulty.script(worth())
    with pytest.raises(ConnectionError):
        rolled_out(judge_at(faulty), "worth 20.", None, "worth 90.")
    assert faulty.posts == []
    viable = MinViableGroup(min_successful=2, max_retries=0)
    found = advantages(rolled_out(judge_at(faulty), "worth 20.", None, "worth 90.", strategy=viable))
    # In whatever order the strategy found them finished.
    assert sorted(found) == sorted(advantages(rolled_out(judge_at(faulty), "worth 20.", "worth 90.")))
