"""What a refusal teaches of the context window, and how large a question is."""

from __future__ import annotations

from dataclasses import replace

from asking import request
from calipers.backends.context_window import KnownWindow, question_bytes
from calipers.render import BYTES_PER_TOKEN
from calipers.types import JudgeRequest, Window


def asked(text: str) -> JudgeRequest:
    return replace(request(), messages=({"role": "user", "content": text},))


def test_a_refusal_teaches_the_window_the_smallest_counts_and_a_later_run_starts_from_it() -> None:
    known = KnownWindow()
    assert (known.tokens, known.bytes_per_token, known.reported, known.learned()) == (None, BYTES_PER_TOKEN, None, {})
    for tokens in (8192, 4096, 16_384):
        known.learn_from_refusal(Window(tokens, 2.0))
    assert known.reported == Window(4096, 2.0)
    later = KnownWindow()
    later.start_from({**known.learned(), "refused": ["seed"]})
    assert (later.tokens, later.bytes_per_token, later.reported) == (4096, 2.0, None)


def test_text_counts_by_its_utf8_bytes_and_an_image_the_same_however_large() -> None:
    assert [question_bytes(asked(text)) for text in ("four", "评分", "\ud800")] == [4, 6, 1]
    for url in ("https://a/b.png", "data:image/png;base64," + "A" * 10**6):
        parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]
        shown = replace(request(), messages=({"role": "user", "content": parts}, {"role": "assistant"}))
        assert question_bytes(shown) == 4 + 4000
