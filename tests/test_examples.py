"""The example groups are sound: the demo and the documentation rest on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest

from example_loops import EXAMPLES, run_example

FILES = ("groups.jsonl", "quickstart.jsonl")
GROUP_KEYS = {"group_id", "context", "tools", "rubric", "trajectories"}
TRAJECTORY_KEYS = {"id", "messages", "reward", "gold", "metadata"}

Json = dict[str, Any]


def read(name: str) -> list[Json]:
    return [json.loads(line) for line in (EXAMPLES / name).read_text(encoding="utf-8").splitlines()]


GROUPS = read("groups.jsonl")
EVERY_GROUP = [pytest.param(group, id=group["group_id"]) for name in FILES for group in read(name)]
AGENT_GROUPS = [pytest.param(group, id=group["group_id"]) for group in GROUPS if group["tools"]]


def conversations(group: Json) -> Iterator[list[Json]]:
    for trajectory in group["trajectories"]:
        yield group["context"] + trajectory["messages"]


def size(trajectory: Json) -> int:
    """Characters of all that was said, called and returned."""
    called = [call["function"] for message in trajectory["messages"] for call in message.get("tool_calls", ())]
    said = sum(len(message["content"] or "") for message in trajectory["messages"])
    return said + sum(len(function["name"]) + len(function["arguments"]) for function in called)


def answer_size(trajectory: Json) -> int:
    return len(trajectory["messages"][-1]["content"])


def place(trajectory: Json) -> int:
    return int(trajectory["id"].removeprefix("r"))


def test_there_are_ten_groups_or_more_in_a_small_file() -> None:
    assert len(GROUPS) >= 10
    assert (EXAMPLES / "groups.jsonl").stat().st_size < 250_000


@pytest.mark.parametrize("name", FILES)
def test_group_ids_are_unique_in_their_file(name: str) -> None:
    ids = [group["group_id"] for group in read(name)]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("group", EVERY_GROUP)
def test_a_group_follows_the_groups_file_contract(group: Json) -> None:
    assert set(group) <= GROUP_KEYS
    assert isinstance(group["group_id"], str)
    ids = [trajectory["id"] for trajectory in group["trajectories"]]
    assert ids == [f"r{number}" for number in range(1, len(ids) + 1)], "ids are neutral and unique"
    assert 3 <= len(ids) <= 6
    for trajectory in group["trajectories"]:
        assert set(trajectory) <= TRAJECTORY_KEYS
        assert trajectory["metadata"]["why"]


@pytest.mark.parametrize("group", EVERY_GROUP)
def test_gold_is_in_steps_of_a_twentieth_and_spreads(group: Json) -> None:
    gold = [trajectory["gold"] for trajectory in group["trajectories"]]
    assert all(0 <= value <= 1 and abs(value * 20 - round(value * 20)) < 1e-9 for value in gold)
    assert max(gold) - min(gold) >= 0.5
    assert len(set(gold)) >= 3
    assert gold.count(max(gold)) == 1, "one rollout is the best"


@pytest.mark.parametrize("group", EVERY_GROUP)
def test_a_conversation_is_one_a_chat_model_could_have_had(group: Json) -> None:
    """The user opens, speakers alternate but for tool results, and the last word is the assistant's."""
    for messages in conversations(group):
        roles = [message["role"] for message in messages]
        assert set(roles) <= {"system", "user", "assistant", "tool"}
        assert "system" not in roles[1:]
        assert roles[-1] == "assistant"
        assert not messages[-1].get("tool_calls")
        assert messages[-1]["content"]
        assert not {("assistant", "assistant"), ("user", "user"), ("tool", "user")} & set(pairwise(roles))


@pytest.mark.parametrize("group", EVERY_GROUP)
def test_every_tool_call_is_answered_at_once_and_by_its_id(group: Json) -> None:
    for messages in conversations(group):
        waiting: list[str] = []
        for message in messages:
            if message["role"] == "tool":
                assert message["tool_call_id"] == waiting.pop(0)
                assert isinstance(message["content"], str)
            else:
                assert not waiting, "a call went unanswered"
                waiting = [call["id"] for call in message.get("tool_calls", ())]
        assert not waiting


@pytest.mark.parametrize("group", AGENT_GROUPS)
def test_calls_name_a_defined_tool_and_fit_its_parameters(group: Json) -> None:
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in group["tools"]}
    ids: list[str] = []
    for message in (message for messages in conversations(group) for message in messages):
        for call in message.get("tool_calls", ()):
            assert call["type"] == "function"
            parameters = tools[call["function"]["name"]]
            arguments = json.loads(call["function"]["arguments"])
            assert set(parameters["required"]) <= set(arguments) <= set(parameters["properties"])
            ids.append(call["id"])
    assert ids
    assert len(ids) == len(set(ids)), "call ids differ between rollouts, as a server's do"


@pytest.mark.parametrize("group", AGENT_GROUPS)
def test_rollouts_differ_in_more_than_call_ids_and_share_tool_results(group: Json) -> None:
    spoken = [tuple((message["role"], message["content"]) for message in messages) for messages in conversations(group)]
    assert len(set(spoken)) == len(spoken)
    results = [{content for role, content in messages if role == "tool"} for messages in spoken]
    assert any(one & other for one, other in combinations(results, 2))


@pytest.mark.parametrize("measure", [size, answer_size, place], ids=["transcript", "answer", "place"])
def test_neither_length_nor_place_gives_gold_away(measure: Callable[[Json], int]) -> None:
    """Of all pairs within a group that differ in gold and in the measure, about half agree."""
    agree = [
        (one["gold"] > other["gold"]) == (measure(one) > measure(other))
        for group in GROUPS
        for one, other in combinations(group["trajectories"], 2)
        if one["gold"] != other["gold"] and measure(one) != measure(other)
    ]
    assert 0.4 <= sum(agree) / len(agree) <= 0.6


def test_the_best_rollout_is_rarely_the_longest_or_the_shortest() -> None:
    extreme = 0
    for group in GROUPS:
        by_size = sorted(group["trajectories"], key=size)
        best = max(group["trajectories"], key=lambda trajectory: trajectory["gold"])
        extreme += best in (by_size[0], by_size[-1])
    assert extreme <= len(GROUPS) // 4


def test_the_example_of_combined_rewards_shows_each_way(tmp_path: Path) -> None:
    lines = run_example("combined_rewards.py", tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["product", "average", "min"]
    for line in lines:
        rewards = {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", line.partition(" ")[2])}
        assert rewards["short"] > max(rewards["comma"], rewards["long"]), line  # it alone follows both rules
