"""Error answers: many spellings, few facts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backends.asking import replied
from calipers.backends.transport.refusals import read_refusal, refusal_error, retry_after_seconds
from calipers.backends.transport.reply import Peer, excerpt
from calipers.errors import BackendError, PermanentError, TransientError

PEER = Peer("judge-1", "JUDGE_API_KEY", ("hunter2-hunter2",))


def _error(status: int, body: Any, headers: Mapping[str, str] | None = None) -> BackendError:
    return refusal_error(read_refusal(replied(body, status=status, **headers or {}), PEER.secrets), PEER)


def _said(message: str, **detail: Any) -> dict[str, Any]:
    return {"error": {"message": message, **detail}}


REFUSALS = Path(__file__).parents[2] / "fixtures" / "refusals.jsonl"
"""Refusals in the words of servers: status, body, kind, and whether it is fatal; null for what may pass."""


def test_each_refusal_has_its_kind_and_may_pass_or_not() -> None:
    wrong = []
    for line in REFUSALS.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        body = case["body"].encode() if isinstance(case["body"], str) else case["body"]
        error = _error(case["status"], body)
        found = error.fatal if isinstance(error, PermanentError) else None
        if (error.kind, found) != (case["kind"], case["fatal"]):
            wrong.append((line, error.kind, found))
    assert wrong == []


def test_a_refusal_names_what_helps() -> None:
    for status, body, headers, words in (
        (400, _said("x", type="exceed_context_size_error", n_prompt_tokens=5000, n_ctx=4096), {}, "5000 tokens.*4096"),
        (401, b"", {}, "JUDGE_API_KEY"),
        (308, b"", {"Location": "https://host/v1/chat/completions"}, "https://host/v1/chat/completions"),
        (400, _said("x", code="context_length_exceeded"), {}, r"calls=\{'context_window': \.\.\.\}"),
        (400, _said("This model's maximum context length is 4096 tokens."), {}, "^((?!context_window').)*$"),
    ):
        assert re.search(words, str(_error(status, body, headers))), (status, words)


def test_retry_after_is_read_in_every_form() -> None:
    cases: list[tuple[Mapping[str, str], float | None]] = [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "1e400"}, None),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
    ]
    assert [retry_after_seconds(headers) for headers, _ in cases] == [seconds for _, seconds in cases]


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_secret_survives_whatever_stands_around_it(before: str, after: str) -> None:
    assert "hunter2-hunter2" not in excerpt(f"{before}hunter2-hunter2{after}", PEER.secrets)


def test_what_looks_like_a_key_is_hidden_even_if_it_is_not_ours() -> None:
    for text in ("bad key sk-proj-abcdefgh1234", "Authorization: Bearer abcdef123456", "gsk_abcdefgh12345"):
        hidden = excerpt(text, ())
        assert "[key]" in hidden
        assert "abcdef" not in hidden


def test_echoes_of_the_request_are_not_searched() -> None:
    """Servers repeat what they were sent, and what they were sent holds what candidates wrote."""
    body = {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": "temperature"}]}
    refusal = read_refusal(replied(body, status=422), ())
    assert refusal.names == {"seed"}
    assert "temperature" not in refusal.prose
    quoted = _said(
        "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'input': 'maximum context length temperature'}]"
    )
    assert "temperature" not in read_refusal(replied(quoted, status=400), ()).prose


def test_a_wait_in_prose_counts_where_no_header_names_one() -> None:
    for said, seconds in (
        ("Please retry in 21.3s.", 21.3),
        ("Please try again in 20ms.", 0.02),
        ("try again in 6m0s", 360.0),
        ("later", None),
    ):
        for headers, wait in (({}, seconds), ({"Retry-After": "3"}, 3.0)):
            error = _error(429, {"error": {"message": f"Too fast. {said}"}}, headers)
            assert isinstance(error, TransientError)
            assert error.retry_after == wait, said


_GOOGLE = "You exceeded your current quota, please check your plan and billing details. Please retry in 21.3s."


def test_a_used_up_quota_is_fatal_and_a_quota_by_the_minute_is_not() -> None:
    used_up: list[Any] = [
        {"error": {"message": "Insufficient credits"}},
        {"error": {"message": "no", "type": "exceeded_current_quota_error"}},
        [{"error": {"message": _GOOGLE, "details": [{"violations": [{"quotaId": "RequestsPerDay-Free"}]}]}}],
    ]
    by_the_minute: list[Any] = [
        [{"error": {"message": _GOOGLE, "code": 429}}],
        [{"error": {"message": _GOOGLE, "details": [{"violations": [{"quotaId": "RequestsPerMinute-Free"}]}]}}],
        {"error": {"message": "Rate limit reached for gpt in tokens per min. Try again in 1.2s."}},
    ]
    for body in (*used_up, *by_the_minute):
        error = _error(429, body)
        assert error.kind == "rate_limited"
        assert (isinstance(error, PermanentError) and error.fatal) is (body in used_up), body
