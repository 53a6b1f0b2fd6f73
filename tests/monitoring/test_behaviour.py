"""What a policy does, counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.monitoring.behaviour import behaviour, trajectory_behaviour
from calipers.types import Trajectory


def said(*texts: str, calls: int = 0) -> Trajectory:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "do it do it do it do it do it"}]
    messages += [{"role": "assistant", "content": text} for text in texts]
    call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages += [{"role": "assistant", "content": None, "tool_calls": [call] * calls}] if calls else []
    return Trajectory("t", tuple(messages))


def test_only_the_policys_own_messages_count():
    counted = trajectory_behaviour(said("one two three", "four", calls=3))
    assert (counted.messages, counted.tool_calls, counted.characters) == (3, 3, len("one two three") + len("four"))


def test_repetition_is_the_share_of_four_word_sequences_seen_before():
    assert trajectory_behaviour(said("a b c d e f g")).repetition == 0
    assert trajectory_behaviour(said("a b c d a b c d")).repetition == pytest.approx(1 / 5)
    assert trajectory_behaviour(said("a b c d", "a b c d")).repetition == 1 / 2


def test_a_refusal_is_one_in_the_last_message():
    assert trajectory_behaviour(said("I'm sorry, but no.")).refuses
    assert trajectory_behaviour(said("I cannot help with that.")).refuses
    assert not trajectory_behaviour(said("I'm sorry for the delay.", "It is 42.")).refuses


def test_a_batch_is_averaged_and_none_is_nothing():
    assert behaviour([]) == {}
    both = behaviour([said("abc"), said("I cannot assist with that.", calls=2)])
    assert both["policy/tool_calls"] == 1.0
    assert both["policy/refusal_rate"] == 0.5


@given(st.lists(st.text(max_size=50), max_size=4))
def test_any_text_counts(texts: list[str]):
    counted = trajectory_behaviour(said(*texts))
    assert 0 <= counted.repetition < 1
    assert counted.characters == sum(map(len, texts))
