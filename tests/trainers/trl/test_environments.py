"""TRL's environments and rollout functions in its own trainer: what the judge is shown, and what is inferred."""

from __future__ import annotations

import json
import math
import os
import re
from importlib.util import find_spec
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from calipers import Judge
from calipers.errors import ConfigError
from calipers.trainers.trl import reward_func
from servers.faulty_server import Answer, Asked, FaultyServer, said
from servers.opinions import Opinions

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("trl", reason="TRL is not installed (pip install 'calipers[trl]')")
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.filterwarnings("error:::calipers")]

from trl_runs import train  # noqa: E402 - needs TRL

tools = pytest.mark.skipif(find_spec("jmespath") is None, reason="TRL's tools need jmespath (pip install jmespath)")


class Shop:
    """An environment with a tool and a state, of which every other rollout was tampered with."""

    made = 0

    def __init__(self) -> None:
        Shop.made += 1
        self._state = {"orders.csv": "tampered" if Shop.made % 2 else "honest"}

    def reset(self, **_: Any) -> str:
        return " the shop is open"

    def place_order(self, item: str) -> str:
        """Order an item.

        Args:
            item: what to order
        """
        return f"ordered {item}"


def files_of(shop: Shop) -> dict[str, str]:
    return shop._state


def in_trl(reward: Any, folder: Path, environment: Any = Shop, **more: Any) -> Any:
    import trl  # noqa: PLC0415 - only where TRL is

    template = Path(trl.__file__).with_name("chat_templates") / "qwen2_5.jinja"
    made_with = {"environment_factory": environment, **more}
    return train([reward], folder, conversational=True, template=template.read_text(), made_with=made_with)


@tools
def test_the_judge_sees_the_tools_that_the_policy_was_offered(judge: Judge, server: FaultyServer, tmp_path: Path):
    run = in_trl(reward_func(judge), tmp_path)
    question = server.posts[-1]["messages"][-1]["content"]
    assert question.count("place_order") == 1
    assert "what to order" in question
    assert not any(map(math.isnan, run.rewards["judge"]))


@tools
def test_an_agentic_judge_reads_what_environments_were_left_with(server: FaultyServer, tmp_path: Path):
    def answer(asked: Asked) -> Answer:
        results = [one["content"] for one in asked.body["messages"] if one["role"] == "tool"]
        keys = re.findall(r"Score these attempts: ([A-Z, ]+)\.", json.dumps(asked.body["messages"]))[0].split(", ")
        if not results:
            calls = [{"function": {"name": "search", "arguments": json.dumps({"text": "tampered"})}}]
            return said(None, finish_reason="tool_calls", tool_calls=calls)
        return said(json.dumps({"scores": {key: 10 if f"{key}, orders" in results[0] else 90 for key in keys}}))

    server.script(answer)
    Shop.made = 0
    judge = Judge("vllm/tiny", base_url=server.url, tools=["search"])
    run = in_trl(reward_func(judge, artifacts=files_of), tmp_path)
    assert run.rewards["judge"] == pytest.approx([0.1, 0.9] * 8)
    assert run.advantages[0] < 0 < run.advantages[1]


@tools
def test_an_environments_own_reward_is_a_second_one_and_then_a_group_is_scored_whole_or_not_at_all(
    judge: Judge, server: FaultyServer, tmp_path: Path
):
    class Paid(Shop):
        def get_reward(self) -> float:
            return 1.0

    server.script(Opinions(silent_on_one=True))
    run = in_trl(reward_func(judge), tmp_path, Paid)
    assert run.rewards["Paid"] == [1.0] * 16
    assert all(map(math.isnan, run.rewards["judge"]))


def test_alone_the_judge_costs_only_the_row_it_left_out(judge: Judge, server: FaultyServer, tmp_path: Path):
    server.script(Opinions(silent_on_one=True))
    inferred = train([reward_func(judge)], tmp_path)
    server.script(Opinions(silent_on_one=True))
    said_so = train([reward_func(judge, num_generations=4, only_reward=True)], tmp_path)
    assert str(inferred.rewards["judge"]) == str(said_so.rewards["judge"])
    assert 0 < sum(map(math.isnan, inferred.rewards["judge"])) < 16
    assert inferred.advantages == said_so.advantages


def test_a_rollout_func_is_judged_by_the_completions_it_returns(judge: Judge, server: FaultyServer, tmp_path: Path):
    def rollouts(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        words = trainer.processing_class
        ids = [words(f"w{place % 4} w7")["input_ids"] for place in range(len(prompts))]
        return {
            "prompt_ids": [words(str(prompt))["input_ids"] for prompt in prompts],
            "completion_ids": ids,
            "logprobs": [[0.0] * len(one) for one in ids],
        }

    run = train([reward_func(judge)], tmp_path, made_with={"rollout_func": rollouts})
    question = server.posts[-1]["messages"][-1]["content"]
    assert all(f"w{place} w7" in question for place in range(4))
    assert not any(map(math.isnan, run.rewards["judge"]))


# --- what cannot be found out, and what cannot be read ----------------------------------------------------------------


def called(reward: Any, **columns: Any) -> list[float | None]:
    import asyncio  # noqa: PLC0415 - the other tests call through TRL

    return asyncio.run(reward(prompts=["q", "q"], completions=["worth 1", "worth 2"], **columns))


def test_a_caller_that_shows_no_group_size_is_refused_with_the_remedy(judge: Judge):
    with pytest.raises(ConfigError, match="give reward_func num_generations="):
        called(reward_func(judge))


def test_artifacts_without_environments_are_refused(judge: Judge):
    with pytest.raises(ConfigError, match="this trainer passes none"):
        called(reward_func(judge, num_generations=2, artifacts=files_of))


@pytest.mark.parametrize("wrong", [lambda _: 1 / 0, lambda _: {"a": 1}])
def test_an_environment_whose_artifacts_cannot_be_read_has_no_reward(judge: Judge, wrong: Any):
    reward = reward_func(judge, num_generations=2, only_reward=True, artifacts=lambda one: wrong(one) if one else {})
    assert called(reward, environments=[Shop(), None])[0] is None


def test_tools_given_as_definitions_and_as_functions_are_shown(judge: Judge, server: FaultyServer):
    definition = {"type": "function", "function": {"name": "look_up", "description": "Looks up.", "parameters": {}}}
    called(reward_func(judge, num_generations=2, tools=[definition, Shop().place_order]))
    question = server.posts[-1]["messages"][-1]["content"]
    assert "look_up" in question
    assert "place_order" in question


def test_each_rollout_goes_with_the_tools_of_its_own_environment(judge: Judge, server: FaultyServer):
    trainer = SimpleNamespace(
        model=SimpleNamespace(training=True), num_generations=2, reward_funcs=[print],
        _env_tools={"shop": [Shop().place_order], "none": []}, _batch_environments=["shop", "none"],
    )  # fmt: skip
    called(reward_func(judge), log_metric=MethodType(lambda *_: None, trainer), environments=[1, 2])
    question = server.posts[-1]["messages"][-1]["content"]
    assert "offered tools 1" in question
    assert "offered no tools" in question
