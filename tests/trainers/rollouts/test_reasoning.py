"""What the policy thought is parted from what it said."""

from __future__ import annotations

import pytest

from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.types import Message


@pytest.mark.parametrize(
    ("text", "said", "reasoning"),
    [
        ("Hello.", "Hello.", None),
        ("<think>Greet.</think>\n\nHello.", "Hello.", "Greet."),
        ("Greet.</think>Hello.", "Hello.", "Greet."),
        ("<think>cut off in the midd", "", "cut off in the midd"),
        ("Write <think>x</think> in it.", "Write <think>x</think> in it.", None),
        ("<think></think>Hello.", "Hello.", None),
    ],
)
def test_thoughts_at_the_beginning_become_reasoning(text: str, said: str, reasoning: str | None) -> None:
    found = split_reasoning({"role": "assistant", "content": text})
    assert (found["content"], found.get("reasoning")) == (said, reasoning)


def test_other_roles_and_contents_stay_as_they_are() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "<think>x</think>"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": [{"type": "text", "text": "<think>x</think>"}]},
    ]
    for message in messages:
        assert split_reasoning(message) is message


def test_reasoning_that_stands_apart_already_is_kept() -> None:
    message = {"role": "assistant", "content": "<think>b</think>c", "reasoning": "a"}
    assert split_reasoning(message) == {"role": "assistant", "content": "c", "reasoning": "a\n\nb"}
