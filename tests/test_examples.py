"""The example groups are sound, and what examples, benchmarks and scripts import is there: none of them runs in CI."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from calipers import read_groups
from calipers.errors import ConfigError
from calipers.types import Trajectory
from example_loops import EXAMPLES, run_example

FOLDERS = [EXAMPLES.parent / name for name in ("benchmarks", "scripts", "examples")]
FILES = sorted(file for folder in FOLDERS for file in folder.rglob("*.py"))
GROUPS = list(read_groups(EXAMPLES / "groups.jsonl"))


def test_every_group_has_one_best_rollout_and_answers_its_own_calls() -> None:
    assert len({group.group_id for group in GROUPS}) == len(GROUPS) >= 10
    for group in [*GROUPS, *read_groups(EXAMPLES / "quickstart.jsonl")]:
        gold = [one.gold or 0.0 for one in group.trajectories]
        assert [one.id for one in group.trajectories] == [f"r{n}" for n in range(1, len(gold) + 1)], "neutral ids"
        assert gold.count(max(gold)) == 1
        assert max(gold) - min(gold) >= 0.5
        tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in group.tools or ()}
        for one in group.trajectories:
            waiting: list[str] = []
            for message in one.messages:
                if message["role"] == "tool":
                    assert message["tool_call_id"] == waiting.pop(0), group.group_id
                    continue
                assert not waiting, f"{group.group_id}: a call went unanswered"
                for call in message.get("tool_calls") or ():
                    parameters, given = tools[call["function"]["name"]], json.loads(call["function"]["arguments"])
                    assert set(parameters["required"]) <= set(given) <= set(parameters["properties"])
                    waiting.append(call["id"])
            assert one.messages[-1]["role"] == "assistant"
            assert one.messages[-1]["content"]


def transcript(one: Trajectory) -> int:
    return len(json.dumps([*map(dict, one.messages)]))


def answer(one: Trajectory) -> int:
    return len(one.messages[-1]["content"])


def place(one: Trajectory) -> int:
    return int(one.id.removeprefix("r"))


@pytest.mark.parametrize("measure", [transcript, answer, place])
def test_neither_length_nor_place_gives_gold_away(measure: Callable[[Trajectory], int]) -> None:
    """Of all pairs within a group that differ in gold and in the measure, about half agree."""
    agree = [
        ((one.gold or 0) > (other.gold or 0)) == (measure(one) > measure(other))
        for group in GROUPS
        for one, other in combinations(group.trajectories, 2)
        if one.gold != other.gold and measure(one) != measure(other)
    ]
    assert 0.4 <= sum(agree) / len(agree) <= 0.6


def test_the_example_of_combined_rewards_shows_each_way(tmp_path: Path) -> None:
    lines = run_example("combined_rewards.py", tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == ["product", "average", "min"]
    for line in lines:
        rewards: dict[str, Any] = {
            name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", line.partition(" ")[2])
        }
        assert rewards["short"] > max(rewards["comma"], rewards["long"]), line  # it alone follows both rules


def test_what_is_imported_is_there() -> None:
    nodes = ((file, node) for file in FILES for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    for file, node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "calipers":
            try:
                module = import_module(str(node.module))
            except (ModuleNotFoundError, ConfigError) as error:
                if str(getattr(error.__cause__ or error, "name", "calipers")).startswith("calipers"):
                    raise
                continue  # it needs a trainer that is not installed
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or find_spec(f"{node.module}.{name}"), f"{file}:{node.lineno}: {name}"
