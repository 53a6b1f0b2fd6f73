"""Prompts and answers as chat messages, reasoning apart; a reference beside a rubric; the positions of equal keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Judge
from calipers.errors import InputError
from calipers.trainers.rollouts.messages import (
    positions_by_key,
    prompt_messages,
    rubric_text_with_reference,
    rubric_with_reference,
    split_reasoning,
)
from calipers.types import Message


def test_a_text_is_the_users_message_and_messages_stay_as_they_are() -> None:
    assert prompt_messages("Hi") == [{"role": "user", "content": "Hi"}]
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert prompt_messages(chat) == chat


@pytest.mark.parametrize("prompt", [None, 3, ["Hi"], [[]]])
def test_what_is_no_prompt_is_said_so(prompt: object) -> None:
    with pytest.raises(InputError, match="it must be a text or a list of chat messages"):
        prompt_messages(prompt)


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


def test_a_reference_stands_after_the_rubric_word_for_word() -> None:
    text = rubric_text_with_reference("Be right.", "17 * 24\n= 408")
    assert text.startswith("Be right.\n")
    assert text.endswith("\n17 * 24\n= 408")


def test_a_reference_joins_text_and_leaves_criteria_alone() -> None:
    plain, by_criteria = Judge("embedded", rubric="Be right."), Judge("embedded", rubric=[{"criterion": "Says 42."}])
    joined = rubric_with_reference(plain, None, 42)
    assert joined.startswith("Be right.")
    assert joined.endswith("42")
    assert rubric_with_reference(plain, "Be brief.", "42").startswith("Be brief.")
    assert rubric_with_reference(plain, "Be brief.", "") == "Be brief."
    assert rubric_with_reference(plain, None, None) is None
    assert rubric_with_reference(by_criteria, None, "42") is None
    assert rubric_with_reference(plain, [{"criterion": "Says 42."}], "42") == [{"criterion": "Says 42."}]


@given(st.lists(st.sampled_from("abcd")))
def test_every_place_is_found_once_in_order(keys: list[str]) -> None:
    found = positions_by_key(keys)
    assert sorted(place for group in found.values() for place in group) == list(range(len(keys)))
    assert list(found) == list(dict.fromkeys(keys))
    assert all(keys[place] == key for key, group in found.items() for place in group)
    assert all(group == sorted(group) for group in found.values())
