"""Text hygiene: reasoning goes, fences go, and quotations of either stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.text import end_of_reply, strip_fence, strip_reasoning

PAIRS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thinking budget='3'>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
]


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_only_what_follows_the_last_closer_is_the_answer(opener: str, closer: str) -> None:
    assert strip_reasoning(f"{opener}a{closer}b{opener}c{closer}d") == "d"


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_a_closer_whose_opener_was_lost_still_ends_reasoning(opener: str, closer: str) -> None:
    assert strip_reasoning(f"so {{x}} it is\n{closer}\nanswer") == "\nanswer"


@pytest.mark.parametrize(("opener", "closer"), PAIRS)
def test_reasoning_that_never_ends_leaves_no_answer(opener: str, closer: str) -> None:
    assert strip_reasoning(f"{opener} the answer may be 7") is None
    assert strip_reasoning(f"{opener}a{closer} b {opener} c") is None


def test_of_harmony_output_only_the_final_channel_stays() -> None:
    text = "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>y<|return|>"
    assert strip_reasoning(text) == "y"
    assert strip_reasoning("<|channel|>final <|constrain|>json<|message|>{}") == "{}"
    assert strip_reasoning("<|channel|>analysis<|message|>x<|end|>") is None


def test_harmony_without_its_special_tokens_is_told_apart() -> None:
    assert strip_reasoning("analysisWe see.assistantfinal{}") == "{}"
    assert strip_reasoning("analysisWe see and see") is None
    assert strip_reasoning("analysis of the four runs") == "analysis of the four runs"


def test_tags_quoted_or_inside_a_document_are_content() -> None:
    for text in ("I ignore `<think>` here.", '{"a": "</think> x"} end', '[{"a": "<think>"}]', "a <thinker> b"):
        assert strip_reasoning(text) == text


def test_a_closer_inside_a_damaged_document_does_not_behead_it() -> None:
    text = '{"1": {"explanation": "it wrote </think> {\\"1\\": 1}", "score": 0.4'
    assert strip_reasoning(text) == text


def test_one_fence_around_everything_goes_and_others_stay() -> None:
    assert strip_fence("```json\n{}\n```") == "{}"
    assert strip_fence(" ~~~\n[1]\n~~~ ") == "[1]"
    assert strip_fence("```json\n{}") == "{}"
    two = "```json\n{}\n```\n```json\n[]\n```"
    assert strip_fence(two) == two
    assert strip_fence("say ```x```") == "say ```x```"


def test_the_end_of_a_text_is_what_is_kept() -> None:
    assert end_of_reply("abc", 2) == "bc"
    assert end_of_reply("abc", 3) == "abc"


PIECES = [
    *"<>/|[]◁▷`\"' \n{}:",
    "<think>",
    "</think>",
    "<|channel|>",
    "final",
    "<|message|>",
    "```",
    "{}",
    "analysis",
    "x",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_text_has_an_answer_that_is_part_of_it_or_none(text: str) -> None:
    answer = strip_reasoning(text)
    assert answer is None or answer in text
    assert strip_fence(text) in text
