"""What a policy wrote: thoughts apart from what it says, and a reference beside a rubric."""

from __future__ import annotations

import pytest

from calipers.trainers.completions import thought_apart, with_reference


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        ("<think>hm</think>\nfour", "hm", "four"),
        ("hm\n</think>\n\nfour", "hm", "four"),  # the chat template opened the thought
        ("<think>cut off in the mid", "cut off in the mid", ""),
        ("four", None, "four"),
        ("a <think> b", None, "a <think> b"),
        ("", None, ""),
    ],
)
def test_thoughts_go_where_reasoning_goes(text: str, reasoning: str | None, content: str) -> None:
    apart = thought_apart({"role": "assistant", "content": text})
    assert (apart.get("reasoning"), apart["content"]) == (reasoning, content)


def test_only_what_the_policy_wrote_as_text_is_taken_apart() -> None:
    for message in ({"role": "tool", "content": "<think>x</think>y"}, {"role": "assistant", "content": None}):
        assert thought_apart(message) is message


def test_reasoning_that_is_there_already_is_kept() -> None:
    apart = thought_apart({"role": "assistant", "content": "<think>b</think>c", "reasoning": "a"})
    assert apart == {"role": "assistant", "content": "c", "reasoning": "a\n\nb"}


def test_a_reference_stands_after_the_rubric() -> None:
    text = with_reference("Be right.", "408")
    assert text.startswith("Be right.\n")
    assert text.endswith("\n408")
