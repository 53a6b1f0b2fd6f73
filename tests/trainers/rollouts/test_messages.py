"""A prompt and texts become a group, and keys the places they stand at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers import Judge
from calipers.errors import InputError
from calipers.readers import as_group
from calipers.trainers.rollouts import answers, context_of, places, rubric_with_reference


def test_a_text_is_the_users_message_and_messages_stay_as_they_are() -> None:
    assert context_of("Hi") == [{"role": "user", "content": "Hi"}]
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert context_of(chat) == chat


@pytest.mark.parametrize("prompt", [None, 3, ["Hi"], [[]]])
def test_what_is_no_prompt_is_said_so(prompt: object) -> None:
    with pytest.raises(InputError, match="it must be a text or a list of chat messages"):
        context_of(prompt)


def test_a_group_has_the_prompt_once_and_a_message_a_rollout() -> None:
    group = as_group(answers("Hi", ["Hello.", None, ""], rubric="Kindness."))
    assert [message["content"] for message in group.context] == ["Hi"]
    assert [[message["content"] for message in one.messages] for one in group.trajectories] == [["Hello."], [], [""]]
    assert group.rubric == "Kindness."


def test_thoughts_stand_apart_from_the_answer() -> None:
    (one,) = as_group(answers("Hi", ["<think>A greeting.</think>Hello."])).trajectories
    assert one.messages == ({"role": "assistant", "content": "Hello.", "reasoning": "A greeting."},)


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
    found = places(keys)
    assert sorted(place for group in found.values() for place in group) == list(range(len(keys)))
    assert list(found) == list(dict.fromkeys(keys))
    assert all(keys[place] == key for key, group in found.items() for place in group)
    assert all(group == sorted(group) for group in found.values())
