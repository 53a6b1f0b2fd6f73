"""Error answers: many spellings, few facts."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


_KINDS: list[tuple[int, Any, str, bool | None]] = [
    (401, _said("Incorrect API key provided"), "unauthorized", True),
    (400, _said("No connected db.", type="no_db_connection"), "unauthorized", True),
    (400, {"detail": "Server is pinned to 'tiny'; requested 'other'."}, "not_found", True),
    (403, _said("no access"), "unauthorized", True),
    (403, _said("your input was flagged"), "refused", False),
    (400, _said("The response was filtered", code="content_filter"), "refused", False),
    (402, _said("Insufficient Balance"), "rate_limited", True),
    (429, _said("You exceeded your current quota", code="insufficient_quota"), "rate_limited", True),
    (429, _said("Request too large for gpt-x on tokens per min"), "rate_limited", False),
    (404, {"error": 'model "x" not found, try pulling it first'}, "not_found", True),
    (400, {"error": {"message": "/chat/completions: Invalid model name passed in model=x"}}, "not_found", True),
    (405, b"", "not_found", True),
    (413, b"<html>too large</html>", "context_window", False),
    (400, _said("x", type="exceed_context_size_error"), "context_window", False),
    (400, _said("This model's maximum context length is 4096 tokens."), "context_window", False),
    (400, _said("x", code="context_length_exceeded"), "context_window", False),
    (400, _said("The input token count (5) exceeds the maximum"), "context_window", False),
    (400, _said("litellm.ContextWindowExceededError: OpenAIException"), "context_window", False),
    (500, {"error": "the input length exceeds the context length"}, "context_window", False),
    (400, _said("messages must not be empty"), "bad_request", False),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}, "bad_request", False),
    (501, _said("not a chat model"), "bad_request", False),
    (429, _said("Rate limit reached"), "rate_limited", None),
    (408, b"", "server", None),
    (409, b"", "server", None),
    (425, b"", "server", None),
    (500, _said("The model produced output that does not match the expected peg-native format"), "server", None),
    (502, b"<html><body><h1>502 Bad Gateway</h1></body></html>", "server", None),
    (503, _said("Loading model"), "server", None),
    (529, _said("Overloaded"), "server", None),
    (400, _said("Failed to generate JSON", code="json_validate_failed"), "bad_reply", None),
]
"""Status, body, kind, and whether it is fatal; None for what may pass."""


def test_each_refusal_has_its_kind_and_may_pass_or_not() -> None:
    wrong = []
    for status, body, kind, fatal in _KINDS:
        error = _error(status, body)
        found = error.fatal if isinstance(error, PermanentError) else None
        if (error.kind, found) != (kind, fatal):
            wrong.append((status, body, error.kind, found))
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
