"""Computes the ledger key of a request, shares a call between equal requests, and stores nothing for a judge without a
ledger.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import count
from typing import Generic, TypeVar

from calipers.backends.limits.budget import Meter
from calipers.errors import BackendError
from calipers.interfaces import Backend, FullBackend, Store
from calipers.types import (
    Completion,
    FailedCalls,
    Failure,
    GroupResult,
    JudgeRequest,
    Message,
    Reading,
    TrajectoryGroup,
)
from calipers.types.encoding import EncodedDict

T = TypeVar("T")

compact_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
"""Encodes values as ASCII JSON before they are hashed. Lone surrogates are allowed. Recursive values are not
expected.
"""


def ledger_key(request: JudgeRequest, backend: Backend) -> str:
    """Return the ledger key of a request to a judge (hex).

    It is computed from endpoint, model, messages, schema, limits, parameters, sample index and, if there are any,
    tools.
    """
    texts: list[bytes] = []
    question = question_text(request, backend, [_without_text(message, texts) for message in request.messages])
    digest = blake2b(question.encode(), digest_size=20)
    # The lengths of the texts are hashed before the texts. So texts that differ but are equal when joined get different
    # keys.
    for text in texts:
        digest.update(text)
    return digest.hexdigest()


def question_text(request: JudgeRequest, backend: Backend, messages: Iterable[str]) -> str:
    """Return everything that identifies a request in the ledger as one JSON list. ``messages`` are already JSON."""
    schema = request.schema.text if isinstance(request.schema, EncodedDict) else compact_json(request.schema)
    params = compact_json(dict(request.params)) if request.params else "{}"
    limit = "null" if request.max_tokens is None else request.max_tokens
    before = _key_start(backend.endpoint, backend.model)
    tools = f",{compact_json(list(request.tools))}" if request.tools else ""
    return f"{before},[{','.join(messages)}],{schema},{limit},{params},{request.ask.sample}{tools}]"


@lru_cache(maxsize=64)
def _key_start(endpoint: str, model: str) -> str:
    """Return the beginning of the key's JSON list: endpoint and model."""
    return compact_json([endpoint, model])[:-1]


def _without_text(message: Message, texts: list[bytes]) -> str:
    """Return ``message`` as JSON with the length of its text in place of the text, and append the text to ``texts``.

    Texts are hashed unescaped, because escaping takes longer. The result is a JSON list, so that no message equals it.
    """
    content = message.get("content")
    if not isinstance(content, str):
        return compact_json(message)
    text = content.encode("utf-8", "surrogatepass")
    texts.append(text)
    if len(message) == 2 and next(iter(message)) == "role" and isinstance(message["role"], str):
        return f"{_message_start(message['role'])}{len(text)}}}]"
    return compact_json([{**message, "content": len(text)}])


@lru_cache(maxsize=64)
def _message_start(role: str) -> str:
    """Return the beginning of the JSON list for a message with a role and a text. The text's length follows."""
    return compact_json([{"role": role, "content": 0}]).removesuffix("0}]")


class SingleFlight(Generic[T]):
    """Shares a call between callers with the same key: ``await flight.run(key, call)``.

    The first caller makes the call, and all callers get its result. The call runs in the first caller's task. If that
    task is cancelled (by its group's deadline, for example), the next caller makes the call itself and is not
    cancelled. Callers that are cancelled at the same moment make no call. An exception of the call is raised in every
    caller.
    """

    def __init__(self) -> None:
        self._flying: dict[asyncio.AbstractEventLoop, dict[str, asyncio.Future[T]]] = {}

    async def run(self, key: str, call: Callable[[], Awaitable[T]]) -> T:
        """Return the answer to the request with the ledger key ``key``: from a call in flight if there is one,
        otherwise from ``call``.
        """
        loop = asyncio.get_running_loop()
        flying = self._flying.get(loop)
        if flying is None:
            for known in list(self._flying):  # a copy, because other threads add their event loops
                if known.is_closed():
                    self._flying.pop(known, None)
            flying = self._flying.setdefault(loop, {})
        task = asyncio.current_task(loop)
        before = task.cancelling() if task is not None else 0
        while (flight := flying.get(key)) is not None:
            try:
                return await asyncio.shield(flight)
            except asyncio.CancelledError:
                # Two groups with the same deadline are cancelled together; nothing would ever end a call that begins
                # now.
                if not flight.cancelled() or (task is not None and task.cancelling() > before):
                    raise  # this caller was cancelled, not the call
        mine: asyncio.Future[T] = loop.create_future()
        flying[key] = mine
        try:
            answer = await call()
        except asyncio.CancelledError:
            mine.cancel()
            raise
        except (Exception, SystemExit) as error:
            mine.set_exception(error)
            mine.exception()  # marks the exception as retrieved, because there may be no other caller
            raise
        else:
            mine.set_result(answer)
            return answer
        finally:
            del flying[key]


class Unrecorded(Store):
    """The store of a judge without a ledger. It records nothing, but equal requests at the same time share a call."""

    def __init__(self) -> None:
        self._flight: SingleFlight[Completion] = SingleFlight()
        self._numbers = count()

    async def begin(self) -> int:
        """Return the number of the next group, which no ledger records."""
        return next(self._numbers)

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion:  # noqa: ARG002
        """Return the judge's answer, which no ledger records. Raises what the backend raises."""
        key = ledger_key(request, backend)
        return await self._flight.run(key, partial(self._ask, key, request, backend))

    async def _ask(self, key: str, request: JudgeRequest, backend: FullBackend) -> Completion:
        meter = Meter(request.on_failed_call)
        try:
            completion = await backend.complete_recorded(replace(request, on_failed_call=meter.add), _as_it_is)
        except BackendError as error:
            attach_key(error, key, meter.total)
            raise
        return replace(completion, failed=meter.total, question=key)

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Do nothing, because a judge without a ledger records nothing."""

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Do nothing, because a judge without a ledger records nothing."""


async def _as_it_is(completion: Completion) -> Completion:
    return completion


def attach_key(error: BackendError, key: str, failed: FailedCalls) -> None:
    """Set the ledger key and the failed calls of a judge's error.

    A backend may raise the same error object for several requests, so old values are replaced.
    """
    error.failed, error.question, error.counted = failed, key, False
