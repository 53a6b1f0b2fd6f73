"""The judge under examination, used as in a run: with the same backend, protocol, reading and retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.backends.connect import find_backend
from calipers.backends.limits.budget import Meter
from calipers.backends.limits.limited import Limited, Wrapper
from calipers.backends.names import name_without_password
from calipers.interfaces import Backend, FullBackend
from calipers.judging.judge import Judge
from calipers.ledger import Unrecorded
from calipers.types import Completion, Failure, JudgeRequest, Rating, Reading, TrajectoryGroup, Usage

_ATTEMPTS = 2
"""The most calls for a request: a single retry after temporary errors. More would waste time on a server that is
down.
"""

_LATE = 0.1
"""With fewer seconds left no call is sent."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the examined judge: group, reply, what was read, and scores (0-1) by trajectory id, in
    the order shown.
    """

    group_id: str
    completion: Completion
    reading: Reading
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Answers:
    """The examined judge's answers to ``asked`` questions.

    ``failures`` are the reasons for missing answers.
    """

    asked: int
    received: tuple[Answer, ...]
    failures: tuple[Failure, ...] = ()

    def __add__(self, other: Answers) -> Answers:
        return Answers(self.asked + other.asked, self.received + other.received, self.failures + other.failures)


@dataclass(slots=True)
class Spent:
    """What the examination has used so far: calls that were ``sent``, answered ``calls``, and the usage of all."""

    calls: int = 0
    sent: int = 0
    usage: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))

    def add(self, usage: Usage) -> None:
        self.usage = Usage.total([self.usage, usage])


@dataclass(frozen=True, slots=True)
class Examinee:
    """The judge and its settings, as in a run. The examination must end when ``time.monotonic`` reaches ``until``.

    ``within`` is the time for the whole examination in seconds, for messages. ``concurrency`` questions are in flight,
    and that on the schema beside them.
    """

    judge: str
    until: float
    within: float
    base_url: str | None = None
    api_key: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = 8192
    timeout: float = 60.0
    price: Sequence[float] | None = None
    concurrency: int = 8
    spent: Spent = field(default_factory=Spent)

    def backend(self) -> FullBackend:
        """Return a new backend for the judge that the doctor examines, which knows nothing of the server."""
        return find_backend(self.judge, base_url=self.base_url, api_key=self.api_key, timeout=self.timeout)

    @property
    def seconds_left(self) -> float:
        """Return the seconds left for the examination, never 0: a call that has started can report its end."""
        return max(0.05, round(self.until - time.monotonic(), 1))

    @property
    def time_is_up(self) -> str:
        """Return why a question of the doctor was not answered in time, in the words of its user."""
        return f"the {self.within:g} s were used up (--within)"

    @property
    def shown(self) -> str:
        """The judge's name in the doctor's verdict, without a password or key in its address."""
        return name_without_password(self.judge)

    async def ask(self, groups: Iterable[TrajectoryGroup], *, orders: int = 1) -> Answers:
        """Have the judge that the doctor examines score every group through the whole pipeline, and return its answers.

        No question is asked again, so only first answers count. Once the time is up, no question is sent.
        """
        every, received, failures = tuple(groups), list[Answer](), _Failures()
        asked = len(every) * orders
        late = Failure("deadline", self.time_is_up)
        if time.monotonic() >= self.until:
            return Answers(asked, (), (late,) * asked)

        def observe(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
            self.spent.calls += 1
            received.append(Answer(request.view.group_id, completion, reading, _scores(request, reading)))

        judge = Judge(
            self._retrying(self.backend()),
            orders=orders,
            question={"reasks": 0},
            calls={"params": dict(self.params), "max_tokens": self.max_tokens},
            concurrency=self.concurrency,
            deadline=self.seconds_left,
            ledger=failures,
            records={"watchers": [observe]},
        )
        # All groups start at once, so that a single deadline applies to all. The judge limits the calls in flight.
        async for result in judge.score_groups(every, concurrency=len(every)):
            self.spent.add(result.usage)
        noted = (late if failure.kind == "deadline" else failure for failure in failures.noted)
        return Answers(asked, tuple(received), tuple(noted))

    def _retrying(self, bare: Backend) -> FullBackend:
        counting = _Counting(bare, self.spent, self.until)
        return Limited(
            counting,
            attempts=_ATTEMPTS,
            concurrency=self.concurrency,
            price=self.price,
            deadline=self.seconds_left,
            pauses=False,
        )

    async def complete(self, request: JudgeRequest, backend: Backend) -> Completion:
        """Send the doctor's request to the examined judge outside the pipeline and return its answer.

        Raises BackendError, or TimeoutError when time runs out.
        """
        if time.monotonic() >= self.until:
            raise TimeoutError
        meter = Meter()
        try:
            async with asyncio.timeout(self.seconds_left):
                completion = await self._retrying(backend).complete(replace(request, on_failed_call=meter.add))
        finally:
            self.spent.add(meter.total.usage)
        self.spent.calls += 1
        self.spent.add(completion.usage)
        return completion


def _scores(request: JudgeRequest, reading: Reading) -> dict[str, float]:
    """Return the judge's scores by trajectory id, in the order shown. A probe's answers all differ, so each candidate
    is a single trajectory.
    """
    candidates, ids = request.view.candidates, request.view.ids
    ratings = sorted([each for each in reading.judgments if isinstance(each, Rating)], key=lambda rating: rating.place)
    return {ids[candidates[rating.item].members[0]]: rating.value for rating in ratings}


class _Counting(Wrapper):
    """``backend``, whose calls are counted in ``spent`` as they are sent, which is not done any more at ``until``."""

    def __init__(self, backend: Backend, spent: Spent, until: float) -> None:
        super().__init__(backend)
        self._spent = spent
        self._until = until

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return the backend's answer. Raises what the backend raises."""
        if self._until - time.monotonic() <= _LATE:
            await asyncio.sleep(2 * _LATE)  # a question whose turn comes as others are cut off; its deadline ends it
        self._spent.sent += 1
        return await self._backend.complete(request)


class _Failures(Unrecorded):
    """A store that collects only the failures of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[Failure] = []

    async def note(self, number: int, request: JudgeRequest, result: Reading | Failure) -> None:
        await super().note(number, request, result)
        if isinstance(result, Failure):
            self.noted.append(result)
