"""Rollouts become a group; one that cannot be read costs its own score, and not its siblings'."""

from __future__ import annotations

from typing import Any

import pytest

import calipers
from calipers.inputs import as_group
from calipers.trainers.rollouts.groups import rollout_group


async def test_what_cannot_be_read_is_not_scored_and_the_rest_is(caplog: pytest.LogCaptureFixture) -> None:
    said = [{"role": "assistant", "content": text} for text in ("Short.", "Somewhat longer.")]
    broken = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"arguments": "{}"}}]}
    members: list[dict[str, Any]] = [
        {"messages": [said[0]]},
        {"id": "x", "messages": [broken]},
        {"messages": [said[1]]},
    ]
    group = rollout_group(members, rubric="Be brief.", name="g")
    assert (group["group_id"], group["rubric"]) == ("g", "Be brief.")
    result = await calipers.Judge("embedded").score_group(group)
    assert [one.id for one in result.trajectories] == ["1", "x", "3"]
    assert [one.status for one in result.trajectories] == ["scored", "failed", "scored"]
    assert "a rollout cannot be read, so it is not judged: trajectory 'x'" in caplog.text


def test_a_group_has_the_prompt_once_and_a_message_a_rollout() -> None:
    group = as_group(rollout_group(["Hello.", None, ""], prompt="Hi", rubric="Kindness."))
    assert [message["content"] for message in group.context] == ["Hi"]
    assert [[message["content"] for message in one.messages] for one in group.trajectories] == [["Hello."], [], [""]]
    assert group.rubric == "Kindness."


def test_thoughts_stand_apart_from_the_answer() -> None:
    (one,) = as_group(rollout_group(["<think>A greeting.</think>Hello."], prompt="Hi")).trajectories
    assert one.messages == ({"role": "assistant", "content": "Hello.", "reasoning": "A greeting."},)
