"""One call for one question: the key that names the question, and sharing the call among all who ask it.

Also what a judge without a ledger talks to. Not responsible for recording anything (``recorder``).
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
"""For what is hashed. Escapes to ASCII, which holds lone surrogates, too; nothing that is recorded contains itself."""


def ledger_key(request: JudgeRequest, backend: Backend) -> str:
    """The name of a question: endpoint, model, messages, schema, limits, parameters and sample index (hex)."""
    texts: list[bytes] = []
    question = question_text(request, backend, [_apart(message, texts) for message in request.messages])
    digest = blake2b(question.encode(), digest_size=20)
    # Whose text is how long stands in what was hashed before: no other texts, put together, are the same question.
    for text in texts:
        digest.update(text)
    return digest.hexdigest()


def question_text(request: JudgeRequest, backend: Backend, messages: Iterable[str]) -> str:
    """One JSON list of all that makes a question; ``messages`` are JSON already."""
    schema = request.schema.text if isinstance(request.schema, EncodedDict) else compact_json(request.schema)
    params = compact_json(dict(request.params)) if request.params else "{}"
    limit = "null" if request.max_tokens is None else request.max_tokens
    before = _address(backend.endpoint, backend.model)
    return f"{before},[{','.join(messages)}],{schema},{limit},{params},{request.ask.sample}]"


@lru_cache(maxsize=64)
def _address(endpoint: str, model: str) -> str:
    """How the list begins."""
    return compact_json([endpoint, model])[:-1]


def _apart(message: Message, texts: list[bytes]) -> str:
    """``message`` with the length of its text in the text's place, which is hashed as it is: quoting it takes longer.

    A list, so that it cannot be taken for a message.
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
    """How the list of a message with a role and a text begins, up to the length."""
    return compact_json([{"role": role, "content": 0}]).removesuffix("0}]")


class SingleFlight(Generic[T]):
    """``await flight.run(key, call)``: the first asker calls, the others get its answer or its exception.

    The first asker's call runs in its own task: when that is cancelled (its group's deadline, say), the next asker
    makes the call itself instead of being cancelled with it. Who is cancelled in the same moment calls nobody.
    """

    def __init__(self) -> None:
        self._flying: dict[asyncio.AbstractEventLoop, dict[str, asyncio.Future[T]]] = {}

    def is_flying(self, key: str) -> bool:
        """Whether somebody is calling for ``key`` on the running loop."""
        return key in self._flying.get(asyncio.get_running_loop(), ())

    async def run(self, key: str, call: Callable[[], Awaitable[T]]) -> T:
        """The answer to ``key``, from ``call`` or from whoever is already calling."""
        loop = asyncio.get_running_loop()
        flying = self._flying.get(loop)
        if flying is None:
            for known in list(self._flying):  # at once, for other threads bring loops of their own
                if known.is_closed():
                    self._flying.pop(known, None)
            flying = self._flying.setdefault(loop, {})
        task = asyncio.current_task(loop)
        before = task.cancelling() if task is not None else 0
        while (other := flying.get(key)) is not None:
            try:
                return await asyncio.shield(other)
            except asyncio.CancelledError:
                # Two groups have one deadline: both were cancelled, and nothing would ever end a call begun now.
                if not other.cancelled() or (task is not None and task.cancelling() > before):
                    raise  # it is this asker that was cancelled
        mine: asyncio.Future[T] = loop.create_future()
        flying[key] = mine
        try:
            answer = await call()
        except asyncio.CancelledError:
            mine.cancel()
            raise
        except Exception as error:
            mine.set_exception(error)
            mine.exception()  # seen: without followers nobody else would retrieve it
            raise
        else:
            mine.set_result(answer)
            return answer
        finally:
            del flying[key]


class Unrecorded(Store):
    """No ledger: nothing is recorded, but all who ask one question at the same time share one call."""

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
    """Put into an error which question it is for, and all it took; a backend may raise the same object again."""
    error.failed, error.question, error.counted = failed, key, False
