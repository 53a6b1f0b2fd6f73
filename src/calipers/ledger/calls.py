"""One call for one question: the question's key, callers that share a call, and the store of a judge without a ledger.

Not responsible for recording anything (``recorder``).
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

from calipers.backends.limits.metered import Meter
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
"""For what is hashed. Escapes to ASCII, lone surrogates included; recorded values never contain themselves."""


def ledger_key(request: JudgeRequest, backend: Backend) -> str:
    """The key of a question (hex), from endpoint, model, messages, schema, limits, parameters and sample index."""
    texts: list[bytes] = []
    question = question_text(request, backend, [_apart(message, texts) for message in request.messages])
    digest = blake2b(question.encode(), digest_size=20)
    # The length of each text was hashed before, so other texts with the same concatenation have another key.
    for text in texts:
        digest.update(text)
    return digest.hexdigest()


def question_text(request: JudgeRequest, backend: Backend, messages: Iterable[str]) -> str:
    """One JSON list of everything that identifies a question; ``messages`` are JSON already."""
    schema = request.schema.text if isinstance(request.schema, EncodedDict) else compact_json(request.schema)
    params = compact_json(dict(request.params)) if request.params else "{}"
    limit = "null" if request.max_tokens is None else request.max_tokens
    before = _address(backend.endpoint, backend.model)
    return f"{before},[{','.join(messages)}],{schema},{limit},{params},{request.ask.sample}]"


@lru_cache(maxsize=64)
def _address(endpoint: str, model: str) -> str:
    """The beginning of that list."""
    return compact_json([endpoint, model])[:-1]


def _apart(message: Message, texts: list[bytes]) -> str:
    """``message`` with the length of its text in place of the text, which is appended to ``texts``.

    Texts are hashed unescaped, because escaping takes longer. The result is a list, so that it cannot equal a message.
    """
    content = message.get("content")
    if not isinstance(content, str):
        return compact_json(message)
    text = content.encode("utf-8", "surrogatepass")
    texts.append(text)
    if len(message) == 2 and next(iter(message)) == "role" and isinstance(message["role"], str):
        return f"{_said_by(message['role'])}{len(text)}}}]"
    return compact_json([{**message, "content": len(text)}])


@lru_cache(maxsize=64)
def _said_by(role: str) -> str:
    """The JSON list of a message with a role and a text, up to the text's length."""
    return compact_json([{"role": role, "content": 0}]).removesuffix("0}]")


class SingleFlight(Generic[T]):
    """``await flight.run(key, call)``: the first caller makes the call, the others get its answer or its exception.

    The call runs in the first caller's task. If that task is cancelled (its group's deadline, say), the next caller
    makes the call itself and is not cancelled along. Callers that are cancelled at the same moment make no call.
    """

    def __init__(self) -> None:
        self._flying: dict[asyncio.AbstractEventLoop, dict[str, asyncio.Future[T]]] = {}

    def is_flying(self, key: str) -> bool:
        """True while a call for ``key`` is in flight on the running loop."""
        return key in self._flying.get(asyncio.get_running_loop(), ())

    async def run(self, key: str, call: Callable[[], Awaitable[T]]) -> T:
        """The answer to ``key``, from ``call`` or from a call that is already in flight."""
        loop = asyncio.get_running_loop()
        flying = self._flying.get(loop)
        if flying is None:
            for known in list(self._flying):  # a copy, because other threads add loops of their own
                if known.is_closed():
                    self._flying.pop(known, None)
            flying = self._flying.setdefault(loop, {})
        task = asyncio.current_task(loop)
        before = task.cancelling() if task is not None else 0
        while (other := flying.get(key)) is not None:
            try:
                return await asyncio.shield(other)
            except asyncio.CancelledError:
                # Two groups with one deadline are cancelled together; nothing would ever end a call begun now.
                if not other.cancelled() or (task is not None and task.cancelling() > before):
                    raise  # this caller was cancelled
        mine: asyncio.Future[T] = loop.create_future()
        flying[key] = mine
        try:
            answer = await call()
        except asyncio.CancelledError:
            mine.cancel()
            raise
        except Exception as error:
            mine.set_exception(error)
            mine.exception()  # retrieved here, because there may be no other caller
            raise
        else:
            mine.set_result(answer)
            return answer
        finally:
            del flying[key]


class Unrecorded(Store):
    """Records nothing; callers that ask the same question at the same time share one call."""

    def __init__(self) -> None:
        self._flight: SingleFlight[Completion] = SingleFlight()
        self._numbers = count()

    async def begin(self) -> int:
        """The next group's number."""
        return next(self._numbers)

    async def answer(self, number: int, request: JudgeRequest, backend: FullBackend) -> Completion:  # noqa: ARG002
        """The backend's answer. Raises what the backend raises."""
        key = ledger_key(request, backend)
        return await self._flight.run(key, partial(self._ask, key, request, backend))

    async def _ask(self, key: str, request: JudgeRequest, backend: FullBackend) -> Completion:
        meter = Meter(request.on_failed_call)
        try:
            completion = await backend.complete_recorded(replace(request, on_failed_call=meter.add), _as_it_is)
        except BackendError as error:
            belongs_to(error, key, meter.total)
            raise
        return replace(completion, failed=meter.total, question=key)

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        """Nothing is recorded."""

    async def finish(self, number: int, group: TrajectoryGroup, result: GroupResult) -> None:
        """Nothing is recorded."""


async def _as_it_is(completion: Completion) -> Completion:
    return completion


def belongs_to(error: BackendError, key: str, failed: FailedCalls) -> None:
    """Set the question and all failed calls of an error; a backend may raise the same object for another question."""
    error.failed, error.question, error.counted = failed, key, False
