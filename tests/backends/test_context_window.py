"""WindowEstimate: what answers and refusals teach, what is kept, and what is not overturned for little."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asking import request
from calipers.backends.context_window import WindowEstimate, question_bytes
from calipers.render import BYTES_PER_TOKEN
from calipers.types import Completion, JudgeRequest, Usage, Window


def asked(text: str) -> JudgeRequest:
    return replace(request(), messages=({"role": "user", "content": text},))


def answer(input_tokens: int) -> Completion:
    return Completion("{}", usage=Usage(input_tokens, 5))


def test_nothing_is_learned_from_nothing() -> None:
    gauge = WindowEstimate()
    gauge.learn_from_answer(asked("x" * 100), answer(30))
    gauge.learn_from_answer(asked("x" * 100_000), answer(0))
    assert gauge.learned() == {}
    assert gauge.bytes_per_token == BYTES_PER_TOKEN


@pytest.mark.parametrize(("text", "size"), [("a" * 8000, 4.0), ("三" * 4000, 6.0)])
def test_a_servers_count_teaches_bytes_per_token_a_little_below_the_mean(text: str, size: float) -> None:
    gauge = WindowEstimate()
    gauge.learn_from_answer(asked(text), answer(2000))
    told = gauge.learned()["window"]["bytes_per_token"]
    assert 0.9 * size <= told < size


def test_a_count_that_cannot_be_true_is_bounded() -> None:
    gauge = WindowEstimate()
    gauge.learn_from_answer(asked("a"), answer(50_000))
    assert gauge.bytes_per_token == 0.5


def test_what_was_known_stays_unless_it_is_clearly_otherwise() -> None:
    known = {"window": {"tokens": 4096, "bytes_per_token": 3.7}, "refused": ["seed"]}
    gauge = WindowEstimate(known)
    gauge.learn_from_answer(asked("a" * 8000), answer(2000))
    assert gauge.learned() == {"window": known["window"]}
    gauge.learn_from_answer(asked("a" * 8000), answer(8000))
    assert gauge.learned()["window"]["bytes_per_token"] < 2


def test_a_refusal_teaches_the_window() -> None:
    gauge = WindowEstimate()
    gauge.learn_from_refusal(Window(8192, 2.0))
    assert gauge.learned() == {"window": {"tokens": 8192}}


def test_questions_with_images_say_nothing_about_text() -> None:
    gauge = WindowEstimate()
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    content = [{"type": "text", "text": "a" * 9000}, image]
    gauge.learn_from_answer(replace(request(), messages=({"role": "user", "content": content},)), answer(9000))
    assert gauge.learned() == {}


def test_text_counts_by_its_utf8_bytes_and_a_lone_surrogate_breaks_nothing() -> None:
    assert question_bytes(asked("four")) == 4
    assert question_bytes(asked("评分")) == 6
    assert question_bytes(asked("\ud800")) == 1


def test_an_image_counts_the_same_however_large_its_data_url() -> None:
    def shown(url: str) -> int:
        parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]
        return question_bytes(replace(request(), messages=({"role": "user", "content": parts}, {"role": "assistant"})))

    assert shown("https://a/b.png") == shown("data:image/png;base64," + "A" * 10**6) == 4 + 4000
