"""Whatever a server puts where a number or an object is expected, an answer is read or is an error in our words."""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backends.asking import question
from calipers.backends.limits.limited import Limited
from calipers.backends.providers.anthropic import read_message
from calipers.backends.providers.openai_compatible import read_chat_reply
from calipers.backends.server import listed_models
from calipers.backends.transport.refusals import read_refusal, refusal_error
from calipers.backends.transport.reply import HttpReply, Peer
from calipers.errors import BackendError, PermanentError, TransientError
from calipers.types import Completion
from outside import as_json, mutants
from servers.tongues import message

PEER = Peer("m", "KEY")
CHAT = Path(__file__).parents[2] / "fixtures" / "openai_chat.jsonl"
COMPLETION, *CHUNKS = [json.loads(line) for line in CHAT.read_text(encoding="utf-8").splitlines()]
SAMPLED = {"content": [{"token": "7", "prob": 0.5, "top_probs": [{"token": "8", "prob": 0.25}]}]}
CALL = {"index": 0, "function": {"name": "verdict", "arguments": "7"}}
OTHER = {
    "choices": [{"finish_reason": "stop", "message": {"content": "7", "tool_calls": [CALL]}, "logprobs": SAMPLED}],
    "usage": {"cost": 0.1},
}
"""What OpenAI's completion does not have."""
CALLED = {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "stop"}]}
ERRORS = [
    {"error": {"message": "exceed_context_size", "code": 400, "n_prompt_tokens": 9000, "n_ctx": 8192}},
    {"error": {"message": "This model's maximum context length is 8192 tokens", "param": "messages", "code": "x"}},
    {"detail": [{"msg": "no", "loc": ["body", "max_tokens"]}]},
    [{"error": {"code": 429, "details": [{"violations": [{"quotaId": "PerDay"}]}]}}],
]
LIST = {"data": [{"id": "m", "owned_by": "vllm"}], "has_more": False}


def in_order(completion: Completion) -> None:
    used = completion.usage
    for tokens in (used.input_tokens, used.output_tokens, used.cached_tokens):
        assert isinstance(tokens, int)
        assert 0 <= tokens < 10**13
    assert used.cost_usd is None or (math.isfinite(used.cost_usd) and used.cost_usd >= 0)
    assert completion.text.strip() or completion.finish_reason == "length"
    for place, told in completion.logprobs or ():
        assert 0 <= place < len(completion.text)
        assert all(math.isfinite(chance) and chance <= 0 for _, chance in told)
    json.dumps([completion.text, completion.reasoning, completion.model]).encode()


@pytest.mark.parametrize(
    ("read", "sample"), [(read_chat_reply, COMPLETION), (read_chat_reply, OTHER), (read_message, message("7"))]
)
def test_an_answer_of_anything_is_read_or_is_no_answer(read: Callable[..., Completion], sample: Any) -> None:
    for body in mutants(sample):
        try:
            in_order(read(HttpReply(200, {"Content-Type": "application/json"}, as_json(body)), PEER))
        except BackendError as error:
            assert str(error)  # noqa: PT017 - either is right


def test_a_stream_of_anything_is_read_or_is_no_answer() -> None:
    for events in mutants([*CHUNKS, CALLED]):
        if not isinstance(events, list):
            continue
        lines = b"".join(b"data: " + as_json(event) + b"\n\n" for event in events)
        try:
            in_order(read_chat_reply(HttpReply(200, {"Content-Type": "text/event-stream"}, lines), PEER))
        except BackendError as error:
            assert str(error)  # noqa: PT017 - either is right


def sound(error: BackendError) -> None:
    assert str(error)
    if isinstance(error, TransientError) and error.retry_after is not None:
        assert 0 <= error.retry_after <= 366 * 86400
    if isinstance(error, PermanentError):
        for tokens in (error.limit, error.prompt):
            assert tokens is None or 0 < tokens < 10**12


@pytest.mark.parametrize("sample", ERRORS)
@pytest.mark.parametrize("status", [400, 429, 500])
def test_a_refusal_of_anything_is_an_error_of_ours(sample: Any, status: int) -> None:
    for body in mutants(sample):
        sound(refusal_error(read_refusal(HttpReply(status, {}, as_json(body)), ()), PEER))


NUMBERS = ["9" * 23, "9" * 400, "9" * 5000, "0", "-5", "1e400", "nan", "Infinity", "0x10", "१२", "1_000", "99999999"]


TEXTS = (
    "maximum context length is {} tokens, you asked for 10 input tokens",
    "maximum context length is 8192 tokens, however {} input tokens",
    "prompt is too long: {} tokens > {}",
    "input token count ({}) exceeds the maximum number of tokens allowed ({})",
    "please retry in {}s",
    "please try again in {}m{}s",
    "try again in {}ms",
    "try again in 0.{}s",
)


def test_a_number_in_a_servers_prose_is_one_to_reckon_with_or_none() -> None:
    for number, text, status in itertools.product(NUMBERS, TEXTS, (400, 429, 503)):
        body = as_json({"error": {"message": text.replace("{}", number)}})
        sound(refusal_error(read_refusal(HttpReply(status, {}, body), ()), PEER))


WAITS = [*NUMBERS, f"Fri, 31 Dec {'9' * 23} 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 00 Foo", "", "\xff"]


async def test_a_wait_is_one_that_can_be_slept_or_none() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    for wait, name in itertools.product(WAITS, ("Retry-After", "retry-after-ms")):
        headers = {name: wait, "Date": wait}
        error = refusal_error(read_refusal(HttpReply(429, headers, b"{}"), ()), PEER)
        sound(error)
        with pytest.raises(BackendError):
            await Limited(Refusing(error), deadline=None, attempts=2, sleep=sleep).complete(question())
    assert all(0 <= seconds < 367 * 86400 for seconds in slept)


class Refusing:
    endpoint, model = "e", "m"

    def __init__(self, error: BackendError) -> None:
        self.error = error

    async def complete(self, request: object) -> Completion:
        raise self.error


def test_a_list_of_models_of_anything_is_read_or_none() -> None:
    for body in mutants(LIST):
        assert isinstance(listed_models(HttpReply(200, {}, as_json(body))), list | None)
