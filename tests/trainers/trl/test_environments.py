"""TRL's environments and rollout functions in its own trainer: what the judge is shown, and what is inferred."""

from __future__ import annotations

import math
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers import Judge
from calipers.trainers.trl import reward_func
from servers.faulty_server import FaultyServer
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


def in_trl(reward: Any, folder: Path, environment: Any = Shop, **more: Any) -> Any:
    import trl  # noqa: PLC0415 - only where TRL is

    template = Path(trl.__file__).with_name("chat_templates") / "qwen2_5.jinja"
    made_with = {"environment_factory": environment, **more}
    return train([reward], folder, conversational=True, template=template.read_text(), made_with=made_with)


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
