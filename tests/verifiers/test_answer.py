"""What a check takes for the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import answered, told
from calipers.types import Trajectory
from calipers.verifiers.answer import final_answer, last_code_block, without_reasoning


@pytest.mark.parametrize(("text", "answer"), [
    ("plain", "plain"), ("<think>so</think>\n42 ", "42"), ("<think>a</think>b<think>c</think>d", "d"),
    ("so</think> 42", "42"),
    ("<think>never ends", None), ("<think>a</think>b<think>c", None), ("", ""), ("  kept  ", "  kept  "),
])  # fmt: skip
def test_reasoning_is_left_out_and_an_open_one_is_no_answer(text: str, answer: str | None) -> None:
    assert final_answer(answered(text)) == answer


def test_the_last_assistant_message_counts() -> None:
    assert (
        final_answer(Trajectory("a", (told("assistant", "one"), told("user", "and?"), told("assistant", "two"))))
        == "two"
    )
    assert final_answer(Trajectory("a", (told("user", "only"),))) is None
    assert final_answer(Trajectory("a", ())) is None
    assert final_answer(answered(None)) is None
    parts = [{"type": "text", "text": "4"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "2"}]
    assert final_answer(Trajectory("a", ({"role": "assistant", "content": parts},))) == "42"


@given(st.text(), st.text())
def test_what_follows_closed_reasoning_is_the_answer(thought: str, answer: str) -> None:
    if "<think>" not in answer and "</think>" not in answer:
        assert without_reasoning(f"<think>{thought}</think>{answer}") == answer.strip()


def test_the_last_block_of_the_language_is_taken() -> None:
    text = "a\n```python\none\n```\nb\n```json\n{}\n```\n"
    assert last_code_block(text, ("python",)) == "one\n"
    assert last_code_block(text, ("json",)) == "{}\n"
    assert last_code_block(text) == "{}\n"
    assert last_code_block(text, ("rust",)) == "{}\n"
    assert last_code_block("no block ``` here") is None
